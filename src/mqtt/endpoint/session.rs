//! A session: what a client has subscribed to and how far it has come, connected or away.

use serde::{Deserialize, Serialize};

use super::{
    super::{
        feed::{Family, Feed},
        topics::Topics,
    },
    filter::{Request, TopicFilter},
    packets::{Entry, Retained},
};
use crate::change::{Epoch, Position, Seq, Timestamp};

/// A session, with a client or without.
#[derive(Debug)]
pub(super) struct Session {
    pub client_id: String,
    /// Seconds that it outlives its connection; 0: it ends with it.
    pub expiry: u32,
    /// The last change that needs no sending again.
    pub cursor: Position,
    pub subscriptions: Vec<Subscription>,
    /// Whether the store has a copy.
    pub is_kept: bool,
}

/// One subscription.
#[derive(Debug)]
pub(super) struct Subscription {
    /// As the client wrote it.
    pub text: String,
    pub filter: TopicFilter,
    /// The group it is shared with.
    pub group: Option<String>,
    pub at_least_once: bool,
    pub retain_as_published: bool,
    pub identifier: Option<u32>,
    /// Only what happened later concerns it.
    pub since: Seq,
    /// Whether the retained descriptions are still being sent.
    pub retained_pending: bool,
    /// Which families of topics it can match, in the order of [`Family::ALL`].
    reaches: [bool; 3],
}

impl Session {
    pub fn new(client_id: String, expiry: u32, cursor: Position) -> Session {
        Session { client_id, expiry, cursor, subscriptions: Vec::new(), is_kept: false }
    }

    /// Adds a subscription or replaces the one with the same filter, which keeps its backlog.
    pub fn subscribe(&mut self, mut subscription: Subscription) {
        match self.subscriptions.iter_mut().find(|other| other.text == subscription.text) {
            Some(other) => {
                subscription.since = other.since;
                subscription.retained_pending |= other.retained_pending;
                *other = subscription;
            }
            None => self.subscriptions.push(subscription),
        }
    }

    /// Takes a subscription out.
    pub fn unsubscribe(&mut self, text: &str) -> Option<Subscription> {
        let index = self.subscriptions.iter().position(|subscription| subscription.text == text)?;
        Some(self.subscriptions.remove(index))
    }

    pub fn is_subscribed(&self, text: &str) -> bool {
        self.subscriptions.iter().any(|subscription| subscription.text == text)
    }

    /// The subscriptions that are the client's own.
    pub fn own(&self) -> impl Iterator<Item = &Subscription> {
        self.subscriptions.iter().filter(|subscription| subscription.group.is_none())
    }

    /// All retained descriptions are to be sent again: changes were missed.
    pub fn start_anew(&mut self, cursor: Position, topics: &Topics) {
        self.cursor = cursor;
        for subscription in self.subscriptions.iter_mut().filter(|subscription| subscription.group.is_none()) {
            subscription.since = cursor.seq;
            subscription.retained_pending = subscription.filter.retained_scope(topics).is_some();
        }
    }
}

impl Subscription {
    /// What an entry of a SUBSCRIBE asks for; none where its filter is invalid.
    pub fn requested(entry: &Entry, identifier: Option<u32>, is_new: bool, feed: &Feed) -> Option<Subscription> {
        let Request { group, filter } = Request::parse(&entry.filter)?;
        let wanted = match entry.retained {
            Retained::Always => true,
            Retained::IfNew => is_new,
            Retained::Never => false,
        };
        // Shared subscriptions get nothing retained (5.0, section 4.8.2).
        let retained = wanted && group.is_none() && filter.retained_scope(feed.topics()).is_some();
        let reaches = reaches(&filter, feed.topics());
        Some(Subscription {
            text: entry.filter.clone(),
            filter,
            group,
            at_least_once: entry.at_least_once,
            retain_as_published: entry.retain_as_published,
            identifier,
            since: feed.last_seq(),
            retained_pending: retained,
            reaches,
        })
    }

    pub fn reaches(&self, family: Family) -> bool {
        Family::ALL.iter().zip(self.reaches).any(|(other, reaches)| *other == family && reaches)
    }

    pub fn matches(&self, family: Family, topic: &str) -> bool {
        self.reaches(family) && self.filter.matches(topic)
    }
}

fn reaches(filter: &TopicFilter, topics: &Topics) -> [bool; 3] {
    Family::ALL.map(|family| filter.reaches(topics, family.level()))
}

/// A session as it is kept in the store.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredSession {
    pub client_id: String,
    pub expiry: u32,
    epoch: Epoch,
    seq: Seq,
    /// When the client went away; none while it is connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub away_since: Option<Timestamp>,
    subscriptions: Vec<StoredSubscription>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredSubscription {
    filter: String,
    qos: u8,
    retain_as_published: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    identifier: Option<u32>,
    since: Seq,
    retained_pending: bool,
}

impl StoredSession {
    pub fn of(session: &Session, away_since: Option<Timestamp>) -> StoredSession {
        let subscriptions = session.subscriptions.iter().map(|subscription| StoredSubscription {
            filter: subscription.text.clone(),
            qos: u8::from(subscription.at_least_once),
            retain_as_published: subscription.retain_as_published,
            identifier: subscription.identifier,
            since: subscription.since,
            retained_pending: subscription.retained_pending,
        });
        StoredSession {
            client_id: session.client_id.clone(),
            expiry: session.expiry,
            epoch: session.cursor.epoch,
            seq: session.cursor.seq,
            away_since,
            subscriptions: subscriptions.collect(),
        }
    }

    pub fn into_session(self, topics: &Topics) -> Session {
        let subscriptions = self.subscriptions.into_iter().filter_map(|stored| {
            let Request { group, filter } = Request::parse(&stored.filter)?;
            Some(Subscription {
                reaches: reaches(&filter, topics),
                text: stored.filter,
                filter,
                group,
                at_least_once: stored.qos > 0,
                retain_as_published: stored.retain_as_published,
                identifier: stored.identifier,
                since: stored.since,
                retained_pending: stored.retained_pending,
            })
        });
        Session {
            client_id: self.client_id,
            expiry: self.expiry,
            cursor: Position { epoch: self.epoch, seq: self.seq },
            subscriptions: subscriptions.collect(),
            is_kept: true,
        }
    }
}
