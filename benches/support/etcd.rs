//! An etcd of several members, and a delay between its members and a distant client.

use std::{
    env, io,
    net::{SocketAddr, TcpListener},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use agentdex_etcd::{Client, KeyRange, Options, Range};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    runtime::Runtime,
    sync::mpsc,
    time::{sleep, sleep_until},
};

use crate::support::Outcome;

/// Delay in each direction.
const DELAY: Duration = Duration::from_millis(10);
/// Maximum time until etcd is ready.
const PATIENCE: Duration = Duration::from_secs(60);

/// Processes of etcd, which end when this is dropped.
pub struct Etcd {
    processes: Vec<Child>,
    addresses: Vec<SocketAddr>,
}

impl Etcd {
    pub fn start(runtime: &Runtime, directory: &Path, members: usize) -> Outcome<Etcd> {
        let ports = (0..2 * members).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<io::Result<Vec<_>>>()?;
        let addresses = ports.iter().map(TcpListener::local_addr).collect::<io::Result<Vec<_>>>()?;
        drop(ports);
        let (clients, peers) = addresses.split_at(members);
        let all: Vec<String> = (0..).zip(peers).map(|(number, peer)| format!("m{number}=http://{peer}")).collect();
        let mut etcd = Etcd { processes: Vec::new(), addresses: clients.to_vec() };
        for (number, (client, peer)) in clients.iter().zip(peers).enumerate() {
            let [client, peer] = [client, peer].map(|address| format!("http://{address}"));
            let mut command = etcd_command();
            command.args(["--name", &format!("m{number}"), "--initial-cluster", &all.join(",")]);
            command.arg("--data-dir").arg(directory.join(format!("etcd-{number}")));
            command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
            command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
            // As in docs/operations/cluster.md.
            command.args(["--auto-compaction-mode", "periodic", "--auto-compaction-retention", "1m"]);
            command.args(["--quota-backend-bytes", "8589934592"]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            etcd.processes.push(command.spawn()?);
        }
        let client = etcd.client(runtime)?;
        runtime.block_on(until_ready(&client))?;
        client.close();
        Ok(etcd)
    }

    pub fn urls(&self) -> Vec<String> {
        self.addresses.iter().map(|address| format!("http://{address}")).collect()
    }

    /// Returns URLs at which the members answer with a delay.
    pub fn distant_urls(&self, runtime: &Runtime) -> Outcome<Vec<String>> {
        let mut urls = Vec::new();
        for member in &self.addresses {
            let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
            urls.push(format!("http://{}", listener.local_addr()?));
            runtime.spawn(delay(listener, *member));
        }
        Ok(urls)
    }

    pub fn client(&self, runtime: &Runtime) -> Outcome<Client> {
        let options = Options { request_deadline: Duration::from_secs(30), ..Options::new(self.urls()) };
        Ok(runtime.block_on(async { Client::connect(options) })?)
    }

    /// Returns the ids of the processes.
    pub fn processes(&self) -> impl Iterator<Item = u32> {
        self.processes.iter().map(Child::id)
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Returns a command that runs etcd. The environment doesn't configure it.
pub fn etcd_command() -> Command {
    let mut command = Command::new(env::var_os("AGENTDEX_ETCD").unwrap_or_else(|| "etcd".into()));
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ETCD_")) {
        command.env_remove(name);
    }
    command
}

/// Waits until all members answer linearizable reads.
async fn until_ready(client: &Client) -> Outcome {
    let (read, started) = (Range::new(KeyRange::key("ready")), Instant::now());
    for endpoint in client.endpoints() {
        while let Err(error) = client.attempt(&endpoint, read.message()).await {
            if started.elapsed() > PATIENCE {
                return Err(format!("etcd isn't ready after {PATIENCE:?}: {error}").into());
            }
            sleep(Duration::from_millis(50)).await;
        }
    }
    Ok(())
}

/// Forwards connections to a member, with a delay in each direction.
async fn delay(listener: tokio::net::TcpListener, member: SocketAddr) -> io::Result<()> {
    loop {
        let (node, _) = listener.accept().await?;
        let Ok(member) = TcpStream::connect(member).await else { continue };
        node.set_nodelay(true)?;
        member.set_nodelay(true)?;
        let ((from_node, to_node), (from_member, to_member)) = (node.into_split(), member.into_split());
        tokio::spawn(forward(from_node, to_member));
        tokio::spawn(forward(from_member, to_node));
    }
}

async fn forward(mut from: OwnedReadHalf, mut to: OwnedWriteHalf) -> io::Result<()> {
    let (sender, mut receiver) = mpsc::channel::<(Instant, Vec<u8>)>(1024);
    tokio::spawn(async move {
        while let Some((due, bytes)) = receiver.recv().await {
            sleep_until(due.into()).await;
            if to.write_all(&bytes).await.is_err() {
                return;
            }
        }
    });
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = from.read(&mut buffer).await?;
        let is_over = count == 0 || sender.send((Instant::now() + DELAY, buffer[..count].to_vec())).await.is_err();
        if is_over {
            return Ok(());
        }
    }
}
