//! A real `agentdex serve` in a process of its own, to be stopped or killed.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
};

use tempfile::TempDir;

/// The binary under test, blind to the settings of whoever runs the tests; its logs have gaps if others have.
pub fn agentdex() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentdex"));
    let is_setting = |name: &str| name.starts_with("AGENTDEX_") && name != "AGENTDEX_TEST_GAPS";
    for (name, _) in std::env::vars().filter(|(name, _)| is_setting(name)) {
        command.env_remove(name);
    }
    command.env_remove("RUST_LOG");
    // Nor to contexts of theirs.
    command.env("XDG_CONFIG_HOME", std::env::temp_dir().join("agentdex-tests-have-no-contexts"));
    command
}

/// A server that runs; killed when it is dropped.
pub struct ServerProcess {
    child: Child,
    url: String,
    page: Option<String>,
    mqtt: Option<SocketAddr>,
    log: PathBuf,
    _directory: TempDir,
}

impl ServerProcess {
    /// Starts a server on free ports over the data directory, without MQTT unless `arguments` ask for it.
    pub fn start(data: &Path, arguments: &[&str]) -> ServerProcess {
        ServerProcess::start_with(agentdex(), data, arguments)
    }

    /// The same with a filter of what is logged.
    pub fn start_with_log(data: &Path, arguments: &[&str], filter: &str) -> ServerProcess {
        let mut command = agentdex();
        command.env("RUST_LOG", filter);
        ServerProcess::start_with(command, data, arguments)
    }

    /// The same with variables of its environment.
    pub fn start_with_variables(data: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> ServerProcess {
        let mut command = agentdex();
        command.envs(variables.iter().copied());
        ServerProcess::start_with(command, data, arguments)
    }

    /// The same with so many file descriptors, which it can't raise.
    #[cfg(unix)]
    pub fn start_with_descriptors(data: &Path, arguments: &[&str], descriptors: usize) -> ServerProcess {
        let program = agentdex();
        let mut command = Command::new("sh");
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.arg("-c").arg(format!("ulimit -n {descriptors} && exec \"$0\" \"$@\"")).arg(program.get_program());
        ServerProcess::start_with(command, data, arguments)
    }

    /// The same with a clock that a file sets, such as `-2h`: one of libfaketime, which is at `library`.
    pub fn start_with_clock(data: &Path, arguments: &[&str], library: &Path, clock: &Path) -> ServerProcess {
        let mut command = agentdex();
        command.env("LD_PRELOAD", library).env("FAKETIME_TIMESTAMP_FILE", clock);
        command.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        ServerProcess::start_with(command, data, arguments)
    }

    /// The same whose log goes elsewhere, or nowhere.
    pub fn start_with_standard_error(data: &Path, arguments: &[&str], standard_error: Stdio) -> ServerProcess {
        ServerProcess::start_writing(agentdex(), data, arguments, |_| standard_error)
    }

    fn start_with(command: Command, data: &Path, arguments: &[&str]) -> ServerProcess {
        ServerProcess::start_writing(command, data, arguments, |log| File::create(log).unwrap().into())
    }

    fn start_writing(
        mut command: Command,
        data: &Path,
        arguments: &[&str],
        standard_error: impl FnOnce(&Path) -> Stdio,
    ) -> ServerProcess {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        command.current_dir(directory.path()).arg("serve").arg("--data").arg(data);
        if !arguments.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        if !arguments.iter().any(|argument| argument.contains("mqtt")) {
            command.arg("--no-mqtt");
        }
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(standard_error(&log));
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (mut url, mut page, mut mqtt) = (None, None, None);
        // An empty line ends the addresses; the end of the stream means that it didn't start.
        for line in lines.by_ref().map_while(Result::ok).take_while(|line| !line.is_empty()) {
            if let Some(address) = line.strip_prefix("HTTP on ") {
                url = Some(address.to_owned());
            }
            if let Some(address) = line.strip_prefix("Page on ") {
                page = Some(address.to_owned());
            }
            if let Some((_, address)) = line.strip_prefix("MQTT on ").and_then(|url| url.split_once("://")) {
                mqtt = Some(address.parse().unwrap());
            }
        }
        let Some(url) = url else { panic!("no server: {}", std::fs::read_to_string(&log).unwrap_or_default()) };
        std::thread::spawn(move || lines.for_each(drop));
        ServerProcess { child, url, page, mqtt, log, _directory: directory }
    }

    /// Where it serves HTTP, such as `http://127.0.0.1:40123`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where a browser on this machine finds the page, if that isn't where it serves HTTP.
    pub fn page(&self) -> Option<&str> {
        self.page.as_deref()
    }

    /// Where it serves MQTT.
    pub fn mqtt(&self) -> Option<SocketAddr> {
        self.mqtt
    }

    /// The id of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Asks it to stop and waits until it has.
    pub fn stop(mut self) -> ExitStatus {
        let asked = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(asked.success());
        self.child.wait().unwrap()
    }

    /// Ends it as a power cut would end it, files aside: SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
