//! The shapes of configurations, as far as clients' documentation and sources specify them (read in 2026-11). Codex rejects its
//! whole configuration for a wrong table; others ignore a server.

use serde_json::{Value, json};

use super::client::Client;

/// Fails unless the servers of a configuration have the shape that a client reads.
pub(super) fn check_shape(client: Client, configuration: &Value) {
    let schema = schema(client);
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(configuration).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{}: {errors:?}\n{configuration:#}", client.name);
}

fn schema(client: Client) -> Value {
    let text = json!({"type": "string", "minLength": 1});
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let named = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let name = json!({"pattern": "^[A-Za-z][A-Za-z0-9_-]{0,31}$"});
    let url = json!({"type": "string", "pattern": "^(https://|http://127\\.0\\.0\\.1)"});
    let object = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    let program = |kind: Option<&str>| {
        let mut properties = json!({"command": text, "args": texts, "env": named});
        let mut required = json!(["command", "args"]);
        if let Some(kind) = kind {
            properties["type"] = json!({"const": kind});
            required.as_array_mut().unwrap().push("type".into());
        }
        object(properties, required)
    };
    let web = |types: &[&str]| {
        let mut properties = json!({"url": url, "headers": named});
        let mut required = json!(["url"]);
        if !types.is_empty() {
            properties["type"] = json!({"enum": types});
            required.as_array_mut().unwrap().push("type".into());
        }
        object(properties, required)
    };
    let entry = match client.name {
        // https://code.claude.com/docs/en/mcp: a `url` without `type` is an error.
        "claude-code" => json!({"oneOf": [web(&["http", "sse"]), program(Some("stdio"))]}),
        // https://modelcontextprotocol.io/docs/develop/connect-local-servers
        "claude-desktop" => program(None),
        // https://cursor.com/docs/context/mcp
        "cursor" => json!({"oneOf": [web(&[]), program(None)]}),
        // https://code.visualstudio.com/docs/copilot/reference/mcp-configuration
        "vscode" => json!({"oneOf": [web(&["http", "sse"]), program(Some("stdio"))]}),
        // https://developers.openai.com/codex/mcp: `url` and `command` exclude each other.
        "codex" => json!({"oneOf": [
            object(json!({"url": url, "bearer_token_env_var": text, "http_headers": named, "env_http_headers": named}), json!(["url"])),
            object(json!({"command": text, "args": texts, "env": named, "env_vars": texts}), json!(["command"])),
        ]}),
        // https://geminicli.com/docs/tools/mcp-server
        "gemini" => json!({"oneOf": [web(&["http", "sse"]), program(None)]}),
        other => panic!("{other}"),
    };
    let servers = json!({"type": "object", "propertyNames": name, "additionalProperties": entry});
    let mut properties = json!({client.servers: servers});
    if client.name == "vscode" {
        let kind = json!({"const": "promptString"});
        let input = object(
            json!({"type": kind, "id": text, "description": text, "password": {"type": "boolean"}}),
            json!(["type", "id", "description"]),
        );
        properties["inputs"] = json!({"type": "array", "items": input, "uniqueItems": true});
    }
    object(properties, json!([client.servers]))
}
