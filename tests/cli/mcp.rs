//! `agentdex mcp`: an MCP server on standard input and output, in front of a registry or a data directory.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use agentdex::Registry;
use serde_json::{Value, json};

use super::{json_lines, run, run_with_input, stderr, stdout};
use crate::{
    process::{ServerProcess, agentdex},
    support::{agent, run_mcp_javascript, run_mcp_python},
};

const ID: &str = "urn:example:tides";

/// Puts an agent into a data directory.
fn fill(data: &Path) {
    let registry = Registry::open(data).unwrap();
    registry.put(agent(ID, "Tide agent")).unwrap();
    registry.close();
}

fn lines(messages: &[Value]) -> String {
    messages.iter().map(|message| format!("{message}\n")).collect()
}

fn modern(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A conversation in the old way.
fn legacy() -> Vec<Value> {
    let client =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    vec![
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "id": "get", "method": "tools/call", "params": {"name": "get_agent", "arguments": {"id": ID}}}),
    ]
}

/// The response to a request.
fn of(responses: &[Value], id: impl Into<Value>) -> Value {
    let id = id.into();
    let found = responses.iter().find(|response| response["id"] == id);
    found.unwrap_or_else(|| panic!("no response to {id}: {responses:?}")).clone()
}

#[test]
fn a_registry_and_a_data_directory_are_served_in_both_eras() {
    let folder = tempfile::tempdir().unwrap();
    let (data, served) = (folder.path().join("data"), folder.path().join("served"));
    fill(&data);
    fill(&served);
    let server = ServerProcess::start(&served, &[]);
    let (data, url) = (data.to_str().unwrap(), server.url());
    for arguments in [&["mcp", "--data", data][..], &["mcp", "--url", url]] {
        let output = run_with_input(arguments, &lines(&legacy()));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let responses = json_lines(&output);
        assert_eq!(responses.len(), 3, "{arguments:?}: {responses:?}");
        assert_eq!(of(&responses, 1)["result"]["protocolVersion"], "2025-11-25");
        assert_eq!(of(&responses, 2)["result"]["tools"].as_array().unwrap().len(), 7, "{arguments:?}");
        assert_eq!(of(&responses, "get")["result"]["structuredContent"]["document"]["title"], "Tide agent");

        let messages = [
            modern(1, "server/discover", json!({})),
            modern(2, "tools/call", json!({"name": "search_agents", "arguments": {"query": "tide"}})),
            modern(3, "resources/read", json!({"uri": format!("agentdex://things/{ID}")})),
            modern(4, "tools/unknown", json!({})),
        ];
        let output = run_with_input(arguments, &lines(&messages));
        let responses = json_lines(&output);
        assert_eq!(responses.len(), 4, "{arguments:?}: {responses:?}");
        assert!(of(&responses, 1)["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")));
        assert_eq!(of(&responses, 2)["result"]["structuredContent"]["hits"][0]["id"], ID);
        assert!(of(&responses, 3)["result"]["contents"][0]["text"].as_str().unwrap().contains("Tide agent"));
        assert_eq!(of(&responses, 4)["error"]["code"], -32601, "{arguments:?}");

        let nothing = run_with_input(arguments, "");
        assert_eq!((nothing.status.code(), stdout(&nothing)), (Some(0), String::new()), "{}", stderr(&nothing));
    }
    let read_only = run_with_input(&["mcp", "--data", data, "--read-only"], &lines(&legacy()));
    assert_eq!(of(&json_lines(&read_only), 2)["result"]["tools"].as_array().unwrap().len(), 5);
}

/// A registry and a data directory answer the same, whatever the client begins with.
#[test]
fn both_ways_answer_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (data, served) = (folder.path().join("data"), folder.path().join("served"));
    fill(&data);
    fill(&served);
    let server = ServerProcess::start(&served, &[]);
    let ways = [["--data", data.to_str().unwrap()], ["--url", server.url()]];
    let request = |method: &str| json!({"jsonrpc": "2.0", "id": 5, "method": method, "params": {}}).to_string();
    let search = json!({"name": "search_agents", "arguments": {"query": "tide"}});
    let noted = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    for (messages, expected) in [
        (vec![noted.clone(), request("ping")], vec![json!({})]),
        (
            vec![json!({"jsonrpc": "2.0", "id": 1, "result": {}}).to_string(), request("ping")],
            vec![json!(-32600), json!({})],
        ),
        (vec![request("tools/unknown")], vec![json!(-32601)]),
        (vec![request("prompts/list")], vec![json!(-32601)]),
        (vec!["{".to_owned()], vec![json!(-32700)]),
        (vec!["[]".to_owned()], vec![json!(-32600)]),
        (vec![r#"{"jsonrpc": "2.0", "id": null, "method": "ping"}"#.to_owned()], vec![json!(-32600)]),
        (vec![request("resources/read")], vec![json!(-32602)]),
        (vec![modern(1, "initialize", json!({"protocolVersion": "2026-07-28"})).to_string()], vec![json!(-32601)]),
        (vec![modern(1, "tools/unknown", json!({})).to_string()], vec![json!(-32601)]),
        (vec![modern(1, "tools/list", json!({})).to_string().replace("2026-07-28", "2099-01-01")], vec![json!(-32022)]),
    ] {
        for way in &ways {
            let output = run_with_input(&[&["mcp"][..], way].concat(), &format!("{}\n", messages.join("\n")));
            assert_eq!(output.status.code(), Some(0), "{way:?} {messages:?}: {}", stderr(&output));
            let mut found: Vec<Value> = json_lines(&output)
                .into_iter()
                .map(|answer| answer.get("result").unwrap_or(&answer["error"]["code"]).clone())
                .collect();
            found.sort_by_key(|one| one.is_object());
            assert_eq!(found, expected, "{way:?} {messages:?}");
        }
    }
    // Before `initialize`, and a request of the old way after one of the new.
    let messages =
        [request("tools/list"), modern(6, "tools/call", search).to_string(), request("ping").replace('5', "7")];
    let answers = ways.map(|way| {
        let mut lines =
            json_lines(&run_with_input(&[&["mcp"][..], &way].concat(), &format!("{}\n", messages.join("\n"))));
        lines.sort_by_key(|line| line["id"].as_u64());
        lines
    });
    assert_eq!(answers[0].len(), 3);
    assert_eq!(answers[0], answers[1]);
}

/// What a client sends is in no line of the log.
#[test]
fn requests_leave_no_lines_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fill(&data);
    let server = ServerProcess::start(&data, &[]);
    let forged = "forged\n2026-01-01T00:00:00Z ERROR \u{1b}[31m\u{202e}";
    let call =
        |id: &str, method: &str| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"name": forged}});
    let messages = [call(forged, "ping"), call(forged, "tools/call"), call(forged, forged), call("1", "tools/list")];
    let output = run_with_input(&["mcp", "--url", server.url()], &lines(&messages));
    assert_eq!(json_lines(&output).len(), 4, "{}", stderr(&output));
    let log = server.log();
    assert!(!log.contains("forged") && !log.contains("rmcp"), "{log}");
}

#[test]
fn a_subscription_ends_with_the_input() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fill(&data);
    let uri = format!("agentdex://things/{ID}");
    let listen = modern(1, "subscriptions/listen", json!({"notifications": {"resourceSubscriptions": [uri]}}));
    let mut started = agentdex();
    started.args(["mcp", "--data", data.to_str().unwrap()]);
    let mut child = started.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    writeln!(input, "{listen}").unwrap();
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert!(line.contains("acknowledged"), "{line}");
    let document: Value = serde_json::from_str(&agent(ID, "Changed")).unwrap();
    let arguments = json!({"document": document, "replace": true});
    let change = modern(2, "tools/call", json!({"name": "register_agent", "arguments": arguments}));
    writeln!(input, "{change}").unwrap();
    let lines: Vec<String> = output.by_ref().lines().take(2).map(Result::unwrap).collect();
    assert!(lines.iter().any(|line| line.contains("notifications/resources/updated")), "{lines:?}");
    let begun = Instant::now();
    drop(input);
    assert!(child.wait().unwrap().success());
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[test]
fn failures_are_responses() {
    let list = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list"});
    let output = run_with_input(&["mcp", "--url", "http://127.0.0.1:1"], &format!("{{\n\n{list}\n"));
    assert_eq!(output.status.code(), Some(0));
    let responses = json_lines(&output);
    assert_eq!(of(&responses, Value::Null)["error"]["code"], -32700);
    let error = of(&responses, 7)["error"].clone();
    assert!(error["message"].as_str().unwrap().contains("can't be reached"), "{error}");

    let folder = tempfile::tempdir().unwrap();
    let nothing = folder.path().join("nothing");
    let output = run(&["mcp", "--data", nothing.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("contains no registry"), "{}", stderr(&output));
    assert!(!nothing.exists() && fs::read_dir(folder.path()).unwrap().next().is_none());
}

#[test]
fn an_api_key_decides_which_tools_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let keys = |role: &str| {
        let output =
            run(&["keys", "create", "--role", role, "--owner", "us", "--data", data.to_str().unwrap(), "--json"]);
        json_lines(&output)[0]["key"].as_str().unwrap().to_owned()
    };
    fill(&data);
    let (reader, writer) = (keys("read"), keys("register"));
    let server = ServerProcess::start(&data, &["--auth"]);
    for (key, count) in [(&reader, 5), (&writer, 7)] {
        let output = run_with_input(&["mcp", "--url", server.url(), "--api-key", key], &lines(&legacy()));
        let responses = json_lines(&output);
        assert_eq!(of(&responses, 2)["result"]["tools"].as_array().unwrap().len(), count, "{responses:?}");
    }
    let refused = json_lines(&run_with_input(&["mcp", "--url", server.url()], &lines(&legacy())));
    assert!(of(&refused, 1)["error"]["message"].as_str().unwrap().contains("API key"), "{refused:?}");
}

const PYTHON: &str = r#"
import asyncio, json, sys
from mcp import Client, StdioServerParameters, stdio_client

async def main():
    command, *arguments = json.loads(sys.argv[1])
    for mode in ("auto", "legacy"):
        server = stdio_client(StdioServerParameters(command=command, args=arguments))
        async with Client(server, mode=mode) as client:
            tools = await client.list_tools()
            found = await client.call_tool("search_agents", {"query": "tide"})
            print(len(tools.tools), found.structured_content["hits"][0]["title"])

asyncio.run(main())
"#;

const JAVASCRIPT: &str = r#"
import { readFileSync } from "node:fs";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Client as Client2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as Transport2 } from "@modelcontextprotocol/client/stdio";

const [command, ...args] = JSON.parse(readFileSync(0, "utf8"));
for (const [Client, Transport] of [[Client1, Transport1], [Client2, Transport2]]) {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new Transport({ command, args }));
  const { tools } = await client.listTools();
  const found = await client.callTool({ name: "search_agents", arguments: { query: "tide" } });
  console.log(tools.length, found.structuredContent.hits[0].title);
  await client.close();
}
"#;

#[test]
fn clients_of_the_project_of_the_protocol_start_it() {
    let folder = tempfile::tempdir().unwrap();
    let (data, served) = (folder.path().join("data"), folder.path().join("served"));
    fill(&data);
    fill(&served);
    let server = ServerProcess::start(&served, &[]);
    let program = agentdex().get_program().to_str().unwrap().to_owned();
    for arguments in [["--data", data.to_str().unwrap()], ["--url", server.url()]] {
        let command = json!([[&program, "mcp"], arguments].concat()).to_string();
        if let Some(said) = run_mcp_python(PYTHON, &command) {
            assert_eq!(said, "7 Tide agent\n".repeat(2), "{arguments:?}");
        }
        if let Some(said) = run_mcp_javascript(JAVASCRIPT, &command) {
            assert_eq!(said, "7 Tide agent\n".repeat(2), "{arguments:?}");
        }
    }
}
