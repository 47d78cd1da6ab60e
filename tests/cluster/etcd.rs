//! Processes of etcd.

use std::{
    env, fs,
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::support::{eventually, skipped};

/// A single member of etcd, which keeps its data when it is killed.
pub struct Etcd(Members);

impl Etcd {
    /// Starts a new etcd. Returns `None` if it isn't installed.
    pub fn start() -> Option<Etcd> {
        Members::start(1, &[]).map(Etcd)
    }

    /// Starts it again after [`Etcd::kill`].
    pub fn run(&mut self) {
        self.0.restore();
    }

    pub fn url(&self) -> String {
        self.0.urls()
    }

    pub fn kill(&mut self) {
        self.0.kill(0);
    }

    /// Removes all data. It must not be running.
    pub fn wipe(&self) {
        fs::remove_dir_all(self.0.data(0)).unwrap();
    }
}

/// Members of an etcd cluster, which keep their data when they are killed.
pub struct Members {
    directory: TempDir,
    ports: Vec<Ports>,
    processes: Vec<Option<Child>>,
    flags: Vec<String>,
}

#[derive(Clone, Copy)]
struct Ports {
    client: u16,
    peer: u16,
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

fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

impl Members {
    /// Starts the members of a new cluster with additional flags. Returns `None` if etcd isn't installed.
    pub fn start(count: usize, flags: &[&str]) -> Option<Members> {
        program()?;
        // All are bound at the same time, so the ports differ.
        let listeners: Vec<_> = (0..2 * count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<u16> = listeners.iter().map(|listener| listener.local_addr().unwrap().port()).collect();
        drop(listeners);
        let ports = ports.chunks(2).map(|pair| Ports { client: pair[0], peer: pair[1] }).collect();
        let processes = (0..count).map(|_| None).collect();
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let mut members = Members { directory: tempfile::tempdir().unwrap(), ports, processes, flags };
        members.restore();
        Some(members)
    }

    /// Starts killed members, continues stopped members, and waits until all accept connections.
    pub fn restore(&mut self) {
        for member in 0..self.processes.len() {
            match &self.processes[member] {
                Some(process) => continue_process(process.id()),
                None => self.processes[member] = Some(self.spawn(member)),
            }
        }
        for Ports { client, .. } in &self.ports {
            eventually("etcd listens", || TcpStream::connect(("127.0.0.1", *client)).is_ok());
        }
    }

    fn spawn(&self, member: usize) -> Child {
        let Ports { client, peer } = self.ports[member];
        let name = |member: usize| format!("m{member}");
        let peers =
            self.ports.iter().enumerate().map(|(member, ports)| format!("{}={}", name(member), url(ports.peer)));
        let peers = peers.collect::<Vec<_>>().join(",");
        let log = fs::File::create(self.directory.path().join(format!("log-{member}"))).unwrap();
        let mut command = Command::new(program().unwrap());
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ETCD_")) {
            command.env_remove(name);
        }
        command.arg("--data-dir").arg(self.data(member)).args(["--name", &name(member)]);
        command.args(["--listen-client-urls", &url(client), "--advertise-client-urls", &url(client)]);
        command.args(["--listen-peer-urls", &url(peer), "--initial-advertise-peer-urls", &url(peer)]);
        command.args(["--initial-cluster", &peers, "--heartbeat-interval", "50", "--election-timeout", "500"]);
        command.args(&self.flags).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        command.spawn().unwrap()
    }

    /// Returns the URLs of all members, separated by commas.
    pub fn urls(&self) -> String {
        self.ports.iter().map(|ports| url(ports.client)).collect::<Vec<_>>().join(",")
    }

    pub fn kill(&mut self, member: usize) {
        if let Some(mut process) = self.processes[member].take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Stops a member (SIGSTOP) until [`Members::restore`].
    pub fn stop(&self, member: usize) {
        stop_process(self.processes[member].as_ref().unwrap().id());
    }

    fn data(&self, member: usize) -> PathBuf {
        self.directory.path().join(format!("data-{member}"))
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        (0..self.processes.len()).for_each(|member| self.kill(member));
    }
}

/// Stops a process, and waits until all its threads have stopped: on other processors they still run for a moment.
pub fn stop_process(id: u32) {
    send_signal(id, Signal::STOP);
    let threads = PathBuf::from(format!("/proc/{id}/task"));
    eventually("all threads have stopped", || {
        fs::read_dir(&threads).into_iter().flatten().flatten().all(|thread| {
            let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_none_or(|(_, state)| state.starts_with('T'))
        })
    });
}

/// Continues a process that was stopped.
pub fn continue_process(id: u32) {
    send_signal(id, Signal::CONT);
}

fn send_signal(id: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(id).unwrap()).unwrap(), signal).unwrap();
}
