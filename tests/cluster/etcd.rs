//! Processes of etcd.

use std::{
    env, fs,
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Answer, Call, copy_all, eventually, skipped};

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

    /// Returns the ports for clients.
    pub fn ports(&self) -> Vec<u16> {
        self.ports.iter().map(|ports| ports.client).collect()
    }

    /// Sends a request to the JSON gateway of a member.
    pub fn ask(&self, member: usize, path: &str, request: &Value) -> Answer {
        let url = format!("{}/v3/{path}", url(self.ports[member].client));
        Call::new("POST", &url).body("application/json", request.to_string()).send()
    }

    /// Writes data of another program until etcd is full.
    pub fn fill(&self) {
        let value = encoded(&[b'x'; 1 << 20]);
        let mut number = 0;
        eventually("etcd is full", || {
            number += 1;
            let key = encoded(format!("junk/{number}").as_bytes());
            let answer = self.ask(0, "kv/put", &json!({"key": key, "value": value}));
            answer.status != 200 && answer.text().contains("database space exceeded")
        });
    }

    /// Makes room as an operator would: removes the data of the other program, compacts the history, returns the space
    /// to the disk, and disarms the alarms.
    pub fn make_room(&self) {
        let (key, range_end) = (encoded(b"junk/"), encoded(b"junk0"));
        let removed = self.ask(0, "kv/deleterange", &json!({"key": key, "range_end": range_end})).expect(200).json();
        let compaction = json!({"revision": removed["header"]["revision"], "physical": true});
        self.ask(0, "kv/compaction", &compaction).expect(200);
        for member in 0..self.ports.len() {
            self.ask(member, "maintenance/defragment", &json!({})).expect(200);
        }
        let alarms = self.ask(0, "maintenance/alarm", &json!({"action": "GET"})).expect(200).json();
        for alarm in alarms["alarms"].as_array().unwrap_or(&Vec::new()) {
            let disarm = json!({"action": "DEACTIVATE", "memberID": alarm["memberID"], "alarm": alarm["alarm"]});
            self.ask(0, "maintenance/alarm", &disarm).expect(200);
        }
    }

    /// Drops the commits of the log of a cluster up to a number, as its leader does.
    pub fn trim_log(&self, cluster: &str, last: u64) {
        let key = |rest: &str| encoded(format!("agentdex/{cluster}/{rest}").as_bytes());
        let first = |family: &str, number: u64| key(&format!("{family}/{number:016x}"));
        let delete = |family: &str| json!({"request_delete_range": {"key": first(family, 0), "range_end": first(family, last + 1)}});
        let put = json!({"request_put": {"key": key("trimmed"), "value": encoded(last.to_string().as_bytes())}});
        let answer = self.ask(0, "kv/txn", &json!({"success": [delete("c"), delete("p"), put]})).expect(200).json();
        assert_eq!(answer["succeeded"], true);
    }

    /// Exchanges the data of all members, which must not be running, for the data in a directory, if there is any.
    pub fn exchange_data(&self, directory: &str) {
        let aside = self.directory.path().join(directory);
        fs::create_dir_all(&aside).unwrap();
        for member in 0..self.ports.len() {
            let (data, kept, exchanged) = (self.data(member), aside.join(member.to_string()), aside.join("exchanged"));
            fs::rename(&data, &exchanged).unwrap();
            if kept.exists() {
                fs::rename(&kept, &data).unwrap();
            } else {
                fs::create_dir(&data).unwrap();
                copy_all(&exchanged, &data);
            }
            fs::rename(&exchanged, &kept).unwrap();
        }
    }

    /// Removes the data that [`Members::exchange_data`] has set aside.
    pub fn discard_data(&self, directory: &str) {
        fs::remove_dir_all(self.directory.path().join(directory)).unwrap();
    }

    /// Kills all members.
    pub fn kill_all(&mut self) {
        (0..self.ports.len()).for_each(|member| self.kill(member));
    }
}

fn encoded(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
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
