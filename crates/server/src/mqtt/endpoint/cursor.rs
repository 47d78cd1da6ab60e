//! The place of a session in one lane of the log.

use std::sync::Arc;

use super::{
    super::feed::{Lane, Messages},
    trie::FilterId,
};
use crate::{change::Seq, registry::Seen, store::LoggedChange};

/// The change whose messages are being sent.
pub(super) struct Current {
    pub change: Arc<LoggedChange>,
    pub messages: Arc<Messages>,
    /// The messages that the session's own filters match, in order.
    pub matched: Vec<(u32, FilterId)>,
    /// Number of entries of `matched` that are done with.
    pub done: usize,
}

/// Place of a session in a lane.
pub(super) struct Cursor {
    pub lane: Lane,
    /// The last entry of the log that was examined completely.
    pub seq: Seq,
    /// Number of messages of the next change that need no sending.
    pub messages: usize,
    /// Level of the last saved query whose message of the next change needs no sending.
    pub query: Option<Box<str>>,
    /// The next entry of the log, as far as it isn't examined yet.
    pub entry: Option<(Seq, Seen)>,
    pub current: Option<Current>,
}

impl Cursor {
    /// A cursor behind everything up to `seq`.
    pub fn at(lane: Lane, seq: Seq) -> Cursor {
        Cursor { lane, seq, messages: 0, query: None, entry: None, current: None }
    }

    /// Leaves everything up to `seq` behind.
    pub fn move_to(&mut self, seq: Seq) {
        *self = Cursor::at(self.lane, seq);
    }
}
