//! The start and the end of a demo: ports, refusals, and files that stay.

use std::{env, fs};

use super::process::DemoProcess;
use crate::{
    process::{ServerProcess, agentdex},
    support::Call,
};

#[test]
fn what_a_demo_does_not_do_is_refused_with_a_sentence() {
    for (arguments, expected) in [
        (&["--data", "x"][..], "--data: a demo keeps nothing; `agentdex serve --data DIR` "),
        (&["--data"], "--data: a demo keeps nothing; `agentdex serve --data DIR` "),
        (&["--auth"], "--auth: a demo is open to everyone on this machine; `agentdex serve --auth` "),
        (
            &["--listen", "0.0.0.0:80"],
            "--listen: a demo serves only this machine, at --port; `agentdex serve --listen ",
        ),
        (&["--url", "http://127.0.0.1:1"], "--url is for commands that connect to a registry"),
    ] {
        let temporary = tempfile::tempdir().unwrap();
        let output = agentdex().arg("demo").args(arguments).env("TMPDIR", temporary.path()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments:?}: {said}");
        assert!(said.starts_with(&format!("error: {expected}")), "{said}");
        assert!(DemoProcess::temporary_names(temporary.path()).is_empty());
    }
}

#[test]
fn nothing_stays_of_a_demo_that_ends_and_the_next_one_removes_what_stays_of_a_killed_one() {
    let folder = tempfile::tempdir().unwrap();
    let start = || DemoProcess::start_in(agentdex(), &[], folder.path());
    let temporary = folder.path().join("temporary");
    for signal in ["-TERM", "-INT"] {
        let demo = start();
        assert_eq!(DemoProcess::temporary_names(&temporary).len(), 1);
        let (status, printed) = demo.end(signal);
        assert!(status.success(), "{signal}");
        assert!(printed.last().unwrap().starts_with("13 agents, 0 searches, 0 calls. "), "{printed:#?}");
        assert!(DemoProcess::temporary_names(&temporary).is_empty(), "{signal}");
    }
    drop(start());
    let left = DemoProcess::temporary_names(&temporary);
    assert_eq!(left.len(), 1, "a killed one removes nothing");
    let demo = start();
    let names = DemoProcess::temporary_names(&temporary);
    assert!(names.len() == 1 && names != left, "{names:?}");
    demo.end("-TERM");
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files.len(), 2, "the log and the folder of the test: {files:?}");
}

#[test]
fn two_demos_run_side_by_side_and_the_commands_of_each_name_it() {
    let first = DemoProcess::start();
    let taken = |address: &str| address.rsplit(':').next().unwrap().to_owned();
    let (port, mqtt_port) = (taken(&first.url()), taken(&first.mqtt()));
    let second = DemoProcess::start_with(agentdex(), &["--port", &port, "--mqtt-port", &mqtt_port]);
    assert_ne!(first.url(), second.url());
    assert_ne!(first.mqtt(), second.mqtt());
    for demo in [&first, &second] {
        for label in ["Find", "Ask", "Chat", "Call", "Watch", "Run"] {
            let command = demo.command(label);
            assert!(command.ends_with(&format!(" --url {}", demo.url())), "{command}");
        }
        let asked = demo.run("Ask one", "");
        assert_eq!(String::from_utf8(asked.stdout).unwrap(), "42 km are 26.1 miles.\n");
    }
}

#[test]
fn files_and_variables_of_a_server_do_not_matter_but_ports_do() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("agentdex.toml"), "auth = true\nno_such_key = 1\n").unwrap();
    let mut command = agentdex();
    command.envs([("AGENTDEX_AUTH", "true"), ("AGENTDEX_LISTEN", "0.0.0.0:1"), ("AGENTDEX_DATA", "/there/is/none")]);
    command.envs([
        ("AGENTDEX_URL", "http://127.0.0.1:1"),
        ("AGENTDEX_DEMO_PORT", "0"),
        ("AGENTDEX_DEMO_MQTT_PORT", "0"),
    ]);
    // The name is enough where it finds this program.
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_agentdex")).parent().unwrap().to_owned();
    let path = env::join_paths(std::iter::once(program).chain(env::split_paths(&env::var_os("PATH").unwrap())));
    command.env("PATH", path.unwrap());
    let demo = DemoProcess::start_in(command, &[], folder.path());
    assert_eq!(demo.log(), "");
    assert!(demo.url().starts_with("http://127.0.0.1:"), "{}", demo.url());
    assert_eq!(demo.command("Watch"), format!("agentdex watch --url {}", demo.url()));
    demo.get("/things/urn:demo:clock").expect(200);
}

#[test]
fn files_of_the_demo_are_valid() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = ["examples/demo", "examples/flow.yaml"].map(|name| root.join(name));
    let output = agentdex().args(["validate", "--json"]).args(&files).output().unwrap();
    let verdicts = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && verdicts.lines().count() == 5, "{verdicts}");
}

#[test]
fn a_server_is_no_demo() {
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(data.path(), &["--examples"]);
    let get = |path: &str| Call::new("GET", &format!("{}{path}", server.url())).send();
    assert!(get("/").expect(200).json().get("demo").is_none());
    get("/demo/agents/clock/cities").expect(404);
    // An agent on this machine, in a registry that is: it isn't called.
    let other = crate::consumer::server::Server::start(|_| crate::consumer::server::Said::json("true"));
    let mut thing = crate::consumer::asking(&other.origin);
    thing["id"] = "urn:x:other".into();
    Call::new("PUT", &format!("{}/things/urn:x:other", server.url()))
        .body("application/td+json", thing.to_string())
        .send()
        .expect(201);
    let output = agentdex().args(["ask", "--agent", "urn:x:other", "x", "--url", server.url()]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && !said.contains("demo") && other.received().is_empty(), "{said}");
}
