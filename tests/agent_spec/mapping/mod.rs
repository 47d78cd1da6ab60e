//! Open Agent Spec configurations as Things.

mod collection;
mod jsonld;
mod secrets;
mod stored;
mod things;

use std::{fs, path::PathBuf};

use agentdex::{
    convert::{
        Conversion, Error, Syntax,
        agent_spec::{Configuration, Options, Profile, Protocol},
    },
    td::{Document, Identity, Report, Strictness, Violation, admit},
};
use serde_json::{Value, json};

use crate::support::skipped;

/// The configurations of the collection that both the language and its SDK accept; none, with a note, where
/// the collection is missing.
fn collection() -> Vec<(String, Value)> {
    let shared = std::env::var_os("AGENTDEX_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    let folder = shared.join("corpus/agent-spec");
    let Ok(verdicts) = fs::read_to_string(folder.join("verdicts.jsonl")) else {
        skipped("corpus/agent-spec", &folder.display().to_string());
        return Vec::new();
    };
    let rows = verdicts.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let accepted = rows.filter(|row| row["verdict"] == "accept" && row["expect"] == "accept");
    accepted
        .map(|row| {
            let file = row["file"].as_str().unwrap().to_owned();
            let document = serde_json::from_slice(&fs::read(folder.join(&file)).unwrap()).unwrap();
            (file, document)
        })
        .collect()
}

/// The Things of a document.
fn convert(document: &Value, options: &Options) -> Result<Conversion, Error> {
    convert_text(&document.to_string(), Syntax::Json, options)
}

fn convert_text(text: &str, syntax: Syntax, options: &Options) -> Result<Conversion, Error> {
    Configuration::parse(text.as_bytes(), syntax, &[])?.to_things(options)
}

/// The Thing of a document that gives one.
fn thing(document: &Value, options: &Options) -> Value {
    let conversion = convert(document, options).unwrap_or_else(|error| panic!("{error}\n{document}"));
    let description = conversion.things[0].description.text();
    check(&conversion);
    serde_json::from_str(description).unwrap()
}

/// Checks that all descriptions are valid, and have the ids that they are said to have.
fn check(conversion: &Conversion) {
    for thing in &conversion.things {
        let document = Document::parse(thing.description.text().as_bytes()).unwrap();
        let admission = admit(document, Identity::Own, Strictness::Strict);
        let admission = admission.unwrap_or_else(|error| panic!("{error}\n{}", thing.description.text()));
        assert_eq!(admission.thing.id(), thing.id);
        let is_odd = |warning: &Violation| warning.rule == "oauth2-flow";
        assert!(!admission.warnings.iter().any(is_odd), "{}", thing.description.text());
        assert_eq!(admission.thing.text(), thing.description.text(), "the description isn't in its stored form");
    }
}

/// The report of a document that is refused.
fn refusal(document: &Value, options: &Options) -> Report {
    match convert(document, options) {
        Err(Error::InvalidSource { format: "agent-spec", report }) => report,
        other => panic!("{other:?}"),
    }
}

fn options() -> Options {
    Options::default()
}

fn with_base() -> Options {
    Options { base: Some("https://host/agents/weather".into()), ..options() }
}

/// An agent with a model and a tool.
fn agent() -> Value {
    json!({
        "component_type": "Agent", "agentspec_version": "26.1.2", "id": "weather", "name": "Weather agent",
        "description": "Knows the weather.", "system_prompt": "Answer for {{city}} in {{language}}.",
        "inputs": [{"title": "city", "type": "string"}, {"title": "language", "type": "string", "default": "en"}],
        "outputs": [{"title": "report", "type": ["string", "null"]}],
        "llm_config": {
            "component_type": "OpenAiConfig", "id": "llm", "name": "llm", "model_id": "gpt-4o",
            "default_generation_parameters": {"temperature": 0.5, "max_tokens": 100, "stop": ["x"]},
        },
        "tools": [{
            "component_type": "ServerTool", "id": "radar", "name": "rain_radar", "description": "Sees rain.",
            "inputs": [{"title": "region", "type": "string"}], "outputs": [{"title": "picture", "type": "string"}],
        }],
    })
}

/// A tool that is called over HTTP.
fn remote_tool() -> Value {
    json!({
        "component_type": "RemoteTool", "agentspec_version": "25.4.2", "id": "forecast", "name": "forecast",
        "inputs": [
            {"title": "city", "type": "string"}, {"title": "days", "type": "integer", "default": 3},
            {"title": "note", "type": "string"},
        ],
        "outputs": [{"title": "forecast", "type": "string"}],
        "url": "https://weather.example/{{city}}", "http_method": "post", "query_params": {"days": "{{days}}", "lang": "en"},
        "data": {"text": "{{note}}"}, "headers": {}, "sensitive_headers": {},
    })
}

/// A tool of an MCP server.
fn mcp_tool(transport: Value) -> Value {
    let mut tool = json!({
        "component_type": "MCPTool", "agentspec_version": "26.1.2", "id": "search", "name": "search",
        "inputs": [{"title": "query", "type": "string"}], "outputs": [{"title": "hits", "type": "string"}],
        "client_transport": {
            "component_type": "StreamableHTTPTransport", "id": "transport", "name": "transport", "url": "https://mcp.example/mcp",
        },
    });
    let Value::Object(further) = transport else { return tool };
    tool["client_transport"].as_object_mut().unwrap().extend(further);
    tool
}

/// A remote agent.
fn a2a_agent() -> Value {
    json!({
        "component_type": "A2AAgent", "agentspec_version": "25.4.2", "id": "9F8A3a7a-1f97-4e6b-b45f-f3c2e1c84c77",
        "name": "Remote", "agent_url": "https://agents.example/a2a",
        "connection_config": {"component_type": "A2AConnectionConfig", "id": "connection", "name": "connection"},
    })
}
