//! Conversion of remotes to forms, with the required authentication.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use fluent_uri::Iri;
use serde_json::{Map, Value, json};

use super::{
    authentication::Authentication,
    input::{Variables, is, is_secret, objects, text, variables_in},
};
use crate::{
    redaction::REDACTED,
    shape::Findings,
    td::internal::{McpTransport, Path, origin_variable},
    thing_builder::form,
};

type Object = Map<String, Value>;

/// The most remotes that get forms: every tool has a form for each.
const MOST_REMOTES: usize = 16;
/// The most optional secrets of which each may be missing; of more, one is sent.
const MOST_OPTIONAL: usize = 4;

/// A remote that can be called.
pub(super) struct Remote {
    form: Object,
    /// The variables of its URL and headers that aren't secret.
    pub(super) variables: BTreeMap<String, Value>,
}

impl Remote {
    /// Returns the names of the security definitions that it requires, if any.
    pub(super) fn security(&self) -> Option<&Value> {
        self.form.get("security")
    }

    /// The form of a method, for a tool if it is one.
    pub(super) fn form(&self, method: &str, tool: Option<&str>) -> Value {
        let mut form = self.form.clone();
        form.insert("mcp:method".to_owned(), method.into());
        form.extend(tool.map(|tool| ("mcp:tool".to_owned(), tool.into())));
        form.into()
    }
}

/// The remotes of a server, and the security definitions that they name.
pub(super) fn remotes(server: &Object, findings: &mut Findings) -> (Vec<Remote>, Object) {
    let (mut remotes, mut definitions) = (Vec::new(), Object::new());
    let general = Authentication::asked_by(server).unwrap_or_default();
    let mut variables = Variables::default();
    let list = Path::ROOT.member("remotes");
    for (index, remote) in objects(server, "remotes").enumerate() {
        let path = list.index(index);
        if remotes.len() >= MOST_REMOTES {
            findings.add(&list, "too-many-remotes", || format!("only the first {MOST_REMOTES} remotes get forms"));
            break;
        }
        match text(remote, "url").map(|url| with_scheme(remote, url)).filter(|url| is_web(url)) {
            Some(url) => {
                let url = &*url;
                let written = text(remote, "type").unwrap_or(McpTransport::StreamableHttp.name());
                let transport = McpTransport::parse(written);
                if transport.is_none() {
                    findings.add(&path.member("type"), "transport-unknown", || {
                        format!("the transport {written:?} is not supported; use streamable-http or sse")
                    });
                }
                let variable = origin_variable(url).filter(|name| !has_default(remote, name));
                if let Some(name) = variable {
                    findings.add(&path.member("url"), "open-host", || {
                        format!(
                            "the variable {name:?} selects the server, but has no default; callers of a tool must \
                             supply it (`agentdex call --variable {name}=URL`)"
                        )
                    });
                }
                let transport = transport.map_or(written, |transport| transport.name());
                let own = Authentication::asked_by(remote);
                let asked = own.as_ref().unwrap_or(&general);
                remotes.push(Remote::of(remote, url, transport, asked, &mut definitions, &mut variables));
            }
            None => findings.add(&path.member("url"), "url-broken", || {
                "the remote has no http or https URL with a host, so no form is created for it".into()
            }),
        }
    }
    (remotes, definitions)
}

/// True if a variable of a remote need not be given.
fn has_default(remote: &Object, variable: &str) -> bool {
    let declared = remote.get("variables").and_then(|variables| variables.get(variable));
    let has = |member: &str| declared.and_then(|declared| declared.get(member)).is_some_and(|value| !value.is_null());
    ["default", "value"].into_iter().any(has)
}

/// A URL whose scheme is a variable, with its usual value.
fn with_scheme<'u>(remote: &Object, url: &'u str) -> Cow<'u, str> {
    let scheme = url.strip_prefix('{').and_then(|url| url.split_once('}')).filter(|(_, rest)| rest.starts_with("://"));
    let usual = |name: &str| {
        let declared = remote.get("variables")?.get(name)?;
        ["value", "default"].iter().find_map(|member| declared.get(*member)?.as_str())
    };
    match scheme.and_then(|(name, rest)| Some((usual(name)?, rest))) {
        Some((scheme, rest)) => format!("{scheme}{rest}").into(),
        None => url.into(),
    }
}

/// True if a template is a URL of the web, whatever its variables are.
fn is_web(url: &str) -> bool {
    // The first variable may be the whole origin.
    if let Some((_, path)) = url.strip_prefix('{').and_then(|url| url.split_once('}')) {
        return path.is_empty() || path.starts_with('/') && is_web(&format!("https://1{path}"));
    }
    let is_of_web = ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
    let mut plain = String::with_capacity(url.len());
    for (index, part) in url.split('{').enumerate() {
        match part.split_once('}') {
            Some((_, rest)) if index > 0 => {
                plain.push('1');
                plain.push_str(rest);
            }
            _ => plain.push_str(part),
        }
    }
    let has_host = |url: Iri<&str>| {
        url.authority().is_some_and(|authority| !authority.host().is_empty() && !authority.has_userinfo())
    };
    is_of_web && Iri::parse(plain.as_str()).is_ok_and(has_host)
}

impl Remote {
    fn of(
        remote: &Object,
        url: &str,
        transport: &str,
        asked: &Authentication,
        definitions: &mut Object,
        variables: &mut Variables,
    ) -> Remote {
        let declared = remote.get("variables").and_then(Value::as_object);
        let secret = |name: &str| is_secret_variable(declared, name);
        let mut names = BTreeSet::new();
        let mut form = form("invokeaction", &variables.add(url, &[declared], secret, &mut names));
        form.insert("subprotocol".to_owned(), "mcp".into());
        form.insert("contentType".to_owned(), "application/json".into());
        form.insert("htv:methodName".to_owned(), "POST".into());
        form.insert("mcp:transport".to_owned(), transport.into());
        let (mut required, mut optional, mut headers) = (Vec::new(), Vec::new(), Vec::new());
        let mut alternatives = Vec::new();
        for name in variables_in(url).filter(|name| secret(name)) {
            let definition = json!({"scheme": "apikey", "in": "uri", "name": name});
            required.push(define(definitions, name, definition));
        }
        for header in objects(remote, "headers") {
            let Some(name) = text(header, "name") else { continue };
            let is_hidden = text(header, "value").is_some_and(|value| value.contains(REDACTED));
            if is_secret(header) || is_hidden {
                let template = open_template(header, variables, &mut names);
                let named = define(definitions, name, definition(name, header, template));
                // A constant is always sent.
                match is(header, "isRequired") || is_hidden && !is_secret(header) {
                    true => required.push(named),
                    false if asked.is_alternative(header) => alternatives.push(named),
                    false => optional.push(named),
                }
                continue;
            }
            let own_template = format!("{{{name}}}");
            let template = text(header, "value").unwrap_or(&own_template);
            let itself = Object::from_iter([(name.to_owned(), header.clone().into())]);
            let own = header.get("variables").and_then(Value::as_object).unwrap_or(&itself);
            let mut filled = BTreeSet::new();
            let value = variables.add(template, &[Some(own), declared], |_| false, &mut filled);
            let mut sent = json!({"htv:fieldName": name, "htv:fieldValue": value});
            let is_open = |schema: &Value| ["default", "const"].iter().all(|member| schema.get(*member).is_none());
            if !is(header, "isRequired") && variables.schemas(filled.clone()).values().any(is_open) {
                sent["mcp:isRequired"] = false.into();
            }
            headers.push(sent);
            names.extend(filled);
        }
        if !headers.is_empty() {
            form.insert("htv:headers".to_owned(), headers.into());
        }
        let mut security = required;
        if alternatives.len() > 1 {
            if !asked.is_required {
                alternatives.push(define(definitions, "nosec_sc", json!({"scheme": "nosec"})));
            }
            security.push(define(definitions, "any_sc", json!({"scheme": "combo", "oneOf": alternatives})));
        } else {
            optional.append(&mut alternatives);
        }
        if !optional.is_empty() {
            let nothing = define(definitions, "nosec_sc", json!({"scheme": "nosec"}));
            let groups = if optional.len() > MOST_OPTIONAL { optional.len() } else { 1 };
            for secrets in optional.chunks(groups) {
                let name =
                    if secrets.len() == 1 { format!("optional_{}", secrets[0]) } else { "optional_sc".to_owned() };
                let any: Vec<&String> = secrets.iter().chain([&nothing]).collect();
                security.push(define(definitions, &name, json!({"scheme": "combo", "oneOf": any})));
            }
        }
        if !security.is_empty() {
            form.insert("security".to_owned(), security.into());
        }
        Remote { form, variables: variables.schemas(names) }
    }
}

fn is_secret_variable(declared: Option<&Object>, name: &str) -> bool {
    declared.and_then(|all| all.get(name)?.as_object()).is_some_and(|variable| is(variable, "isSecret"))
}

/// The value of a secret header, whose variables that are no secrets are added.
fn open_template(header: &Object, variables: &mut Variables, names: &mut BTreeSet<String>) -> Option<String> {
    let declared = header.get("variables").and_then(Value::as_object);
    let is_secret = |name: &str| is_secret_variable(declared, name);
    let template = text(header, "value")?;
    // Unless it says which one is the secret, any may be.
    match variables_in(template).any(is_secret) {
        true => Some(variables.add(template, &[declared], is_secret, names)),
        false if template == REDACTED => Some(template.to_owned()),
        false => Some(template.replace(REDACTED, "{token}")),
    }
}

/// The security definition of a header that is a secret, or has one in it; `value` is what is sent.
fn definition(name: &str, header: &Object, value: Option<String>) -> Value {
    let value = value.as_deref();
    // A scheme, and nothing but the secret after it.
    let scheme = value.and_then(|value| value.split_once(' ')).filter(|(_, rest)| match variables_in(rest).next() {
        Some(variable) => rest.len() == variable.len() + 2,
        None => true,
    });
    let known =
        scheme.and_then(|(scheme, _)| ["bearer", "basic"].into_iter().find(|known| known.eq_ignore_ascii_case(scheme)));
    let mut definition = match known.filter(|_| name.eq_ignore_ascii_case("authorization")) {
        Some(known) => json!({"scheme": known, "in": "header", "name": name}),
        None => json!({"scheme": "apikey", "in": "header", "name": name}),
    };
    if let Some(description) = text(header, "description") {
        definition["description"] = description.into();
    }
    if let (Some(value), true) = (value, definition["scheme"] == "apikey") {
        definition["mcp:value"] = value.into();
    }
    definition
}

/// The name of a definition, put there if it isn't yet.
fn define(definitions: &mut Object, name: &str, definition: Value) -> String {
    let mut name = name.to_owned();
    while definitions.get(&name).is_some_and(|known| *known != definition) {
        name.push('_');
    }
    definitions.insert(name.clone(), definition);
    name
}
