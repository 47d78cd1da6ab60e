//! A real `agentdex demo` in a process of its own.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::Instant,
};

use tempfile::TempDir;

use crate::{
    process::agentdex,
    support::{Answer, Call, eventually},
};

/// The line after which a demo prints what happens.
const READY: &str = "What happens";

/// A demo that runs; killed when it is dropped.
pub struct DemoProcess {
    child: Child,
    /// The lines that it has printed so far.
    printed: Arc<Mutex<Vec<String>>>,
    reading: Option<JoinHandle<()>>,
    log: PathBuf,
    pub started: Instant,
    /// Its folder for temporary files, with nothing else in it.
    pub temporary: PathBuf,
    folder: Option<TempDir>,
}

impl DemoProcess {
    /// Starts one on free ports.
    pub fn start() -> DemoProcess {
        DemoProcess::start_with(agentdex(), &[])
    }

    /// Starts one, on free ports where the arguments name none.
    pub fn start_with(command: Command, arguments: &[&str]) -> DemoProcess {
        let folder = tempfile::tempdir().unwrap();
        let mut demo = DemoProcess::start_in(command, arguments, folder.path());
        demo.folder = Some(folder);
        demo
    }

    /// Starts one in a folder, whose subfolder `temporary` is that for temporary files.
    pub fn start_in(mut command: Command, arguments: &[&str], folder: &Path) -> DemoProcess {
        let temporary = folder.join("temporary");
        std::fs::create_dir_all(&temporary).unwrap();
        let log = folder.join("log");
        command.current_dir(folder).env("TMPDIR", &temporary).arg("demo").args(arguments);
        for port in ["--port", "--mqtt-port"] {
            if !arguments.contains(&port) {
                command.args([port, "0"]);
            }
        }
        let started = Instant::now();
        let stderr = File::create(&log).unwrap();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let printed = Arc::new(Mutex::new(Vec::new()));
        let copy = printed.clone();
        let reading = std::thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| copy.lock().unwrap().push(line));
        });
        let demo = DemoProcess { child, printed, reading: Some(reading), log, started, temporary, folder: None };
        eventually("the start of the demo", || {
            let is_ready = demo.printed().iter().any(|line| line.starts_with(READY));
            assert!(is_ready || !demo.has_ended(), "{}", demo.log());
            is_ready
        });
        demo
    }

    fn has_ended(&self) -> bool {
        self.reading.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Returns the lines that it has printed so far.
    pub fn printed(&self) -> Vec<String> {
        self.printed.lock().unwrap().clone()
    }

    /// Returns its standard error.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Returns the word after a label in the line with the addresses.
    fn address(&self, label: &str) -> String {
        let line = self.printed().into_iter().find(|line| line.contains("Page  ")).unwrap();
        let (_, rest) = line.split_once(&format!("{label}  ")).unwrap_or_else(|| panic!("{line}"));
        rest.split_whitespace().next().unwrap().to_owned()
    }

    /// Returns the address of HTTP, such as `http://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        self.address("Page")
    }

    /// Returns the address of MQTT, such as `127.0.0.1:40124`.
    pub fn mqtt(&self) -> String {
        self.address("MQTT").trim_start_matches("mqtt://").to_owned()
    }

    pub fn get(&self, path: &str) -> Answer {
        Call::new("GET", &format!("{}{path}", self.url())).send()
    }

    pub fn post(&self, path: &str, body: &str) -> Answer {
        Call::new("POST", &format!("{}{path}", self.url())).body("application/json", body).send()
    }

    /// The printed command whose label starts like this.
    pub fn command(&self, label: &str) -> String {
        let lines = self.printed();
        let line =
            lines.iter().find(|line| line.trim_start().starts_with(label)).unwrap_or_else(|| panic!("{lines:?}"));
        // Labels are followed by two spaces, or more.
        let (_, command) = line.trim_start().split_once("  ").unwrap_or_else(|| panic!("{line}"));
        command.trim_start().to_owned()
    }

    /// Runs the printed command with this label as it is printed, in a shell.
    pub fn run(&self, label: &str, input: &str) -> Output {
        use std::io::Write;
        let mut child = self.shell(&self.command(label)).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    /// A shell that runs a command, blind to the settings of whoever runs the tests.
    pub fn shell(&self, command: &str) -> Command {
        let mut shell = Command::new("sh");
        for (name, value) in agentdex().get_envs().filter(|(_, value)| value.is_none()) {
            assert!(value.is_none());
            shell.env_remove(name);
        }
        shell.args(["-c", command]).current_dir(&self.temporary).stdout(Stdio::piped()).stderr(Stdio::piped());
        shell
    }

    /// Waits until it has printed a line with this in it.
    pub fn wait_for_line(&self, part: &str) {
        eventually(&format!("a line with {part:?}"), || self.printed().iter().any(|line| line.contains(part)));
    }

    /// Sends it a signal, and waits until it has ended. What it printed comes along.
    pub fn end(mut self, signal: &str) -> (ExitStatus, Vec<String>) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let status = self.child.wait().unwrap();
        self.reading.take().unwrap().join().unwrap();
        (status, self.printed())
    }

    /// The names in its folder for temporary files.
    pub fn temporary_names(temporary: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(temporary).unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }
}

impl Drop for DemoProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.folder.take();
    }
}
