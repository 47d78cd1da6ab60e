//! Secrets defined by the specification of agent cards: `authentication.credentials` of version 0.x. Names of scopes
//! and parts of signatures are never secrets, whatever their names suggest.

use crate::redaction::{Mark, Marks, Place};

/// Redaction marks for the members of a card.
pub(super) struct CardMarks;

impl Marks for CardMarks {
    fn mark(&self, member: &Place<'_, '_>) -> Mark {
        let mut names = member.names();
        match (names.next(), names.next(), names.next()) {
            (Some("credentials"), Some("authentication"), None) => Mark::Secret,
            (Some("scopes"), ..) | (Some("signatures"), None, _) => Mark::Described,
            // Schemes by their names, whatever they are called, and scopes.
            (Some("security" | "securityRequirements"), None | Some(""), _) => Mark::Described,
            _ => Mark::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redacted_json::RedactedJson;

    /// A value that nobody takes for anything else.
    fn secret(number: usize) -> String {
        format!("x{number}v9Qw7Lm2Rt5")
    }

    fn redacted(text: &str) -> RedactedJson {
        RedactedJson::parse(text.as_bytes(), &CardMarks).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn only_secrets_change() {
        let (first, second) = (secret(1), secret(2));
        let text = format!(
            r#"{{ "b" : [1.50, "see https://me:{first}@a.example/x?y=1@2 or\thttps:\/\/u:{first}\u0040b.example"],
            "url": "https://a.example/?api_key={second}&q=1", "authentication": {{"schemes": ["x"], "credentials": "c"}},
            "capabilities": {{"extensions": [{{"uri": "urn:x", "params": {{"key": "{first}", "token": "ERC20"}}}}]}},
            "security": [{{"api_token": ["{first}"]}}],
            "skills": [{{"securityRequirements": [{{"schemes": {{"key": {{"list": ["{second}"]}}}}}}]}}],
            "securitySchemes": {{"o": {{"flows": {{"password": {{"scopes": {{"secret": "{first}"}}}}}}}}}},
            "signatures": [{{"protected": "eyJhbGciOiJFUzI1NiJ9", "signature": "{second}{first}"}}], "x": "a@b" }}"#
        );
        let redacted = redacted(&text);
        let expected = text
            .replace(&format!("me:{first}@"), "")
            .replace(&format!(r"https:\/\/u:{first}\u0040b"), "https://b")
            .replace(&format!("api_key={second}"), "api_key=redacted")
            .replace(r#""credentials": "c""#, r#""credentials": "[redacted]""#)
            .replace(&format!(r#""key": "{first}""#), r#""key": "[redacted]""#);
        assert_eq!(String::from_utf8_lossy(&redacted.bytes), expected);
        let found: Vec<_> =
            redacted.warnings.iter().map(|found| (found.pointer.as_str(), found.rule.as_ref())).collect();
        let params = "/capabilities/extensions/0/params/key";
        assert_eq!(
            found,
            [
                ("/b/1", "user-info"),
                ("/url", "secret-parameter"),
                ("/authentication/credentials", "secret-field"),
                (params, "secret-name"),
            ]
        );
        let again = RedactedJson::parse(&redacted.bytes, &CardMarks);
        assert!(again.is_ok_and(|again| again.bytes == redacted.bytes && again.warnings.is_empty()));
    }

    #[test]
    fn no_warning_repeats_a_secret() {
        let redacted = redacted(&format!(r#"{{"https://u:{}@h.example/": 1}}"#, secret(3)));
        assert_eq!(redacted.warnings[0].pointer, "/https:~1~1h.example~1");
    }
}
