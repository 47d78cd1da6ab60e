//! A reader who runs the commands of documents in order, in one folder. A server that was started runs until the text says
//! Ctrl-C, or the document ends; its ports stand for those in the text.

use std::{
    collections::BTreeMap,
    env,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
};

use regex::Regex;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    demo::process::DemoProcess,
    process::{ServerProcess, agentdex},
    support::{Call, copy_all, eventually},
};

/// The addresses that the texts name: of the registry, and of what else they start.
const REGISTRY: &str = "127.0.0.1:8080";
const SITE: &str = "127.0.0.1:9000";
/// The id of a key in the texts.
const KEY_ID: &str = "3f1c0a9be274";
/// A message to an agent.
const QUESTION: &str = "How many miles are 42 km?\n";
/// The agent that changes while a command prints changes.
const CHANGING: &str = "urn:example:agents:weather";

/// The registry that runs.
enum Server {
    Demo(DemoProcess),
    Serve(ServerProcess),
}

/// A command line, and what the document has below it.
pub struct Step {
    pub command: String,
    pub output: Option<String>,
}

pub struct Reader {
    folder: TempDir,
    server: Option<Server>,
    /// True if the document has started a server.
    has_started: bool,
    /// The server of files.
    site: Option<(Child, String)>,
    variables: BTreeMap<String, String>,
}

/// The commands of a block.
pub fn steps(language: &str, text: &str) -> Vec<Step> {
    let joined = text.replace("\\\n", " ");
    let mut steps: Vec<Step> = Vec::new();
    for line in joined.lines().filter(|line| !line.is_empty()) {
        match (language, line.strip_prefix("$ ")) {
            ("console", Some(command)) => steps.push(Step { command: command.to_owned(), output: None }),
            ("sh", _) => steps.push(Step { command: line.to_owned(), output: None }),
            ("console", None) => {
                let output = &mut steps.last_mut().expect("a command above its output").output;
                let output = output.get_or_insert_default();
                output.push_str(line);
                output.push('\n');
            }
            _ => panic!("commands are in blocks of `sh` or `console`, not of {language:?}"),
        }
    }
    steps
}

impl Step {
    /// The program that it calls, if this machine doesn't have it.
    pub fn missing_program(&self) -> Option<&str> {
        let program = self.command.split_whitespace().next()?;
        let is_foreign = ["curl", "mosquitto_sub", "node", "openssl", "python3"].contains(&program);
        (is_foreign && Command::new(program).arg("--help").output().is_err()).then_some(program)
    }
}

/// A command without what `#` begins and the `&` at its end, and whether there was one.
fn stripped(command: &str) -> (&str, bool) {
    let command = command.split_once(" #").map_or(command, |(command, _)| command).trim_end();
    command.strip_suffix('&').map_or((command, false), |command| (command.trim_end(), true))
}

impl Reader {
    /// A reader in a folder with the examples.
    pub fn start() -> Reader {
        let folder = tempfile::tempdir().unwrap();
        let examples = folder.path().join("examples");
        std::fs::create_dir(&examples).unwrap();
        copy_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("examples"), &examples);
        Reader { folder, server: None, has_started: false, site: None, variables: BTreeMap::new() }
    }

    /// Ends everything that the commands of a document have left running.
    pub fn close_terminals(&mut self) {
        if self.server.is_some() {
            self.stop();
        }
        self.stop_site();
        self.has_started = false;
        self.variables.clear();
    }

    fn stop_site(&mut self) {
        if let Some((mut site, _)) = self.site.take() {
            let _ = site.kill();
            let _ = site.wait();
        }
    }

    /// Does what a line says, and fails unless it does what the document says.
    pub fn follow(&mut self, step: &Step) {
        let (command, is_background) = stripped(&step.command);
        if let Some(remark) = command.strip_prefix('#') {
            if remark.contains("Ctrl-C") {
                self.stop();
            }
            return;
        }
        let words: Vec<&str> = command.split_whitespace().collect();
        match *words {
            // Done by whoever runs this.
            ["cargo", "install", ..] | ["cargo", "test"] | ["alias", ..] => {}
            ["agentdex", "demo"] | ["cargo", "run", "--", "demo"] => {
                self.has_ports_for(command);
                self.server = Some(Server::Demo(DemoProcess::start()));
            }
            ["agentdex", "serve", ref arguments @ ..] => self.serve(arguments),
            ["python3", "-m", "http.server", ..] if is_background => self.serve_files(command),
            ["agentdex", "watch", ..] | ["curl", "-N", ..] | ["mosquitto_sub", ..] => self.receive(command, step),
            ["export", assignment, ..] => self.export(command, assignment.split_once('=').unwrap().0),
            ["agentdex" | "curl" | "echo" | "node" | "openssl" | "python3", ..] => {
                assert!(!is_background, "{command}: nothing waits for it");
                let printed = self.run(command);
                if let Some(expected) = &step.output {
                    assert_printed(command, &printed, expected);
                }
            }
            _ => panic!("{command}: there is no such command here"),
        }
    }

    /// Fails if another server has the ports of one that is to be started.
    fn has_ports_for(&mut self, command: &str) {
        assert!(self.server.is_none(), "{command}: the ports are taken: the document has to say Ctrl-C before");
        self.has_started = true;
    }

    fn serve(&mut self, arguments: &[&str]) {
        self.has_ports_for("agentdex serve");
        let files = self.folder.path();
        let path = |argument: &str| Some(files.join(argument)).filter(|path| path.is_file());
        let arguments: Vec<String> = arguments
            .iter()
            .map(|argument| path(argument).map_or_else(|| self.here(argument), |path| path.display().to_string()))
            .collect();
        let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        arguments.extend(["--mqtt-listen", "127.0.0.1:0"]);
        let data = self.folder.path().join("agentdex-data");
        self.server = Some(Server::Serve(ServerProcess::start(&data, &arguments)));
    }

    fn stop(&mut self) {
        match self.server.take() {
            Some(Server::Serve(server)) => assert!(server.stop().success()),
            Some(Server::Demo(demo)) => assert!(demo.end("-TERM").0.success()),
            None => panic!("nothing runs that could be stopped"),
        }
    }

    /// Returns the address of the registry. Chapters about operations take it for granted: their first command starts it.
    fn url(&mut self) -> String {
        if self.server.is_none() {
            assert!(!self.has_started, "the registry was stopped");
            self.serve(&["--examples", "--conversations"]);
        }
        match self.server.as_ref() {
            Some(Server::Serve(server)) => server.url().to_owned(),
            Some(Server::Demo(demo)) => demo.url(),
            None => unreachable!("one was started"),
        }
    }

    fn mqtt_port(&self) -> u16 {
        let address = match self.server.as_ref() {
            Some(Server::Serve(server)) => server.mqtt().map(|address| address.to_string()),
            Some(Server::Demo(demo)) => Some(demo.mqtt()),
            None => None,
        };
        address.unwrap().rsplit(':').next().unwrap().parse().unwrap()
    }

    /// A text with the addresses of this reader.
    fn here(&self, text: &str) -> String {
        match &self.site {
            Some((_, address)) => text.replace(SITE, address),
            None => text.to_owned(),
        }
    }

    /// A shell that runs a command of the text.
    fn shell(&mut self, command: &str, prelude: &str) -> Command {
        let mut shell = Command::new("sh");
        for (name, value) in agentdex().get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        let mut command = self.here(command);
        // These work without a registry, or on the directory of one that is stopped.
        if !["openssl ", "http.server ", " --data "].iter().any(|part| command.contains(part)) {
            let url = self.url();
            for scheme in ["http", "https"] {
                command = command.replace(&format!("{scheme}://{REGISTRY}"), &url);
            }
            command = command.replace(KEY_ID, &self.key_id(&command));
            shell.env("AGENTDEX_URL", url);
        }
        if let Some(rest) = command.strip_prefix("mosquitto_sub ") {
            command = format!("mosquitto_sub -p {} {rest}", self.mqtt_port());
        }
        let program = Path::new(env!("CARGO_BIN_EXE_agentdex")).parent().unwrap().to_owned();
        let path = env::split_paths(&env::var_os("PATH").unwrap()).collect::<Vec<_>>();
        shell.env("PATH", env::join_paths([program].into_iter().chain(path)).unwrap());
        shell.env("PYTHONUNBUFFERED", "1").env("PYTHONDONTWRITEBYTECODE", "1").envs(&self.variables);
        shell.args(["-ec", &format!("{prelude}{command}")]).current_dir(self.folder.path());
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        shell
    }

    /// The id of the key that was created last, if a command names one.
    fn key_id(&mut self, command: &str) -> String {
        if !command.contains(KEY_ID) {
            return KEY_ID.to_owned();
        }
        let keys: Vec<Value> = serde_json::from_str(&self.run("agentdex keys list --json")).unwrap();
        let key = keys.iter().find(|key| key["role"] == "register").unwrap();
        key["id"].as_str().unwrap().to_owned()
    }

    /// The output of a command to a terminal.
    fn run(&mut self, command: &str) -> String {
        // Errors of HTTP are failures.
        let prelude = "exec 2>&1\ncurl() { command curl --silent --show-error --fail-with-body \"$@\"; }\n";
        let mut child = self.shell(command, prelude).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        if command.starts_with("agentdex chat ") {
            input.write_all(QUESTION.as_bytes()).unwrap();
        }
        drop(input);
        let output = child.wait_with_output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{command}: {}\n{printed}", output.status);
        match &self.server {
            Some(_) => printed.replace(self.url().trim_start_matches("http://"), REGISTRY),
            None => printed,
        }
    }

    /// Sets a variable for the commands that follow.
    fn export(&mut self, command: &str, name: &str) {
        let printed = self.run(&format!("{command}; printf '\\n%s' \"${name}\""));
        let value = printed.lines().last().unwrap_or_default();
        assert!(!value.is_empty(), "{command}: {printed}");
        self.variables.insert(name.to_owned(), value.to_owned());
    }

    /// Starts what serves files, on a free port.
    fn serve_files(&mut self, command: &str) {
        let port = SITE.rsplit(':').next().unwrap();
        let command = format!("exec {}", command.replace(&format!("http.server {port}"), "http.server 0"));
        let mut child = self.shell(&command, "").spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let first = lines.next().unwrap();
        let port =
            Regex::new(r"port (\d+)").unwrap().captures(&first).unwrap_or_else(|| panic!("{first}"))[1].to_owned();
        for rest in [Box::new(lines) as Box<dyn Iterator<Item = String> + Send>, Box::new(errors(&mut child))] {
            std::thread::spawn(move || rest.for_each(drop));
        }
        self.site = Some((child, format!("127.0.0.1:{port}")));
    }

    /// Runs a command that prints until it is ended, and waits until it has printed something, or what the document says.
    fn receive(&mut self, command: &str, step: &Step) {
        let mut child = self.shell(command, "exec ").spawn().unwrap();
        let printed = Arc::new(Mutex::new(String::new()));
        let copy = printed.clone();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let reading = std::thread::spawn(move || lines.for_each(|line| *copy.lock().unwrap() += &format!("{line}\n")));
        let complaints = errors(&mut child);
        let expected = step.output.as_deref().map(pattern);
        let url = self.url();
        let mut changes = 0;
        eventually(&format!("output of {command}"), || {
            let is_printed = match &expected {
                Some(expected) => expected.is_match(&printed.lock().unwrap()),
                None => {
                    changes += 1;
                    change(&url, changes);
                    !printed.lock().unwrap().is_empty()
                }
            };
            if !is_printed && let Some(status) = child.try_wait().unwrap() {
                panic!("{command}: {status}: {}", printed.lock().unwrap());
            }
            is_printed
        });
        child.kill().unwrap();
        child.wait().unwrap();
        reading.join().unwrap();
        drop(complaints);
    }
}

/// The lines of what a process says on standard error.
fn errors(child: &mut Child) -> impl Iterator<Item = String> + Send + 'static {
    BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok)
}

/// Changes an agent of the examples.
fn change(url: &str, number: u32) {
    let patch = json!({"description": format!("Answers questions about the weather, for the {number}th time.")});
    let call = Call::new("PATCH", &format!("{url}/things/{CHANGING}"));
    let answer = call.body("application/merge-patch+json", patch.to_string()).send();
    assert!(answer.status < 300, "{}", answer.text());
}

/// The pattern that an output in a document stands for: numbers may be others, and `…` stands for anything.
fn pattern(expected: &str) -> Regex {
    let parts: Vec<String> = expected.trim_end().split('…').map(regex::escape).collect();
    let numbers = Regex::new(r"\d+(\\\.\d+)*").unwrap();
    let text = parts.join(".*");
    Regex::new(&format!(r"(?s)^{}\s*$", numbers.replace_all(&text, regex::NoExpand(r"[\d.]+")))).unwrap()
}

fn assert_printed(command: &str, printed: &str, expected: &str) {
    assert!(pattern(expected).is_match(printed), "{command} prints\n{printed}instead of\n{expected}");
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stop_site();
    }
}

#[test]
#[should_panic(expected = "the ports are taken")]
fn second_server_needs_the_ports_of_the_first() {
    let mut reader = Reader::start();
    steps("sh", "agentdex serve\nagentdex demo\n").iter().for_each(|step| reader.follow(step));
}

#[test]
fn stopped_server_leaves_its_ports_and_its_data() {
    let mut reader = Reader::start();
    let text = "agentdex serve --examples\n# Ctrl-C in its terminal\nagentdex check --data agentdex-data\n# Now without\nagentdex serve\n";
    steps("sh", text).iter().for_each(|step| reader.follow(step));
    reader.follow(&steps("sh", "agentdex get urn:example:agents:weather").remove(0));
}

#[test]
fn commands_and_their_output_are_told_apart() {
    let read = steps("console", "$ a \\\n  b\n1\n2\n$ c\n");
    let read: Vec<_> = read.iter().map(|step| (step.command.as_str(), step.output.as_deref())).collect();
    assert_eq!(read, [("a    b", Some("1\n2\n")), ("c", None)]);
    assert_eq!(steps("sh", "a\n\nb # c\n").len(), 2);
    assert_eq!((stripped("a '#' & # b"), stripped("a -b")), (("a '#'", true), ("a -b", false)));
    assert!(pattern("a …\n…\nz\n").is_match("a 1\nb\nz\n") && !pattern("a …\n").is_match("b\n"));
    assert!(pattern("1.5 to 12\n").is_match("23 to 4.75\n") && !pattern("1 to 2\n").is_match("1 of 2\n"));
}
