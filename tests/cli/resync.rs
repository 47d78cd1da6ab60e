//! `agentdex mqtt resync`: with the data directory free, and with a server that has it open.

use std::{
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
};

use super::{run, stderr, stdout};
use crate::{
    process::ServerProcess,
    support::{closed_address, eventually, skipped},
};

/// A Mosquitto that keeps nothing on disk; none where the programs are missing.
struct Broker {
    process: Child,
    port: u16,
}

impl Broker {
    fn start() -> Option<Broker> {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let mut command = Command::new("mosquitto");
        command.args(["-p", &port.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(process) = command.spawn() else {
            skipped("mosquitto", "mosquitto and mosquitto_sub (Debian: mosquitto, mosquitto-clients)");
            return None;
        };
        let broker = Broker { process, port };
        eventually("the broker", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(broker)
    }

    fn url(&self) -> String {
        format!("mqtt://127.0.0.1:{}", self.port)
    }

    fn retained(&self) -> usize {
        let output = Command::new("mosquitto_sub")
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-W", "1", "-t", "agentdex/things/+", "-F", "%t"])
            .output()
            .unwrap();
        stdout(&output).lines().count()
    }

    fn clear(&self) {
        let topics = Command::new("mosquitto_sub")
            .args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-W", "1", "-t", "#", "--remove-retained"])
            .output();
        assert!(topics.is_ok());
        assert_eq!(self.retained(), 0);
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn broker_that_lost_its_state_gets_it_again() {
    let Some(broker) = Broker::start() else { return };
    let data = tempfile::tempdir().unwrap();
    let url = broker.url();
    let resync = ["mqtt", "resync", "--data", data.path().to_str().unwrap(), "--mqtt-url", &url];

    let server = ServerProcess::start(data.path(), &["--examples", "--no-mqtt", "--mqtt-url", &url]);
    eventually("the examples on the broker", || broker.retained() == 8);
    broker.clear();
    let asked = run(&resync);
    assert!(asked.status.success() && stdout(&asked).contains("the running server"), "{}", stderr(&asked));
    eventually("the examples on the broker", || broker.retained() == 8);
    assert_eq!(server.stop().code(), Some(0));

    broker.clear();
    let done = run(&resync);
    assert_eq!(stdout(&done), "8 descriptions published, 0 cleared\n", "{}", stderr(&done));
    assert_eq!(broker.retained(), 8);
}

#[test]
fn server_that_publishes_nowhere_is_told_apart() {
    let data = tempfile::tempdir().unwrap();
    let _server = ServerProcess::start(data.path(), &[]);
    let broker = format!("mqtt://{}", closed_address());
    let asked = run(&["mqtt", "resync", "--data", data.path().to_str().unwrap(), "--mqtt-url", &broker]);
    assert_eq!(asked.status.code(), Some(1));
    assert!(stderr(&asked).contains("--mqtt-url"), "{}", stderr(&asked));
}

#[test]
fn directory_without_a_registry_clears_nothing() {
    let broker = format!("mqtt://{}", closed_address());
    let output = run(&["mqtt", "resync", "--data", "there/is/none", "--mqtt-url", &broker]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("--data"), "{}", stderr(&output));
}
