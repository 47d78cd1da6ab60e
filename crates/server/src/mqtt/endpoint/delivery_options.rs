//! Delivery options of a message, from the subscriptions of a client that match it.

use std::sync::Arc;

use super::{super::feed::Family, packets::Outgoing, session::Subscription};

/// The options of all subscriptions of a session that match a message: it is sent once (5.0, section 3.3.4).
#[derive(Debug, Default)]
pub(super) struct DeliveryOptions {
    pub at_least_once: bool,
    pub retain_as_published: bool,
    pub identifiers: Vec<u32>,
}

impl DeliveryOptions {
    /// The options of these subscriptions together; none if there are none.
    pub fn of<'a>(mut subscriptions: impl Iterator<Item = &'a Subscription>) -> Option<DeliveryOptions> {
        let mut options = DeliveryOptions::alone(subscriptions.next()?);
        for subscription in subscriptions {
            options.at_least_once |= subscription.at_least_once;
            options.retain_as_published |= subscription.retain_as_published;
            options.identifiers.extend(subscription.identifier);
        }
        Some(options)
    }

    /// The options of one subscription.
    pub fn alone(subscription: &Subscription) -> DeliveryOptions {
        DeliveryOptions {
            at_least_once: subscription.at_least_once,
            retain_as_published: subscription.retain_as_published,
            identifiers: subscription.identifier.into_iter().collect(),
        }
    }

    /// The message as it is sent.
    pub fn outgoing<'a>(&'a self, topic: &'a str, payload: &'a Arc<[u8]>, family: Family) -> Outgoing<'a> {
        Outgoing {
            topic,
            payload,
            media_type: family.media_type(),
            at_least_once: self.at_least_once,
            retain: family == Family::Thing && self.retain_as_published,
            identifiers: &self.identifiers,
            packet_id_again: None,
        }
    }
}
