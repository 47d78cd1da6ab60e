//! How a client wants a message, by the subscriptions of its session.

use std::sync::Arc;

use super::{
    super::{cloud_event, feed::Family},
    packets::Outgoing,
    session::{Session, Subscription},
};
use crate::change::Seq;

/// The media type of retained descriptions.
const TD_MEDIA_TYPE: &str = "application/td+json";

/// How a client wants a message, by all of its subscriptions that match it.
pub(super) struct Wish {
    pub at_least_once: bool,
    retain_as_published: bool,
    identifiers: Vec<u32>,
}

impl Wish {
    /// None: it doesn't want it.
    pub fn of(session: &Session, family: Family, topic: &str, seq: Seq) -> Option<Wish> {
        let mut matching =
            session.own().filter(|subscription| subscription.since < seq && subscription.matches(family, topic));
        let mut wish = Wish::alone(matching.next()?);
        for subscription in matching {
            wish.at_least_once |= subscription.at_least_once;
            wish.retain_as_published |= subscription.retain_as_published;
            wish.identifiers.extend(subscription.identifier);
        }
        Some(wish)
    }

    /// By one subscription alone.
    pub fn alone(subscription: &Subscription) -> Wish {
        Wish {
            at_least_once: subscription.at_least_once,
            retain_as_published: subscription.retain_as_published,
            identifiers: subscription.identifier.into_iter().collect(),
        }
    }

    /// The message as it is sent.
    pub fn outgoing<'a>(&'a self, topic: &'a str, payload: &'a Arc<[u8]>, family: Family) -> Outgoing<'a> {
        let is_thing = family == Family::Thing;
        Outgoing {
            topic,
            payload,
            media_type: if is_thing { TD_MEDIA_TYPE } else { cloud_event::MEDIA_TYPE },
            at_least_once: self.at_least_once,
            retain: is_thing && self.retain_as_published,
            identifiers: &self.identifiers,
        }
    }
}
