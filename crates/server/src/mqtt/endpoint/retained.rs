//! The retained descriptions that a subscription still has to get, read as they are sent.

use std::sync::Arc;

use super::{
    super::feed::Feed,
    filter::{RetainedScope, TopicFilter},
};
use crate::{
    Registry, Result,
    change::Seq,
    registry::{Thing, Things},
};

/// The retained descriptions that a subscription still has to get.
pub(super) struct Scan {
    /// The subscription's filter, as the client wrote it.
    pub text: Arc<str>,
    /// The last Thing that was sent.
    pub after: Option<String>,
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

/// The result of one step of a scan.
pub(super) enum Scanned {
    Thing(Box<Thing>),
    /// Nothing to send yet.
    Nothing,
    /// That was all.
    End,
}

impl Scan {
    /// Everything that a subscription is due, or what comes after a Thing.
    pub fn of(text: &Arc<str>, after: Option<String>, feed: &Feed, reader: &Registry) -> Scan {
        let scope = TopicFilter::parse(text).and_then(|filter| filter.retained_scope(feed.topics()));
        let remaining = match scope {
            None => Remaining::Nothing,
            Some(RetainedScope::One(id)) => Remaining::One(id),
            Some(RetainedScope::Everything) => {
                let things = reader.list_from(after.as_deref());
                Remaining::Listed { since: feed.last_seq(), things }
            }
        };
        Scan { text: text.clone(), after, remaining }
    }

    /// The next Thing as it is now: never older than what the log has already brought.
    pub fn next(&mut self, feed: &Feed, registry: &Registry) -> Result<Scanned> {
        match &mut self.remaining {
            Remaining::Nothing => Ok(Scanned::End),
            Remaining::One(id) => {
                let id = std::mem::take(id);
                self.remaining = Remaining::Nothing;
                // A level that is not an id that a Thing could have matches nothing.
                let is_id = crate::td::normalize_id(&id).is_ok_and(|normal| normal == id);
                let thing = if is_id && self.after.is_none() { registry.find(&id)? } else { None };
                Ok(self.found(thing))
            }
            Remaining::Listed { things, since } => {
                let Some(thing) = things.next().transpose()? else { return Ok(Scanned::End) };
                if self.after.as_deref().is_some_and(|after| thing.id() == after) {
                    return Ok(Scanned::Nothing);
                }
                let is_current = *since == feed.last_seq();
                let current = if is_current { Some(thing) } else { registry.find(thing.id())? };
                Ok(self.found(current))
            }
        }
    }

    fn found(&mut self, thing: Option<Thing>) -> Scanned {
        let Some(thing) = thing else { return Scanned::Nothing };
        self.after = Some(thing.id().to_owned());
        Scanned::Thing(Box::new(thing))
    }
}
