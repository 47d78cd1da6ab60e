//! `Attempt`: the commit that is being appended.

use std::sync::Arc;

use super::encoding::{Encoded, Head};

/// Attempt to append a commit, which was sent or is about to be sent.
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    pub encoded: Arc<Encoded>,
    /// True if the additional values of the commit are stored in etcd.
    pub has_parts: bool,
    /// True if the log may contain the commit without this node knowing it.
    pub may_be_applied: bool,
    /// True if this commit has arrived under its number, false if another commit has, and `None` until one of them
    /// arrives.
    pub is_own: Option<bool>,
}

impl Attempt {
    /// Records the commit that has arrived under the number of this attempt.
    pub fn note(&mut self, number: u64, head: &Head<'_>) {
        if number == self.encoded.number {
            self.is_own = Some(head.id == self.encoded.id && head.digest == self.encoded.digest);
        }
    }
}
