//! Where something is reached: URLs of a configuration as targets of forms.

use std::borrow::Cow;

use fluent_uri::UriRef;
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use crate::convert::agent_spec::{
    placeholders::{Piece, pieces},
    redaction::{Credentials, is_secret_value, take_credentials},
};

/// What can't stand in a URI as it is. The percent sign is seen to apart.
const NO_URI_CHARACTER: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'\\').add(b'^').add(b'`').add(b'{').add(b'|').add(b'}');
/// All but the unreserved characters (RFC 3986, section 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// What can't stand in the name of a variable in a URI template (RFC 6570, section 2.3).
const NO_VARIABLE_CHARACTER: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_');

/// A URL without its credentials, as a URI template.
#[derive(Debug, Default)]
pub(super) struct Endpoint<'d> {
    pub href: String,
    /// The inputs that are put into it, each once.
    pub variables: Vec<&'d str>,
    /// What was taken out.
    pub credentials: Credentials,
}

impl<'d> Endpoint<'d> {
    /// A URL in which `{{x}}` stands for an input; none if it is no absolute URL.
    pub(super) fn of_template(url: &'d str) -> Option<Endpoint<'d>> {
        let mut endpoint = Endpoint::default();
        // Where nothing is taken out, the names are those of the document's own text.
        match take_credentials(url, &mut endpoint.credentials) {
            Cow::Borrowed(clean) => endpoint.push_pieces(clean, |name| name),
            Cow::Owned(clean) => endpoint.push_pieces(&clean, |name| find_in(url, name)),
        }
        endpoint.is_absolute().then_some(endpoint)
    }

    /// A URL as it is; none if it is no absolute URL.
    pub(super) fn of_url(url: &'d str) -> Option<Endpoint<'d>> {
        let mut endpoint = Endpoint::default();
        let clean = take_credentials(url, &mut endpoint.credentials);
        endpoint.push_literal(&clean);
        endpoint.is_absolute().then_some(endpoint)
    }

    /// Adds the parameters of a query. Secrets among them are left out.
    pub(super) fn add_parameters(&mut self, parameters: &'d Map<String, Value>) {
        let fragment = self.href.find('#').map(|mark| self.href.split_off(mark));
        for (name, value) in parameters {
            match value {
                Value::Array(values) => values.iter().for_each(|value| self.add_parameter(name, value)),
                value => self.add_parameter(name, value),
            }
        }
        self.href.extend(fragment);
    }

    fn add_parameter(&mut self, name: &str, value: &'d Value) {
        let text: Cow<'d, str> = match value {
            Value::String(text) => text.into(),
            Value::Number(number) => number.to_string().into(),
            Value::Bool(flag) => flag.to_string().into(),
            _ => return,
        };
        if is_secret_value(name, &text) {
            self.credentials.parameters.push(name.to_owned());
            return;
        }
        self.href.push(if self.href.contains('?') { '&' } else { '?' });
        self.href.extend(utf8_percent_encode(name, RESERVED));
        self.href.push('=');
        match text {
            Cow::Borrowed(text) => {
                for piece in pieces(text) {
                    match piece {
                        Piece::Literal(literal) => self.href.extend(utf8_percent_encode(literal, RESERVED)),
                        Piece::Name(name) => self.push_variable(name),
                    }
                }
            }
            Cow::Owned(text) => self.href.extend(utf8_percent_encode(&text, RESERVED)),
        }
    }

    fn push_pieces<'t>(&mut self, text: &'t str, name_of: impl Fn(&'t str) -> &'d str) {
        for piece in pieces(text) {
            match piece {
                Piece::Literal(literal) => self.push_literal(literal),
                Piece::Name(name) => self.push_variable(name_of(name)),
            }
        }
    }

    fn push_variable(&mut self, name: &'d str) {
        self.href.push('{');
        self.href.push_str(&variable_name(name));
        self.href.push('}');
        if !self.variables.contains(&name) {
            self.variables.push(name);
        }
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

    /// Whether this is a URI template that gives absolute URIs with an authority.
    fn is_absolute(&self) -> bool {
        let scheme = self.href.split_once("://").map(|(scheme, _)| scheme);
        let is_scheme = |scheme: &str| {
            scheme.starts_with(|first: char| first.is_ascii_alphabetic())
                && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
        };
        let is_whole = self.href.starts_with('{') || scheme.is_some_and(is_scheme);
        is_whole && UriRef::parse(expanded(&self.href).as_str()).is_ok()
    }
}

/// A base that forms are put under, without a slash at its end.
///
/// # Errors
/// What is wrong with it; nothing of it is quoted, since it may hold a secret.
pub(in super::super) fn checked_base(base: &str) -> Result<String, &'static str> {
    let endpoint = Endpoint::of_url(base).ok_or("it is no absolute URL, such as https://host/agents/weather")?;
    let is_http = ["http://", "https://"]
        .iter()
        .any(|scheme| endpoint.href.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    match () {
        () if !is_http => Err("its scheme is neither http nor https"),
        () if endpoint.credentials != Credentials::default() => Err("it has credentials in it"),
        () if endpoint.href.contains(['?', '#']) => Err("it has a query or a fragment"),
        () => Ok(endpoint.href.trim_end_matches('/').to_owned()),
    }
}

/// The name of an input as a variable of URI templates.
pub(super) fn variable_name(name: &str) -> String {
    utf8_percent_encode(name, NO_VARIABLE_CHARACTER).to_string()
}

fn encoded(text: &str) -> impl Iterator<Item = &str> {
    utf8_percent_encode(text, NO_URI_CHARACTER)
}

/// A name in the text that it was taken from.
fn find_in<'d>(text: &'d str, name: &str) -> &'d str {
    text.find(name).and_then(|start| text.get(start..start + name.len())).unwrap_or_default()
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
        assert_eq!(endpoint.variables, ["host", "port", "id", "ü"]);
        assert_eq!(Endpoint::of_template("{{base}}/x").unwrap().href, "{base}/x");
        assert_eq!(Endpoint::of_url("https://h/{{x}}").unwrap().href, "https://h/%7B%7Bx%7D%7D");
    }

    #[test]
    fn credentials_are_taken_out_and_noted() {
        let url = "https://joe:{{pw}}@host/{{id}}?api_key=1&key={{key}}";
        let endpoint = Endpoint::of_template(url).unwrap();
        assert_eq!(endpoint.href, "https://host/{id}?key={key}");
        assert_eq!(endpoint.variables, ["id", "key"]);
        assert_eq!(endpoint.credentials.parameters, ["api_key"]);
        assert!(endpoint.credentials.user_info);
    }

    #[test]
    fn parameters_are_added_to_the_query() {
        let parameters =
            json!({"q": "{{term}}", "n": 3, "l": [1, "a b"], "o": {}, "z": null, "token": "1", "key": "{{k}}"});
        let mut endpoint = Endpoint::of_template("https://h/x?a=1#f").unwrap();
        endpoint.add_parameters(parameters.as_object().unwrap());
        assert_eq!(endpoint.href, "https://h/x?a=1&key={k}&l=1&l=a%20b&n=3&q={term}#f");
        assert_eq!(endpoint.variables, ["k", "term"]);
        assert_eq!(endpoint.credentials.parameters, ["token"]);
    }

    #[test]
    fn what_is_no_absolute_url_is_no_endpoint() {
        for url in
            ["", "host/x", "localhost:3000/mcp", "/x", "urn:x:y", "mailto:a@b", "://x", "https://[", "https://a:b/"]
        {
            assert!(Endpoint::of_url(url).is_none(), "{url}");
        }
        assert!(Endpoint::of_url("http://localhost:3000/mcp").is_some());
    }

    #[test]
    fn base_is_checked_without_being_quoted() {
        assert_eq!(checked_base("https://host/agents/weather/").unwrap(), "https://host/agents/weather");
        for base in
            ["host", "ftp://host", "https://joe:pw@host", "https://host?x=1", "https://host/?token=1", "https://h#x"]
        {
            assert!(checked_base(base).is_err(), "{base}");
        }
    }
}
