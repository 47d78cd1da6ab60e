//! Shared subscriptions: the readers of a group share one position in the log, and each message
//! goes to the reader that asks for it first.
//!
//! A message that a reader leaves unacknowledged goes to another. A group lives as long as a
//! session, connected or away, has the subscription; its position is kept with the sessions.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use super::{
    super::feed::{Entry, Feed, Next},
    session::Subscription,
};
use crate::{Result, change::Seq};

/// The most changes that are looked through for one claim.
const CHANGES_AT_ONCE: usize = 256;

/// A message of a change: the change and the index among its messages.
pub(super) type Place = (Seq, usize);

/// What a claim brought.
pub(super) enum Claim {
    Message(Arc<Entry>, usize),
    /// There is more to look through.
    Busy,
    Nothing,
}

/// The readers of one shared subscription.
pub(super) struct Group {
    key: Key,
    state: Mutex<State>,
}

type Key = String;

struct State {
    readers: usize,
    /// The next message that nobody has claimed yet: one of the change after `seq`.
    next: Place,
    claimed: BTreeSet<Place>,
    returned: BTreeSet<Place>,
}

impl Group {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next message that `subscription` matches.
    pub fn claim(&self, subscription: &Subscription, feed: &Feed) -> Result<Claim> {
        let mut state = self.state();
        if let Some(place) = state.returned.first().copied() {
            let next = feed.after(Seq(place.0.0.saturating_sub(1)))?;
            state.returned.remove(&place);
            return Ok(match next {
                Next::Entry(entry) => {
                    state.claimed.insert(place);
                    Claim::Message(entry, place.1)
                }
                Next::Nothing | Next::Lost { .. } => Claim::Busy,
            });
        }
        for _ in 0..CHANGES_AT_ONCE {
            let (position, start) = state.next;
            let entry = match feed.after(position)? {
                Next::Entry(entry) => entry,
                Next::Nothing => return Ok(Claim::Nothing),
                Next::Lost { resume } => {
                    tracing::warn!(
                        group = self.key,
                        "a group of subscribers missed changes that the log no longer holds"
                    );
                    state.next = (resume, 0);
                    continue;
                }
            };
            let messages = feed.messages(&entry);
            let messages = messages.iter().enumerate().skip(start);
            let found = messages.into_iter().find(|(_, message)| subscription.matches(message.family, &message.topic));
            match found {
                Some((index, _)) => {
                    state.next = (position, index + 1);
                    state.claimed.insert((entry.seq, index));
                    return Ok(Claim::Message(entry, index));
                }
                None => state.next = (entry.seq, 0),
            }
        }
        Ok(Claim::Busy)
    }

    /// A message is done with.
    pub fn acknowledge(&self, place: Place) {
        self.state().claimed.remove(&place);
    }

    /// The change up to which all messages are done with.
    pub fn position(&self) -> Seq {
        let state = self.state();
        let open = state
            .claimed
            .first()
            .into_iter()
            .chain(state.returned.first())
            .map(|(seq, _)| Seq(seq.0.saturating_sub(1)));
        open.chain([state.next.0]).min().unwrap_or_default()
    }
}

/// All groups.
pub(super) struct Groups {
    groups: Mutex<HashMap<Key, Arc<Group>>>,
    returned: watch::Sender<()>,
}

impl Groups {
    pub fn new() -> Groups {
        Groups { groups: Mutex::default(), returned: watch::Sender::new(()) }
    }

    fn groups(&self) -> MutexGuard<'_, HashMap<Key, Arc<Group>>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells when messages were given back and can be claimed again.
    pub fn returned(&self) -> watch::Receiver<()> {
        self.returned.subscribe()
    }

    /// Another session has the subscription; a new group starts after `since`.
    pub fn join(&self, text: &str, since: Seq) -> Arc<Group> {
        let mut groups = self.groups();
        let group = groups.entry(text.to_owned()).or_insert_with(|| {
            let state = State { readers: 0, next: (since, 0), claimed: BTreeSet::new(), returned: BTreeSet::new() };
            Arc::new(Group { key: text.to_owned(), state: Mutex::new(state) })
        });
        group.state().readers += 1;
        group.clone()
    }

    /// A session that was kept in the store has the subscription. Sessions are kept with the position
    /// as it was when each was last written: the highest is the latest.
    pub fn rejoin(&self, text: &str, position: Seq) {
        let group = self.join(text, position);
        let mut state = group.state();
        state.next = state.next.max((position, 0));
    }

    /// The group, if there is one.
    pub fn find(&self, text: &str) -> Option<Arc<Group>> {
        self.groups().get(text).cloned()
    }

    /// A session no longer has the subscription.
    pub fn leave(&self, text: &str) {
        let mut groups = self.groups();
        let Some(group) = groups.get(text) else { return };
        let mut state = group.state();
        state.readers = state.readers.saturating_sub(1);
        let abandoned = state.readers == 0;
        drop(state);
        if abandoned {
            groups.remove(text);
        }
    }

    /// A reader is gone before it acknowledged this.
    pub fn give_back(&self, group: &Group, place: Place) {
        let mut state = group.state();
        if state.claimed.remove(&place) {
            state.returned.insert(place);
        }
        drop(state);
        self.returned.send_replace(());
    }
}
