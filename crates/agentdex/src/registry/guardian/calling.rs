//! The guardian on behalf of a caller of a registry.

use memchr::memmem;

use super::{Entries, Entry, LiveSession, Options, state::State};
#[cfg(doc)]
use crate::Error;
use crate::{Result, Timestamp, policy::Decision, registry::Registry};

/// Guardian that decides about the steps reported by agents, on behalf of the registry's caller. Returned by
/// [`Registry::guardian`](crate::Registry::guardian).
pub struct Guardian<'r> {
    pub(super) registry: &'r Registry,
    pub(super) state: &'r State,
}

impl<'r> Guardian<'r> {
    pub(in crate::registry) fn new(registry: &'r Registry, state: &'r State) -> Guardian<'r> {
        Guardian { registry, state }
    }

    /// Returns up to `limit` live sessions of an agent, or of all agents, latest step first. Includes only sessions
    /// reported by the caller, unless the caller has access to everything.
    pub fn sessions(&self, agent: Option<&str>, limit: usize) -> Vec<LiveSession> {
        match (self.registry.grants(), self.registry.caller().owner()) {
            (None, _) => self.state.sessions.list(agent, None, limit),
            (Some(_), Some(reporter)) => self.state.sessions.list(agent, Some(reporter), limit),
            (Some(_), None) => Vec::new(),
        }
    }

    /// True if an entry of the trail is visible to the caller: an entry reported by it, or any entry if it has access
    /// to everything.
    fn shows(&self, entry: &Entry) -> bool {
        let is_own = || entry.reporter.is_some() && entry.reporter.as_ref() == self.registry.caller().owner();
        self.registry.grants().is_none() || is_own()
    }

    /// Returns up to `limit` steps of a session after entry number `after`, oldest first, even if the session has
    /// ended. Includes only steps reported by the caller, unless the caller has access to everything. Blocks.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn steps(&self, session: &str, after: u64, limit: usize) -> Result<Vec<Entry>> {
        let json = serde_json::to_string(session).unwrap_or_default();
        let finder = memmem::Finder::new(json.as_bytes());
        let is_of_session = |entry: &Entry| entry.session.as_deref() == Some(session) && self.shows(entry);
        self.state.trail.entries(after, limit, |line| finder.find(line).is_some(), is_of_session)
    }

    /// Returns up to `limit` entries of the trail after entry number `after`, oldest first, filtered by agent,
    /// decision, and time (`since`). Includes only entries reported by the caller, unless the caller has access to
    /// everything. Blocks.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn decisions(
        &self,
        agent: Option<&str>,
        decision: Option<Decision>,
        since: Option<Timestamp>,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        let json = agent.map(|agent| serde_json::to_string(agent).unwrap_or_default());
        let finder = json.as_ref().map(|json| memmem::Finder::new(json.as_bytes()));
        let is_wanted = |entry: &Entry| {
            agent.is_none_or(|agent| entry.agent.as_deref() == Some(agent))
                && decision.is_none_or(|decision| entry.decision == decision)
                && since.is_none_or(|since| entry.at >= since)
                && self.shows(entry)
        };
        let may_be = |line: &[u8]| finder.as_ref().is_none_or(|finder| finder.find(line).is_some());
        self.state.trail.entries(after, limit, may_be, is_wanted)
    }

    /// Subscribes to new entries of the trail, except those about agents hidden from the caller. A subscriber that lags
    /// thousands of entries behind misses some, and is notified of their number.
    pub fn subscribe(&self) -> Entries {
        Entries::new(self.state.entries.subscribe(), self.registry)
    }

    /// Returns the options of the guardian.
    pub fn options(&self) -> &Options {
        &self.state.options
    }
}

impl std::fmt::Debug for Guardian<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guardian").field("options", &self.state.options).finish_non_exhaustive()
    }
}
