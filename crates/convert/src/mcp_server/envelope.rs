//! Documents that contain the description of a server: client configurations, lists from registries, and a server's
//! response to `initialize`.

use serde_json::{Map, Value, json};

use super::{
    REGISTRY_METADATA, authentication,
    card_shapes::ENDPOINTS,
    connection_options::warn_of_unused,
    headers::{HEADERS, REQUESTS, header_list, take_headers},
    input::text,
    reference,
    schema::TYPE,
};
use crate::{shape::Findings, signs::has_any, td::internal::Path};

type Object = Map<String, Value>;

/// Members with the servers of a configuration: of most clients, and of VS Code.
const SERVERS: [&str; 2] = ["mcpServers", "servers"];
/// Members that say how a client reaches a server.
const CONNECTION: [&str; 6] = ["command", "url", "serverUrl", "httpUrl", "transport", "type"];
/// Members of a server of a registry that say how it is reached or run.
const OF_REGISTRY: [&str; 2] = ["remotes", "packages"];
/// Members beside `server` that describe it: the document is a card, not what a registry answers.
const OF_CARD: [&str; 8] =
    ["transport", "transports", "endpoints", "remotes", "packages", "tools", "capabilities", "securitySchemes"];
/// True if a document is what the API of a registry answers: a server, and what the registry says of it.
pub(super) fn is_answer(members: &Object) -> bool {
    let is_of_card = |name: &str| {
        [&OF_CARD[..], &ENDPOINTS, &HEADERS, &REQUESTS].iter().any(|members| members.contains(&name))
            || authentication::is_member(name)
    };
    !members.keys().any(|name| name == "name" || is_of_card(name))
        && members.get("server").and_then(Value::as_object).is_some_and(|server| server.contains_key("name"))
}

/// Maximum number of servers named in an error.
const MOST_NAMED: usize = 5;

/// A document around the descriptions of servers.
#[derive(Debug, Clone, Copy)]
enum Envelope<'d> {
    /// A client's configuration of servers by name.
    Configuration(&'static str, &'d Object),
    /// What a registry lists, or a client's configuration of servers in a list.
    List(&'static str, &'d [Value]),
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
                    return Some(Envelope::List(name, servers));
                }
                _ => {}
            }
        }
        None
    }
}

/// True for an entry of a list: a registry's answer about a server, the server itself, or how a client reaches it.
fn is_listed(entry: &Value) -> bool {
    let is_server = |server: &Object| {
        is_of_registry(server) || (server.contains_key("name") && has_any(server, &CONNECTION[..CONNECTION.len() - 1]))
    };
    entry.as_object().is_some_and(is_server)
}

fn is_of_registry(server: &Object) -> bool {
    is_answer(server) || (server.contains_key("name") && has_any(server, &OF_REGISTRY))
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
        Envelope::List(member, servers) => match servers {
            [Value::Object(one)] if is_of_registry(one) => ("a list of servers with one entry", one.clone()),
            [Value::Object(one)] => {
                let name = text(one, "name").unwrap_or_default();
                let path = Path::ROOT.member(member);
                ("the configuration of a client", configured(&path.index(0), name, one, findings))
            }
            several => return Err(several_of_list(member, several)),
        },
        Envelope::Configuration(member, servers) => match servers.iter().next() {
            Some((name, Value::Object(server))) if servers.len() == 1 => {
                let path = Path::ROOT.member(member);
                ("the configuration of a client", configured(&path.member(name), name, server, findings))
            }
            _ => return Err(several_of_configuration(member, servers)),
        },
    };
    findings.add(&Path::ROOT, "enclosed-server", || format!("the server is read from {kind}"));
    *document = server;
    Ok(true)
}

/// Explains why no server is found in a client configuration or in a list of servers; `None` if the document is neither.
pub(super) fn missing_server(document: &Object) -> Option<String> {
    let is_reached = |server: &Value| server.as_object().is_some_and(|server| has_any(server, &CONNECTION));
    let (member, servers) = SERVERS.into_iter().find_map(|name| Some((name, document.get(name)?)))?;
    match servers {
        Value::Object(servers) if !servers.is_empty() => {
            let (name, _) = servers.iter().find(|(_, server)| !is_reached(server))?;
            Some(format!("the server {name:?} in `{member}` has neither `url` nor `command`"))
        }
        Value::Array(servers) if !servers.is_empty() => {
            let index = servers.iter().position(|server| !is_listed(server))?;
            Some(format!(
                "entry {index} of `{member}` (counting from 0) lacks a `name`, or a member such as `url` or `command`"
            ))
        }
        Value::Object(_) | Value::Array(_) | Value::Null => Some(format!("it has no servers: `{member}` is empty")),
        _ => None,
    }
}

fn several_of_list(member: &str, servers: &[Value]) -> String {
    let is_of_registry = servers.iter().all(|server| server.as_object().is_some_and(is_of_registry));
    let (kind, filter) = match is_of_registry {
        true => ("servers from a registry", format!(".{member}[]")),
        false => ("configured servers", format!(".{member}[] | {{{member}: [.]}}")),
    };
    format!(
        "it is a list of {} {kind}; write one server per line, for example with `jq -c '{filter}' FILE > \
         servers.ndjson`, and register that file",
        servers.len()
    )
}

fn several_of_configuration(member: &str, servers: &Object) -> String {
    let names: Vec<&str> = servers.keys().take(MOST_NAMED).map(String::as_str).collect();
    let more = if servers.len() > MOST_NAMED { ", …" } else { "" };
    format!(
        "it is a client configuration with {} servers ({}{more}); write one server per line, for example with `jq -c \
         '.{member} | to_entries[] | {{mcpServers: {{(.key): .value}}}}' FILE > servers.ndjson`, and register that \
         file",
        servers.len(),
        names.join(", ")
    )
}

/// Converts a server of a client configuration to the members of `server.json`.
fn configured(path: &Path<'_>, name: &str, server: &Object, findings: &mut Findings) -> Object {
    let is = |member: &str, value: bool| server.get(member) == Some(&Value::Bool(value));
    if is("disabled", true) || is("enabled", false) {
        findings.add(path, "disabled-server", || "this server is disabled in the client configuration".into());
    }
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
        if let Some(member) = TYPE.into_iter().find(|member| text(server, member).is_some()) {
            remote["type"] = described.remove(member).unwrap_or_default();
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
    warn_of_unused(&described, path, findings);
    described
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

/// Member of `_meta` with the metadata of the official registry, in responses of registries.
pub(super) const OFFICIAL: &str = "io.modelcontextprotocol.registry/official";
/// Statuses of inactive servers.
pub(super) const WITHDRAWALS: [&str; 2] = ["deprecated", "deleted"];

/// The status of a server in its registry, unless it is active. The status in this registry takes precedence.
pub(super) fn status(server: &Object) -> Option<&str> {
    let stated = |name: &str| {
        let block = server.get("_meta").and_then(|meta| meta.get(name)?.as_object());
        block.and_then(|block| text(block, "status"))
    };
    let status = stated(REGISTRY_METADATA).or_else(|| stated(OFFICIAL)).or_else(|| text(server, "status"));
    status.filter(|status| WITHDRAWALS.contains(status))
}
