//! Shared subscriptions: the readers of a group share one position in the log, and each message is
//! assigned to the reader that asks for it first.
//!
//! A message that a reader leaves unacknowledged is requeued and goes to another. A group lives as long
//! as a session, connected or away, has the subscription; its position is stored beside the sessions.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use super::{
    super::feed::{Feed, Next},
    matcher::Matcher,
    trie::FilterId,
};
use crate::{Registry, Result, change::Seq, store::LoggedChange};

/// The most changes that are examined to assign one message.
const CHANGES_AT_ONCE: usize = 64;

/// A message of a change: the change and the index among its messages.
pub(super) type Place = (Seq, usize);

/// What a reader that asked for a message gets.
pub(super) enum Assigned {
    Message(Arc<LoggedChange>, usize),
    /// There are more changes to examine.
    Busy,
    Nothing,
}

/// The readers of one shared subscription.
pub(super) struct Group {
    text: Arc<str>,
    filters: Box<[FilterId]>,
    state: Mutex<State>,
}

struct State {
    readers: usize,
    /// The next message that isn't assigned yet: one of the change after `seq`.
    next: Place,
    assigned: BTreeSet<Place>,
    requeued: BTreeSet<Place>,
    /// The position that the store has.
    saved: Option<Seq>,
}

impl Group {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Assigns the next message to the reader that asks.
    /// `reader` is what it sees.
    pub fn assign(&self, feed: &Feed, matcher: &Matcher, reader: &Registry) -> Result<Assigned> {
        let mut state = self.state();
        if let Some(place) = state.requeued.first().copied() {
            let found = feed.find(place.0)?;
            state.requeued.remove(&place);
            let Some(change) = found else { return Ok(Assigned::Busy) };
            return Ok(match reader.seen(&crate::store::Logged::Change(change.clone())).next().transpose()? {
                Some(change) => {
                    state.assigned.insert(place);
                    Assigned::Message(change, place.1)
                }
                None => Assigned::Busy,
            });
        }
        for _ in 0..CHANGES_AT_ONCE {
            let (position, start) = state.next;
            let change = match feed.after(position)? {
                Next::Change(change) => change,
                Next::Nothing => return Ok(Assigned::Nothing),
                Next::Lost { resume } => {
                    let group = &*self.text;
                    tracing::warn!(group, "a group of MQTT subscribers missed changes that the log no longer holds");
                    state.next = (resume, 0);
                    continue;
                }
            };
            let Some(change) = reader.seen(&crate::store::Logged::Change(change.clone())).next().transpose()? else {
                state.next = (change.seq, 0);
                continue;
            };
            let matches = matcher.matches(feed, &change);
            let of_filter = |filter: &FilterId| {
                let messages = matches.messages(*filter);
                messages.get(messages.partition_point(|message| (*message as usize) < start)..)?.first()
            };
            match self.filters.iter().filter_map(of_filter).min() {
                Some(&message) => {
                    let index = message as usize;
                    state.next = (position, index + 1);
                    state.assigned.insert((change.seq, index));
                    return Ok(Assigned::Message(change, index));
                }
                None => state.next = (change.seq, 0),
            }
        }
        Ok(Assigned::Busy)
    }

    /// A message needs no other reader.
    pub fn acknowledge(&self, place: Place) {
        self.state().assigned.remove(&place);
    }

    /// The position up to which all messages are acknowledged, if the store doesn't have it yet; from now on it has.
    pub fn take_unsaved(&self) -> Option<Seq> {
        let mut state = self.state();
        let position = state.position();
        (state.saved.replace(position) != Some(position)).then_some(position)
    }
}

impl State {
    /// Where another group would go on: before the first change that has an open message. That may be a number which is
    /// not the position of a change.
    fn position(&self) -> Seq {
        let open = self.assigned.first().into_iter().chain(self.requeued.first());
        open.map(|(seq, _)| Seq(seq.0.saturating_sub(1))).chain([self.next.0]).min().unwrap_or_default()
    }
}

/// All groups.
pub(super) struct Groups {
    groups: Mutex<HashMap<Arc<str>, Arc<Group>>>,
    /// Those without readers whose position is still in the store.
    abandoned: Mutex<Vec<Arc<str>>>,
    requeued: watch::Sender<()>,
}

impl Groups {
    pub fn new() -> Groups {
        Groups { groups: Mutex::default(), abandoned: Mutex::default(), requeued: watch::Sender::new(()) }
    }

    fn groups(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Group>>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notifies of messages that were requeued.
    pub fn requeued(&self) -> watch::Receiver<()> {
        self.requeued.subscribe()
    }

    /// Another session has the subscription; a new group starts after `since`. A session that `is_stored`
    /// comes from the store, as does the position then.
    pub fn join(&self, text: &Arc<str>, filters: &[FilterId], since: Seq, is_stored: bool) {
        let mut groups = self.groups();
        let group = groups.entry(text.clone()).or_insert_with(|| {
            let (assigned, requeued) = (BTreeSet::new(), BTreeSet::new());
            let saved = is_stored.then_some(since);
            let state = Mutex::new(State { readers: 0, next: (since, 0), assigned, requeued, saved });
            Arc::new(Group { text: text.clone(), filters: filters.into(), state })
        });
        group.state().readers += 1;
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
        let (is_abandoned, is_stored) = (state.readers == 0, state.saved.is_some());
        drop(state);
        if is_abandoned
            && let Some((text, _)) = groups.remove_entry(text)
            && is_stored
        {
            self.abandoned().push(text);
        }
    }

    fn abandoned(&self) -> MutexGuard<'_, Vec<Arc<str>>> {
        self.abandoned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The groups without readers whose position the store still has; from now on they count as removed.
    pub fn take_abandoned(&self) -> Vec<Arc<str>> {
        std::mem::take(&mut self.abandoned())
    }

    /// A reader has left without acknowledging this.
    pub fn requeue(&self, group: &Group, place: Place) {
        let mut state = group.state();
        if state.assigned.remove(&place) {
            state.requeued.insert(place);
        }
        drop(state);
        self.requeued.send_replace(());
    }
}
