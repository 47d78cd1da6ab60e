//! The place of a session in one lane.

use std::sync::Arc;

use super::{
    super::feed::{LanePosition, Messages, Part},
    trie::FilterId,
};
use crate::{registry::Seen, store::LoggedChange};

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
    /// The end of the last part that was examined completely.
    pub position: LanePosition,
    /// Number of messages of the next change that need no sending.
    pub messages: usize,
    /// Level of the last saved query whose message of the next change needs no sending.
    pub query: Option<Box<str>>,
    /// The next part of the lane, as far as it isn't examined yet.
    pub part: Option<(Part, Seen)>,
    pub current: Option<Current>,
}

impl Cursor {
    /// A cursor behind everything up to a position.
    pub fn at(position: LanePosition) -> Cursor {
        Cursor { position, messages: 0, query: None, part: None, current: None }
    }

    /// Leaves everything up to a position behind.
    pub fn move_to(&mut self, position: LanePosition) {
        *self = Cursor::at(position);
    }
}
