//! The SDKs of A2A's own project, run beside ours: `a2a-sdk` by `python3` or what `AGENTDEX_PYTHON`
//! names, `@a2a-js/sdk` by `node` in the folder that `AGENTDEX_A2A_JS` names. Where one isn't
//! installed the test is recorded as skipped, and there is no answer.

use std::{
    env,
    io::Write,
    process::{Command, Stdio},
    sync::{Condvar, Mutex, PoisonError},
};

use super::skipped;

/// What a Python program writes that reads `input`.
pub fn run_python(program: &str, input: &str) -> Option<String> {
    run(&mut python("AGENTDEX_PYTHON", program), input)
        .or_else(|| missing("a2a-sdk", "python3 or AGENTDEX_PYTHON, with a2a-sdk, cryptography and pyjwt"))
}

/// What a Python program writes, with an argument, that reads `input` and needs the SDK of Agent Spec and a
/// processor of JSON-LD.
pub fn run_agent_spec(program: &str, argument: &str, input: &str) -> Option<String> {
    run(python("AGENTDEX_AGENT_SPEC_PYTHON", program).arg(argument), input)
        .or_else(|| missing("pyagentspec", "python3 or AGENTDEX_AGENT_SPEC_PYTHON, with pyagentspec 26.3.1 and pyld"))
}

/// What a JavaScript module writes that reads `input`, beside the SDK.
pub fn run_javascript(program: &str, input: &str) -> Option<String> {
    env::var_os("AGENTDEX_A2A_JS")
        .and_then(|folder| run(node(program).current_dir(folder), input))
        .or_else(|| missing("@a2a-js/sdk", "node, and AGENTDEX_A2A_JS that names a folder with @a2a-js/sdk and jose"))
}

/// What a Python program writes, with an argument, that needs the SDK of MCP.
pub fn run_mcp_python(program: &str, argument: &str) -> Option<String> {
    run(python("AGENTDEX_MCP_PYTHON", program).arg(argument), "")
        .or_else(|| missing("mcp", "python3 or AGENTDEX_MCP_PYTHON, with the SDK of MCP"))
}

/// What a JavaScript module writes that reads `input`, beside the SDKs of MCP.
pub fn run_mcp_javascript(program: &str, input: &str) -> Option<String> {
    env::var_os("AGENTDEX_MCP_JS").and_then(|folder| run(node(program).current_dir(folder), input)).or_else(|| {
        missing(
            "@modelcontextprotocol",
            "node, and AGENTDEX_MCP_JS that names a folder with @modelcontextprotocol/sdk, client, and conformance",
        )
    })
}

/// What a JavaScript module writes that reads `input`, beside node-wot.
pub fn run_node_wot(program: &str, input: &str) -> Option<String> {
    env::var_os("AGENTDEX_NODE_WOT")
        .and_then(|folder| run(node(program).current_dir(folder), input))
        .or_else(|| missing("node-wot", "node, and AGENTDEX_NODE_WOT that names a folder with @node-wot/binding-http"))
}

/// What a JavaScript module writes that reads `input`, beside what drives a browser.
pub fn run_browser(program: &str, input: &str) -> Option<String> {
    let chromium = env::var_os("AGENTDEX_CHROMIUM").unwrap_or_else(|| "/usr/bin/chromium".into());
    let is_there = Command::new(&chromium).arg("--version").output().is_ok_and(|output| output.status.success());
    let _place = Place::take();
    env::var_os("AGENTDEX_BROWSER")
        .filter(|_| is_there)
        .and_then(|folder| run(node(program).current_dir(folder), input))
        .or_else(|| {
            missing("chromium", "node, and AGENTDEX_BROWSER that names a folder with puppeteer-core and axe-core")
        })
}

/// A place for a browser. Each takes a processor for itself, and more than there are make each other wait for too long.
struct Place;

/// Number of browsers at the same time.
const MOST_BROWSERS: usize = 2;

static BROWSERS: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

impl Place {
    fn take() -> Place {
        let (number, changed) = &BROWSERS;
        let number = number.lock().unwrap_or_else(PoisonError::into_inner);
        let mut number =
            changed.wait_while(number, |number| *number >= MOST_BROWSERS).unwrap_or_else(PoisonError::into_inner);
        *number += 1;
        Place
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let (number, changed) = &BROWSERS;
        *number.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        changed.notify_one();
    }
}

/// What a JavaScript module writes that reads `input` and needs npm only.
pub fn run_node(program: &str, input: &str) -> Option<String> {
    run(&mut node(program), input).or_else(|| missing("npm", "node and npm"))
}

/// The Python that a variable names. It collects no garbage: a fifth of the time that the SDKs take to be imported.
fn python(variable: &str, program: &str) -> Command {
    let mut python = Command::new(env::var_os(variable).unwrap_or_else(|| "python3".into()));
    python.args(["-c", &format!("import gc\ngc.disable()\n{program}")]);
    python
}

fn node(program: &str) -> Command {
    let mut node = Command::new("node");
    node.args(["--input-type=module", "--eval", program]);
    node
}

fn missing(counterpart: &str, remedy: &str) -> Option<String> {
    skipped(counterpart, remedy);
    None
}

fn run(command: &mut Command, input: &str) -> Option<String> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().ok()?;
    let (mut stdin, input) = (child.stdin.take()?, input.to_owned());
    let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("ModuleNotFoundError") || errors.contains("ERR_MODULE_NOT_FOUND") {
        return None;
    }
    assert!(output.status.success(), "{errors}");
    Some(String::from_utf8(output.stdout).unwrap())
}
