//! Agents that other people's SDKs make, as child processes.

use std::{
    env,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, ChildStdout, Command, Stdio},
};

use agentdex::convert::a2a::{Card, Options};
use serde_json::Value;

use crate::support::{Call, skipped};

/// A process that printed its port, and ends with its standard input.
pub struct TestAgent {
    child: Child,
    port: u16,
    _output: BufReader<ChildStdout>,
}

impl TestAgent {
    /// The Python SDK of A2A 1.0.
    pub fn python_1_0() -> Option<TestAgent> {
        python("a2a-sdk", "AGENTDEX_PYTHON", include_str!("agent_1_0.py"))
    }

    /// The last Python SDK of A2A 0.3.
    pub fn python_0_3() -> Option<TestAgent> {
        python("a2a-sdk-0.3", "AGENTDEX_PYTHON_0_3", include_str!("agent_0_3.py"))
    }

    /// The JavaScript SDK of A2A 1.0.
    pub fn javascript() -> Option<TestAgent> {
        node("@a2a-js/sdk", "AGENTDEX_A2A_JS", include_str!("agent.mjs"))
    }

    /// A Thing of node-wot.
    pub fn node_wot() -> Option<TestAgent> {
        node("node-wot", "AGENTDEX_NODE_WOT", include_str!("thing.mjs"))
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Its agent card as a Thing Description, with the interfaces of one binding alone.
    pub fn described(&self, binding: &str) -> Value {
        let card = Call::new("GET", &self.url("/.well-known/agent-card.json")).send().expect(200);
        let mut value = card.json();
        for list in ["supportedInterfaces", "additionalInterfaces"] {
            if let Some(interfaces) = value.get_mut(list).and_then(Value::as_array_mut) {
                let name =
                    |interface: &Value| ["protocolBinding", "transport"].map(|member| interface[member] == binding);
                interfaces.retain(|interface| name(interface).contains(&true));
            }
        }
        // The main interface of 0.3 is one of JSON-RPC here.
        if value.get("url").is_some() && binding == "HTTP+JSON" {
            let other = value["additionalInterfaces"][0].clone();
            (value["url"], value["preferredTransport"]) = (other["url"].clone(), other["transport"].clone());
        }
        let card = Card::parse(value.to_string().as_bytes()).unwrap();
        let conversion = card.to_thing(&Options::default()).unwrap();
        serde_json::from_str(conversion.things[0].description.text()).unwrap()
    }
}

impl Drop for TestAgent {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn python(name: &str, variable: &str, program: &str) -> Option<TestAgent> {
    let python = env::var_os(variable).map(PathBuf::from).or_else(|| missing(name, variable))?;
    start(Command::new(python).args(["-c", program])).or_else(|| missing(name, variable))
}

fn node(name: &str, variable: &str, program: &str) -> Option<TestAgent> {
    let folder = env::var_os(variable).map(PathBuf::from).or_else(|| missing(name, variable))?;
    let mut node = Command::new("node");
    start(node.args(["--input-type=module", "--eval", program]).current_dir(folder)).or_else(|| missing(name, variable))
}

fn missing<T>(name: &str, variable: &str) -> Option<T> {
    skipped(name, &format!("what {variable} names; .ci/run installs it"));
    None
}

fn start(command: &mut Command) -> Option<TestAgent> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    let mut output = BufReader::new(child.stdout.take()?);
    let mut line = String::new();
    output.read_line(&mut line).ok()?;
    match line.trim().parse() {
        Ok(port) => Some(TestAgent { child, port, _output: output }),
        Err(_) => {
            let _ = child.wait();
            None
        }
    }
}
