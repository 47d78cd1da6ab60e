//! The retained descriptions that a subscription still has to get, read as they are sent.

use super::{super::feed::Feed, filter::RetainedScope, session::Subscription};
use crate::{
    Result,
    change::Seq,
    registry::{Thing, Things},
};

/// The retained descriptions that a subscription still has to get.
pub(super) struct Scan {
    /// The subscription's filter, as the client wrote it.
    pub subscription: String,
    remaining: Remaining,
}

enum Remaining {
    Nothing,
    One(String),
    /// A few are read ahead; what they were at is the end of the log then.
    Listed {
        things: Things,
        since: Seq,
    },
}

impl Scan {
    /// Everything that a subscription is due.
    pub fn of(subscription: &Subscription, feed: &Feed) -> Scan {
        let remaining = match subscription.filter.retained_scope(feed.topics()) {
            None => Remaining::Nothing,
            Some(RetainedScope::One(id)) => Remaining::One(id),
            Some(RetainedScope::Everything) => {
                Remaining::Listed { since: feed.last_seq(), things: feed.registry().list() }
            }
        };
        Scan { subscription: subscription.text.clone(), remaining }
    }

    /// The next Thing as it is now: never older than what the log has already brought.
    pub fn next(&mut self, feed: &Feed) -> Result<Option<Thing>> {
        self.remaining.next(feed)
    }
}

impl Remaining {
    fn next(&mut self, feed: &Feed) -> Result<Option<Thing>> {
        let registry = feed.registry();
        match self {
            Remaining::Nothing => Ok(None),
            Remaining::One(id) => {
                let id = std::mem::take(id);
                *self = Remaining::Nothing;
                // A level that is no id that a Thing could have matches nothing.
                let is_id = crate::td::normalize_id(&id).is_ok_and(|normal| normal == id);
                if is_id { registry.find_by_id(&id) } else { Ok(None) }
            }
            Remaining::Listed { things, since } => {
                for thing in things {
                    let thing = thing?;
                    let is_current = *since == feed.last_seq();
                    let current = if is_current { Some(thing) } else { registry.find_by_id(thing.id())? };
                    if current.is_some() {
                        return Ok(current);
                    }
                }
                Ok(None)
            }
        }
    }
}
