//! A registry as an agent of another one: registered by its URL, found, asked, and called.

use std::fs;

use serde_json::{Value, json};

use super::{agent, run, stderr, stdout};
use crate::{process::ServerProcess, support::eventually};

#[test]
fn registry_is_an_agent_of_another_registry() {
    let [here, there] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let one = ServerProcess::start(there.path(), &[]);
    let file = there.path().join("tides.json");
    fs::write(&file, agent("urn:example:tides", "Tide agent")).unwrap();
    let registered = run(&["register", file.to_str().unwrap(), "--url", one.url()]);
    assert!(registered.status.success(), "{}", stderr(&registered));
    let other = ServerProcess::start(here.path(), &["--allow-fetch", "127.0.0.0/8"]);
    let registered = run(&["register", "--url-of-agent", one.url(), "--url", other.url()]);
    assert!(registered.status.success() && stderr(&registered).is_empty(), "{}", stderr(&registered));
    let id = stdout(&registered).trim().strip_prefix("created ").unwrap().to_owned();
    let search = || stdout(&run(&["search", "find agents that can do a task", "--json", "--url", other.url()]));
    eventually("the search finds it", || search().contains(&id));
    let allowed = ["--allow-fetch", "127.0.0.0/8", "--url", other.url()];
    let asked = run(&[&["ask", "--agent", &id, "Tide agent"][..], &allowed].concat());
    let said = stdout(&asked);
    assert!(said.contains("1 agent matches.") && said.contains("urn:example:tides"), "{said}\n{}", stderr(&asked));
    let called =
        run(&[&["call", &id, "search-agents", "--input", r#"{"query": "tide", "limit": 1}"#][..], &allowed].concat());
    assert!(stdout(&called).contains("urn:example:tides"), "{}\n{}", stdout(&called), stderr(&called));

    // As an MCP server, too.
    let server = run(&["register", "--url-of-agent", &format!("{}/mcp", one.url()), "--url", other.url()]);
    assert!(server.status.success(), "{}", stderr(&server));
    let id = stdout(&server).trim().strip_prefix("created ").unwrap().to_owned();
    let found = run(&["get", &id, "--url", other.url()]);
    let thing: Value = serde_json::from_str(&stdout(&found)).unwrap();
    let actions: Vec<&String> = thing["actions"].as_object().unwrap().keys().collect();
    let tools = [
        "explore",
        "find_compatible",
        "get_agent",
        "register_agent",
        "remove_agent",
        "search_agents",
        "validate_agent",
    ];
    assert_eq!(actions, tools, "{thing}");
    let input = json!({"query": "tide"}).to_string();
    let called = run(&[&["call", &id, "search_agents", "--input", &input][..], &allowed].concat());
    assert!(stdout(&called).contains("urn:example:tides"), "{}\n{}", stdout(&called), stderr(&called));
}
