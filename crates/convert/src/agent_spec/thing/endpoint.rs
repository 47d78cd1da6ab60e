//! Conversion of URLs in a configuration to targets of forms.

use std::{borrow::Cow, collections::HashSet};

use fluent_uri::UriRef;
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value};

use crate::{
    agent_spec::{
        placeholders::{Piece, pieces, places},
        references::as_reference,
    },
    redaction::is_stand_in,
    td::MAX_DOCUMENT_BYTES,
};

/// All but the unreserved characters (RFC 3986, section 2.3).
pub(in super::super) const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Characters that must be percent-encoded in a URI. The percent sign is handled separately.
const NO_URI_CHARACTER: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'\\').add(b'^').add(b'`').add(b'{').add(b'|').add(b'}');
/// Characters that must be percent-encoded in the name of a variable in a URI template (RFC 6570, section 2.3).
const NO_VARIABLE_CHARACTER: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_');

/// Credentials in a URL, and in the body that is sent to it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Credentials {
    /// True if user information was removed from the URL.
    pub user_info: bool,
    /// Names of the parameters whose values are secrets.
    pub parameters: Vec<String>,
    /// JSON Pointers to secret values in the body.
    pub members: Vec<String>,
}

/// A URL without its credentials, as a URI template.
#[derive(Debug, Default)]
pub(super) struct Endpoint {
    pub href: String,
    /// Inputs inserted into the target.
    pub variables: Variables,
    /// Credentials that were removed from the URL.
    pub credentials: Credentials,
}

/// Names of inputs, in order and each once.
#[derive(Debug, Default)]
pub(super) struct Variables {
    names: Vec<String>,
    known: HashSet<String>,
}

impl Variables {
    fn add(&mut self, name: &str) {
        if !self.known.contains(name) {
            self.known.insert(name.to_owned());
            self.names.push(name.to_owned());
        }
    }

    /// All of them.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }
}

impl Endpoint {
    /// A URL in which `{{x}}` stands for an input; none if it isn't an absolute URL.
    pub(super) fn of_template(url: &str) -> Option<Endpoint> {
        let mut endpoint = Endpoint::default();
        let clean = endpoint.without_credentials(url);
        for piece in pieces(&clean) {
            match piece {
                Piece::Literal(literal) => endpoint.push_literal(literal),
                Piece::Name(name) => endpoint.push_variable(name),
            }
        }
        endpoint.is_absolute().then_some(endpoint)
    }

    /// A URL as it is; none if it isn't an absolute URL.
    pub(super) fn of_url(url: &str) -> Option<Endpoint> {
        let mut endpoint = Endpoint::default();
        let clean = endpoint.without_credentials(url);
        endpoint.push_literal(&clean);
        endpoint.is_absolute().then_some(endpoint)
    }

    /// The URL without its user-info, and without parameters whose values were hidden: both are ways to be
    /// granted access, and none is part of an address.
    fn without_credentials<'u>(&mut self, url: &'u str) -> Cow<'u, str> {
        let Some(start) = url.find("://").map(|scheme| scheme + 3) else { return url.into() };
        let mut templates = places(url).filter(|place| place.start >= start).peekable();
        let mut position = start;
        let mut at = None;
        while let Some(byte) = url.as_bytes().get(position) {
            if let Some(template) = templates.next_if(|place| place.start == position) {
                position = template.end;
                continue;
            }
            match byte {
                b'/' | b'?' | b'#' => break,
                b'@' => at = Some(position + 1),
                _ => {}
            }
            position += 1;
        }
        let mut clean: Cow<'u, str> = url.into();
        if let Some(end) = at {
            self.credentials.user_info = true;
            clean = format!("{}{}", &url[..start], &url[end..]).into();
        }
        let Some((address, query)) = clean.split_once('?') else { return clean };
        let (query, fragment) = query.split_once('#').map_or((query, None), |(query, part)| (query, Some(part)));
        let is_hidden = |parameter: &&str| parameter.split_once('=').is_some_and(|(_, value)| is_stand_in(value));
        if !query.split('&').any(|parameter| is_hidden(&parameter)) {
            return clean;
        }
        let (hidden, shown): (Vec<&str>, Vec<&str>) = query.split('&').partition(is_hidden);
        let mut rest = address.to_owned();
        if !shown.is_empty() {
            rest.push('?');
            rest.push_str(&shown.join("&"));
        }
        if let Some(fragment) = fragment {
            rest.push('#');
            rest.push_str(fragment);
        }
        let names = hidden.into_iter().filter_map(|parameter| parameter.split_once('='));
        self.credentials
            .parameters
            .extend(names.map(|(name, _)| percent_decode_str(name).decode_utf8_lossy().into_owned()));
        rest.into()
    }

    /// Adds the parameters of a query that are sent. Those whose values were hidden are left out.
    pub(super) fn add_parameters(&mut self, parameters: &Map<String, Value>) {
        let fragment = self.href.find('#').map(|mark| self.href.split_off(mark));
        let mut mark = if self.href.contains('?') { '&' } else { '?' };
        for (name, value) in parameters {
            let values = match value {
                Value::Array(values) => values.as_slice(),
                value => std::slice::from_ref(value),
            };
            if values.iter().any(is_hidden) {
                self.credentials.parameters.push(name.clone());
                continue;
            }
            if !is_sent(value) {
                continue;
            }
            for text in values.iter().filter_map(text_of) {
                self.add_parameter(std::mem::replace(&mut mark, '&'), name, &text);
            }
        }
        self.href.extend(fragment);
    }

    /// Adds a parameter, as long as the URL isn't larger than a whole description may be: the name comes
    /// before each value of a list.
    fn add_parameter(&mut self, mark: char, name: &str, text: &str) {
        if self.href.len() > MAX_DOCUMENT_BYTES {
            return;
        }
        self.href.push(mark);
        self.push_encoded(name);
        self.href.push('=');
        self.push_encoded(text);
    }

    fn push_encoded(&mut self, text: &str) {
        for piece in pieces(text) {
            match piece {
                Piece::Literal(literal) => self.href.extend(utf8_percent_encode(literal, RESERVED)),
                Piece::Name(name) => self.push_variable(name),
            }
        }
    }

    fn push_variable(&mut self, name: &str) {
        self.href.push('{');
        self.href.push_str(&variable_name(name));
        self.href.push('}');
        self.variables.add(name);
    }

    fn push_literal(&mut self, literal: &str) {
        let mut parts = literal.split('%');
        self.href.extend(parts.next().map(encoded).into_iter().flatten());
        for part in parts {
            let is_encoding = part.get(..2).is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
            self.href.push_str(if is_encoding { "%" } else { "%25" });
            self.href.extend(encoded(part));
        }
    }

    /// True if this is a URI template that gives absolute URIs with an authority.
    fn is_absolute(&self) -> bool {
        let scheme = self.href.split_once("://").map(|(scheme, _)| scheme);
        let is_scheme = |scheme: &str| {
            scheme.starts_with(|first: char| first.is_ascii_alphabetic())
                && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
        };
        let is_whole = self.href.starts_with('{') || scheme.is_some_and(is_scheme);
        let expanded = expanded(&self.href);
        let parsed = UriRef::parse(expanded.as_str());
        // A variable at the start may have the authority in it.
        let has_host = |uri: UriRef<&str>| uri.authority().is_none_or(|authority| !authority.host().is_empty());
        is_whole && parsed.is_ok_and(has_host)
    }
}

/// The address at which agents are deployed, in which `{id}` and `{name}` are those of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Base(String);

impl Base {
    /// Reads an address.
    ///
    /// # Errors
    /// What is wrong with it; nothing of it is quoted, since it may hold a secret.
    pub(in super::super) fn parse(base: &str) -> Result<Base, &'static str> {
        let filled = filled(base, "a", "a");
        let endpoint = Endpoint::of_url(&filled).ok_or("not an absolute URL, such as https://host/agents/weather")?;
        let is_http = ["http://", "https://"]
            .iter()
            .any(|scheme| endpoint.href.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
        match () {
            () if !is_http => Err("its scheme is neither http nor https"),
            () if endpoint.credentials != Credentials::default() => Err("it contains credentials"),
            () if endpoint.href.contains(['?', '#']) => Err("it has a query or a fragment"),
            () if filled.contains(['{', '}']) => Err("the only allowed placeholders are {id} and {name}"),
            () => Ok(Base(base.to_owned())),
        }
    }

    /// True if several agents have the same address.
    pub(in super::super) fn is_shared(&self) -> bool {
        !self.0.contains("{id}") && !self.0.contains("{name}")
    }

    /// The address of one agent.
    pub(super) fn address(&self, id: &str, name: &str) -> String {
        let encoded = |text: &str| utf8_percent_encode(text, RESERVED).to_string();
        let filled = filled(&self.0, &encoded(id), &encoded(name));
        Endpoint::of_url(&filled).map_or(filled, |endpoint| endpoint.href)
    }
}

fn filled(base: &str, id: &str, name: &str) -> String {
    base.replace("{id}", id).replace("{name}", name)
}

/// The name of an input as a variable of URI templates.
pub(in super::super) fn variable_name(name: &str) -> String {
    utf8_percent_encode(name, NO_VARIABLE_CHARACTER).to_string()
}

fn encoded(text: &str) -> impl Iterator<Item = &str> {
    utf8_percent_encode(text, NO_URI_CHARACTER)
}

/// The value of a parameter or header as text, if it is one that can be.
pub(super) fn text_of(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(text.into()),
        Value::Number(number) => Some(number.to_string().into()),
        Value::Bool(flag) => Some(flag.to_string().into()),
        _ => None,
    }
}

/// True for the value of a parameter that can be sent: text, a number, true or false, or a list of these.
pub(super) fn is_sent(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().all(|value| text_of(value).is_some()),
        value => text_of(value).is_some(),
    }
}

/// True if something else stands in the place of a value, or a part of a list.
pub(super) fn is_hidden(value: &Value) -> bool {
    match value {
        Value::String(text) => is_stand_in(text),
        Value::Object(_) => as_reference(value).is_some(),
        Value::Array(values) => values.iter().any(is_hidden),
        _ => false,
    }
}

/// A template of ours with a value for each variable.
fn expanded(template: &str) -> String {
    let mut expanded = String::with_capacity(template.len());
    for (index, part) in template.split('{').enumerate() {
        match part.split_once('}') {
            Some((_, literal)) if index > 0 => {
                // A port has digits only, a scheme begins with a letter.
                expanded.push(if expanded.is_empty() { 'a' } else { '1' });
                expanded.push_str(literal);
            }
            _ => expanded.push_str(part),
        }
    }
    expanded
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn placeholders_become_variables() {
        let endpoint = Endpoint::of_template("https://{{ host }}:{{port}}/a b/{{id}}/{{id}}?x=ä%20%zz#{{ü}}").unwrap();
        assert_eq!(endpoint.href, "https://{host}:{port}/a%20b/{id}/{id}?x=%C3%A4%20%25zz#{%C3%BC}");
        assert_eq!(endpoint.variables.names(), ["host", "port", "id", "ü"]);
        assert_eq!(Endpoint::of_template("{{base}}/x").unwrap().href, "{base}/x");
        assert_eq!(Endpoint::of_url("https://h/{{x}}").unwrap().href, "https://h/%7B%7Bx%7D%7D");
    }

    #[test]
    fn credentials_are_taken_out() {
        let endpoint = Endpoint::of_template("https://joe:{{pw}}@host/{{id}}?api_key=redacted&key={{key}}#f").unwrap();
        assert_eq!(endpoint.href, "https://host/{id}?key={key}#f");
        assert_eq!(endpoint.variables.names(), ["id", "key"]);
        assert_eq!(endpoint.credentials.parameters, ["api_key"]);
        assert!(endpoint.credentials.user_info);
        assert_eq!(Endpoint::of_url("https://host/?sig=redacted").unwrap().href, "https://host/");
    }

    #[test]
    fn parameters_are_added_to_the_query() {
        let parameters = json!({
            "q": "{{term}}", "{{k}}": "x", "n": 3, "l": [1, "a b"], "o": {"$component_ref": "x.o"}, "z": null, "d": {"x": "{{a}}"}, "m": ["a", ["b"]], "token": "[redacted]", "key": "{{k}}",
        });
        let mut endpoint = Endpoint::of_template("https://h/x?a=1#f").unwrap();
        endpoint.add_parameters(parameters.as_object().unwrap());
        assert_eq!(endpoint.href, "https://h/x?a=1&key={k}&l=1&l=a%20b&n=3&q={term}&{k}=x#f");
        assert_eq!(endpoint.variables.names(), ["k", "term"]);
        assert_eq!(endpoint.credentials.parameters, ["o", "token"]);
    }

    #[test]
    fn names_of_parameters_with_many_values_are_bounded() {
        let parameters = json!({"n".repeat(10_000): vec![json!("x"); 10_000]});
        let mut endpoint = Endpoint::of_template("https://h/x").unwrap();
        endpoint.add_parameters(parameters.as_object().unwrap());
        assert!(endpoint.href.len() < 2 * MAX_DOCUMENT_BYTES, "{} bytes", endpoint.href.len());
    }

    #[test]
    fn what_is_no_absolute_url_is_no_endpoint() {
        for url in [
            "",
            "host/x",
            "localhost:3000/mcp",
            "/x",
            "urn:x:y",
            "mailto:a@b",
            "://x",
            "https://[",
            "https://a:b/",
            "https://",
            "https:///x",
            "http://:80/x",
            "{s}:///x",
        ] {
            assert!(Endpoint::of_url(url).is_none(), "{url}");
        }
        assert!(Endpoint::of_url("http://localhost:3000/mcp").is_some());
        assert!(Endpoint::of_template("{{scheme}}:///x").is_none() && Endpoint::of_template("{{base}}/x").is_some());
    }

    #[test]
    fn base_is_checked_and_filled_in() {
        let address = |base: &str| Base::parse(base).map(|base| base.address("a/b", "Weather Agent"));
        assert_eq!(address("https://host/agents/weather").unwrap(), "https://host/agents/weather");
        assert_eq!(address("https://{name}.host/{id}").unwrap(), "https://Weather%20Agent.host/a%2Fb");
        assert!(Base::parse("https://h/x").unwrap().is_shared() && !Base::parse("https://h/{id}").unwrap().is_shared());
        for base in [
            "host",
            "ftp://host",
            "https://joe:pw@host",
            "https://host?x=1",
            "https://host/?token=1",
            "https://h#x",
            "https://",
            "https:///",
            "https://h/{key}",
        ] {
            assert!(Base::parse(base).is_err(), "{base}");
        }
    }
}
