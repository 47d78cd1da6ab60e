//! Secrets defined by the specification of `server.json` (values of inputs marked as `isSecret`) and contained in
//! configurations of clients (environment variables and headers).

use super::headers::{HEADERS, REQUESTS, TOKENS};
use crate::{
    redaction::{Mark, Marks, Node, Place, REDACTED, Rule, is_stand_in, may_be_credential},
    td::internal::push_string,
};

/// Words before a credential in a header, which name the kind of credential (RFC 9110, section 11.4).
const SCHEMES: [&str; 11] =
    ["apikey", "api-key", "basic", "bearer", "bot", "digest", "dpop", "key", "negotiate", "pat", "token"];

/// Redaction marks for the members of a document with this text.
pub(super) struct ServerMarks<'t>(pub(super) &'t str);

impl Marks for ServerMarks<'_> {
    fn mark(&self, member: &Place<'_, '_>) -> Mark {
        let is_secret = |input: &Node<'_>| {
            ["isSecret", "is_secret"].iter().filter_map(|flag| input.get(flag)).any(|flag| flag.is_true(self.0))
        };
        let names: Vec<&str> = member.names().take(5).collect();
        let is_setting = match names[..] {
            [_, list, _, "mcpServers" | "servers"] => list == "env" || HEADERS.contains(&list),
            [_, list, request, _, "mcpServers" | "servers"] => REQUESTS.contains(&request) && HEADERS.contains(&list),
            [token, _, "mcpServers" | "servers"] => TOKENS.contains(&token),
            // Of a card, or of one of its endpoints.
            [_, list, ..] => HEADERS.contains(&list) && member.value.text().is_some() && !names.contains(&"tools"),
            [token] => TOKENS.contains(&token),
            _ => false,
        };
        match member.name {
            Some(_) if member.value.text().is_some_and(|text| text_after_scheme(text).is_some_and(is_stand_in)) => {
                Mark::None
            }
            Some(name) if is_setting && may_be_credential(name, member.value) => Mark::Credential,
            Some("value" | "default") if member.around().is_some_and(is_secret) => Mark::Secret,
            _ => Mark::None,
        }
    }

    /// The scheme in front of a credential stays: it says how the credential is sent.
    fn stand_in(&self, place: &Place<'_, '_>, _: Rule) -> String {
        let text = place.value.text().unwrap_or_default();
        let scheme = text_after_scheme(text).map_or("", |credential| &text[..text.len() - credential.len()]);
        json_string(&format!("{scheme}{REDACTED}"))
    }
}

fn json_string(text: &str) -> String {
    let mut json = String::new();
    push_string(&mut json, text);
    json
}

/// The credential in the value of a header that begins with the name of a scheme.
fn text_after_scheme(text: &str) -> Option<&str> {
    let (scheme, credential) = text.split_once(' ')?;
    SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme)).then_some(credential)
}
