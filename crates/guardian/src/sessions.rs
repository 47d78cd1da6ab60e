//! The sessions that are live: bounded in number, forgotten once nothing happens in them.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agentdex_api::{access::Owner, guardian::LiveSession};

use super::{digest::digest, session::Session};
use crate::Timestamp;

/// Sessions are spread over these, so that steps of different sessions don't wait for each other.
const SHARDS: usize = 16;
/// The longest id of a session or agent in memory; of a longer one its hash is there.
const LONGEST_ID: usize = 256;

/// The key of a session: its reporter, and the ids of its agent and of the session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey {
    reporter: Option<Owner>,
    agent: String,
    session: String,
}

impl SessionKey {
    /// The key of a session of an agent. Ids over 256 bytes are replaced by a hash.
    pub fn new(agent: &str, session: &str) -> SessionKey {
        let bounded = |id: &str| if id.len() <= LONGEST_ID { id.to_owned() } else { digest(id.as_bytes()) };
        SessionKey { reporter: None, agent: bounded(agent), session: bounded(session) }
    }

    /// The key of the session with the same agent and id that an owner reports; `None` for unauthenticated callers.
    pub fn reported_by(self, reporter: Option<&Owner>) -> SessionKey {
        SessionKey { reporter: reporter.cloned(), ..self }
    }
}

struct Live {
    session: Session,
    since: Timestamp,
    last: Timestamp,
}

/// The table of live sessions: bounded, safe to share between threads, without a clock of its own.
///
/// ```
/// use agentdex_guardian::{SessionKey, Sessions, Timestamp};
/// use std::time::Duration;
///
/// let sessions = Sessions::new(1000, Duration::from_secs(60));
/// sessions.with(SessionKey::new("urn:example:shop", "s-1"), Timestamp(0), |session| session.steps += 1);
/// assert_eq!(sessions.len(), 1);
/// sessions.forget_idle(Timestamp(60_000));
/// assert!(sessions.is_empty());
/// ```
pub struct Sessions {
    shards: Vec<Mutex<HashMap<SessionKey, Live>>>,
    hasher: RandomState,
    most: usize,
    idle: Duration,
}

impl Sessions {
    /// A table of at most `most` sessions, each of which is forgotten after `idle` without a step.
    pub fn new(most: usize, idle: Duration) -> Sessions {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Sessions { shards, hasher: RandomState::new(), most: most.div_ceil(SHARDS).max(1), idle }
    }

    /// Calls a function with a session, which is created if it isn't live. Steps of one session are processed one
    /// after the other.
    pub fn with<T>(&self, key: SessionKey, now: Timestamp, work: impl FnOnce(&mut Session) -> T) -> T {
        let index = (self.hasher.hash_one(&key) as usize) % self.shards.len();
        let mut shard = self.shard(index);
        if shard.len() >= self.most && !shard.contains_key(&key) {
            forget_oldest(&mut shard);
        }
        let begin = || Live { session: Session::default(), since: now, last: now };
        let live = shard.entry(key).or_insert_with(begin);
        live.last = now;
        work(&mut live.session)
    }

    /// Forgets sessions without recent steps.
    pub fn forget_idle(&self, now: Timestamp) {
        let idle = i64::try_from(self.idle.as_millis()).unwrap_or(i64::MAX);
        for index in 0..self.shards.len() {
            self.shard(index).retain(|_, live| now.0.saturating_sub(live.last.0) < idle);
        }
    }

    /// Returns the number of sessions.
    pub fn len(&self) -> usize {
        (0..self.shards.len()).map(|index| self.shard(index).len()).sum()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sessions of an agent, of a reporter, or all of them, the one with the latest step first.
    pub fn list(&self, agent: Option<&str>, reporter: Option<&Owner>, limit: usize) -> Vec<LiveSession> {
        let mut listed = Vec::new();
        for index in 0..self.shards.len() {
            let shard = self.shard(index);
            let wanted = shard.iter().filter(|(key, _)| {
                agent.is_none_or(|agent| key.agent == agent)
                    && reporter.is_none_or(|reporter| key.reporter.as_ref() == Some(reporter))
            });
            listed.extend(wanted.map(|(key, live)| LiveSession {
                id: key.session.clone(),
                agent: key.agent.clone(),
                reporter: key.reporter.clone(),
                since: live.since,
                last: live.last,
                steps: live.session.steps,
                turns: live.session.turns,
                denied: live.session.denied,
                tool_calls: live.session.tool_calls,
            }));
        }
        listed.sort_by(|one, other| (other.last, &one.id).cmp(&(one.last, &other.id)));
        listed.truncate(limit);
        listed
    }

    fn shard(&self, index: usize) -> MutexGuard<'_, HashMap<SessionKey, Live>> {
        self.shards[index % self.shards.len()].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sessions").field("len", &self.len()).field("idle", &self.idle).finish_non_exhaustive()
    }
}

/// Of the reporter with the most sessions, forgets the tenth part whose last step is longest ago, and at least one: a
/// reporter that begins many ends none of another that has few.
fn forget_oldest(shard: &mut HashMap<SessionKey, Live>) {
    let mut counts: HashMap<Option<&Owner>, usize> = HashMap::new();
    shard.keys().for_each(|key| *counts.entry(key.reporter.as_ref()).or_default() += 1);
    let most = counts.into_iter().max_by_key(|(_, count)| *count).and_then(|(reporter, _)| reporter.cloned());
    let is_of_most = |key: &SessionKey| key.reporter == most;
    let of_most = shard.iter().filter(|(key, _)| is_of_most(key));
    let mut lasts: Vec<i64> = of_most.map(|(_, live)| live.last.0).collect();
    lasts.sort_unstable();
    let count = lasts.len().div_ceil(10);
    let Some(limit) = lasts.get(count.saturating_sub(1)).copied() else { return };
    let mut left = count;
    shard.retain(|key, live| {
        let is_forgotten = is_of_most(key) && live.last.0 <= limit && left > 0;
        left -= usize::from(is_forgotten);
        !is_forgotten
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> SessionKey {
        SessionKey::new("urn:x:a", &format!("s{number}"))
    }

    #[test]
    fn sessions_are_bounded_and_the_oldest_go_first() {
        let sessions = Sessions::new(160, Duration::from_secs(60));
        for number in 0..1000 {
            sessions.with(key(number), Timestamp(number as i64), |session| session.steps += 1);
        }
        assert!(sessions.len() <= 160, "{}", sessions.len());
        let listed = sessions.list(Some("urn:x:a"), None, 10);
        assert_eq!((listed.len(), listed[0].id.as_str()), (10, "s999"));
        assert_eq!(sessions.list(Some("urn:x:b"), None, 10), []);
    }

    #[test]
    fn sessions_of_two_reporters_are_two_and_many_of_one_end_none_of_the_other() {
        let (alice, bob): (Owner, Owner) = ("alice".parse().unwrap(), "bob".parse().unwrap());
        let sessions = Sessions::new(160, Duration::from_secs(60));
        sessions.with(key(0).reported_by(Some(&alice)), Timestamp(0), |session| session.steps += 1);
        for number in 0..1000 {
            sessions.with(key(number).reported_by(Some(&bob)), Timestamp(1), |session| session.steps += 1);
        }
        let of = |reporter| sessions.list(None, Some(reporter), 1000);
        assert_eq!(of(&alice).iter().map(|session| session.steps).collect::<Vec<_>>(), [1]);
        assert!((1..=160).contains(&of(&bob).len()), "{}", of(&bob).len());
    }

    #[test]
    fn idle_sessions_are_forgotten() {
        let sessions = Sessions::new(100, Duration::from_secs(1));
        sessions.with(key(0), Timestamp(0), |_| ());
        sessions.with(key(1), Timestamp(900), |_| ());
        sessions.forget_idle(Timestamp(1000));
        let listed: Vec<String> = sessions.list(None, None, 10).into_iter().map(|session| session.id).collect();
        assert_eq!(listed, ["s1"]);
    }
}
