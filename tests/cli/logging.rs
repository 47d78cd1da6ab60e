//! Logs and messages that nobody can read: a full disk, a pipe whose reader has gone, or doesn't read. They decide nothing.

use std::{
    fs::{self, OpenOptions},
    io::{PipeWriter, Read, Write},
    path::Path,
    process::{Output, Stdio},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{agent, json_lines, run, stderr, stdout};
use crate::{
    mqtt::wire::{self, CONNACK, Hello, Version, packet},
    process::{ServerProcess, agentdex},
    support::{Call, eventually},
};

/// The reason code of a client id that isn't valid.
const INVALID_CLIENT_ID: u8 = 0x85;

/// An output that takes nothing.
#[derive(Debug, Clone, Copy)]
enum Unwritable {
    FullDisk,
    ClosedPipe,
}

impl Unwritable {
    const ALL: [Unwritable; 2] = [Unwritable::FullDisk, Unwritable::ClosedPipe];

    fn open(self) -> Stdio {
        match self {
            Unwritable::FullDisk => OpenOptions::new().write(true).open("/dev/full").unwrap().into(),
            Unwritable::ClosedPipe => std::io::pipe().unwrap().1.into(),
        }
    }
}

#[test]
fn a_log_that_can_not_be_written_costs_no_answer() {
    for output in Unwritable::ALL {
        for level in ["info", "debug"] {
            answers_everything(&format!("{output:?} {level}"), level, output.open());
        }
    }
}

#[test]
fn a_log_that_nobody_reads_costs_no_answer() {
    for level in ["info", "debug"] {
        let (reader, mut writer) = std::io::pipe().unwrap();
        // It is full from the start, so that the first line finds no room.
        let has_room = |writer: &PipeWriter| {
            let mut polled = [PollFd::new(writer, PollFlags::OUT)];
            poll(&mut polled, Some(&Timespec::default())).unwrap() > 0
        };
        while has_room(&writer) {
            writer.write_all(&[b'x'; 4096]).unwrap();
        }
        answers_everything(&format!("a stalled pipe, {level}"), level, writer.into());
        drop(reader);
    }
}

#[test]
fn lines_that_nobody_read_in_time_are_counted_for_who_reads_on() {
    let data = tempfile::tempdir().unwrap();
    let (mut reader, writer) = std::io::pipe().unwrap();
    let server = ServerProcess::start_with_standard_error(data.path(), &["--log-level", "debug"], writer.into());
    let dropped = || {
        let metrics = Call::new("GET", &format!("{}/metrics", server.url().trim_end_matches('/'))).send().expect(200);
        let dropped = metrics.text().lines().find_map(|line| line.strip_prefix("agentdex_log_lines_dropped_total "));
        dropped.unwrap().parse::<u64>().unwrap()
    };
    eventually("a line is dropped", || dropped() > 0);
    let read = std::thread::spawn(move || {
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        text
    });
    eventually("lines are written again", || {
        let before = dropped();
        (0..20).all(|_| dropped() == before)
    });
    assert!(server.stop().success());
    let text = read.join().unwrap();
    assert!(text.contains("log lines could not be written"), "{text}");
}

/// Starts a server whose log goes to what takes nothing, and lets it answer, log and stop.
fn answers_everything(output: &str, level: &str, standard_error: Stdio) {
    let data = tempfile::tempdir().unwrap();
    let arguments = ["--mqtt-listen", "127.0.0.1:0", "--log-level", level];
    let server = ServerProcess::start_with_standard_error(data.path(), &arguments, standard_error);
    let url = |path: &str| format!("{}{path}", server.url().trim_end_matches('/'));
    let port = server.mqtt().unwrap().port();
    for number in 0..20 {
        let id = format!("urn:example:{number}");
        let put = Call::new("PUT", &url(&format!("/things/{id}")));
        put.body("application/td+json", agent(&id, "An agent")).send().expect(201);
        Call::new("GET", &url("/things/urn:example:none")).send().expect(404);

        let client_id = "x".repeat(2000);
        let hello = Hello { client_id: &client_id, ..Hello::default() };
        let mut refused = wire::Client::open(port, Version::V5);
        refused.send(&wire::connect(Version::V5, &hello));
        let connack = refused.try_receive().unwrap_or_else(|| panic!("{output}: no answer"));
        assert_eq!((connack.kind, connack.body[1]), (CONNACK, INVALID_CLIENT_ID), "{output}");
        let (mut client, _) = wire::Client::connect(port, Version::V5, &Hello::default());
        client.ping();
        client.send(&packet(0xe0, &[]));
    }
    let metrics = Call::new("GET", &url("/metrics")).send().expect(200);
    let dropped = metrics.text().lines().find_map(|line| line.strip_prefix("agentdex_log_lines_dropped_total "));
    let dropped: u64 = dropped.expect("a metric").parse().unwrap();
    assert!(dropped >= 20, "{output}: {dropped} lines");
    assert_eq!(server.stop().code(), Some(0), "{output}");
}

#[test]
fn a_log_that_is_written_drops_nothing() {
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(data.path(), &["--log-level", "debug"]);
    let metrics = Call::new("GET", &format!("{}/metrics", server.url().trim_end_matches('/'))).send().expect(200);
    assert!(metrics.text().contains("\nagentdex_log_lines_dropped_total 0\n"), "{}", metrics.text());
    assert!(server.log().contains("DEBUG"), "{}", server.log());
}

/// Runs a command with outputs of its own.
fn run_with(arguments: &[String], standard_output: Stdio, standard_error: Stdio) -> Output {
    let mut command = agentdex();
    command.args(arguments).stdin(Stdio::null()).stdout(standard_output).stderr(standard_error);
    command.spawn().unwrap().wait_with_output().unwrap()
}

/// Files: one that can't be registered, and five descriptions.
fn files(directory: &Path) -> Vec<String> {
    let write = |name: &str, text: &str| {
        let path = directory.join(format!("{name}.td.json"));
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let valid = (0..5).map(|number| write(&number.to_string(), &agent(&format!("urn:example:{number}"), "An agent")));
    std::iter::once(write("invalid", "{}")).chain(valid).collect()
}

#[test]
fn messages_that_can_not_be_printed_stop_no_command() {
    let directory = tempfile::tempdir().unwrap();
    let files = files(directory.path());
    let server = ServerProcess::start(&directory.path().join("data"), &[]);
    let command = |name: &'static str, rest: &[String]| -> Vec<String> {
        [name, "--url", server.url()].into_iter().map(str::to_owned).chain(rest.iter().cloned()).collect()
    };
    let register = command("register", &files);
    let register_valid = command("register", &files[1..]);
    let ids: Vec<String> = (0..5).map(|number| format!("urn:example:{number}")).collect();
    let remove = command("remove", &ids);
    let left = || json_lines(&run(&["list", "--json", "--url", server.url()])).len();
    for output in Unwritable::ALL {
        let without_messages = run_with(&register, Stdio::piped(), output.open());
        // All lines are there, and the status is that of the file that is invalid.
        assert_eq!((left(), stdout(&without_messages).lines().count()), (5, 6), "{output:?}");
        assert_eq!(without_messages.status.code(), Some(1), "{output:?}");

        // Who reads no further has seen enough; what a full disk lacks is an error, once all is done.
        let expected = if let Unwritable::FullDisk = output { 1 } else { 0 };
        let removed = run_with(&remove, output.open(), Stdio::piped());
        assert_eq!((removed.status.code(), left()), (Some(expected), 0), "{output:?}: {}", stderr(&removed));
        let registered = run_with(&register_valid, output.open(), Stdio::piped());
        assert_eq!((registered.status.code(), left()), (Some(expected), 5), "{output:?}: {}", stderr(&registered));

        let data = directory.path().join("keys");
        let create = ["keys", "create", "--role", "read", "--owner", "ops", "--data", data.to_str().unwrap()];
        let created = run_with(&create.map(str::to_owned), Stdio::piped(), output.open());
        assert!(created.status.success() && stdout(&created).starts_with("adx_"), "{output:?}: {}", stdout(&created));
    }
}

#[test]
fn a_server_starts_where_its_addresses_can_not_be_printed() {
    for output in Unwritable::ALL {
        let data = tempfile::tempdir().unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let mut command = agentdex();
        command.args(["serve", "--no-mqtt", "--listen", &address.to_string(), "--data"]).arg(data.path());
        let mut server = command.stdin(Stdio::null()).stdout(output.open()).stderr(Stdio::null()).spawn().unwrap();
        let url = format!("http://{address}/");
        eventually("an answer", || run(&["status", "--url", &url]).status.success());
        let stopped = std::process::Command::new("kill").args(["-TERM", &server.id().to_string()]).status().unwrap();
        assert!(stopped.success(), "{output:?}");
        let code = server.wait().unwrap().code();
        assert_eq!(code, Some(0), "{output:?}");
    }
}
