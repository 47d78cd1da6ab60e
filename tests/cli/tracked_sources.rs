//! Agents that the registry fetches and tracks: register --url-of-agent, imports, refresh, untrack.

use std::{
    fs,
    sync::{Arc, Mutex},
};

use agentdex::signature::{Algorithm, Form};
use serde_json::{Value, json};

use super::{json_lines, run, run_with_input, stderr, stdout};
use crate::{
    process::ServerProcess,
    signature::signer::Signer,
    support::{Reply, Site, eventually},
};

const CARD: &str = "/.well-known/agent-card.json";
const CAPABILITY_FILE: &str = "/.well-known/capabilities.json";
const ID: &str = "urn:test:greeter";

/// An agent that serves a document at one place.
struct Agent {
    site: Site,
    reply: Arc<Mutex<Reply>>,
}

impl Agent {
    fn start(path: &'static str, document: &Value) -> Agent {
        let reply = Arc::new(Mutex::new(Reply::json(&document.to_string())));
        let told = reply.clone();
        let site = Site::start(move |head| match head.split(' ').nth(1) {
            Some(asked) if asked == path => told.lock().unwrap().clone(),
            _ => Reply::new("404 Not Found", &[], ""),
        });
        Agent { site, reply }
    }

    fn url(&self) -> String {
        self.site.url("")
    }

    fn serve(&self, document: &Value) {
        *self.reply.lock().unwrap() = Reply::json(&document.to_string());
    }

    fn break_down(&self) {
        *self.reply.lock().unwrap() = Reply::new("500 Internal Server Error", &[], "");
    }
}

/// A registry that may fetch from loopback.
fn server(flags: &[&str]) -> (tempfile::TempDir, ServerProcess) {
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(data.path(), &[&["--allow-fetch", "127.0.0.0/8"], flags].concat());
    (data, server)
}

fn card(description: &str) -> Value {
    json!({
        "protocolVersion": "0.3.0",
        "name": "Greeter",
        "description": description,
        "version": "1.0.0",
        "url": "https://greeter.example/a2a",
        "capabilities": {},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "greet", "name": "Greet", "description": "Says hello", "tags": []}],
    })
}

/// The tracked sources with a status.
fn imports(server: &ServerProcess, status: &str) -> Vec<Value> {
    let output = run(&["imports", "--json", "--status", status, "--url", server.url()]);
    serde_json::from_str(&stdout(&output)).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn agent_is_fetched_tracked_and_polled_on_request() {
    let (_data, server) = server(&[]);
    let agent = Agent::start(CARD, &card("Greets"));
    let register = ["register", "--url-of-agent", &agent.url(), "--id", ID, "--url", server.url()];
    let registered = run(&register);
    assert_eq!(stdout(&registered), format!("created {ID}\n"), "{}", stderr(&registered));
    let again = json_lines(&run(&[&register[..], &["--json"]].concat())).remove(0);
    assert_eq!((&again["url"], &again["ids"], &again["updated"]), (&json!(agent.url()), &json!([ID]), &json!([])));

    let import = imports(&server, "current").remove(0);
    assert_eq!((&import["id"], &import["source"]), (&json!(ID), &json!(agent.site.url(CARD))));
    assert_eq!((&import["format"], &import["failures"]), (&json!("a2a"), &json!(0)));
    assert_eq!(import["revisions"].as_array().unwrap().len(), 1, "{import}");
    let table = stdout(&run(&["imports", "--url", server.url()]));
    // Away from a terminal moments are exact.
    assert!([ID, &agent.site.url(CARD), "current", "next 20"].iter().all(|words| table.contains(words)), "{table}");
    assert!(table.ends_with("1 source\n"), "{table}");

    let refresh = || run(&["refresh", ID, "--url", server.url()]);
    assert_eq!(stdout(&refresh()), format!("unchanged {ID}\n"));
    agent.serve(&card("Greets in verse"));
    assert_eq!(stdout(&refresh()), format!("updated {ID}\n"));
    let thing = stdout(&run(&["get", ID, "--url", server.url()]));
    assert!(thing.contains("\"Greets in verse\""), "{thing}");
}

#[test]
fn patch_of_a_tracked_agent_stays_when_its_source_changes() {
    let (_data, server) = server(&[]);
    let agent = Agent::start(CARD, &card("Greets"));
    assert!(run(&["register", "--url-of-agent", &agent.url(), "--id", ID, "--url", server.url()]).status.success());
    let patch = || run(&["patch", ID, r#"{"title": "Mine"}"#, "--url", server.url()]);
    let patched = patch();
    assert_eq!((stdout(&patched), stderr(&patched)), (format!("updated {ID}\n"), String::new()));
    agent.serve(&card("Greets in verse"));
    assert_eq!(stdout(&run(&["refresh", ID, "--url", server.url()])), format!("updated {ID}\n"));
    let thing = stdout(&run(&["get", ID, "--url", server.url()]));
    assert!(thing.contains("\"Mine\"") && thing.contains("\"Greets in verse\""), "{thing}");
    let again = patch();
    assert_eq!((stdout(&again), stderr(&again)), (format!("unchanged {ID}\n"), String::new()));
    let export =
        |flags: &[&str]| stdout(&run(&[&["export", ID, "--format", "a2a", "--url", server.url()], flags].concat()));
    assert!(export(&[]).contains("\"Mine\"") && !export(&["--without-edits"]).contains("\"Mine\""));
    let versions = stdout(&run(&["get", ID, "--versions", "--url", server.url()]));
    assert!(versions.ends_with("  a2a  served\n") && versions.lines().count() == 1, "{versions}");
    let unedited = run(&["get", ID, "--version", "latest", "--url", server.url()]);
    assert!(!stdout(&unedited).contains("\"Mine\""), "{unedited:?}");
    // What has nothing to do with it ends the tracking, and says so.
    let other = agent_that_does("Something else");
    let file = tempfile::NamedTempFile::with_suffix(".json").unwrap();
    fs::write(file.path(), other.to_string()).unwrap();
    let path = file.path().to_str().unwrap();
    let refused = run(&["register", path, "--url", server.url()]);
    assert!(stderr(&refused).contains("--replace"), "{}", stderr(&refused));
    let replaced = run(&["register", "--replace", path, "--url", server.url()]);
    assert_eq!(stdout(&replaced), format!("updated {ID}\n"), "{}", stderr(&replaced));
    assert_eq!(imports(&server, "current"), Vec::<Value>::new());
}

/// A description by hand with the id of the tracked agent.
fn agent_that_does(title: &str) -> Value {
    json!({
        "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": ID, "title": title, "security": "none",
        "securityDefinitions": {"none": {"scheme": "nosec"}},
    })
}

#[test]
fn source_that_fails_becomes_stale_and_is_found_by_that() {
    let (_data, server) = server(&["--refresh-interval", "1", "--stale-after", "2"]);
    let agent = Agent::start(CARD, &card("Greets"));
    assert!(run(&["register", "--url-of-agent", &agent.url(), "--id", ID, "--url", server.url()]).status.success());
    agent.break_down();
    let failed = run(&["refresh", ID, "--url", server.url()]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(stderr(&failed).starts_with(&format!("error: {ID}: ")) && stderr(&failed).contains("500"), "{failed:?}");
    eventually("the staleness", || !imports(&server, "stale").is_empty());
    let table = stdout(&run(&["imports", "--status", "stale", "--url", server.url()]));
    assert!(table.contains("stale") && table.contains("500"), "{table}");
    let found = run(&["search", "--status", "stale", "--json", "--url", server.url()]);
    assert_eq!(json_lines(&found)[0]["hits"][0]["id"], ID);
    let none = run(&["imports", "--status", "current", "--url", server.url()]);
    assert_eq!(stdout(&none), "No source matches.\n");
    let unknown = run(&["imports", "--status", "rotten", "--url", server.url()]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("stale"), "{}", stderr(&unknown));
}

#[test]
fn tracking_ends_when_asked_and_the_agent_stays() {
    let (_data, server) = server(&[]);
    let agent = Agent::start(CARD, &card("Greets"));
    assert!(run(&["register", "--url-of-agent", &agent.url(), "--id", ID, "--url", server.url()]).status.success());
    let untrack = || run(&["untrack", ID, "--url", server.url()]);
    assert_eq!(stdout(&untrack()), format!("no longer tracked: {ID}\n"));
    for output in [untrack(), run(&["refresh", ID, "--url", server.url()])] {
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
        assert!(stderr(&output).contains("`agentdex imports`"), "{}", stderr(&output));
    }
    assert!(run(&["get", ID, "--url", server.url()]).status.success());
    let none = stdout(&run(&["imports", "--url", server.url()]));
    assert!(none.starts_with("No source is tracked.") && none.contains("--url-of-agent"), "{none}");
}

#[test]
fn several_agents_are_registered_and_a_failed_one_does_not_stop_the_rest() {
    let (_data, server) = server(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.json");
    fs::write(&file, super::agent("urn:test:file", "File")).unwrap();
    let mut other = card("Greets too");
    other["name"] = json!("Other");
    let (one, two, none) =
        (Agent::start(CARD, &card("Greets")), Agent::start(CARD, &other), Agent::start("/", &json!([])));
    let urls = [none.url(), one.url(), two.url()];
    let flags = urls.iter().flat_map(|url| ["--url-of-agent", url]);
    let arguments: Vec<&str> =
        ["register", file.to_str().unwrap(), "--ttl", "3600", "--url", server.url()].into_iter().chain(flags).collect();
    let output = run(&arguments);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).ends_with("3 created, 0 updated, 0 unchanged, 1 failed\n"), "{}", stdout(&output));
    assert!(stderr(&output).starts_with(&format!("error: {}: ", none.url())), "{}", stderr(&output));
    let list = json_lines(&run(&["list", "--json", "--url", server.url()]));
    let ttls: Vec<_> = list.iter().map(|thing| &thing["registration"]["ttl"]).collect();
    assert_eq!(ttls, [3600, 3600, 3600]);
}

#[test]
fn capability_file_is_found_at_its_place() {
    let (_data, server) = server(&[]);
    let file = json!({"id": ID, "capabilities": [{"name": "greet", "version": "1.0.0"}]});
    let agent = Agent::start(CAPABILITY_FILE, &file);
    let register = ["register", "--url-of-agent", &agent.url(), "--url", server.url(), "--format"];
    let registered = run(&[&register[..], &["lmos-capabilities"]].concat());
    assert_eq!(stdout(&registered), format!("created {ID}\n"), "{}", stderr(&registered));
    assert_eq!(imports(&server, "current")[0]["source"], agent.site.url(CAPABILITY_FILE));
    let wrong = run(&[&register[..], &["agent-spec"]].concat());
    assert_eq!(wrong.status.code(), Some(1));
    assert!(stderr(&wrong).contains("a2a, lmos-capabilities, or mcp-server"), "{}", stderr(&wrong));
}

#[test]
fn mcp_server_is_found_without_a_format() {
    let (_data, server) = server(&[]);
    let card = json!({"serverInfo": {"name": "lock-keeper", "version": "1.0.0"}, "transport": {"type": "http", "endpoint": "/mcp"},
        "tools": [{"name": "open_lock"}]});
    for place in [
        "/.well-known/mcp/server-card.json",
        "/.well-known/mcp.json",
        "/.well-known/mcp-server-card",
        "/.well-known/mcp-server-card.json",
    ] {
        let agent = Agent::start(place, &card);
        let registered = run(&["register", "--url-of-agent", &agent.url(), "--url", server.url()]);
        assert_eq!(stdout(&registered), "created urn:agentdex:mcp:lock-keeper\n", "{place}: {}", stderr(&registered));
        assert_eq!(imports(&server, "current")[0]["source"], agent.site.url(place));
        let thing = json_lines(&run(&["list", "--json", "--url", server.url()])).remove(0);
        assert_eq!(thing["actions"]["open_lock"]["forms"][0]["href"], agent.site.url("/mcp"));
        assert!(run(&["remove", "urn:agentdex:mcp:lock-keeper", "--url", server.url()]).status.success());
    }
}

#[test]
fn thing_description_is_found_and_registered_with_where_it_is_from() {
    let (_data, server) = server(&[]);
    let thing = json!({"@context": "https://www.w3.org/2022/wot/td/v1.1", "id": ID, "title": "Lamp", "security": "n",
        "securityDefinitions": {"n": {"scheme": "nosec"}}, "actions": {"toggle": {"forms": [{"href": "toggle"}]}}});
    let agent = Agent::start("/.well-known/wot", &thing);
    let registered = run(&["register", "--url-of-agent", &agent.url(), "--url", server.url()]);
    assert_eq!(stdout(&registered), format!("created {ID}\n"), "{}", stderr(&registered));
    assert!(stderr(&registered).contains("is not polled"), "{}", stderr(&registered));
    assert!(!stderr(&registered).contains("relative-without-base"), "{}", stderr(&registered));
    let found: Value = serde_json::from_str(&stdout(&run(&["get", ID, "--json", "--url", server.url()]))).unwrap();
    assert_eq!(found["base"], agent.site.url("/.well-known/wot"));
    assert!(imports(&server, "current").is_empty());
}

#[test]
fn card_that_is_served_as_plain_text_is_read() {
    let (_data, server) = server(&[]);
    for media_type in ["text/plain; charset=utf-8", "application/octet-stream"] {
        let site =
            Site::start(move |_| Reply::new("200 OK", &[("content-type", media_type)], card("Greets").to_string()));
        let registered =
            run(&["register", "--url-of-agent", &site.url("/card.json"), "--id", ID, "--url", server.url()]);
        assert!(registered.status.success(), "{media_type}: {}", stderr(&registered));
    }
}

#[test]
fn place_that_is_not_public_is_refused_with_what_would_allow_it() {
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(data.path(), &[]);
    let agent = Agent::start(CARD, &card("Greets"));
    let output = run(&["register", "--url-of-agent", &agent.url(), "--url", server.url()]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
    let remedy = format!("--allow-fetch {}", agent.site.address());
    assert!(stderr(&output).contains("loopback") && stderr(&output).contains(&remedy), "{}", stderr(&output));
    assert!(agent.site.heads().is_empty());
}

#[test]
fn signature_that_is_required_must_be_by_a_trusted_key() {
    let directory = tempfile::tempdir().unwrap();
    let signer = Signer::new("greeter-1", Algorithm::Es256);
    fs::write(
        directory.path().join("keys.json"),
        json!({"keys": [signer.jwk(), {"kty": "EC", "use": "enc"}]}).to_string(),
    )
    .unwrap();
    let (_data, server) = server(&["--trusted-keys", directory.path().to_str().unwrap(), "--require-signature"]);
    let log = server.log();
    assert!(log.contains("1 trusted key from") && log.contains("1 ignored: key 2 of keys.json"), "{log}");
    let register =
        |card: &Value| run_with_input(&["register", "-", "--id", ID, "--url", server.url()], &card.to_string());
    let mut card = card("Greets");
    let unsigned = register(&card);
    assert_eq!(unsigned.status.code(), Some(1));
    assert!(stderr(&unsigned).contains("has no signature"), "{}", stderr(&unsigned));
    signer.sign(&mut card, Form::Specification);
    assert_eq!(stdout(&register(&card)), format!("created {ID}\n"));
    let found = run(&["search", "--signature", "valid", "--json", "--url", server.url()]);
    assert_eq!(json_lines(&found)[0]["hits"][0]["id"], ID);
    card["description"] = json!("Greets, and takes your money");
    assert_eq!(register(&card).status.code(), Some(1));
}

#[test]
fn url_among_the_files_is_told_what_it_needs() {
    let output = run(&["register", "https://agents.example"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--url-of-agent https://agents.example"), "{}", stderr(&output));
}

#[test]
fn something_must_be_registered() {
    let output = run(&["register", "--ttl", "60"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("<FILE>") || stderr(&output).contains("[FILE]"), "{}", stderr(&output));
}

#[test]
fn url_that_is_tracked_is_registered_once_whatever_its_card_is_called() {
    let (_data, server) = server(&[]);
    let agent = Agent::start(CARD, &card("Greets"));
    let register = || run(&["register", "--url-of-agent", &agent.url(), "--url", server.url()]);
    let created = stdout(&register());
    let id = created.trim_end().strip_prefix("created ").unwrap().to_owned();
    let mut renamed = card("Greets");
    renamed["name"] = json!("Welcomer");
    agent.serve(&renamed);
    assert_eq!(stdout(&register()), format!("updated {id}\n"));
    assert_eq!(stdout(&register()), format!("unchanged {id}\n"));
    let sources = imports(&server, "current");
    let ids: Vec<_> = sources.iter().map(|source| &source["id"]).collect();
    assert_eq!(ids, [&json!(id)]);
    let list = json_lines(&run(&["list", "--json", "--url", server.url()]));
    let titles: Vec<_> = list.iter().map(|thing| &thing["title"]).collect();
    assert_eq!(titles, ["Welcomer"]);
}
