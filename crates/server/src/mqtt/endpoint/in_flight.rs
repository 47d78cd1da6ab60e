//! The messages that a client hasn't acknowledged yet, and how they are made again for its next connection.

use std::{collections::VecDeque, sync::Arc};

use super::{
    super::feed::Family,
    delivery_options::DeliveryOptions,
    group::{Group, Groups, Place},
    index::SubscriptionIndex,
    session::{Session, Source},
};
use crate::{Registry, Result, registry::Presence};

/// The origin of an in-flight message: the client's own subscriptions, or a group that assigned it.
pub(super) enum Origin {
    Own(Source),
    Group(Arc<Group>, Place),
}

impl Origin {
    /// The message needs no acknowledgement any more, or has none.
    pub fn finish(self) {
        if let Origin::Group(group, place) = self {
            group.acknowledge(&place);
        }
    }
}

/// The in-flight messages of a connection, in the order they were sent in.
#[derive(Default)]
pub(super) struct InFlight {
    messages: VecDeque<(u16, Origin)>,
}

impl InFlight {
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    pub fn push(&mut self, packet_id: u16, origin: Origin) {
        self.messages.push_back((packet_id, origin));
    }

    pub fn acknowledge(&mut self, packet_id: u16) {
        let index = self.messages.iter().position(|(other, _)| *other == packet_id);
        if let Some((_, origin)) = index.and_then(|index| self.messages.remove(index)) {
            origin.finish();
        }
    }

    /// Those that the session's next connection sends again.
    pub fn own(&self) -> impl Iterator<Item = (u16, Source)> {
        self.messages.iter().filter_map(|(packet_id, origin)| match origin {
            Origin::Own(source) => Some((*packet_id, source.clone())),
            Origin::Group(..) => None,
        })
    }

    /// The connection is over: another reader of its group gets what a group had assigned to this one.
    pub fn requeue(self, groups: &Groups) {
        for (_, origin) in self.messages {
            if let Origin::Group(group, place) = origin {
                groups.requeue(&group, place);
            }
        }
    }
}

/// A message that is sent again.
pub(super) struct Redelivered {
    pub topic: String,
    pub payload: Arc<[u8]>,
    pub family: Family,
    pub options: DeliveryOptions,
    /// True if it was retained when it was sent, whatever the options say.
    pub retain: bool,
}

impl Redelivered {
    /// Makes a message again; none: it is gone. A Thing that no longer exists was deleted by a change,
    /// whose message is sent as well.
    pub fn of(
        source: &Source,
        index: &SubscriptionIndex,
        reader: &Registry,
        session: &Session,
    ) -> Result<Option<Redelivered>> {
        let feed = &index.feed;
        let (topic, payload, family, options, retain) = match source {
            Source::Resync(seq) => {
                let (topic, payload) = feed.resync_event(*seq);
                (topic, payload, Family::Event, DeliveryOptions::default(), false)
            }
            Source::Retained(id, identifier) => {
                let Some(thing) = reader.find(id)? else { return Ok(None) };
                let identifiers = identifier.iter().copied().collect();
                let options = DeliveryOptions { identifiers, ..DeliveryOptions::default() };
                (feed.topics().thing(id), thing.enriched().into_bytes().into(), Family::Thing, options, true)
            }
            Source::Change(seq, _) | Source::Membership(seq, ..) | Source::Query { seq, .. } => {
                let Some(entry) = feed.find(*seq)? else { return Ok(None) };
                let mut seen = reader.seen(&entry, Presence::ALWAYS);
                if let Source::Membership(_, id, _) | Source::Query { id: Some(id), .. } = source {
                    seen = seen.of(id);
                }
                let Some(change) = seen.next().transpose()? else { return Ok(None) };
                let (messages, number) = match source {
                    Source::Query { level, .. } => (Arc::new(feed.messages_of_query(&change, level)), 0),
                    Source::Change(_, number) | Source::Membership(_, _, number) => {
                        (feed.plain_messages(&change), *number)
                    }
                    Source::Resync(_) | Source::Retained(..) => return Ok(None),
                };
                let message = messages.get(number).filter(|message| message.is_seen_by(reader));
                let Some(message) = message else { return Ok(None) };
                let matches = index.matcher.matches(feed, &change, &messages);
                let number = u32::try_from(number).unwrap_or(u32::MAX);
                let matching = matches.iter().filter(|(_, messages)| messages.binary_search(&number).is_ok());
                let subscriptions = matching.flat_map(|(filter, _)| session.subscriptions.with_filter(filter));
                let options = DeliveryOptions::of(subscriptions).unwrap_or_default();
                (message.topic.clone(), feed.payload(&change, message.family, reader)?, message.family, options, false)
            }
        };
        let options = DeliveryOptions { at_least_once: true, ..options };
        Ok(Some(Redelivered { topic, payload, family, options, retain }))
    }
}
