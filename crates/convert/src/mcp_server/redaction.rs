//! Secrets that the specification of `server.json` defines, the values of inputs that are marked `isSecret`, and those of
//! configurations of clients: environment variables and headers.

use crate::redaction::{Mark, Marks, Node, Place};

/// Redaction marks for the members of a document with this text.
pub(super) struct ServerMarks<'t>(pub(super) &'t str);

impl Marks for ServerMarks<'_> {
    fn mark(&self, member: &Place<'_, '_>) -> Mark {
        let is_secret = |input: &Node<'_>| {
            ["isSecret", "is_secret"].iter().filter_map(|flag| input.get(flag)).any(|flag| flag.is_true(self.0))
        };
        let names: Vec<&str> = member.names().take(4).collect();
        match member.name {
            Some(_) if matches!(names[..], [_, "env" | "headers", _, "mcpServers" | "servers"]) => Mark::Secret,
            Some("value" | "default") if member.around().is_some_and(is_secret) => Mark::Secret,
            _ => Mark::None,
        }
    }
}
