//! `Attempt`: the commit that is being appended.

use std::sync::Arc;

use super::encoding::{Encoded, Head};

/// A commit that was sent, or is about to be.
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    pub encoded: Arc<Encoded>,
    /// True if the further values of the commit are in etcd.
    pub has_parts: bool,
    /// True if the commit may be in the log without this node's knowledge.
    pub may_be_applied: bool,
    /// Whose commit has arrived under the number, if any: true for this one.
    pub is_own: Option<bool>,
}

impl Attempt {
    /// Notes the commit that has arrived under the number of this one.
    pub fn note(&mut self, number: u64, head: &Head<'_>) {
        if number == self.encoded.number {
            self.is_own = Some(head.id == self.encoded.id && head.digest == self.encoded.digest);
        }
    }
}
