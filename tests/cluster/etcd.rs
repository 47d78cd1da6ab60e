//! A process of etcd.

use std::{
    env, fs,
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

use crate::support::{eventually, skipped};

/// A single member of etcd, which keeps its data when it is killed.
pub struct Etcd {
    directory: TempDir,
    client: u16,
    peer: u16,
    process: Option<Child>,
}

/// Returns the path of the program, or `None` if it isn't installed.
fn program() -> Option<PathBuf> {
    let program = env::var_os("AGENTDEX_ETCD").map_or_else(|| PathBuf::from("etcd"), PathBuf::from);
    let is_there = Command::new(&program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        assert!(env::var_os("CI").is_none(), "CI has etcd: .ci/install");
        skipped("etcd", "install etcd-server, or set AGENTDEX_ETCD to its path");
    }
    is_there.then_some(program)
}

impl Etcd {
    /// Starts a new etcd. Returns `None` if it isn't installed.
    pub fn start() -> Option<Etcd> {
        program()?;
        let free = || TcpListener::bind("127.0.0.1:0").unwrap();
        let (client, peer) = (free(), free());
        let [client, peer] = [&client, &peer].map(|listener| listener.local_addr().unwrap().port());
        let mut etcd = Etcd { directory: tempfile::tempdir().unwrap(), client, peer, process: None };
        etcd.run();
        Some(etcd)
    }

    /// Starts it again after [`Etcd::kill`].
    pub fn run(&mut self) {
        let [client, peer] = [self.client, self.peer].map(|port| format!("http://127.0.0.1:{port}"));
        let log = fs::File::create(self.directory.path().join("log")).unwrap();
        let mut command = Command::new(program().unwrap());
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ETCD_")) {
            command.env_remove(name);
        }
        command.arg("--data-dir").arg(self.data()).args(["--name", "m"]);
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        command.args(["--initial-cluster", &format!("m={peer}"), "--heartbeat-interval", "50"]);
        command.args(["--election-timeout", "500"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.process = Some(command.spawn().unwrap());
        eventually("etcd listens", || std::net::TcpStream::connect(("127.0.0.1", self.client)).is_ok());
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.client)
    }

    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Removes all data. It must not be running.
    pub fn wipe(&self) {
        fs::remove_dir_all(self.data()).unwrap();
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.kill();
    }
}
