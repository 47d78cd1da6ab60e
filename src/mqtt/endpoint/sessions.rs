//! All sessions: who is connected, who is away and until when, and the copy in the store.
//!
//! A session is written to the store when it gets its first subscription, when its cursor has moved
//! (at most every second) and when its client goes away. The store makes that durable with its next
//! commit, or within the second: a session that a crash takes back has missed no change, since a
//! change is a commit.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::{Notify, watch};

use super::{
    super::feed::Feed,
    group::Groups,
    session::{Session, StoredSession},
};
use crate::{
    Result,
    change::{Position, Timestamp},
};

/// How long a client that takes over waits for the other connection to let go.
const HAND_OVER: Duration = Duration::from_secs(5);

/// All sessions of an endpoint.
pub(super) struct Sessions {
    feed: Arc<Feed>,
    groups: Arc<Groups>,
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
    Away { session: Session, until: Timestamp },
}

/// What becomes of a connection that wants a session.
pub(super) enum Entering {
    Entered {
        lease: Lease,
        session: Session,
        /// Whether the session was there.
        present: bool,
    },
    /// Another connection has it, was told to leave, and closes the channel once it has.
    Waiting(watch::Receiver<()>),
    /// There are too many.
    Refused,
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
    /// Waits until another connection claims the session.
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
    /// Takes the sessions in that are kept in the store.
    pub fn load(feed: Arc<Feed>, groups: Arc<Groups>, limit: usize) -> Result<Sessions> {
        let sessions = Sessions { feed, groups, limit, slots: Mutex::default() };
        for (client_id, bytes) in sessions.feed.registry().sessions()? {
            let Ok(stored) = serde_json::from_slice::<StoredSession>(&bytes) else {
                tracing::warn!(client_id, "a stored MQTT session can't be read and is dropped");
                sessions.feed.registry().remove_session(&client_id)?;
                continue;
            };
            // Whoever was connected when the server ended is away since now.
            let until = expires_at(stored.away_since.unwrap_or_else(Timestamp::now), stored.expiry);
            let session = stored.into_session(sessions.feed.topics());
            for subscription in session.subscriptions.iter().filter(|subscription| subscription.group.is_some()) {
                sessions.groups.rejoin(&subscription.text, subscription.since);
            }
            sessions.slots().by_client.insert(client_id, Slot::Away { session, until });
        }
        Ok(sessions)
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a connection the session of a client, a new one if it wants a clean start or has none.
    /// Another connection of that client is ended first.
    pub async fn enter(self: &Arc<Sessions>, client_id: &str, clean: bool, expiry: u32) -> Entering {
        let mut patience = HAND_OVER;
        loop {
            match self.try_enter(client_id, clean, expiry, patience.is_zero()) {
                Entering::Waiting(mut gone) => {
                    if tokio::time::timeout(patience, gone.changed()).await.is_err() {
                        patience = Duration::ZERO;
                    }
                }
                entered => return entered,
            }
        }
    }

    fn try_enter(self: &Arc<Sessions>, client_id: &str, clean: bool, expiry: u32, force: bool) -> Entering {
        let mut slots = self.slots();
        let there = match slots.by_client.remove(client_id) {
            Some(Slot::Connected { lease, evict, gone }) if !force => {
                evict.notify_one();
                let waiting = gone.clone();
                slots.by_client.insert(client_id.into(), Slot::Connected { lease, evict, gone });
                return Entering::Waiting(waiting);
            }
            Some(Slot::Away { session, until }) if !clean && until > Timestamp::now() => Some(session),
            Some(Slot::Away { session, .. }) => {
                self.forget(&session);
                None
            }
            Some(Slot::Connected { .. }) | None if slots.by_client.len() >= self.limit => return Entering::Refused,
            Some(Slot::Connected { .. }) | None => None,
        };
        slots.leases += 1;
        let (evict, (sender, gone)) = (Arc::new(Notify::new()), watch::channel(()));
        let number = slots.leases;
        slots.by_client.insert(client_id.into(), Slot::Connected { lease: number, evict: evict.clone(), gone });
        let lease = Lease { sessions: self.clone(), client_id: client_id.into(), number, evict, _gone: sender };
        let present = there.is_some();
        let registry = self.feed.registry();
        let cursor = Position { epoch: registry.epoch(), seq: registry.last_seq() };
        let mut session = there.unwrap_or_else(|| Session::new(client_id.into(), expiry, cursor));
        session.expiry = expiry;
        Entering::Entered { lease, session, present }
    }

    /// A connection is over: the session waits for its client, or ends.
    pub fn leave(&self, lease: Lease, mut session: Session) {
        let now = Timestamp::now();
        let mut slots = self.slots();
        if slots.is_held_by(&lease.client_id, lease.number) {
            if session.expiry == 0 {
                slots.by_client.remove(&lease.client_id);
                self.forget(&session);
            } else {
                self.keep(&mut session, Some(now));
                let until = expires_at(now, session.expiry);
                slots.by_client.insert(lease.client_id.clone(), Slot::Away { session, until });
            }
        }
        // Not before: the lease looks for its slot when it is dropped.
        drop(slots);
    }

    /// Writes a session to the store.
    pub fn keep(&self, session: &mut Session, away_since: Option<Timestamp>) {
        for subscription in session.subscriptions.iter_mut().filter(|subscription| subscription.group.is_some()) {
            if let Some(group) = self.groups.find(&subscription.text) {
                subscription.since = group.position();
            }
        }
        let kept = serde_json::to_vec(&StoredSession::of(session, away_since))
            .map_err(|error| crate::Error::Store { doing: "writing an MQTT session", source: error.into() })
            .and_then(|bytes| self.feed.registry().put_session(&session.client_id, bytes));
        match kept {
            Ok(()) => session.is_kept = true,
            Err(error) => {
                tracing::error!(client_id = session.client_id, %error, "an MQTT session can't be kept");
            }
        }
    }

    /// Ends the sessions whose clients were away for too long.
    pub fn expire(&self) {
        let now = Timestamp::now();
        self.slots().by_client.retain(|_, slot| match slot {
            Slot::Away { session, until } if *until <= now => {
                self.forget(session);
                false
            }
            _ => true,
        });
    }

    fn forget(&self, session: &Session) {
        for subscription in session.subscriptions.iter().filter(|subscription| subscription.group.is_some()) {
            self.groups.leave(&subscription.text);
        }
        if !session.is_kept {
            return;
        }
        if let Err(error) = self.feed.registry().remove_session(&session.client_id) {
            tracing::error!(client_id = session.client_id, %error, "an MQTT session can't be removed");
        }
    }
}

fn expires_at(away_since: Timestamp, expiry: u32) -> Timestamp {
    away_since.plus_seconds(expiry.into())
}
