//! Members of etcd and nodes, and faults of them.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

use super::{
    cluster,
    etcd::{Members, continue_process, stop_process},
    failure, get,
    proxy::Proxy,
};
use crate::{
    cli::clock,
    process::{ServerProcess, agentdex},
    support::{SmallDisk, eventually},
};

pub const NODES: usize = 3;
const MEMBERS: usize = 3;

/// Size of the disk of a node in MiB.
const DISK: u32 = 256;

/// Flags of etcd. It becomes full soon, and drops old values soon.
const FLAGS: [&str; 6] =
    ["--quota-backend-bytes", "67108864", "--auto-compaction-mode", "periodic", "--auto-compaction-retention", "10s"];

/// Time after which the states of nodes are printed while clients can't write.
const SLOW: Duration = Duration::from_secs(45);

/// Number of acknowledged writes during a fault, where writes are possible.
const WRITES: u64 = 40;

#[derive(Debug, Clone, Copy)]
pub enum Fault {
    MemberKilled,
    NodeKilled,
    QuorumLost,
    /// A node doesn't reach etcd until it is cut off.
    NodeCutOff,
    MemberStopped,
    NodeAndMemberKilled,
    /// The clock of a node is an hour ahead.
    WrongClock,
    AllMembersKilled,
    /// The log is trimmed beyond the last commit of a node that isn't running.
    LogTrimmed,
    /// The disk of a node is full until the node is cut off.
    DiskFull,
    EtcdFull,
    /// For longer than the lease of the node.
    NodeStopped,
    /// etcd is restored from an older copy, and then from the last one.
    EtcdRestored,
    /// Until writes fail.
    QuorumLostForLong,
}

/// Faults of consecutive rounds.
pub const FAULTS: [Fault; 14] = [
    Fault::MemberKilled,
    Fault::NodeKilled,
    Fault::QuorumLost,
    Fault::NodeCutOff,
    Fault::LogTrimmed,
    Fault::MemberStopped,
    Fault::NodeAndMemberKilled,
    Fault::WrongClock,
    Fault::DiskFull,
    Fault::AllMembersKilled,
    Fault::EtcdFull,
    Fault::NodeStopped,
    Fault::EtcdRestored,
    Fault::QuorumLostForLong,
];

/// Pseudorandom numbers (xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit
    }
}

/// URLs of the nodes, absent while a node is being restarted.
#[derive(Clone, Default)]
pub struct Urls(Arc<[Mutex<Option<String>>; NODES]>);

impl Urls {
    pub fn of(&self, node: usize) -> Option<String> {
        self.0[node].lock().unwrap().clone()
    }

    fn set(&self, node: usize, url: Option<&str>) {
        *self.0[node].lock().unwrap() = url.map(str::to_owned);
    }
}

/// Writes of clients during the faults.
pub trait Load {
    /// Returns the number of acknowledged writes.
    fn acknowledged(&self) -> u64;

    /// Returns the number of writes that failed or have no answer.
    fn failed(&self) -> u64;
}

/// Processes of etcd and of the nodes.
pub struct Machines {
    nodes: Vec<Option<ServerProcess>>,
    urls: Urls,
    members: Members,
    /// Connections of each node to the members.
    proxies: Vec<Vec<Proxy>>,
    /// Disks of the nodes, if file systems can be mounted.
    disks: Option<Vec<SmallDisk>>,
    /// Library by which each node has a clock of its own, if it is installed.
    clocks: Option<PathBuf>,
    root: TempDir,
}

impl Machines {
    /// Starts members of etcd, but no nodes yet. Returns `None` if etcd isn't installed.
    pub fn start() -> Option<Machines> {
        let members = Members::start(MEMBERS, &FLAGS)?;
        let proxies = (0..NODES).map(|_| members.ports().into_iter().map(Proxy::start).collect()).collect();
        let machines = Machines {
            nodes: (0..NODES).map(|_| None).collect(),
            urls: Urls::default(),
            members,
            proxies,
            disks: (0..NODES).map(|_| SmallDisk::mount(DISK)).collect(),
            clocks: clock::library(),
            root: tempfile::tempdir().unwrap(),
        };
        (0..NODES).for_each(|node| machines.set_clock(node, "+0"));
        Some(machines)
    }

    pub fn urls(&self) -> Urls {
        self.urls.clone()
    }

    fn directory(&self, node: usize) -> PathBuf {
        match &self.disks {
            Some(disks) => disks[node].path().join("data"),
            None => self.root.path().join(format!("node-{}", node + 1)),
        }
    }

    pub fn node(&self, node: usize) -> &ServerProcess {
        self.nodes[node].as_ref().unwrap()
    }

    fn set_clock(&self, node: usize, offset: &str) {
        fs::write(self.clock(node), offset).unwrap();
    }

    fn clock(&self, node: usize) -> PathBuf {
        self.root.path().join(format!("clock-{node}"))
    }

    /// Returns the arguments with which a node is started.
    fn arguments(&self, node: usize) -> Vec<String> {
        let urls = self.proxies[node].iter().map(|proxy| format!("http://127.0.0.1:{}", proxy.port()));
        let (urls, name) = (urls.collect::<Vec<_>>().join(","), format!("node-{}", node + 1));
        let mut arguments = vec!["--cluster".to_owned(), urls, "--cluster-node".to_owned(), name];
        arguments.extend(["--cluster-stale-limit", "5"].map(str::to_owned));
        arguments.extend((node == 0).then(|| "--cluster-init".to_owned()));
        arguments
    }

    /// Starts all that was killed, and continues all that was stopped.
    pub fn restore(&mut self) {
        self.members.restore();
        for node in 0..NODES {
            if let Some(process) = &self.nodes[node] {
                continue_process(process.id());
                continue;
            }
            let (arguments, directory) = (self.arguments(node), self.directory(node));
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let process = match &self.clocks {
                Some(library) => ServerProcess::start_with_clock(&directory, &arguments, library, &self.clock(node)),
                None => ServerProcess::start(&directory, &arguments),
            };
            self.urls.set(node, Some(process.url()));
            self.nodes[node] = Some(process);
        }
    }

    fn kill_node(&mut self, node: usize) {
        // Another process may get its port.
        self.urls.set(node, None);
        self.nodes[node].take().unwrap().kill();
    }

    /// Starts a node that refuses to start. Returns its exit status and error.
    fn refused(&self, node: usize) -> (i32, String) {
        let mut command = agentdex();
        command.arg("serve").arg("--data").arg(self.directory(node)).args(["--listen", "127.0.0.1:0", "--no-mqtt"]);
        failure(&command.args(self.arguments(node)).output().unwrap())
    }

    /// Causes a fault, waits for its effect, and repairs it.
    pub fn disturb(&mut self, fault: Fault, random: &mut Random, load: &dyn Load) {
        let (member, node) = (random.below(MEMBERS), random.below(NODES));
        let pause = Duration::from_millis(300 + random.below(2_700) as u64);
        match fault {
            Fault::MemberKilled => {
                self.members.kill(member);
                thread::sleep(pause);
            }
            Fault::MemberStopped => {
                self.members.stop(member);
                thread::sleep(pause);
            }
            Fault::QuorumLost => {
                self.stop_two(member);
                thread::sleep(pause);
            }
            Fault::QuorumLostForLong => {
                let before = load.failed();
                self.stop_two(member);
                eventually("writes fail", || load.failed() > before);
            }
            Fault::AllMembersKilled => {
                self.members.kill_all();
                thread::sleep(pause);
            }
            Fault::NodeKilled => {
                self.kill_node(node);
                thread::sleep(pause);
            }
            Fault::NodeAndMemberKilled => {
                self.members.kill(member);
                self.kill_node(node);
                thread::sleep(pause);
            }
            Fault::NodeStopped => self.stop_node(node),
            Fault::NodeCutOff => self.cut_node_off(node, load),
            Fault::WrongClock => self.set_clock_wrong(node, load),
            Fault::LogTrimmed => self.trim_beyond(node, load),
            Fault::DiskFull => self.fill_disk(node, load),
            Fault::EtcdFull => self.fill_etcd(),
            Fault::EtcdRestored => self.restore_etcd(load),
        }
        self.restore();
    }

    fn stop_two(&self, member: usize) {
        [member, (member + 1) % MEMBERS].into_iter().for_each(|member| self.members.stop(member));
    }

    fn stop_node(&self, node: usize) {
        let witness = self.other(node);
        eventually("the node is listed", || is_listed(witness, node));
        stop_process(self.node(node).id());
        eventually("the lease of the node expires", || !is_listed(witness, node));
    }

    fn cut_node_off(&self, node: usize, load: &dyn Load) {
        self.proxies[node].iter().for_each(|proxy| proxy.cut(true));
        eventually("it serves nothing stale", || get(self.node(node), "/things").status == 503);
        get(self.node(node), "/things").problem(503, "cut-off");
        self.until_written(load, WRITES);
        self.proxies[node].iter().for_each(|proxy| proxy.cut(false));
        eventually("it serves again", || get(self.node(node), "/things").status == 200);
    }

    fn set_clock_wrong(&self, node: usize, load: &dyn Load) {
        if self.clocks.is_none() {
            return;
        }
        eventually("it is ready", || get(self.node(node), "/health/ready").status == 200);
        self.set_clock(node, "+1h");
        let reason = || get(self.node(node), "/health/ready").json()["detail"].as_str().unwrap_or_default().to_owned();
        eventually("it isn't ready", || reason().contains("the clock of this node is 36"));
        self.until_written(load, WRITES);
        self.set_clock(node, "+0");
        eventually("it is ready again", || get(self.node(node), "/health/ready").status == 200);
    }

    fn trim_beyond(&mut self, node: usize, load: &dyn Load) {
        self.kill_node(node);
        self.until_written(load, WRITES);
        let others: Vec<&ServerProcess> =
            (0..NODES).filter(|other| *other != node).map(|other| self.node(other)).collect();
        // As the leader does: two nodes have synced all dropped commits.
        let synced = |server: &&ServerProcess| {
            let state = cluster(server);
            let own = state["nodes"].as_array().unwrap().iter().find(|listed| listed["name"] == state["node"]).cloned();
            own.map_or(0, |own| own["synced"].as_u64().unwrap())
        };
        // By now, they know more commits than the node.
        let before = others.iter().map(|server| cluster(server)["log_end"].as_u64().unwrap()).max().unwrap();
        let mut last = 0;
        eventually("they have synced more than the node", || {
            last = others.iter().map(synced).min().unwrap().saturating_sub(1);
            last > before
        });
        self.members.trim_log("agentdex", last);
        let (status, error) = self.refused(node);
        assert!(status == 3 && error.contains("`agentdex cluster join"), "{status}: {error}");
        let directory = self.directory(node);
        fs::remove_dir_all(&directory).unwrap();
        let mut join = agentdex();
        join.args(["cluster", "join", "--from", self.other(node).url(), "--data"]).arg(&directory);
        let joined = join.output().unwrap();
        assert!(joined.status.success(), "{}", String::from_utf8_lossy(&joined.stderr));
    }

    fn fill_disk(&self, node: usize, load: &dyn Load) {
        let Some(disks) = &self.disks else { return };
        disks[node].fill();
        eventually("it serves nothing stale", || get(self.node(node), "/things").status == 503);
        get(self.node(node), "/things").problem(503, "cut-off");
        self.until_written(load, WRITES);
        disks[node].empty();
        eventually("it serves again", || get(self.node(node), "/things").status == 200);
    }

    fn fill_etcd(&self) {
        self.members.fill();
        let is_full = |node: usize| cluster(self.node(node))["log_full"] == true;
        eventually("all nodes know", || (0..NODES).all(is_full));
        for node in 0..NODES {
            get(self.node(node), "/things").expect(200);
        }
        self.members.make_room();
        eventually("there is room", || !(0..NODES).any(is_full));
    }

    fn restore_etcd(&mut self, load: &dyn Load) {
        self.members.kill_all();
        self.members.exchange_data("copy");
        self.restore();
        // Then nodes know the end of the log in the copy.
        self.until_written(load, WRITES);
        let ends = (0..NODES).map(|node| cluster(self.node(node))["log_end"].as_u64().unwrap());
        let end = ends.max().unwrap();
        self.until_written(load, WRITES);
        eventually("all nodes are ahead of the copy", || {
            (0..NODES).all(|node| cluster(self.node(node))["commit"].as_u64().unwrap() > end)
        });
        self.members.kill_all();
        self.members.exchange_data("copy");
        self.members.restore();
        eventually("all nodes stop following it", || {
            (0..NODES).all(|node| cluster(self.node(node))["problem"].is_string())
        });
        for node in 0..NODES {
            self.kill_node(node);
            let (status, error) = self.refused(node);
            assert!(status == 3, "{status}: {error}");
        }
        self.members.kill_all();
        self.members.exchange_data("copy");
        self.members.discard_data("copy");
    }

    /// Waits until so many further writes are acknowledged. Prints the states of the nodes if that takes long.
    pub fn until_written(&self, load: &dyn Load, writes: u64) {
        let (enough, started) = (load.acknowledged() + writes, Instant::now());
        eventually("clients write", || {
            let is_written = load.acknowledged() >= enough;
            if !is_written && started.elapsed() > SLOW {
                self.print();
            }
            is_written
        });
    }

    /// Prints the states of the nodes, to find out why something takes so long.
    fn print(&self) {
        for node in self.nodes.iter().flatten() {
            println!("{} {}", cluster(node), get(node, "/health/ready").text());
        }
    }

    fn other(&self, node: usize) -> &ServerProcess {
        self.node((node + 1) % NODES)
    }

    /// Waits until all nodes are ready and at the end of the log.
    pub fn wait_until_equal(&self) {
        let nodes: Vec<&ServerProcess> = (0..NODES).map(|node| self.node(node)).collect();
        eventually("all nodes are ready", || nodes.iter().all(|node| get(node, "/health/ready").status == 200));
        eventually("all nodes are at the same commit", || {
            let states: Vec<Value> = nodes.iter().map(|node| cluster(node)).collect();
            let end = &states[0]["log_end"];
            states.iter().all(|state| state["commit"] == *end && state["log_end"] == *end)
        });
    }

    /// Stops all nodes, and checks their directories.
    pub fn stop_and_check(&mut self) {
        for node in 0..NODES {
            assert!(self.nodes[node].take().unwrap().stop().success());
            let output = agentdex().args(["check", "--data"]).arg(self.directory(node)).output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "node {node}: {text}{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

fn is_listed(witness: &ServerProcess, node: usize) -> bool {
    let name = format!("node-{}", node + 1);
    cluster(witness)["nodes"].as_array().unwrap().iter().any(|listed| listed["name"] == name.as_str())
}
