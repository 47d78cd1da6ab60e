//! Secrets that the specification of `server.json` defines: the values of inputs that are marked `isSecret`.

use crate::redaction::{Mark, Marks, Node, Place};

/// Redaction marks for the members of a document with this text.
pub(super) struct ServerMarks<'t>(pub(super) &'t str);

impl Marks for ServerMarks<'_> {
    fn mark(&self, member: &Place<'_, '_>) -> Mark {
        let is_secret = |input: &Node<'_>| {
            ["isSecret", "is_secret"].iter().filter_map(|flag| input.get(flag)).any(|flag| flag.is_true(self.0))
        };
        match member.name {
            Some("value" | "default") if member.around().is_some_and(is_secret) => Mark::Secret,
            _ => Mark::None,
        }
    }
}
