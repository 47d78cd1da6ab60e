//! Servers in processes of their own.

use std::{
    env,
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
};

use super::{Outcome, connection::Connection};

/// A process of `agentdex serve`, which ends when this is dropped.
pub struct Served {
    process: Child,
    address: SocketAddr,
}

impl Served {
    /// Starts a server with a data directory and further arguments. Variables of the environment don't configure it.
    pub fn start(data: &Path, arguments: &[String]) -> Outcome<Served> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentdex"));
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("AGENTDEX_")) {
            command.env_remove(name);
        }
        command.args(["serve", "--listen", "127.0.0.1:0", "--no-mqtt", "--data"]).arg(data).args(arguments);
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut lines = BufReader::new(process.stdout.take().ok_or("no output")?).lines();
        let mut printed = lines.by_ref().map_while(Result::ok);
        let address = printed.find_map(|line| line.strip_prefix("HTTP on http://")?.parse().ok());
        thread::spawn(move || lines.for_each(drop));
        match address {
            Some(address) => Ok(Served { process, address }),
            None => Err(format!("a server with {arguments:?} ended: {}", process.wait()?).into()),
        }
    }

    pub fn process(&self) -> u32 {
        self.process.id()
    }

    pub fn connect(&self) -> Outcome<Connection> {
        Connection::open(self.address)
    }

    pub fn metrics(&self) -> Outcome<String> {
        Ok(self.connect()?.send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")?.to_owned())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Registers an agent.
pub fn register(connection: &mut Connection, id: &str, description: &str) -> Outcome {
    let head = format!("PUT /things/{id} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/td+json");
    connection.send(format!("{head}\r\nContent-Length: {}\r\n\r\n{description}", description.len()).as_bytes())?;
    Ok(())
}

/// Returns the values of a metric among all metrics, whatever its labels are.
pub fn metric(metrics: &str, name: &str) -> Vec<u64> {
    let is_of_metric = |line: &&str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '{']));
    metrics.lines().filter(is_of_metric).filter_map(|line| line.rsplit(' ').next()?.parse().ok()).collect()
}
