//! API keys on the command line, and a start that would let other machines do everything.

use agentdex_client::RegistryClient;
use serde_json::{Value, json};

use super::{agent, run, run_with_input, stderr, stdout};
use crate::process::{ServerProcess, agentdex};

fn created(arguments: &[&str]) -> String {
    let output = run(&[&["keys", "create"], arguments].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output).trim().to_owned()
}

#[test]
fn the_first_key_is_made_in_the_directory_and_makes_others() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().to_str().unwrap();
    let admin = created(&["--role", "admin", "--owner", "ops", "--data", data]);
    let server = ServerProcess::start(directory.path(), &["--auth"]);
    let url = server.url();
    // The directory is that of a server that runs.
    let refused = run(&["keys", "list", "--data", data]);
    assert!(!refused.status.success() && stderr(&refused).contains("in use"), "{}", stderr(&refused));

    let writer =
        created(&["--role", "register", "--owner", "team", "--expires", "90d", "--url", url, "--api-key", &admin]);
    let register =
        |key: &str| run_with_input(&["register", "-", "--url", url, "--api-key", key], &agent("urn:example:a", "A"));
    let output = register(&writer);
    assert!(output.status.success(), "{}", stderr(&output));
    let by_variable =
        agentdex().args(["get", "urn:example:a", "--url", url]).env("AGENTDEX_API_KEY", &writer).output().unwrap();
    assert!(by_variable.status.success(), "{}", stderr(&by_variable));
    let without = run(&["list", "--url", url]);
    assert!(!without.status.success());
    assert!(stderr(&without).contains("AGENTDEX_API_KEY"), "{}", stderr(&without));
    // The registry's own refusals say what to do; nothing before it asks for credentials.
    let other = created(&["--role", "register", "--owner", "others", "--url", url, "--api-key", &admin]);
    let foreign = stderr(&run(&["remove", "urn:example:a", "--url", url, "--api-key", &other]));
    assert!(foreign.contains("belongs to another owner") && !foreign.contains("USER:PASSWORD"), "{foreign}");

    let listed = run(&["keys", "list", "--url", url, "--api-key", &admin]);
    let text = stdout(&listed);
    assert!(text.contains("team") && text.contains("3 keys") && !text.contains(&writer), "{text}");
    let revoked = run(&["--api-key", &admin, "--url", url, "keys", "revoke", &writer]);
    assert!(revoked.status.success(), "{}", stderr(&revoked));
    assert!(!register(&writer).status.success());
    assert!(server.stop().success());

    let keys = run(&["keys", "list", "--data", data, "--json"]);
    assert!(stdout(&keys).contains("ops") && !stdout(&keys).contains("team"), "{}", stdout(&keys));

    let elsewhere = tempfile::tempdir().unwrap();
    let [file, restored] = ["backup", "restored"].map(|name| elsewhere.path().join(name).to_str().unwrap().to_owned());
    assert!(run(&["backup", &file, "--data", data]).status.success());
    assert!(run(&["restore", &file, "--data", &restored]).status.success());
    assert_eq!(stdout(&run(&["keys", "list", "--data", &restored, "--json"])), stdout(&keys));
}

#[test]
fn keys_that_are_made_and_revoked_in_the_directory_are_in_the_audit_trail() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().to_str().unwrap();
    let admin = created(&["--role", "admin", "--owner", "ops", "--data", data]);
    let other = created(&["--role", "register", "--owner", "team", "--data", data]);
    let id = |key: &str| key.split('_').nth(1).unwrap().to_owned();
    assert!(run(&["keys", "revoke", &other, "--data", data]).status.success());
    // Nothing is decided by that.
    assert!(!run(&["keys", "revoke", &other, "--data", data]).status.success());
    assert!(run(&["keys", "list", "--data", data]).status.success());

    let server = ServerProcess::start(directory.path(), &["--auth"]);
    let online = created(&["--role", "read", "--owner", "guests", "--url", server.url(), "--api-key", &admin]);
    let trail = run(&["audit", "--json", "--url", server.url(), "--api-key", &admin]);
    let entries: Vec<Value> = stdout(&trail).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let decided: Vec<Value> = entries
        .iter()
        .map(|entry| {
            json!([entry["action"], entry["target"], entry["from"]["owner"], entry["to"]["role"], entry["owner"]])
        })
        .collect();
    let path = |key: &str| format!("/keys/{}", id(key));
    // In nobody's name: whoever can write the directory may do everything.
    assert_eq!(
        decided,
        [
            json!(["POST", path(&admin), null, "admin", null]),
            json!(["POST", path(&other), null, "register", null]),
            json!(["DELETE", path(&other), "team", null, null]),
            json!(["POST", path(&online), null, "read", "ops"]),
        ]
    );
    assert!(entries.iter().all(|entry| entry["chain"] == "administration"), "{entries:?}");
    // People see who it was, too.
    let shown = stdout(&run(&["audit", "--url", server.url(), "--api-key", &admin]));
    assert!(shown.lines().next().unwrap().contains(" trusted: POST /keys/"), "{shown}");
    assert!(server.stop().success());
    let checked = run(&["check", "--data", data]);
    assert_eq!(checked.status.code(), Some(0), "{}", stdout(&checked));
}

#[test]
fn clients_send_their_key() {
    let directory = tempfile::tempdir().unwrap();
    let key = created(&["--role", "register", "--owner", "team", "--data", directory.path().to_str().unwrap()]);
    let server = ServerProcess::start(directory.path(), &["--auth"]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = RegistryClient::new(server.url()).unwrap();
    let refused = runtime.block_on(client.clone().count(&[])).unwrap_err();
    assert_eq!(refused.problem().unwrap().code, "unauthenticated");
    let client = client.api_key(&key).unwrap();
    runtime.block_on(client.put("urn:example:a", agent("urn:example:a", "A"))).unwrap();
    assert_eq!(runtime.block_on(client.count(&[])).unwrap(), 1);
    assert_eq!(runtime.block_on(client.keys()).unwrap_err().problem().unwrap().code, "forbidden");
    assert!(client.api_key("x").is_err());
}

#[test]
fn other_machines_are_served_only_with_authentication_and_tls() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().to_str().unwrap();
    for arguments in
        [["--listen", "0.0.0.0:0", "--no-mqtt"].as_slice(), &["--listen", "127.0.0.1:0", "--mqtt-listen", "0.0.0.0:0"]]
    {
        let refused = run(&[&["serve", "--data", data], arguments].concat());
        assert!(!refused.status.success(), "{arguments:?}");
        let message = stderr(&refused);
        assert!(
            ["--auth", "--tls-cert", "--insecure", "open to other machines"].iter().all(|part| message.contains(part)),
            "{message}"
        );
    }
    for flags in [&["--auth", "--insecure"][..], &["--insecure"]] {
        let server = ServerProcess::start(directory.path(), &[&["--listen", "0.0.0.0:0"], flags].concat());
        assert!(server.log().contains("open to other machines"), "{}", server.log());
        // 0.0.0.0 is no address to open in a browser.
        assert_eq!(server.page(), Some(&*server.url().replace("0.0.0.0", "127.0.0.1")));
        assert!(server.stop().success());
    }
    let refused = run(&["serve", "--data", data, "--public-read", "--no-mqtt"]);
    assert!(stderr(&refused).contains("--auth"), "{}", stderr(&refused));
}

#[test]
fn missing_admin_key_is_reported_unless_an_issuer_or_certificates_grant_the_role() {
    let issuer = ["--oidc-issuer", "https://127.0.0.1:1", "--oidc-audience", "agentdex"];
    for (flags, is_reported) in [
        (&["--auth"][..], true),
        (&[&["--auth"], &issuer[..]].concat(), false),
        (&[&["--auth"], &issuer[..], &["--oidc-role", "ops=admin"]].concat(), false),
        (&[&["--auth"], &issuer[..], &["--oidc-role", "read"]].concat(), true),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let server = ServerProcess::start(directory.path(), flags);
        let log = server.log();
        assert_eq!(log.contains("no API key with the role `admin`"), is_reported, "{flags:?}: {log}");
        assert!(server.stop().success());
    }
}

#[test]
fn private_versions_are_published_where_the_command_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().to_str().unwrap();
    let admin = created(&["--role", "admin", "--owner", "ops", "--data", data]);
    let server = ServerProcess::start(directory.path(), &["--auth", "--public-read"]);
    let url = server.url();
    let call = |method: &str, path: &str| crate::support::Call::new(method, &format!("{url}{path}"));
    for (version, visibility) in [("1.0.0", "&visibility=private"), ("2.0.0", "")] {
        let put = call("PUT", &format!("/things/urn:example:a?version={version}{visibility}"));
        let put = put.header("authorization", &format!("Bearer {admin}"));
        let status = put.body("application/td+json", agent("urn:example:a", version)).send().status;
        assert!(status < 300, "{version}: {status}");
    }
    let access = |more: &[&str]| {
        run(&[&["access", "urn:example:a", "--visibility", "public", "--url", url, "--api-key", &admin], more].concat())
    };
    let warned = access(&[]);
    assert!(warned.status.success() && stderr(&warned).contains("1.0.0"), "{}", stderr(&warned));
    call("GET", "/things/urn:example:a?version=1.0.0").send().problem(404, "no-such-version");
    let listed = run(&["get", "urn:example:a", "--versions", "--url", url, "--api-key", &admin]);
    assert!(stdout(&listed).contains("1.0.0  private"), "{}", stdout(&listed));
    let published = access(&["--all-versions"]);
    assert!(published.status.success() && !stderr(&published).contains("1.0.0"), "{}", stderr(&published));
    call("GET", "/things/urn:example:a?version=1.0.0").send().expect(200);
    // A file is put over what is there, or in the place of all of it.
    let register = |more: &[&str]| {
        let arguments = ["register", "-", "--url", url, "--api-key", &admin];
        run_with_input(&[&arguments[..], more].concat(), &agent("urn:example:a", "Third"))
    };
    let versions = || call("GET", "/things/urn:example:a/versions").send().expect(200).json();
    assert!(register(&[]).status.success());
    assert_eq!(versions().as_array().unwrap().len(), 2);
    let replaced = register(&["--replace"]);
    assert!(replaced.status.success() && stderr(&replaced).contains("dropped"), "{}", stderr(&replaced));
    assert_eq!(versions().as_array().unwrap().len(), 1);
}
