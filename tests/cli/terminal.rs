//! Texts of others on a terminal: no command lets them control it.

use std::process::Command;

use serde_json::{Value, json};

use crate::{
    consumer::server::{Said, Server},
    process::agentdex,
    support::{TestRegistry, skipped},
};

/// A control sequence of eight bits and one of seven, a deletion, changes of direction, a space without a width, a soft hyphen,
/// letters as tags, a filler, and a selector of variants.
const HOSTILE: &str = "\u{9b}2J\x1b[8m\u{7f}\u{202e}\u{2066}\u{200b}\u{ad}\u{e0068}\u{e0069}\u{3164}\u{e0101}";
/// Characters of it.
const ACTING: [char; 11] = [
    '\u{9b}',
    '\u{7f}',
    '\u{202e}',
    '\u{2066}',
    '\u{200b}',
    '\u{85}',
    '\u{ad}',
    '\u{e0068}',
    '\u{e0069}',
    '\u{3164}',
    '\u{e0101}',
];

/// What a command writes on a terminal; none without the program `script`, which makes one.
pub(super) fn on_terminal(registry: &TestRegistry, arguments: &[&str]) -> Option<String> {
    let program = agentdex();
    let mut command = Command::new("script");
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env("AGENTDEX_URL", registry.url("")).env("AGENTDEX_ALLOW_FETCH", "127.0.0.1").env("TERM", "xterm");
    let quoted = |argument: &str| format!("'{}'", argument.replace('\'', "'\\''"));
    let words = std::iter::once(program.get_program().to_str().unwrap()).chain(arguments.iter().copied());
    let line = words.map(quoted).collect::<Vec<_>>().join(" ");
    let ran = command.args(["-qec", &line, "/dev/null"]).stdin(std::process::Stdio::null()).output();
    match ran {
        Ok(output) => Some(String::from_utf8(output.stdout).unwrap()),
        Err(_) => {
            skipped("script", "the program script (Debian: bsdutils)");
            None
        }
    }
}

fn described(server: &Server) -> Value {
    let title = format!("Weather {HOSTILE}");
    json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
        "@type": "lmos:Agent", "id": "urn:example:hostile", "title": &title, "description": &title,
        "security": "none", "securityDefinitions": {"none": {"scheme": "nosec", "description": &title}},
        "lmos:capabilities": [{"id": "weather", "name": &title, "description": &title}],
        "actions": {"ask": {"title": &title, "description": &title, "forms": [{"href": &server.origin}]}},
    })
}

#[test]
fn no_command_prints_characters_that_control_a_terminal() {
    let answer = json!({"text": format!("It rains {HOSTILE}")});
    let events = format!("data: {answer}\n\ndata: {}\n\n", json!(format!("It rains {HOSTILE}")));
    let server = Server::start(move |_| Said::stream("text/event-stream", &[&events]));
    let registry = TestRegistry::start();
    registry.put("/things/urn:example:hostile", described(&server).to_string()).expect(201);
    registry.put("/things/urn:example:hostile", described(&server).to_string().replace("rains", "pours"));
    let flow = format!(
        "component_type: Agent\nagentspec_version: 25.4.1\nid: a\nname: \"A \u{202e}\u{200b}\"\ndescription: \"{}\"\n\
        llm_config: {{component_type: LlmConfig, name: m, model_id: m}}\nsystem_prompt: x\n",
        "\u{202e}\u{2066}"
    );
    let imported = registry.call("POST", "/import/agent-spec").body("application/yaml", flow).send();
    let flow = imported.json()["ids"][0].as_str().map(str::to_owned);
    registry.get("/search?q=weather&consistent=true").expect(200);
    let id = "urn:example:hostile";
    let mut commands: Vec<Vec<&str>> = vec![
        vec!["get", id],
        vec!["get", id, "--json"],
        vec!["get", id, "--versions"],
        vec!["list"],
        vec!["list", "--json"],
        vec!["search", "weather"],
        vec!["search", "weather", "--json"],
        vec!["search", "weather", "--explain"],
        vec!["search", "--jsonpath", "$..title"],
        vec!["search", "--jsonpath", "$..title", "--json"],
        vec!["search", "--jsonpath", "$..actions"],
        vec!["search", "--jsonpath", "$[*]"],
        vec!["export", id, "--format", "a2a"],
        vec!["history", id],
        vec!["history", id, "--json"],
        vec!["changes"],
        vec!["changes", "--json"],
        vec!["status"],
        vec!["access", id],
        vec!["ask", "weather", "x"],
        vec!["ask", "--agent", id, "x", "--json"],
        vec!["ask", "--agent", id, "x", "--stream"],
        vec!["ask", "--agent", id, "x", "--explain"],
        vec!["call", id, "ask"],
        vec!["call", id, "ask", "--stream"],
        vec!["call", id],
        vec!["records", "export", "-"],
        vec!["get", HOSTILE],
        vec!["validate", HOSTILE],
    ];
    commands.extend(flow.as_deref().map(|flow| vec!["export", flow, "--format", "agent-spec"]));
    let mut titles = 0;
    for arguments in commands {
        let Some(shown) = on_terminal(&registry, &arguments) else { return };
        let found: Vec<_> = ACTING.into_iter().filter(|acting| shown.contains(*acting)).collect();
        assert!(found.is_empty(), "{arguments:?} prints {found:?}: {shown:?}");
        assert!(!shown.contains("\x1b[8m"), "{arguments:?}: {shown:?}");
        titles += usize::from(shown.contains("Weather ") || shown.contains("It rains "));
    }
    assert!(titles > 15, "{titles} commands printed what somebody else wrote");
}

#[test]
fn json_on_a_terminal_has_the_value_of_the_description() {
    let server = Server::start(|_| Said::json("1"));
    let registry = TestRegistry::start();
    registry.put("/things/urn:example:hostile", described(&server).to_string()).expect(201);
    let title = described(&server)["title"].clone();
    for arguments in [&["get", "urn:example:hostile", "--json"][..], &["get", "urn:example:hostile"]] {
        let Some(shown) = on_terminal(&registry, arguments) else { return };
        let value: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(value["title"], title, "{shown}");
    }
    // Into a pipe it goes as it is.
    let output =
        agentdex().args(["get", "urn:example:hostile", "--json"]).env("AGENTDEX_URL", registry.url("")).output();
    assert!(String::from_utf8(output.unwrap().stdout).unwrap().contains("\u{9b}2J"));
}
