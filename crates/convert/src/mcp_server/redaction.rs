//! Secrets that the specification of `server.json` defines, the values of inputs that are marked `isSecret`, and those of
//! configurations of clients: environment variables and headers.

use super::envelope::{HEADERS, REQUEST, TOKENS};
use crate::redaction::{Mark, Marks, Node, Place, may_be_credential};

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
            [_, list, request, _, "mcpServers" | "servers"] => request == REQUEST && HEADERS.contains(&list),
            [token, _, "mcpServers" | "servers"] => TOKENS.contains(&token),
            _ => false,
        };
        match member.name {
            Some(name) if is_setting && may_be_credential(name, member.value) => Mark::Credential,
            Some("value" | "default") if member.around().is_some_and(is_secret) => Mark::Secret,
            _ => Mark::None,
        }
    }
}
