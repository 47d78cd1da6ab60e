//! Secrets in cards, which are taken out before anything is kept: user-info in URLs, anywhere, and
//! credentials in the parameters of extensions, in security schemes, and in what was there before them.
//! Only the strings that are about them change, the rest of the text stays as it came.

use serde_json::{Map, Value};

use crate::{
    convert::{secret_names::is_secret_name, shape::Findings},
    td::{Document, Path, Violation},
};

/// What stands in the place of a credential.
const REDACTED: &str = "[redacted]";

/// A text that had secrets.
pub(super) struct Redacted {
    pub(super) text: String,
    pub(super) warnings: Vec<Violation>,
}

/// The text of a JSON document without secrets; none if it has none.
pub(super) fn redact(document: &Document) -> Option<Redacted> {
    let text = document.text();
    // A name that is there twice hides what its first value is.
    let may_have = text.contains('@')
        || text.contains("\\u")
        || !document.repeated_members().is_empty()
        || document.value().as_object().is_some_and(may_hold_credentials);
    if !may_have {
        return None;
    }
    let mut redactor = Redactor { text, position: 0, copied: 0, out: String::new(), findings: Findings::default() };
    redactor.value(&Path::ROOT, Place::Root);
    if redactor.copied == 0 {
        return None;
    }
    redactor.out.push_str(&text[redactor.copied..]);
    Some(Redacted { text: redactor.out, warnings: redactor.findings.into_list() })
}

/// Whether a card has parameters of extensions, or members of schemes that are secrets.
fn may_hold_credentials(card: &Map<String, Value>) -> bool {
    let extensions = card.get("capabilities").and_then(|capabilities| capabilities.get("extensions")?.as_array());
    let has_parameters = extensions.is_some_and(|all| all.iter().any(|extension| extension.get("params").is_some()));
    let schemes = ["securitySchemes", "security_schemes"].into_iter().filter_map(|name| card.get(name));
    has_parameters
        || card.contains_key("authentication")
        || schemes.into_iter().any(|schemes| holds_credential(schemes, Place::Schemes))
}

fn holds_credential(value: &Value, place: Place) -> bool {
    let Value::Object(members) = value else { return false };
    members.iter().any(|(name, value)| place.is_credential(name) || holds_credential(value, place.of_member(name)))
}

/// Where in a card a value is, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    Capabilities,
    Extensions,
    Parameters,
    /// What cards before 0.2 had instead of security schemes.
    Authentication,
    Schemes,
    /// A scheme, or the object of 1.0 that is in it.
    Scheme,
    Flows,
    Flow,
    /// Within something that is a secret by its name.
    Secret,
    Elsewhere,
}

impl Place {
    fn of_member(self, name: &str) -> Place {
        match (self, name) {
            (Place::Root, "capabilities") => Place::Capabilities,
            (Place::Root, "authentication") => Place::Authentication,
            (Place::Root, "securitySchemes" | "security_schemes") => Place::Schemes,
            (Place::Schemes, _) => Place::Scheme,
            (Place::Scheme, "flows") => Place::Flows,
            (Place::Scheme, name) if is_wrapper(name) => Place::Scheme,
            (Place::Flows, _) => Place::Flow,
            // The names of scopes are the author's.
            (Place::Flow, "scopes") => Place::Elsewhere,
            (Place::Secret, _) => Place::Secret,
            (Place::Capabilities, "extensions") => Place::Extensions,
            (Place::Extensions, "params") => Place::Parameters,
            (Place::Parameters, _) => Place::Parameters,
            _ => Place::Elsewhere,
        }
    }

    fn of_element(self) -> Place {
        match self {
            Place::Extensions | Place::Parameters | Place::Secret => self,
            _ => Place::Elsewhere,
        }
    }

    /// Whether the value of this member is a credential.
    fn is_credential(self, name: &str) -> bool {
        match self {
            Place::Authentication => name == "credentials",
            // A token by itself may as well be a currency.
            Place::Parameters => !name.eq_ignore_ascii_case("token") && is_secret_name(name),
            Place::Scheme => name == "value" || (!is_wrapper(name) && is_secret_name(name)),
            Place::Flow => is_secret_name(name),
            _ => false,
        }
    }
}

/// Whether the name of a member is that of a scheme's kind, however it is spelled.
fn is_wrapper(name: &str) -> bool {
    name.ends_with("SecurityScheme") || name.ends_with("_security_scheme")
}

/// Words of schemas: what has them only describes a secret.
const TYPES: [&str; 7] = ["string", "object", "array", "number", "integer", "boolean", "null"];

/// A walk through a text that is known to be JSON.
struct Redactor<'t> {
    text: &'t str,
    position: usize,
    /// How much of the text is in `out` already, changed.
    copied: usize,
    out: String,
    findings: Findings,
}

impl<'t> Redactor<'t> {
    fn value(&mut self, path: &Path<'_>, place: Place) {
        match self.peek() {
            Some(b'{') => self.object(path, place),
            Some(b'[') => self.array(path, place),
            Some(b'"') => {
                let (start, string) = self.string();
                match place {
                    Place::Secret => self.take_out(start, &string, path),
                    _ => self.redact_url(start, &string, path),
                }
            }
            Some(b'-' | b'0'..=b'9') if place == Place::Secret => {
                let start = self.position;
                self.scalar();
                self.take_out(start, "number", path);
            }
            Some(_) => self.scalar(),
            None => {}
        }
    }

    fn object(&mut self, path: &Path<'_>, place: Place) {
        self.position += 1;
        while let Some(byte) = self.peek() {
            match byte {
                b'}' => break,
                b'"' => self.member(path, place),
                _ => self.position += 1,
            }
        }
        self.position += 1;
    }

    fn member(&mut self, path: &Path<'_>, place: Place) {
        let (start, name) = self.string();
        let bare = without_user_info(&name);
        let path = path.member(bare.as_deref().unwrap_or(&name));
        self.redact_url(start, &name, &path);
        while self.peek() == Some(b':') {
            self.position += 1;
        }
        let place = match place.is_credential(&name) && !self.is_schema() {
            true => Place::Secret,
            false => place.of_member(&name),
        };
        self.value(&path, place);
    }

    /// Whether the value at the position is an object that says what values there may be.
    fn is_schema(&mut self) -> bool {
        self.peek() == Some(b'{')
            && serde_json::Deserializer::from_str(&self.text[self.position..])
                .into_iter::<Value>()
                .next()
                .and_then(Result::ok)
                .is_some_and(|value| value["type"].as_str().is_some_and(|type_| TYPES.contains(&type_)))
    }

    /// Takes out a string or number.
    fn take_out(&mut self, start: usize, secret: &str, path: &Path<'_>) {
        if secret.is_empty() || secret == REDACTED {
            return;
        }
        let message = "a credential was taken out; a card is no place for one";
        self.findings.add(path, "secret", || message.into());
        self.replace(start, REDACTED);
    }

    fn array(&mut self, path: &Path<'_>, place: Place) {
        self.position += 1;
        let mut index = 0;
        while let Some(byte) = self.peek() {
            match byte {
                b']' => break,
                b',' => self.position += 1,
                _ => {
                    self.value(&path.index(index), place.of_element());
                    index += 1;
                }
            }
        }
        self.position += 1;
    }

    fn scalar(&mut self) {
        let rest = &self.text.as_bytes()[self.position..];
        let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}') || byte.is_ascii_whitespace();
        self.position += rest.iter().position(ends).unwrap_or(rest.len());
    }

    /// The next byte that counts.
    fn peek(&mut self) -> Option<u8> {
        let rest = self.text.as_bytes().get(self.position..)?;
        let skipped = rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
        self.position += skipped;
        rest.get(skipped).copied()
    }

    /// Reads the string at the position: where it starts, and what it says.
    fn string(&mut self) -> (usize, std::borrow::Cow<'t, str>) {
        let start = self.position;
        let bytes = self.text.as_bytes();
        let mut end = start + 1;
        while let Some(byte) = bytes.get(end) {
            match byte {
                b'"' => break,
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        self.position = (end + 1).min(bytes.len());
        let token = &self.text[start..self.position];
        let plain = token.get(1..token.len().saturating_sub(1)).unwrap_or_default();
        match plain.contains('\\') {
            true => (start, serde_json::from_str::<String>(token).unwrap_or_default().into()),
            false => (start, plain.into()),
        }
    }

    fn redact_url(&mut self, start: usize, string: &str, path: &Path<'_>) {
        if let Some(bare) = without_user_info(string) {
            let message = "user-info was taken out of a URL; a card is no place for credentials";
            self.findings.add(path, "user-info", || message.into());
            self.replace(start, &bare);
        }
    }

    /// Puts another string in the place of the one from `start` to the position.
    fn replace(&mut self, start: usize, string: &str) {
        self.out.push_str(&self.text[self.copied..start]);
        self.out.push_str(&Value::from(string).to_string());
        self.copied = self.position;
    }
}

/// The text without the user-info of the URLs in it; none if there is none.
fn without_user_info(text: &str) -> Option<String> {
    if !text.contains('@') || !text.contains("//") {
        return None;
    }
    let mut bare = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(slashes) = rest.find("//") {
        let (before, from) = rest.split_at(slashes + 2);
        bare.push_str(before);
        let is_url = before == "//" && bare.len() == 2 || before.ends_with("://");
        let ends = |c: char| matches!(c, '/' | '?' | '#' | '"' | '<' | '>' | '\\') || c.is_whitespace();
        let authority = &from[..from.find(ends).unwrap_or(from.len())];
        rest = match authority.rfind('@') {
            Some(at) if is_url => &from[at + 1..],
            _ => from,
        };
    }
    bare.push_str(rest);
    (bare.len() < text.len()).then_some(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redact(text: &str) -> Option<Redacted> {
        super::redact(&Document::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}")))
    }

    fn rules(redacted: &Redacted) -> Vec<(&str, &str)> {
        redacted.warnings.iter().map(|warning| (warning.pointer.as_str(), warning.rule.as_ref())).collect()
    }

    #[test]
    fn only_the_user_info_is_taken_out() {
        let text = r#"{ "b" : [1.50, "see https://me:pw@a.example/x?y=1@2 or\thttps:\/\/u\u0040b.example"],
            "a@b": "mail c@d.example", "url":"wss://u:p@e.example" }"#;
        let redacted = redact(text).map(|redacted| (redacted.text.clone(), redacted));
        let (text, redacted) =
            redacted.unwrap_or_else(|| (String::new(), Redacted { text: String::new(), warnings: Vec::new() }));
        assert_eq!(
            text,
            r#"{ "b" : [1.50, "see https://a.example/x?y=1@2 or\thttps://b.example"],
            "a@b": "mail c@d.example", "url":"wss://e.example" }"#
        );
        assert_eq!(rules(&redacted), [("/b/1", "user-info"), ("/url", "user-info")]);
    }

    #[test]
    fn credentials_of_extensions_are_taken_out() {
        let text = r#"{"capabilities": {"extensions": [{"uri": "urn:x", "params": {"deep": [{"api_key": "s1", "token": "ERC20"}], "secret": true}}]},
            "authentication": {"schemes": ["x"], "credentials": "s2"}, "apiKey": "a name"}"#;
        let Some(redacted) = redact(text) else { panic!("nothing was taken out") };
        assert_eq!(redacted.text, text.replace("s1", REDACTED).replace("s2", REDACTED));
        assert_eq!(
            rules(&redacted),
            [("/capabilities/extensions/0/params/deep/0/api_key", "secret"), ("/authentication/credentials", "secret")]
        );
        assert!(redact(&redacted.text).is_none());
    }

    #[test]
    fn credentials_are_known_by_their_names_whatever_they_are() {
        let text = r#"{"capabilities": {"extensions": [{"uri": "urn:x", "params": {
            "authorization": "Bearer s1", "headers": {"X-API-Key": "s2", "Accept": "text/plain"}, "secretKey": ["s3", 4],
            "password": {"value": "s5"}, "maxTokens": 6, "schema": {"password": {"type": "string", "minLength": 8}}}}]},
            "securitySchemes": {"bearer": {"type": "apiKey", "in": "header", "name": "K", "value": "s7"},
            "apiKey": {"apiKeySecurityScheme": {"clientSecret": "s8"}, "token": "s9"},
            "oauth": {"flows": {"password": {"tokenUrl": "https://x.example", "client_secret": "s0", "scopes": {"secret": "All"}}}}}}"#;
        let Some(redacted) = redact(text) else { panic!("nothing was taken out") };
        let mut expected =
            text.replace("[\"s3\", 4]", "[\"[redacted]\", \"[redacted]\"]").replace("Bearer s1", REDACTED);
        for secret in ["s2", "s5", "s7", "s8", "s9", "s0"] {
            expected = expected.replace(&format!("\"{secret}\""), &format!("\"{REDACTED}\""));
        }
        assert_eq!(redacted.text, expected);
        assert!(redact(&redacted.text).is_none());
    }

    #[test]
    fn no_warning_repeats_a_secret() {
        let Some(redacted) = redact(r#"{"https://u:pw@h.example/": 1}"#) else { panic!("nothing was taken out") };
        assert_eq!(rules(&redacted), [("/https:~1~1h.example~1", "user-info")]);
    }

    #[test]
    fn what_has_no_secrets_is_left_alone() {
        for text in [r#"{"email":"a@b.example","x":"//comment@x"}"#, r#"["@", "\u0041//"]"#, "1", r#""a@b""#] {
            let redacted = redact(text).map(|redacted| redacted.text);
            assert!(redacted.is_none() || text.contains("comment"), "{text}");
        }
    }
}
