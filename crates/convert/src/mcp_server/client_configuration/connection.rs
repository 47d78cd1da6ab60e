//! What a document says about connecting to its server, with the user's values filled in.

use std::collections::{BTreeMap, BTreeSet};

use fluent_uri::Iri;
use serde_json::{Map, Value};

use super::template::{Part, Template, Variable, environment_name, is_plain};
use crate::{
    mcp_server::{
        input::{is, objects, text},
        run,
    },
    redaction::REDACTED,
    td::internal::McpTransport,
};

type Object = Map<String, Value>;
/// An error is the reason why a client can't be configured.
type Reading<T> = std::result::Result<T, String>;

/// Maximum length of a description in characters.
const MAX_DESCRIPTION: usize = 100;
/// Maximum length of a URL in bytes.
const MAX_URL_BYTES: usize = 2048;
/// Maximum number of headers, or of environment variables.
const MAX_INPUTS: usize = 50;
/// Marks around the number of a template in an argument. No argument of a document contains control characters.
const MARKS: [char; 2] = ['\u{1}', '\u{2}'];
/// What stands for a secret in the query of a URL.
const REDACTED_VALUE: &str = "=redacted";

/// How a client reaches a server.
#[derive(Debug)]
pub(super) enum Connection {
    /// A server with a URL.
    Remote { is_sse: bool, url: Template, headers: Vec<(String, Template)> },
    /// A program that speaks MCP on standard input and output.
    Program { command: Vec<Template>, environment: Vec<(String, Template)> },
}

/// A remote or a package of a document.
#[derive(Debug, Clone, Copy)]
pub(super) enum Candidate<'d> {
    Remote(&'d Object, McpTransport),
    Package(&'d Object),
}

/// The meaning of a name in braces that a document doesn't declare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Undeclared {
    Text,
    Variable,
    Secret,
}

/// Returns the remotes and packages of a server that clients support, the preferred ones first: streamable HTTP, then SSE,
/// then packages.
pub(super) fn candidates(server: &Object) -> impl Iterator<Item = Candidate<'_>> {
    let remotes = |wanted: McpTransport| {
        objects(server, "remotes").filter_map(move |remote| {
            let written = text(remote, "type").unwrap_or(McpTransport::StreamableHttp.name());
            let transport = McpTransport::parse(written)?;
            (transport.name() == wanted.name()).then_some(Candidate::Remote(remote, transport))
        })
    };
    let is_stdio = |package: &&Object| {
        let transport = package.get("transport").and_then(Value::as_object);
        transport.and_then(|transport| text(transport, "type")).is_none_or(|kind| kind == "stdio")
    };
    let packages = objects(server, "packages").filter(is_stdio).map(Candidate::Package);
    remotes(McpTransport::StreamableHttp).chain(remotes(McpTransport::Sse)).chain(packages)
}

/// Reads a candidate with the values of the user.
#[derive(Debug)]
pub(super) struct ServerReader<'r> {
    /// Name of the server in the configuration.
    name: &'r str,
    values: &'r BTreeMap<String, String>,
    used: BTreeSet<String>,
    /// Names of values that can be given.
    open: BTreeSet<String>,
    /// Environment variables by the names in the document, in lower case.
    variables: BTreeMap<String, String>,
    /// Last number of each environment variable.
    numbers: BTreeMap<String, u32>,
    notes: Vec<String>,
}

impl<'r> ServerReader<'r> {
    pub(super) fn new(name: &'r str, values: &'r BTreeMap<String, String>) -> ServerReader<'r> {
        ServerReader {
            name,
            values,
            used: BTreeSet::new(),
            open: BTreeSet::new(),
            variables: BTreeMap::new(),
            numbers: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    pub(super) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Fails if a value was given that the server has no variable for.
    pub(super) fn check_values(&self) -> Reading<()> {
        let Some(unknown) = self.values.keys().find(|name| !self.used.contains(*name)) else { return Ok(()) };
        let known: Vec<&str> = self.open.iter().map(String::as_str).collect();
        let known = if known.is_empty() {
            "it has no settable variables".to_owned()
        } else {
            format!("its settable variables are {}", known.join(", "))
        };
        Err(format!("the server has no variable {unknown:?} that can be set; {known}"))
    }

    pub(super) fn read(&mut self, candidate: Candidate<'_>) -> Reading<Connection> {
        match candidate {
            Candidate::Remote(remote, transport) => self.remote(remote, transport.name() == McpTransport::Sse.name()),
            Candidate::Package(package) => self.package(package),
        }
    }

    fn remote(&mut self, remote: &Object, is_sse: bool) -> Reading<Connection> {
        let written = text(remote, "url").unwrap_or_default();
        let declared = remote.get("variables").and_then(Value::as_object);
        let mut url = Template::default();
        for (index, piece) in written.split(REDACTED_VALUE).enumerate() {
            if index > 0 {
                url.push_text("=");
                url.push_variable(self.secret("token", None));
            }
            for part in self.filled(piece, declared, Undeclared::Variable)?.parts() {
                match part {
                    Part::Text(text) => url.push_text(text),
                    Part::Variable(variable) => url.push_variable(variable.clone()),
                }
            }
        }
        check_url(&url)?;
        let mut headers = Vec::new();
        for header in objects(remote, "headers").take(MAX_INPUTS + 1) {
            let Some(name) = text(header, "name") else { continue };
            if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)) {
                return Err("the name of a header contains characters that HTTP doesn't allow".to_owned());
            }
            let own = if name.eq_ignore_ascii_case("authorization") { "token" } else { name };
            let variable = self.variable_name(own);
            match self.input(header, name, &variable)? {
                Some(value) => headers.push((name.to_owned(), value)),
                None => self.note_optional("header", name),
            }
        }
        check_count(headers.len(), "headers")?;
        Ok(Connection::Remote { is_sse, url, headers })
    }

    fn package(&mut self, package: &Object) -> Reading<Connection> {
        if !is_plain_throughout(&Value::from(package.clone())) {
            return Err("the package of the server contains control or invisible characters".to_owned());
        }
        let mut filled = package.clone();
        let mut environment = Vec::new();
        let mut passed = Vec::new();
        for variable in objects(package, "environmentVariables").take(MAX_INPUTS + 1) {
            let Some(name) = text(variable, "name") else { continue };
            if !is_environment_name(name) {
                return Err(format!("{name:?} is not a valid name for an environment variable"));
            }
            match self.input(variable, name, name)? {
                Some(value) => {
                    let mut one = Object::from_iter([("name".to_owned(), name.into())]);
                    one.extend(value.as_literal().map(|text| ("value".to_owned(), text.into())));
                    passed.push(Value::from(one));
                    environment.push((name.to_owned(), value));
                }
                None => self.note_optional("environment variable", name),
            }
        }
        check_count(environment.len(), "environment variables")?;
        filled.insert("environmentVariables".to_owned(), passed.into());
        let mut templates = Vec::new();
        for list in ["runtimeArguments", "packageArguments"] {
            for argument in filled.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                let Some(argument) = argument.as_object_mut() else { continue };
                self.fill(argument, &mut templates)?;
            }
        }
        let unsupported = || "no command is known for this kind of package".to_owned();
        let words = run::command(&filled).ok_or_else(unsupported)?;
        if text(package, "identifier").is_some_and(|identifier| identifier.starts_with('-')) {
            return Err("the name of the package looks like an option".to_owned());
        }
        if words.first().is_some_and(|program| program.starts_with('-')) {
            return Err("the command of the package looks like an option".to_owned());
        }
        let is_pinned = text(package, "version").is_some_and(|version| version != "latest")
            || text(package, "identifier").is_none_or(|identifier| identifier.contains("@sha256:"));
        if !is_pinned && text(package, "registryType") != Some("oci") {
            self.notes
                .push("The version of the package isn't fixed: each start can run a different version.".to_owned());
        }
        Ok(Connection::Program { command: words.iter().map(|word| decoded(word, &templates)).collect(), environment })
    }

    /// Puts the value of an argument into it, as a mark for a template if it has variables.
    fn fill(&mut self, argument: &mut Object, templates: &mut Vec<Template>) -> Reading<()> {
        let hint = text(argument, "valueHint").or(text(argument, "name")).unwrap_or("value");
        let hint = hint.trim_start_matches('-').to_owned();
        let mut input = argument.clone();
        if text(argument, "valueHint").is_some() {
            input.insert("isRequired".to_owned(), true.into());
        }
        let variable = self.variable_name(&hint);
        let Some(value) = self.input(&input, &hint, &variable)? else { return Ok(()) };
        let written = match value.as_literal() {
            Some(text) => text.to_owned(),
            None => {
                templates.push(value);
                format!("{}{}{}", MARKS[0], templates.len() - 1, MARKS[1])
            }
        };
        argument.remove("variables");
        argument.insert("value".to_owned(), written.into());
        Ok(())
    }

    /// The value of an input: as the document or the user gives it, or a variable. None for an optional one without value.
    fn input(&mut self, input: &Object, name: &str, environment: &str) -> Reading<Option<Template>> {
        let is_secret = is(input, "isSecret");
        let description = text(input, "description");
        let own = |is_secret| Variable { name: environment.to_owned(), description: description.map(short), is_secret };
        if let Some(value) = text(input, "value") {
            if let Some((before, after)) = value.split_once(REDACTED) {
                let mut template = Template::literal(before);
                template.push_variable(own(true));
                template.push_text(&after.replace(REDACTED, ""));
                return Ok(Some(template));
            }
            let declared = input.get("variables").and_then(Value::as_object);
            let undeclared = if is_secret { Undeclared::Secret } else { Undeclared::Text };
            let template = self.filled(value, declared, undeclared)?;
            // The value of a secret that isn't in a variable.
            let is_exposed = is_secret && template.as_literal().is_some();
            return Ok(Some(if is_exposed { Template::variable(own(true)) } else { template }));
        }
        if is_secret {
            self.refuse_secret(name)?;
            return Ok(Some(Template::variable(own(true))));
        }
        if let Some(value) = self.given(name).or(text(input, "default").map(str::to_owned)) {
            return Ok(Some(Template::literal(&value)));
        }
        Ok(is(input, "isRequired").then(|| Template::variable(own(false))))
    }

    /// A text whose names in braces are replaced.
    fn filled(&mut self, value: &str, declared: Option<&Object>, undeclared: Undeclared) -> Reading<Template> {
        let mut pieces = value.split('{');
        let mut template = Template::literal(pieces.next().unwrap_or_default());
        for piece in pieces {
            let named = piece.split_once('}').filter(|(name, _)| !name.is_empty());
            let variable = named.and_then(|(name, _)| declared?.get(name)?.as_object());
            let is_variable = variable.is_some() || undeclared != Undeclared::Text;
            let Some((name, rest)) = named.filter(|_| is_variable) else {
                template.push_text("{");
                template.push_text(piece);
                continue;
            };
            let is_secret =
                undeclared == Undeclared::Secret || variable.is_some_and(|variable| is(variable, "isSecret"));
            let known = |variable: &Object| text(variable, "value").or(text(variable, "default")).map(str::to_owned);
            if is_secret {
                self.refuse_secret(name)?;
                let description = variable.and_then(|variable| text(variable, "description"));
                template.push_variable(self.secret(name, description));
            } else if let Some(value) = self.given(name).or_else(|| variable.and_then(known)) {
                template.push_text(&value);
            } else {
                let description = variable.and_then(|variable| text(variable, "description"));
                template.push_variable(Variable { is_secret: false, ..self.secret(name, description) });
            }
            template.push_text(rest);
        }
        Ok(template)
    }

    fn secret(&mut self, name: &str, description: Option<&str>) -> Variable {
        let name = self.variable_name(name);
        Variable { name, description: description.map(short), is_secret: true }
    }

    /// The environment variable for a name in the document. Names that become the same variable are numbered: their values differ.
    fn variable_name(&mut self, name: &str) -> String {
        let own = name.to_ascii_lowercase();
        if let Some(known) = self.variables.get(&own) {
            return known.clone();
        }
        let plain = environment_name(self.name, name);
        let mut variable = plain.clone();
        while self.numbers.contains_key(&variable) {
            let number = self.numbers.entry(plain.clone()).or_insert(1);
            *number += 1;
            variable = format!("{plain}_{number}");
        }
        self.numbers.insert(variable.clone(), 1);
        self.variables.insert(own, variable.clone());
        variable
    }

    /// The value that the user gave for a name.
    fn given(&mut self, name: &str) -> Option<String> {
        self.open.extend(is_plain(name).then(|| name.to_owned()));
        let value = self.values.get(name)?;
        self.used.insert(name.to_owned());
        Some(value.clone())
    }

    fn refuse_secret(&self, name: &str) -> Reading<()> {
        match self.values.contains_key(name) {
            true => Err(format!(
                "{name:?} is a secret, so `--variable` can't set it; omit the option, and set the variable named in \
                 the configuration"
            )),
            false => Ok(()),
        }
    }

    fn note_optional(&mut self, what: &str, name: &str) {
        if is_plain(name) {
            self.notes.push(format!("The optional {what} {name} is left out."));
        }
    }
}

fn short(text: &str) -> String {
    let plain = text.chars().map(|c| if is_plain(c.encode_utf8(&mut [0; 4])) { c } else { ' ' });
    plain.take(MAX_DESCRIPTION).collect()
}

fn check_count(count: usize, what: &str) -> Reading<()> {
    if count > MAX_INPUTS { Err(format!("the server has more than {MAX_INPUTS} {what}")) } else { Ok(()) }
}

fn is_environment_name(name: &str) -> bool {
    name.len() <= 100
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn is_plain_throughout(value: &Value) -> bool {
    match value {
        Value::String(text) => is_plain(text),
        Value::Array(elements) => elements.iter().all(is_plain_throughout),
        // Descriptions are shown, but not part of an entry.
        Value::Object(members) => {
            members.iter().all(|(name, value)| is_plain(name) && (name == "description" || is_plain_throughout(value)))
        }
        _ => true,
    }
}

/// The templates whose marks are in a word.
fn decoded(word: &str, templates: &[Template]) -> Template {
    let mut pieces = word.split(MARKS[0]);
    let mut template = Template::literal(pieces.next().unwrap_or_default());
    for piece in pieces {
        let Some((number, rest)) = piece.split_once(MARKS[1]) else { continue };
        let found = number.parse().ok().and_then(|number: usize| templates.get(number));
        for part in found.into_iter().flat_map(Template::parts) {
            match part {
                Part::Text(text) => template.push_text(text),
                Part::Variable(variable) => template.push_variable(variable.clone()),
            }
        }
        template.push_text(rest);
    }
    template
}

/// Fails unless a URL is one of the web with TLS, or on loopback, and without credentials.
fn check_url(url: &Template) -> Reading<()> {
    if matches!(url.parts().first(), Some(Part::Variable(_))) {
        let names: Vec<&str> = url.variables().map(|variable| variable.name.as_str()).take(1).collect();
        return Err(format!(
            "the variable {} selects the server, but has no default; set it with `--variable`, under its name in the \
             description of the server",
            names.concat()
        ));
    }
    let plain = url.render(|_| "1".to_owned());
    match read_url(&plain)? {
        (false, false) => Err(format!("{plain}: without https://, others could read the messages")),
        _ => Ok(()),
    }
}

/// Fails unless the URL of a registry is one of the web without credentials. Its user chose it, so it may lack TLS.
pub(super) fn check_own_url(url: &str) -> Reading<()> {
    if url.contains(['?', '#']) {
        return Err("the URL of a registry can't have a query or a fragment".to_owned());
    }
    read_url(url).map(drop)
}

/// Whether a URL has TLS, and whether it is on loopback.
fn read_url(url: &str) -> Reading<(bool, bool)> {
    let invalid = || "the URL is not an http:// or https:// URL with a host".to_owned();
    if url.len() > MAX_URL_BYTES || !is_plain(url) {
        return Err(invalid());
    }
    let iri = Iri::parse(url).map_err(|_| invalid())?;
    let is_secure = match iri.scheme().as_str().to_ascii_lowercase().as_str() {
        "https" => true,
        "http" => false,
        _ => return Err(invalid()),
    };
    let authority = iri.authority().filter(|authority| !authority.host().is_empty()).ok_or_else(invalid)?;
    if authority.has_userinfo() {
        return Err("the URL contains credentials".to_owned());
    }
    let host = authority.host();
    let is_loopback = host.eq_ignore_ascii_case("localhost")
        || host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    Ok((is_secure, is_loopback))
}
