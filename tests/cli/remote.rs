//! The commands that talk to a registry: register, get, list, search, remove, watch.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::Stdio,
    time::Duration,
};

use agentdex::Timestamp;
use agentdex_client::RegistryClient;
use serde_json::Value;

use super::{agent, json_lines, run, run_with_input, stderr, stdout};
use crate::{
    process::{ServerProcess, agentdex},
    support::eventually,
};

fn server() -> (tempfile::TempDir, ServerProcess) {
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(data.path(), &[]);
    (data, server)
}

fn thing(server: &ServerProcess, id: &str) -> Option<Value> {
    let output = run(&["get", "--json", id, "--url", server.url()]);
    output.status.success().then(|| serde_json::from_str(&stdout(&output)).unwrap())
}

#[test]
fn folder_is_registered_and_a_failed_file_does_not_stop_the_rest() {
    let (_data, server) = server();
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("a.json", &agent("urn:test:a", "A"));
    write("b.json", "{ no json");
    write("c.json5", &agent("urn:test:c", "C").replace("]}", "],}"));
    write(
        "d.yaml",
        "'@context': https://www.w3.org/2022/wot/td/v1.1\nid: urn:test:d\ntitle: D\nsecurity: n\nsecurityDefinitions: {n: {scheme: nosec}}\n",
    );
    write("ignored.txt", "nothing");
    let folder = folder.path().to_str().unwrap();

    let output = run(&["register", folder, "--url", server.url()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).ends_with("3 created, 0 updated, 0 unchanged, 1 failed\n"), "{}", stdout(&output));
    assert!(stderr(&output).contains("b.json") && stderr(&output).contains("line 1"), "{}", stderr(&output));
    for id in ["urn:test:a", "urn:test:c", "urn:test:d"] {
        assert!(thing(&server, id).is_some(), "{id} is missing");
    }

    let again = run(&["register", folder, "--json", "--url", server.url()]);
    let lines = json_lines(&again);
    assert_eq!(lines.iter().filter(|line| line["created"] == false).count(), 3, "{lines:?}");
    assert_eq!(lines.iter().filter(|line| line["error"].is_string()).count(), 1, "{lines:?}");
}

#[test]
fn document_without_an_id_gets_one() {
    let (_data, server) = server();
    let text = agent("", "Anonymous").replace("\"id\": \"\",", "");
    let output = run_with_input(&["register", "-", "--json", "--url", server.url()], &text);
    let id = json_lines(&output)[0]["id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("urn:uuid:"), "{id}");
    assert_eq!(thing(&server, &id).unwrap()["title"], "Anonymous");
}

#[test]
fn document_comes_back_as_it_went_in() {
    let (_data, server) = server();
    let text = agent("urn:test:order", "Order").replace("\"title\"", "\"z:last\": 1.50, \"a:first\": 1e2, \"title\"");
    assert!(run_with_input(&["register", "-", "--url", server.url()], &text).status.success());
    let output = stdout(&run(&["get", "urn:test:order", "--url", server.url()]));
    let (last, first) = (output.find("\"z:last\": 1.50,"), output.find("\"a:first\": 1e2,"));
    assert!(last.is_some() && last < first, "{output}");
}

#[test]
fn time_to_live_is_asked_for() {
    let (_data, server) = server();
    let text = agent("urn:test:mortal", "Mortal");
    let output = run_with_input(&["register", "-", "--ttl", "3600", "--url", server.url()], &text);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(thing(&server, "urn:test:mortal").unwrap()["registration"]["ttl"], 3600);
}

#[test]
fn kept_alive_it_outlives_its_time_to_live_and_an_early_removal() {
    let (_data, server) = server();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.json");
    fs::write(&file, agent("urn:test:kept", "Kept")).unwrap();
    let mut command = agentdex();
    command.args(["register", "--ttl", "1", "--keep-alive", "--url", server.url()]).arg(&file).stdout(Stdio::null());
    let mut keeper = command.spawn().unwrap();
    let expires = || {
        let thing = thing(&server, "urn:test:kept")?;
        serde_json::from_value::<Timestamp>(thing["registration"]["expires"].clone()).ok()
    };
    let appears = || eventually("the agent", || expires().is_some());
    appears();
    // It was renewed when it is still there after the first moment at which it would have expired.
    let first = Timestamp::now().plus_seconds(1);
    eventually("a renewal", || Timestamp::now() > first && expires().is_some_and(|expires| expires > first));
    assert!(run(&["remove", "urn:test:kept", "--url", server.url()]).status.success());
    appears();
    keeper.kill().unwrap();
    keeper.wait().unwrap();
}

#[test]
fn search_and_list_show_tables_and_json() {
    let (_data, server) = server();
    for (id, title) in [("urn:test:a", "Alpha"), ("urn:test:b", "Beta")] {
        assert!(run_with_input(&["register", "-", "--url", server.url()], &agent(id, title)).status.success());
    }
    let found = run(&["search", "alpha", "--lexical", "--url", server.url()]);
    assert!(stdout(&found).contains("urn:test:a") && !stdout(&found).contains("urn:test:b"), "{}", stdout(&found));
    let by_filter = run(&["search", "--capability", "greet", "--json", "--url", server.url()]);
    assert_eq!(json_lines(&by_filter)[0]["total"], 2);
    let by_path = run(&["search", "--jsonpath", "$[?search(@.title, '^A')].id", "--url", server.url()]);
    assert_eq!(stdout(&by_path), "\"urn:test:a\"\n", "{}", stderr(&by_path));
    let by_meaning = run(&["search", "say hello", "--semantic", "--json", "--url", server.url()]);
    assert!(json_lines(&by_meaning)[0]["hits"][0]["cosine"].is_number(), "{}", stdout(&by_meaning));
    let none = run(&["search", "zzzzzz", "--url", server.url()]);
    assert!(stdout(&none).contains("No agent matches"), "{}", stdout(&none));

    let list = run(&["list", "--limit", "1", "--url", server.url()]);
    assert!(stdout(&list).contains("urn:test:a") && !stdout(&list).contains("urn:test:b"), "{}", stdout(&list));
    assert!(stdout(&list).contains("Greet people"), "{}", stdout(&list));
    assert!(stdout(&list).ends_with("1 of 2 agents\n"), "{}", stdout(&list));
    let list = stdout(&run(&["list", "--capability", "greet", "--limit", "5", "--url", server.url()]));
    assert!(list.ends_with("\n2 agents\n"), "{list}");
    let beyond = stdout(&run(&["list", "--limit", "5", "--offset", "2", "--url", server.url()]));
    assert_eq!(beyond, "0 of 2 agents\n");
    // Without words nothing has a score.
    let by_filter = stdout(&run(&["search", "--capability", "greet", "--url", server.url()]));
    assert!(by_filter.lines().any(|line| line == "Alpha"), "{by_filter}");
}

#[test]
fn removal_is_told_and_a_second_one_fails() {
    let (_data, server) = server();
    assert!(run_with_input(&["register", "-", "--url", server.url()], &agent("urn:test:a", "A")).status.success());
    let remove = || run(&["remove", "urn:test:a", "--url", server.url()]);
    assert_eq!(stdout(&remove()), "removed urn:test:a\n");
    let second = remove();
    assert_eq!(second.status.code(), Some(1));
    assert!(stderr(&second).contains("agentdex list"), "{}", stderr(&second));
    assert_eq!(run(&["get", "urn:test:a", "--url", server.url()]).status.code(), Some(1));
}

#[test]
fn watch_prints_what_happens_and_survives_a_restart_of_the_server() {
    let data = tempfile::tempdir().unwrap();
    let server = ServerProcess::start(data.path(), &[]);
    let url = server.url().to_owned();
    let register =
        |id: &str| assert!(run_with_input(&["register", "-", "--url", &url], &agent(id, id)).status.success());
    register("urn:test:before");
    let mut command = agentdex();
    // From a known event on, so that nothing depends on when the connection stands.
    let before = last_event(&server);
    command.args(["watch", "--json", "--since", &before, "--url", &url]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut watch = command.spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();

    register("urn:test:one");
    let event = next();
    assert_eq!((&event["type"], &event["data"]["id"]), (&"thing_created".into(), &"urn:test:one".into()));
    let address = url.strip_prefix("http://").unwrap().to_owned();
    assert_eq!(server.stop().code(), Some(0));
    let _server = ServerProcess::start(data.path(), &["--listen", &address]);
    register("urn:test:two");
    assert_eq!(next()["data"]["id"], "urn:test:two");
    watch.kill().unwrap();
    watch.wait().unwrap();
}

#[test]
fn watch_can_be_about_one_capability_and_one_kind() {
    let (_data, server) = server();
    let before = last_event(&server);
    let mut command = agentdex();
    command.args(["watch", "--since", &before, "--type", "removed", "--capability", "greet", "--url", server.url()]);
    let mut watch = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let register =
        |text: &str| assert!(run_with_input(&["register", "-", "--url", server.url()], text).status.success());
    register(&agent("urn:test:rude", "Rude").replace("greet", "ignore"));
    register(&agent("urn:test:kind", "Kind"));
    assert!(run(&["remove", "urn:test:rude", "urn:test:kind", "--url", server.url()]).status.success());
    let line = BufReader::new(watch.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    // When it happened, what, why and to whom: the title is only known of agents that were seen before.
    let words: Vec<&str> = line.split(' ').collect();
    assert!(words[0].starts_with("20") && words[0].ends_with('Z'), "{line}");
    assert_eq!(&words[1..3], ["removed", "urn:test:kind"], "{line}");
    watch.kill().unwrap();
    watch.wait().unwrap();
}

/// The id of the last event of a server.
fn last_event(server: &ServerProcess) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = RegistryClient::new(server.url()).unwrap();
    let changes = runtime.block_on(client.changes(None, 1000, Duration::ZERO)).unwrap();
    changes.cursor().to_string()
}
