//! A session: what a client has subscribed to and how far it has come, connected or away.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::{
    super::feed::{LanePosition, QueryLevels},
    trie::FilterId,
};
use crate::change::{Epoch, Seq};

/// Bytes that a subscription counts in the quotas in addition to its filter, for its place in the session and in the
/// trie.
const SUBSCRIPTION_BYTES: usize = 512;

/// A session, with a client or without.
#[derive(Debug)]
pub(super) struct Session {
    pub client_id: String,
    /// Seconds that it outlives its connection; 0: it ends with it.
    pub expiry: u32,
    pub progress: Progress,
    pub subscriptions: Subscriptions,
    /// True if the store has a copy.
    pub is_stored: bool,
}

/// Progress of a session: the messages that are sent and acknowledged, and those that are only sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Progress {
    pub epoch: Epoch,
    /// The last change whose messages are all sent.
    pub seq: Seq,
    /// Number of messages of the change after `seq` that need no sending.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub messages: usize,
    /// Progress with the messages of saved queries; `None` where it is that of the other messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queries: Option<QueryProgress>,
    /// Changes before this one were missed, which the client has to be notified of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resync: Option<Seq>,
    /// True if the client saw everything: it may then hold Things that it is not to see any more, and gets no deletion of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub saw_everything: bool,
    /// The subscription whose retained descriptions are being sent, and the last of them that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retained: Option<(String, String)>,
    /// Sent, not acknowledged; in the order they were sent in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_flight: Vec<(u16, Source)>,
}

/// Progress of a session with the messages of saved queries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct QueryProgress {
    /// A change up to which all messages are sent.
    pub seq: Seq,
    /// The position in the lane of queries, which the process alone knows.
    #[serde(skip)]
    pub lane: Option<LaneProgress>,
}

/// Progress of a session with the lane of queries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LaneProgress {
    pub position: LanePosition,
    /// Level of the last saved query whose message of the next change is sent.
    pub after: Option<String>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The source of a message, from which it is made again for redelivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Source {
    /// A message of a change, by its index.
    Change(Seq, usize),
    /// The same for a Thing that a membership has brought into sight or taken out of it.
    Membership(Seq, String, usize),
    /// The message of a change for the saved query with this level; with an id for a Thing that a membership has brought into
    /// sight or taken out of it.
    Query {
        seq: Seq,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        level: String,
    },
    Resync(Seq),
    /// The retained description of a Thing, and the identifier of the subscription.
    Retained(String, Option<u32>),
}

/// The character before and after the owner in the names of sessions: no owner contains it.
const OF_OWNER: char = '\u{1}';

/// The name of the session of an owner; empty for those who haven't proved who they are.
pub(super) fn name_of(client_id: &str, owner: &str) -> String {
    format!("{OF_OWNER}{owner}{OF_OWNER}{client_id}")
}

/// Returns the owner in the name of a session; empty if it has none. Sessions of other owners take part in other
/// groups.
pub(super) fn owner_of(name: &str) -> &str {
    name.strip_prefix(OF_OWNER).and_then(|rest| rest.split_once(OF_OWNER)).map_or("", |(owner, _)| owner)
}

impl Progress {
    /// Everything up to `seq`, and up to a position in the lane of queries, is done with.
    pub fn at(epoch: Epoch, seq: Seq, position: LanePosition) -> Progress {
        let queries = Some(QueryProgress { seq, lane: Some(LaneProgress { position, after: None }) });
        let (messages, resync, saw_everything, retained) = (0, None, false, None);
        Progress { epoch, seq, messages, queries, resync, saw_everything, retained, in_flight: Vec::new() }
    }
}

/// One subscription.
#[derive(Debug)]
pub(super) struct Subscription {
    /// The filter, as the client wrote it.
    pub text: Arc<str>,
    /// The same for the matcher: up to one filter for each family of topics.
    pub filters: Box<[FilterId]>,
    /// The level of the saved query whose messages it matches, or `None` for all; `None` if it matches none.
    pub query_level: Option<Option<Box<str>>>,
    /// True if a group shares it.
    pub is_shared: bool,
    pub at_least_once: bool,
    pub retain_as_published: bool,
    pub identifier: Option<u32>,
    /// Only what happened later concerns it.
    pub since: Seq,
    /// True if retained descriptions are still to be sent.
    pub retained_pending: bool,
}

impl Subscription {
    /// Returns the bytes that a subscription with this filter counts in the quotas. The filter counts twice: it is held
    /// here and in the trie.
    pub fn bytes(text: &str) -> usize {
        SUBSCRIPTION_BYTES + 2 * text.len()
    }
}

/// The subscriptions of a session.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    by_text: BTreeMap<Arc<str>, Subscription>,
    /// Those that are the client's own, by what the matcher finds.
    own: HashMap<FilterId, Vec<Arc<str>>>,
    bytes: usize,
    /// Saved queries whose messages the client's own match.
    wanted_queries: QueryLevels,
    /// Those that the store doesn't have as they are.
    unsaved: BTreeSet<Arc<str>>,
    /// The name of the session.
    session: Box<str>,
}

impl Subscriptions {
    /// Those of the session of that name.
    pub fn of(session: &str) -> Subscriptions {
        Subscriptions { session: session.into(), ..Subscriptions::default() }
    }

    /// The name of the session.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// The name of the group that a shared subscription takes part in: each owner has groups of its own.
    pub fn group(&self, text: &str) -> Arc<str> {
        let owner = owner_of(&self.session);
        if owner.is_empty() { text.into() } else { name_of(text, owner).into() }
    }

    pub fn len(&self) -> usize {
        self.by_text.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_text.is_empty()
    }

    /// Returns the bytes that the subscriptions count in the quotas.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn get(&self, text: &str) -> Option<&Subscription> {
        self.by_text.get(text)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Subscription> {
        self.by_text.values()
    }

    /// Those that are the client's own.
    pub fn own(&self) -> impl Iterator<Item = &Subscription> {
        self.iter().filter(|subscription| !subscription.is_shared)
    }

    pub fn shared(&self) -> impl Iterator<Item = &Subscription> {
        self.iter().filter(|subscription| subscription.is_shared)
    }

    /// The filters of the client's own.
    pub fn own_filters(&self) -> impl ExactSizeIterator<Item = FilterId> {
        self.own.keys().copied()
    }

    pub fn has_own_filter(&self, filter: FilterId) -> bool {
        self.own.contains_key(&filter)
    }

    /// The client's own with this filter.
    pub fn with_filter(&self, filter: FilterId) -> impl Iterator<Item = &Subscription> {
        self.own.get(&filter).into_iter().flatten().filter_map(|text| self.by_text.get(text))
    }

    /// Saved queries whose messages the client's own match.
    pub fn wanted_queries(&self) -> &QueryLevels {
        &self.wanted_queries
    }

    /// Adds one whose filter there isn't yet.
    pub fn insert(&mut self, subscription: Subscription) {
        let text = subscription.text.clone();
        if let (false, Some(level)) = (subscription.is_shared, &subscription.query_level) {
            self.wanted_queries.add(level.as_deref());
        }
        self.bytes += Subscription::bytes(&text);
        if !subscription.is_shared {
            for filter in &subscription.filters {
                self.own.entry(*filter).or_default().push(text.clone());
            }
        }
        self.by_text.insert(text, subscription);
    }

    pub fn remove(&mut self, text: &str) -> Option<Subscription> {
        let subscription = self.by_text.remove(text)?;
        self.bytes -= Subscription::bytes(text);
        self.unsaved.remove(text);
        for filter in &subscription.filters {
            if let Some(texts) = self.own.get_mut(filter) {
                texts.retain(|other| **other != *text);
                if texts.is_empty() {
                    self.own.remove(filter);
                }
            }
        }
        if subscription.query_level.is_some() {
            let mut wanted = QueryLevels::default();
            let levels = self.own().filter_map(|subscription| subscription.query_level.as_ref());
            levels.for_each(|level| wanted.add(level.as_deref()));
            self.wanted_queries = wanted;
        }
        Some(subscription)
    }

    /// Changes one; it is to be saved.
    pub fn update(&mut self, text: &str, change: impl FnOnce(&mut Subscription)) {
        if let Some(subscription) = self.by_text.get_mut(text) {
            change(subscription);
            self.unsaved.insert(subscription.text.clone());
        }
    }

    /// Those that are to be saved; from now on they count as saved.
    pub fn take_unsaved(&mut self) -> BTreeSet<Arc<str>> {
        std::mem::take(&mut self.unsaved)
    }
}
