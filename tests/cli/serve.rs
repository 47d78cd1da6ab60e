//! `agentdex serve`: start, settings, ports, stop.

use std::{fs, net::TcpListener};

use serde_json::Value;

use super::{json_lines, run, stderr, stdout};
use crate::{
    consumer::server::{Said, Server},
    process::{ServerProcess, agentdex},
    support::{Call, eventually},
};

#[test]
fn examples_are_there_and_a_restart_adds_nothing() {
    let data = tempfile::tempdir().unwrap();
    let last_event = || {
        let server = ServerProcess::start(data.path(), &["--examples"]);
        let list = run(&["list", "--json", "--url", server.url()]);
        let things = json_lines(&list);
        assert!(things.len() >= 6, "{} examples", things.len());
        let search = run(&["search", "weather", "forecast", "--json", "--url", server.url()]);
        let answer: Value = serde_json::from_str(&stdout(&search)).unwrap();
        assert_eq!(answer["hits"][0]["id"], "urn:example:agents:weather");
        assert_eq!(server.stop().code(), Some(0));
        (things.len(), answer["seq"].clone())
    };
    assert_eq!(last_event(), last_event());
}

#[test]
fn asked_to_stop_it_stops_with_open_event_streams() {
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(data.path(), &[]);
    let mut watch = agentdex().args(["watch", "--url", server.url()]).spawn().unwrap();
    let metrics = || Call::new("GET", &format!("{}/metrics", server.url().trim_end_matches('/'))).send();
    eventually("the event stream", || metrics().text().contains("agentdex_event_streams 1"));
    let status = server.stop();
    watch.kill().unwrap();
    watch.wait().unwrap();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn taken_port_ends_the_start() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let data = tempfile::tempdir().unwrap();
    let data = data.path().join("data");
    let output = run(&["serve", "--data", data.to_str().unwrap(), "--no-mqtt", "--listen", &address]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains(&address) && stderr(&output).contains("--listen"), "{}", stderr(&output));
    assert!(!data.exists(), "a start that failed left something behind");
}

#[test]
fn taken_mqtt_port_that_was_asked_for_ends_the_start() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let data = tempfile::tempdir().unwrap();
    let data = data.path().to_str().unwrap();
    let output = run(&["serve", "--data", data, "--listen", "127.0.0.1:0", "--mqtt-listen", &address]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains(&address) && stderr(&output).contains("--mqtt-listen"), "{}", stderr(&output));
}

#[test]
fn taken_default_mqtt_port_costs_mqtt_only() {
    // Taken by this test, or by whoever has it already.
    let _taken = TcpListener::bind("127.0.0.1:1883");
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(data.path(), &["--mqtt-prefix", "agentdex"]);
    assert_eq!(server.mqtt(), None);
    assert!(server.log().contains("running without MQTT"), "{}", server.log());
    assert!(run(&["list", "--url", server.url()]).status.success());
}

#[test]
fn free_mqtt_port_is_told() {
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(data.path(), &["--mqtt-listen", "127.0.0.1:0"]);
    let address = server.mqtt().expect("a line with the MQTT address");
    assert!(std::net::TcpStream::connect(address).is_ok());
    assert_eq!(server.stop().code(), Some(0));
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn directory_in_use_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let _first = ServerProcess::start(data.path(), &[]);
    let path = data.path().to_str().unwrap();
    let second = run(&["serve", "--data", path, "--listen", "127.0.0.1:0", "--no-mqtt"]);
    assert_eq!(second.status.code(), Some(1));
    assert!(stderr(&second).contains("in use by another agentdex"), "{}", stderr(&second));
}

#[test]
fn settings_come_from_file_and_variables() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("settings.toml");
    fs::write(&file, "validation = \"lenient\"\nmax_ttl = 60\nlog_format = \"json\"\nlog_level = \"debug\"").unwrap();
    let file = file.to_str().unwrap();
    let data = directory.path().join("data");
    let server = ServerProcess::start(&data, &["--config", file, "--validation", "strict"]);
    let text = r#"{"@context": "https://www.w3.org/2022/wot/td/v1.1", "@type": "lmos:Agent", "title": "No security"}"#;
    let refused = super::run_with_input(&["register", "-", "--url", server.url()], text);
    assert_eq!(refused.status.code(), Some(1), "{}", stdout(&refused));
    let log = server.log();
    assert!(!log.is_empty());
    log.lines().for_each(|line| assert!(serde_json::from_str::<Value>(line).is_ok(), "no JSON: {line}"));

    fs::write(file, "lisen = \"127.0.0.1:0\"").unwrap();
    let output = agentdex().arg("serve").env("AGENTDEX_CONFIG", file).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("`lisen`") && stderr(&output).contains("`listen`"), "{}", stderr(&output));
}

/// Whoever may register an agent could otherwise collect what the server was given for other agents.
#[test]
fn no_credential_of_its_environment_is_sent_by_a_server_that_calls_agents() {
    let agent = Server::start(|_| Said::json(serde_json::json!("answer")));
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start_with_variables(
        data.path(),
        &["--conversations", "--allow-fetch", "127.0.0.1"],
        &[("AGENTDEX_CREDENTIAL_VAULT", "sesame"), ("AGENTDEX_CREDENTIAL_VAULT_ORIGIN", &agent.origin)],
    );
    let thing = serde_json::json!({
        "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:example:vault", "title": "Vault",
        "securityDefinitions": {"vault": {"scheme": "bearer"}}, "security": "vault",
        "actions": {"ask": {"forms": [{"href": &agent.origin}]}},
        "properties": {"level": {"type": "string", "forms": [{"href": &agent.origin}]}},
    });
    let registered = super::run_with_input(&["register", "-", "--url", server.url()], &thing.to_string());
    assert!(registered.status.success(), "{}", stderr(&registered));
    let call = |method: &str, end: &str| Call::new(method, &format!("{}/things/urn:example:vault/{end}", server.url()));
    let said = call("POST", "conversation").body("application/json", r#"{"message": "x"}"#.to_owned());
    for request in [said, call("GET", "properties/level/value")] {
        let problem = request.send().problem(422, "agent-not-callable");
        assert!(problem["detail"].as_str().unwrap().contains("AGENTDEX_CREDENTIAL_VAULT"), "{problem}");
    }
    assert!(agent.received().is_empty());
}

#[test]
fn credentials_are_treated_as_the_setting_says() {
    let text = super::agent("urn:a", "A");
    let text = text.replace("\"title\"", "\"support\": \"https://joe:hunter2@h.example/\", \"title\"");
    for (setting, is_taken, is_shown) in [("", true, true), ("replace", true, false), ("refuse", false, false)] {
        let data = tempfile::tempdir().unwrap();
        let server = ServerProcess::start_with_variables(data.path(), &[], &[("AGENTDEX_REDACT", setting)]);
        let registered = super::run_with_input(&["register", "-", "--url", server.url()], &text);
        assert_eq!(registered.status.success(), is_taken, "{setting}: {}", stderr(&registered));
        let told = format!("{}{}", stdout(&registered), stderr(&registered));
        assert!(told.contains("support") && !told.contains("hunter2"), "{setting}: {told}");
        let read = run(&["get", "urn:a", "--url", server.url()]);
        assert_eq!(stdout(&read).contains("hunter2"), is_shown, "{setting}");
        let found = stdout(&run(&["search", "greet", "--url", server.url()]));
        assert_eq!(found.contains("Caution, credential at /support: user-info"), is_shown, "{setting}: {found}");
    }
}

#[test]
fn settings_of_fetching_that_can_not_be_right_end_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let empty = directory.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let private = directory.path().join("private.json");
    fs::write(&private, r#"{"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA", "d": "AA"}"#).unwrap();
    for (flag, value, words) in [
        ("--allow-fetch", "10.0.0.0/33", "allow_fetch: \"10.0.0.0/33\" is neither a network such as"),
        ("--allow-fetch", "10.0.0.1/8", "is an address within the network 10.0.0.0/8"),
        ("--fetch-proxy", "proxy.internal:3128", "fetch_proxy: not the URL of an HTTP proxy; for example http://"),
        ("--fetch-proxy", "socks5://proxy.internal", "fetch_proxy: not the URL of an HTTP proxy; for example http://"),
        ("--fetch-ca", private.to_str().unwrap(), "it contains no certificate in PEM format"),
        ("--fetch-timeout", "0", "--fetch-timeout: 0 is not between 1 and"),
        (
            "--trusted-keys",
            "/there/is/none.json",
            "--trusted-keys must name a file with a JSON Web Key Set (JWKS), or a folder of such files: reading /there/is/none.json",
        ),
        ("--trusted-keys", empty.to_str().unwrap(), "the folder contains no *.json or *.jwks file"),
        ("--trusted-keys", private.to_str().unwrap(), "private.json: key 1 contains its private part"),
        ("--refresh-interval", "0", "--refresh-interval: 0 is not between 1 and"),
        ("--stale-after", "0", "--stale-after: 0 is not between 1 and"),
    ] {
        let fixed = ["serve", "--data", data.to_str().unwrap(), "--no-mqtt", "--listen", "127.0.0.1:0"];
        let output = run(&[&fixed[..], &[flag, value]].concat());
        // What is wrong with keys is in their files.
        let status = if flag == "--trusted-keys" { 1 } else { 2 };
        assert_eq!(output.status.code(), Some(status), "{flag} {value}");
        assert!(stderr(&output).contains(words), "{flag} {value}: {}", stderr(&output));
        assert!(!data.exists(), "{flag} {value} left something behind");
    }
}

#[cfg(unix)]
#[test]
fn directory_that_other_users_have_rights_in_is_warned_of() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for (given, words) in [
        (0o777, Some("has the mode 0777, so other users can replace its files")),
        (0o750, Some("has the mode 0750, so other users can list its files")),
        (0o700, None),
    ] {
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(given)).unwrap();
        let server = ServerProcess::start(directory.path(), &[]);
        let log = server.log();
        match words {
            Some(words) => assert!(log.contains(words), "{given:o}: {log}"),
            None => assert!(!log.contains("has the mode"), "{given:o}: {log}"),
        }
        assert_eq!(server.stop().code(), Some(0));
        // It is as it was, and what was made in it is nobody else's.
        assert_eq!(mode(directory.path()), given);
        let made: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(
            ["store", "search", "vectors", "guardian"].iter().all(|name| made.contains(&directory.path().join(name))),
            "{made:?}"
        );
        made.iter().for_each(|path| assert_eq!(mode(path) & 0o077, 0, "{given:o}: {}", path.display()));
    }
}
