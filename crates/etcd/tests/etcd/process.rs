//! A process of etcd, on loopback and with a directory of its own.

use std::{
    env,
    fs::File,
    io::ErrorKind,
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
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

    /// Starts etcd with further arguments that need its directory, and waits until it accepts connections.
    pub fn spawn(scheme: &str, arguments: &[&str], more: impl FnOnce(&TempDir) -> Vec<String>) -> Option<Etcd> {
        let directory = tempfile::tempdir().unwrap();
        let more = more(&directory);
        // Somebody else may take a free port before etcd does.
        for attempt in 0..5 {
            let address = format!("127.0.0.1:{}", free_port());
            let (url, peers) = (format!("{scheme}://{address}"), format!("http://127.0.0.1:{}", free_port()));
            let mut all: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
            all.extend(more.iter().cloned());
            for (flag, value) in [
                ("--data-dir", directory.path().join(format!("data{attempt}")).display().to_string()),
                ("--listen-client-urls", url.clone()),
                ("--advertise-client-urls", url.clone()),
                ("--listen-peer-urls", peers.clone()),
                ("--initial-advertise-peer-urls", peers.clone()),
                ("--initial-cluster", format!("default={peers}")),
            ] {
                all.extend([flag.to_owned(), value]);
            }
            let mut process = run(&all, directory.path().join("log"))?;
            if listens(&mut process, &address) {
                return Some(Etcd { directory, url, arguments: all, process });
            }
        }
        panic!("etcd ends: {}", std::fs::read_to_string(directory.path().join("log")).unwrap());
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

/// Waits until the process accepts connections. Returns false if it ends before.
fn listens(process: &mut Child, address: &str) -> bool {
    loop {
        let is_open = TcpStream::connect(address).is_ok();
        if process.try_wait().unwrap().is_some() {
            return false;
        }
        if is_open {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
