//! A process of etcd, on loopback and with a directory of its own.

use std::{
    env,
    fs::File,
    io::ErrorKind,
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use agentdex_etcd::{Client, Options};
use tempfile::TempDir;
use tokio::time::sleep;

/// Time for a process to become ready.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Etcd {
    directory: TempDir,
    url: String,
    arguments: Vec<String>,
    process: Child,
}

impl Etcd {
    /// Starts etcd without TLS and waits until it answers; `None` if it isn't installed.
    pub async fn start(arguments: &[&str]) -> Option<Etcd> {
        let etcd = Etcd::spawn("http", arguments, |_| Vec::new())?;
        etcd.until_ready(etcd.options()).await;
        Some(etcd)
    }

    /// Starts etcd with further arguments that need its directory, and doesn't wait.
    pub fn spawn(scheme: &str, arguments: &[&str], more: impl FnOnce(&TempDir) -> Vec<String>) -> Option<Etcd> {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("{scheme}://127.0.0.1:{}", free_port());
        let mut all: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        all.extend(more(&directory));
        let peers = format!("http://127.0.0.1:{}", free_port());
        for (flag, value) in [
            ("--data-dir", directory.path().join("data").display().to_string()),
            ("--listen-client-urls", url.clone()),
            ("--advertise-client-urls", url.clone()),
            ("--listen-peer-urls", peers.clone()),
            ("--initial-advertise-peer-urls", peers.clone()),
            ("--initial-cluster", format!("default={peers}")),
        ] {
            all.extend([flag.to_owned(), value]);
        }
        let process = run(&all, directory.path().join("log"))?;
        Some(Etcd { directory, url, arguments: all, process })
    }

    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// Options with deadlines that no busy machine exceeds.
    pub fn options(&self) -> Options {
        Options {
            request_deadline: Duration::from_secs(30),
            read_deadline: Duration::from_secs(60),
            connect_deadline: Duration::from_secs(20),
            ..Options::new([self.url()])
        }
    }

    pub fn client(&self) -> Client {
        Client::connect(self.options()).unwrap()
    }

    /// Waits until a client with these options gets an answer.
    pub async fn until_ready(&self, options: Options) -> Client {
        let client = Client::connect(options).unwrap();
        let start = Instant::now();
        while let Err(error) = client.status(&client.endpoint()).await {
            let log = || std::fs::read_to_string(self.directory.path().join("log")).unwrap();
            assert!(start.elapsed() < PATIENCE, "{error}; log:\n{}", log());
            sleep(Duration::from_millis(30)).await;
        }
        client
    }

    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    pub fn start_again(&mut self) {
        self.process = run(&self.arguments, self.directory.path().join("log")).unwrap();
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Starts the program that `AGENTDEX_ETCD` names, or `etcd`. No variable of the environment configures it.
fn run(arguments: &[String], log: PathBuf) -> Option<Child> {
    let program = env::var_os("AGENTDEX_ETCD").unwrap_or_else(|| "etcd".into());
    let mut command = Command::new(&program);
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ETCD_")) {
        command.env_remove(name);
    }
    let log = File::create(log).unwrap();
    match command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn() {
        Ok(process) => Some(process),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            println!("skipped: there is no etcd: install etcd-server, or set AGENTDEX_ETCD to the program");
            assert!(env::var_os("CI").is_none_or(|ci| ci != "true"), "etcd is missing, and CI skips no test");
            None
        }
        Err(error) => panic!("{}: {error}", program.to_string_lossy()),
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
