//! All sessions: who is connected, who is away and until when, and the copy in the store.
//!
//! A session is written to the store when it gets its first subscription, its position when that has
//! moved (at most every second) and when its client goes away. The store makes that durable with its
//! next commit, or within the second: a session that a crash takes back has missed no change, since a
//! change is a commit.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::{Notify, watch};

use super::{
    super::feed::Lane,
    index::SubscriptionIndex,
    session::{Progress, Session, Subscriptions},
    stored::{StoredGroup, StoredState, StoredSubscription, group_name, subscription_name},
};
use crate::{
    Registry, Result,
    change::{Epoch, Seq, Timestamp},
};

/// Maximum time that a client that takes a session over waits for the other connection to let go.
const HAND_OVER: Duration = Duration::from_secs(5);

/// All sessions of an endpoint.
pub(super) struct Sessions {
    index: Arc<SubscriptionIndex>,
    limit: usize,
    slots: Mutex<Slots>,
}

#[derive(Default)]
struct Slots {
    by_client: HashMap<String, Slot>,
    leases: u64,
}

enum Slot {
    Connected { lease: u64, evict: Arc<Notify>, gone: watch::Receiver<()> },
    Away { session: Box<Session>, until: Timestamp },
}

/// The result of a connection's request for a session.
pub(super) enum Entering {
    Entered {
        lease: Lease,
        session: Box<Session>,
        /// True if the session was there.
        present: bool,
    },
    /// Another connection has it, was notified, and closes the channel once it has let go.
    Waiting(watch::Receiver<()>),
    /// Another connection has it and doesn't let go: it stays with that one.
    Busy,
    /// There are too many.
    Full,
}

/// The right of one connection to a session; ends with [`Sessions::leave`].
pub(super) struct Lease {
    sessions: Arc<Sessions>,
    client_id: String,
    number: u64,
    evict: Arc<Notify>,
    /// Closes when the connection has let go.
    _gone: watch::Sender<()>,
}

impl Lease {
    /// Waits until another connection asks for the session.
    pub async fn evicted(&self) {
        self.evict.notified().await;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut slots = self.sessions.slots();
        if slots.is_held_by(&self.client_id, self.number) {
            slots.by_client.remove(&self.client_id);
        }
    }
}

impl Slots {
    fn is_held_by(&self, client_id: &str, number: u64) -> bool {
        matches!(self.by_client.get(client_id), Some(Slot::Connected { lease, .. }) if *lease == number)
    }
}

impl Sessions {
    /// Takes the sessions in that are in the store.
    pub fn load(index: Arc<SubscriptionIndex>, limit: usize) -> Result<Sessions> {
        let slots = load(&index)?;
        Ok(Sessions { index, limit, slots: Mutex::new(slots) })
    }

    /// Returns the number of sessions, including those of clients that are away.
    pub fn len(&self) -> usize {
        self.slots().by_client.len()
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn registry(&self) -> &Registry {
        self.index.feed.registry()
    }

    /// Gives a connection the session of a client, a new one if it asks for a clean start or has none.
    /// Another connection of that client is ended first.
    pub async fn enter(self: &Arc<Sessions>, client_id: &str, clean: bool, expiry: u32) -> Entering {
        self.enter_within(client_id, clean, expiry, HAND_OVER).await
    }

    async fn enter_within(
        self: &Arc<Sessions>,
        client_id: &str,
        clean: bool,
        expiry: u32,
        patience: Duration,
    ) -> Entering {
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            match self.try_enter(client_id, clean, expiry) {
                Entering::Waiting(mut gone) => {
                    if tokio::time::timeout_at(deadline, gone.changed()).await.is_err() {
                        return Entering::Busy;
                    }
                }
                entered => return entered,
            }
        }
    }

    fn try_enter(self: &Arc<Sessions>, client_id: &str, clean: bool, expiry: u32) -> Entering {
        let mut slots = self.slots();
        if let Some(Slot::Connected { evict, gone, .. }) = slots.by_client.get(client_id) {
            evict.notify_one();
            return Entering::Waiting(gone.clone());
        }
        let there = match slots.by_client.remove(client_id) {
            Some(Slot::Away { session, until }) if !clean && until > Timestamp::now() => Some(session),
            Some(Slot::Away { session, .. }) => {
                self.end(*session);
                None
            }
            Some(Slot::Connected { .. }) | None if slots.by_client.len() >= self.limit => return Entering::Full,
            Some(Slot::Connected { .. }) | None => None,
        };
        slots.leases += 1;
        let (evict, (sender, gone)) = (Arc::new(Notify::new()), watch::channel(()));
        let number = slots.leases;
        slots.by_client.insert(client_id.into(), Slot::Connected { lease: number, evict: evict.clone(), gone });
        let lease = Lease { sessions: self.clone(), client_id: client_id.into(), number, evict, _gone: sender };
        let present = there.is_some();
        let new = || Session {
            client_id: client_id.into(),
            expiry,
            progress: self.new_progress(),
            subscriptions: Subscriptions::of(client_id),
            is_stored: false,
        };
        let mut session = there.unwrap_or_else(|| Box::new(new()));
        session.expiry = expiry;
        Entering::Entered { lease, session, present }
    }

    /// The progress of a session that begins now.
    fn new_progress(&self) -> Progress {
        let feed = &self.index.feed;
        Progress::at(feed.epoch(), feed.last_seq(), feed.end(Lane::Queries))
    }

    /// A connection is over: the session waits for its client, or ends.
    pub fn leave(&self, lease: Lease, mut session: Session) {
        let now = Timestamp::now();
        let mut slots = self.slots();
        if slots.is_held_by(&lease.client_id, lease.number) {
            if session.expiry == 0 {
                slots.by_client.remove(&lease.client_id);
                self.end(session);
            } else {
                self.save(&mut session, Some(now));
                let until = expires_at(now, session.expiry);
                slots.by_client.insert(lease.client_id.clone(), Slot::Away { session: Box::new(session), until });
            }
        }
        // Not before: the lease looks for its slot when it is dropped.
        drop(slots);
    }

    /// Writes to the store what it doesn't have yet of a session.
    pub fn save(&self, session: &mut Session, away_since: Option<Timestamp>) {
        if let Err(error) = self.try_save(session, away_since) {
            tracing::error!(client_id = session.client_id, %error, "an MQTT session can't be saved");
        }
    }

    fn try_save(&self, session: &mut Session, away_since: Option<Timestamp>) -> Result<()> {
        let Session { client_id, expiry, progress, subscriptions, is_stored } = session;
        for text in subscriptions.take_unsaved() {
            if let Some(subscription) = subscriptions.get(&text) {
                self.put(&subscription_name(client_id, &text), &StoredSubscription::of(subscription))?;
            }
        }
        for subscription in subscriptions.shared() {
            let name = subscriptions.group(&subscription.text);
            let group = self.index.groups.find(&name);
            if let Some(positions) = group.and_then(|group| group.take_unsaved()) {
                let stored = StoredGroup::of(self.index.feed.epoch(), positions);
                self.put(&group_name(&name), &stored)?;
            }
        }
        *is_stored = true;
        self.put(client_id, &StoredState { expiry: *expiry, away_since, progress: progress.clone() })
    }

    fn put(&self, name: &str, value: &impl Serialize) -> Result<()> {
        let bytes = serde_json::to_vec(value)
            .map_err(|error| crate::Error::Store { doing: "writing an MQTT session", source: error.into() })?;
        self.registry().put_session(name, bytes)
    }

    /// Removes subscriptions from the store that a session no longer has.
    pub fn remove_subscriptions<'a>(&self, session: &Session, texts: impl Iterator<Item = &'a str>) {
        if session.is_stored {
            texts.for_each(|text| self.remove(&subscription_name(&session.client_id, text)));
        }
        self.remove_groups();
    }

    /// Ends the sessions whose clients were away for too long.
    pub fn expire(&self) {
        let now = Timestamp::now();
        let mut slots = self.slots();
        let is_over = |_: &String, slot: &mut Slot| matches!(slot, Slot::Away { until, .. } if *until <= now);
        let expired: Vec<(String, Slot)> = slots.by_client.extract_if(is_over).collect();
        for (_, slot) in expired {
            if let Slot::Away { session, .. } = slot {
                self.end(*session);
            }
        }
    }

    /// Nothing is left of a session.
    fn end(&self, mut session: Session) {
        let texts: Vec<Arc<str>> = session.subscriptions.iter().map(|subscription| subscription.text.clone()).collect();
        self.index.unsubscribe_all(&mut session.subscriptions);
        if session.is_stored {
            self.remove(&session.client_id);
        }
        self.remove_subscriptions(&session, texts.iter().map(|text| &**text));
    }

    /// Removes the positions of groups that have no reader any more.
    fn remove_groups(&self) {
        for text in self.index.groups.take_abandoned() {
            self.remove(&group_name(&text));
        }
    }

    fn remove(&self, name: &str) {
        if let Err(error) = self.registry().remove_session(name) {
            let client_id = name.split('\0').next();
            tracing::error!(client_id, %error, "an MQTT session can't be removed");
        }
    }
}

/// Reads the store. What can't be read or belongs to nothing is removed.
fn load(index: &SubscriptionIndex) -> Result<Slots> {
    let registry = index.feed.registry();
    let mut groups: HashMap<String, StoredGroup> = HashMap::new();
    let mut sessions: HashMap<String, (Session, Option<Timestamp>)> = HashMap::new();
    // A session comes before its subscriptions, groups before all.
    for (name, bytes) in registry.sessions()? {
        let is_known = match name.split_once('\0') {
            Some(("", text)) => read(&bytes).map(|group| groups.insert(text.to_owned(), group)).is_some(),
            Some((client_id, text)) => match sessions.get_mut(client_id) {
                Some((session, _)) => restore(index, &mut session.subscriptions, text, &bytes, &groups).is_some(),
                None => false,
            },
            None => read(&bytes).map(|state| sessions.insert(name.clone(), session(&name, state))).is_some(),
        };
        if !is_known {
            tracing::warn!(name, "a part of a stored MQTT session can't be read, and is removed");
            registry.remove_session(&name)?;
        }
    }
    for text in groups.into_keys().filter(|text| index.groups.find(text).is_none()) {
        registry.remove_session(&group_name(&text))?;
    }
    let by_client = sessions.into_iter().map(|(client_id, (session, away_since))| {
        // Whoever was connected when the server ended is away since now.
        let until = expires_at(away_since.unwrap_or_else(Timestamp::now), session.expiry);
        (client_id, Slot::Away { session: Box::new(session), until })
    });
    Ok(Slots { by_client: by_client.collect(), leases: 0 })
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes).ok()
}

fn session(client_id: &str, state: StoredState) -> (Session, Option<Timestamp>) {
    let StoredState { expiry, away_since, progress } = state;
    let (client_id, subscriptions) = (client_id.to_owned(), Subscriptions::of(client_id));
    (Session { client_id, expiry, progress, subscriptions, is_stored: true }, away_since)
}

fn restore(
    index: &SubscriptionIndex,
    subscriptions: &mut Subscriptions,
    text: &str,
    bytes: &[u8],
    groups: &HashMap<String, StoredGroup>,
) -> Option<()> {
    let stored: StoredSubscription = read(bytes)?;
    let epoch: Epoch = index.feed.epoch();
    // Another log has other numbers: a group starts at its end.
    let group = groups.get(&*subscriptions.group(text));
    let position = group.map(|group| if group.epoch == epoch { group.seq } else { index.feed.last_seq() });
    let since: Seq = position.unwrap_or(stored.since);
    let mut subscription = index.restore(subscriptions, text, since)?;
    if let Some(stored) = group.filter(|group| group.epoch == epoch)
        && let Some(group) = index.groups.find(&subscriptions.group(text))
    {
        group.resume(stored.positions());
    }
    stored.apply(&mut subscription);
    subscriptions.insert(subscription);
    Some(())
}

fn expires_at(away_since: Timestamp, expiry: u32) -> Timestamp {
    away_since.plus_seconds(expiry.into())
}

#[cfg(test)]
mod tests {
    use super::{
        super::super::{
            EndpointOptions,
            feed::{ENDPOINT_MESSAGES, Feed},
            topics::Topics,
        },
        *,
    };

    fn sessions() -> (Arc<Sessions>, tempfile::TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::builder(directory.path()).open().unwrap();
        let feed = Arc::new(Feed::new(registry, Topics::new("agentdex").unwrap(), ENDPOINT_MESSAGES));
        let index = Arc::new(SubscriptionIndex::new(feed, &EndpointOptions::default()));
        (Arc::new(Sessions::load(index, 10).unwrap()), directory)
    }

    #[test]
    fn session_stays_with_a_connection_that_does_not_let_go_until_it_does() {
        let (sessions, _directory) = sessions();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let enter = || runtime.block_on(sessions.enter_within("reader", false, 100, Duration::from_millis(10)));
        let Entering::Entered { lease, session, present: false } = enter() else { panic!("it was not let in") };
        assert!(matches!(enter(), Entering::Busy));
        runtime.block_on(lease.evicted());
        sessions.leave(lease, *session);
        assert!(matches!(enter(), Entering::Entered { present: true, .. }));
    }
}
