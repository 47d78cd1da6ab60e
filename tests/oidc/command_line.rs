//! Tokens as operators and users set them up.

use crate::process::{ServerProcess, agentdex};

use super::Provider;

#[test]
fn server_takes_tokens_and_commands_send_them() {
    let Some(provider) = Provider::start("ES256") else { return };
    let data = tempfile::tempdir().unwrap();
    let arguments = ["--auth", "--oidc-issuer", &provider.issuer, "--oidc-audience", "agentdex"];
    let server = ServerProcess::start(&data.path().join("data"), &arguments);
    let list =
        |token: &str| agentdex().args(["list", "--url", server.url()]).env("AGENTDEX_API_KEY", token).output().unwrap();
    let listed = list(&provider.token("reader", "read"));
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let refused = list(&provider.token("stranger", ""));
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("grants a role"));
}

#[test]
fn settings_that_would_take_too_much_end_the_start() {
    for (arguments, reason) in [
        (&["--oidc-issuer", "https://login.example.org", "--oidc-audience", "a"][..], "set auth"),
        (&["--auth", "--oidc-issuer", "https://login.example.org"], "set oidc_audience"),
        (&["--auth", "--oidc-audience", "a"], "set oidc_issuer"),
        (&["--auth", "--oidc-issuer", "http://login.example.org", "--oidc-audience", "a"], "must begin with https://"),
        (
            &["--auth", "--oidc-issuer", "https://a.example", "--oidc-audience", "a", "--oidc-role", "root"],
            "--oidc-role",
        ),
    ] {
        let data = tempfile::tempdir().unwrap();
        let start = agentdex()
            .args(["serve", "--listen", "127.0.0.1:0", "--no-mqtt", "--data"])
            .arg(data.path())
            .args(arguments)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&start.stderr).into_owned();
        assert!(!start.status.success() && errors.contains(reason), "{arguments:?}: {errors}");
    }
}
