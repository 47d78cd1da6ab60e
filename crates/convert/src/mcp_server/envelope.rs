//! Documents that contain the description of a server: client configurations, lists from registries, and a server's
//! response to `initialize`.

use serde_json::{Map, Value, json};

use super::{
    card_shapes::{TYPE, header_list},
    input::text,
    reference,
};
use crate::{shape::Findings, signs::has_any, td::internal::Path};

type Object = Map<String, Value>;

/// Members with the servers of a configuration: of most clients, and of VS Code.
const SERVERS: [&str; 2] = ["mcpServers", "servers"];
/// Members that say how a client reaches a server.
const CONNECTION: [&str; 6] = ["command", "url", "serverUrl", "httpUrl", "type", "transport"];
/// Members with headers by their names, and the member with the options of a request, which has some.
pub(super) const HEADERS: [&str; 3] = ["headers", "http_headers", "httpHeaders"];
pub(super) const REQUEST: &str = "requestInit";
/// Members with a bearer token, or with the name of the environment variable that it is in.
pub(super) const TOKENS: [&str; 5] =
    ["bearerToken", "bearer_token", "authorization_token", "bearer_token_env_var", "bearerTokenEnvVar"];
/// True if a document is what the API of a registry answers: a server, and what the registry says of it.
pub(super) fn is_answer(members: &Object) -> bool {
    !members.contains_key("name")
        && members.get("server").and_then(Value::as_object).is_some_and(|server| server.contains_key("name"))
}

/// Maximum number of servers named in an error.
const MOST_NAMED: usize = 5;

/// A document around the descriptions of servers.
#[derive(Debug, Clone, Copy)]
enum Envelope<'d> {
    /// A client's configuration of servers by name.
    Configuration(&'static str, &'d Object),
    /// What a registry lists.
    List(&'d [Value]),
    /// The answer of a server to `initialize`.
    Answer(&'d Object),
}

impl Envelope<'_> {
    fn of(document: &Object) -> Option<Envelope<'_>> {
        if has_any(document, &["serverInfo", "remotes", "packages", "skills"]) {
            return None;
        }
        if let Some(Value::Object(answer)) = document.get("result")
            && answer.get("serverInfo").is_some_and(Value::is_object)
        {
            return Some(Envelope::Answer(answer));
        }
        let is_server = |server: &Value| server.as_object().is_some_and(|server| has_any(server, &CONNECTION));
        for name in SERVERS {
            match document.get(name) {
                Some(Value::Object(servers)) if !servers.is_empty() && servers.values().all(is_server) => {
                    return Some(Envelope::Configuration(name, servers));
                }
                Some(Value::Array(servers)) if !servers.is_empty() && servers.iter().all(is_listed) => {
                    return Some(Envelope::List(servers));
                }
                _ => {}
            }
        }
        None
    }
}

/// True for an entry of a registry's list: the answer about a server, or the server itself.
fn is_listed(entry: &Value) -> bool {
    let is_server = |server: &Object| {
        is_answer(server)
            || (server.contains_key("name") && has_any(server, &["remotes", "packages", "url", "transport"]))
    };
    entry.as_object().is_some_and(is_server)
}

/// True if a document has the descriptions of servers in it.
pub(super) fn is_envelope(document: &Object) -> bool {
    Envelope::of(document).is_some()
}

/// Puts the one server of a document in the place of the document. True if there is one.
///
/// # Errors
/// Names the kind of document that has several, and how to register them.
pub(super) fn open(document: &mut Object, findings: &mut Findings) -> Result<bool, String> {
    let Some(envelope) = Envelope::of(document) else { return Ok(false) };
    let (kind, server) = match envelope {
        Envelope::Answer(answer) => ("a server's response to `initialize`", answer.clone()),
        Envelope::List(servers) => match servers {
            [one] => ("a list of servers with one entry", one.as_object().cloned().unwrap_or_default()),
            several => return Err(several_of_list(several.len())),
        },
        Envelope::Configuration(member, servers) => match servers.iter().next() {
            Some((name, Value::Object(server))) if servers.len() == 1 => {
                if server.get("disabled") == Some(&Value::Bool(true)) {
                    let message = || "the client has disabled this server".into();
                    findings.add(&Path::ROOT.member(member), "disabled-server", message);
                }
                ("the configuration of a client", configured(name, server))
            }
            _ => return Err(several_of_configuration(member, servers)),
        },
    };
    findings.add(&Path::ROOT, "enclosed-server", || format!("{kind}; the server in it is read"));
    *document = server;
    Ok(true)
}

fn several_of_list(count: usize) -> String {
    format!(
        "it is a list of {count} servers from a registry; write one per line, for example with `jq -c '.servers[]' \
         FILE > servers.ndjson`, and register that file"
    )
}

fn several_of_configuration(member: &str, servers: &Object) -> String {
    let names: Vec<&str> = servers.keys().take(MOST_NAMED).map(String::as_str).collect();
    let more = if servers.len() > MOST_NAMED { ", …" } else { "" };
    format!(
        "it is a client configuration with {} servers ({}{more}); write one per line, for example with `jq -c \
         '.{member} | to_entries[] | {{mcpServers: {{(.key): .value}}}}' FILE > servers.ndjson`, and register that \
         file",
        servers.len(),
        names.join(", ")
    )
}

/// A server that a client is configured with, as `server.json` describes it.
fn configured(name: &str, server: &Object) -> Object {
    let mut described = server.clone();
    let url = ["url", "serverUrl", "httpUrl"].into_iter().find_map(|name| text(server, name));
    if let Some(title) = described.remove("name").filter(|title| *title != name) {
        described.entry("title").or_insert(title);
    }
    described.insert("name".to_owned(), name.into());
    if let Some(url) = url {
        let (url, variables) = reference::template(url);
        let mut remote = json!({"url": url});
        if !variables.is_empty() {
            remote["variables"] = variables.into();
        }
        if let Some(kind) = TYPE.into_iter().find_map(|member| described.remove(member)) {
            remote["type"] = kind;
        }
        let headers = take_headers(&mut described);
        if !headers.is_empty() {
            remote["headers"] = headers.into();
        }
        for member in ["url", "serverUrl", "httpUrl"] {
            described.remove(member);
        }
        described.insert("remotes".to_owned(), json!([remote]));
    } else if let Some(command) = text(server, "command") {
        described.insert("packages".to_owned(), json!([package(command, server)]));
        for member in ["command", "args", "env", "type", "transport"] {
            described.remove(member);
        }
    }
    described
}

/// Takes the headers out of a server that a client is configured with, in the spellings of clients.
fn take_headers(server: &mut Object) -> Vec<Value> {
    let mut headers = Vec::new();
    let mut add = |named: Value| match named {
        Value::Object(named) => headers.extend(header_list(&named).as_array().cloned().unwrap_or_default()),
        Value::Array(list) => headers.extend(list),
        _ => {}
    };
    HEADERS.into_iter().filter_map(|member| server.remove(member)).for_each(&mut add);
    server
        .get_mut(REQUEST)
        .and_then(|request| request.as_object_mut()?.remove("headers"))
        .into_iter()
        .for_each(&mut add);
    // By the names of environment variables.
    let of_environment = server.remove("env_http_headers").map(|mut named| {
        let values = named.as_object_mut().into_iter().flat_map(Object::values_mut);
        values
            .filter_map(|value| Some((value.as_str().map(|name| format!("${{{name}}}"))?, value)))
            .for_each(|(reference, value)| *value = reference.into());
        named
    });
    of_environment.into_iter().for_each(&mut add);
    if TOKENS.into_iter().filter_map(|member| server.remove(member)).count() > 0 {
        let variables = json!({"token": {"isRequired": true, "isSecret": true}});
        headers.push(
            json!({"name": "Authorization", "value": "Bearer {token}", "isRequired": true, "variables": variables}),
        );
    }
    headers
}

/// The package that a command runs. Of a command that runs no package the words are kept, so that they can be shown.
fn package(command: &str, server: &Object) -> Value {
    let arguments = server.get("args").and_then(Value::as_array).into_iter().flatten();
    let arguments: Vec<&str> = arguments.filter_map(Value::as_str).collect();
    let positional =
        |words: &[&str]| -> Value { words.iter().map(|word| json!({"type": "positional", "value": word})).collect() };
    let program = command.rsplit(['/', '\\']).next().unwrap_or(command);
    let program = program.strip_suffix(".cmd").or(program.strip_suffix(".exe")).unwrap_or(program);
    let flags = arguments.iter().take_while(|word| ["-y", "--yes", "-q", "--quiet"].contains(word)).count();
    let (flags, words) = arguments.split_at(flags);
    let kind = match program {
        "npx" | "bunx" => Some("npm"),
        "uvx" => Some("pypi"),
        "dnx" => Some("nuget"),
        _ => None,
    };
    let mut package = json!({"transport": {"type": "stdio"}});
    match (kind, words) {
        (Some(kind), [identifier, rest @ ..]) if !identifier.starts_with('-') => {
            let separator = if kind == "pypi" { "==" } else { "@" };
            let version = identifier.rsplit_once(separator).filter(|(identifier, _)| !identifier.is_empty());
            package["registryType"] = kind.into();
            package["identifier"] = version.map_or(*identifier, |(identifier, _)| identifier).into();
            if let Some((_, version)) = version {
                package["version"] = version.into();
            }
            if !flags.is_empty() {
                package["runtimeArguments"] = positional(flags);
            }
            if !rest.is_empty() {
                package["packageArguments"] = positional(rest);
            }
        }
        _ => package["runtimeArguments"] = positional(&arguments),
    }
    package["runtimeHint"] = command.into();
    let variables = server.get("env").and_then(Value::as_object).into_iter().flatten();
    let variables = header_list(&variables.map(|(name, value)| (name.clone(), value.clone())).collect());
    if variables != json!([]) {
        package["environmentVariables"] = variables;
    }
    package
}

/// The status that a registry gives a server, unless it is active.
pub(super) fn status(server: &Object) -> Option<&str> {
    let official =
        server.get("_meta").and_then(|meta| meta.get("io.modelcontextprotocol.registry/official")?.as_object());
    let status = official.and_then(|official| text(official, "status")).or(text(server, "status"));
    status.filter(|status| ["deprecated", "deleted"].contains(status))
}
