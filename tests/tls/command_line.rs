//! TLS as operators and users switch it on.

use std::process::{Command, Output};

use super::{Files, metric};
use crate::{
    process::{ServerProcess, agentdex},
    support::{agent, eventually},
};

fn run(arguments: &[&str]) -> Output {
    agentdex().args(arguments).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The arguments that encrypt.
fn tls(files: &Files) -> [String; 4] {
    ["--tls-cert".into(), files.text("server.pem"), "--tls-key".into(), files.text("server.key")]
}

fn start(files: &Files, more: &[&str]) -> (ServerProcess, tempfile::TempDir) {
    let data = tempfile::tempdir().unwrap();
    let tls = tls(files);
    let arguments: Vec<&str> = tls.iter().map(String::as_str).chain(more.iter().copied()).collect();
    (ServerProcess::start(data.path(), &arguments), data)
}

#[test]
fn commands_trust_an_authority_of_ones_own() {
    let files = Files::new();
    let (server, _data) = start(&files, &["--mqtt-listen", "127.0.0.1:0"]);
    let url = server.url().to_owned();
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    assert!(server.mqtt().is_some());
    let file = files.path("agent.json");
    std::fs::write(&file, agent("urn:example:a", "Weather agent")).unwrap();
    let ca = files.text("ca.pem");
    let registered = run(&["register", file.to_str().unwrap(), "--url", &url, "--ca", &ca]);
    assert!(registered.status.success(), "{}", stderr(&registered));
    let by_variable =
        agentdex().args(["--url", &url, "get", "urn:example:a"]).env("AGENTDEX_CA", &ca).output().unwrap();
    assert!(String::from_utf8_lossy(&by_variable.stdout).contains("Weather agent"), "{}", stderr(&by_variable));
    let in_front = run(&["--ca", &ca, "--url", &url, "status"]);
    assert!(in_front.status.success(), "{}", stderr(&in_front));
    let untrusted = run(&["list", "--url", &url]);
    assert!(!untrusted.status.success());
    assert!(stderr(&untrusted).contains("--ca"), "{}", stderr(&untrusted));
    let unreadable = run(&["list", "--url", &url, "--ca", file.to_str().unwrap()]);
    assert!(stderr(&unreadable).contains("certificate"), "{}", stderr(&unreadable));
    assert!(server.stop().success());
}

#[test]
fn clients_prove_themselves_with_a_certificate() {
    let files = Files::new();
    let ca = files.text("ca.pem");
    let roles = ["--auth", "--tls-client-ca", &ca, "--tls-client-role", "read", "--tls-client-role", "ops=admin"];
    let (server, _data) = start(&files, &roles);
    let ops = files.write_client("ops.pem", &files.authority.client("ops", &[]));
    let other = files.write_client("other.pem", &files.authority.client("other", &[]));
    let keys =
        |certificate: &str| run(&["keys", "list", "--url", server.url(), "--ca", &ca, "--client-cert", certificate]);
    assert!(keys(&ops).status.success(), "{}", stderr(&keys(&ops)));
    assert!(stderr(&keys(&other)).contains("requires the role `admin`"), "{}", stderr(&keys(&other)));
}

#[cfg(unix)]
#[test]
fn hangup_reads_the_certificate_again() {
    let files = Files::new();
    let (server, _data) = start(&files, &[]);
    let hang_up = || Command::new("kill").args(["-HUP", &server.id().to_string()]).status().unwrap();
    let new = files.authority.server();
    files.write(&new);
    hang_up();
    eventually("the new certificate is there", || {
        files.client().certificate(&format!("{}/things", server.url())) == new.der
    });
    std::fs::write(files.path("server.key"), "no key").unwrap();
    hang_up();
    let failures = || {
        let metrics = files.client().get(&format!("{}/metrics", server.url())).1;
        metric(&metrics, "agentdex_tls_reload_failures_total")
    };
    eventually("the failure is counted", || failures() > 0);
    assert!(server.log().contains("server.key"), "{}", server.log());
    assert_eq!(files.client().certificate(&format!("{}/things", server.url())), new.der);
    assert!(server.stop().success());
}

#[test]
fn other_machines_are_served_with_authentication_and_tls() {
    let files = Files::new();
    let data = tempfile::tempdir().unwrap();
    let data = data.path().to_str().unwrap();
    let tls = tls(&files);
    let tls: Vec<&str> = tls.iter().map(String::as_str).collect();
    for (given, missing, present) in
        [(&tls[..], "--auth", "--tls-cert FILE"), (&["--auth"][..], "--tls-cert FILE", "--auth lets")]
    {
        let refused = run(&[&["serve", "--data", data, "--no-mqtt", "--listen", "0.0.0.0:0"], given].concat());
        let message = stderr(&refused);
        assert!(!refused.status.success() && message.contains(missing) && !message.contains(present), "{message}");
        assert!(message.contains("--insecure") && message.contains("127.0.0.1"), "{message}");
    }
    let (server, _data) = start(&files, &["--auth", "--listen", "0.0.0.0:0", "--mqtt-listen", "0.0.0.0:0"]);
    assert!(!server.log().contains("open to other machines"), "{}", server.log());
    assert!(server.url().starts_with("https://0.0.0.0:"), "{}", server.url());
}

#[test]
fn files_that_do_not_fit_end_the_start() {
    let files = Files::new();
    std::fs::write(files.path("other.key"), files.authority.server().key).unwrap();
    let data = files.text("data");
    let (certificate, other) = (files.text("server.pem"), files.text("other.key"));
    let refused = run(&[
        "serve",
        "--data",
        &data,
        "--listen",
        "127.0.0.1:0",
        "--no-mqtt",
        "--tls-cert",
        &certificate,
        "--tls-key",
        &other,
    ]);
    assert!(stderr(&refused).contains("it is not the key of the certificate in"), "{}", stderr(&refused));
    let half = run(&["serve", "--data", &data, "--tls-cert", &certificate]);
    assert!(stderr(&half).contains("tls_key"), "{}", stderr(&half));
    // A start that can't succeed makes no data directory.
    assert!(!files.path("data").exists());
}
