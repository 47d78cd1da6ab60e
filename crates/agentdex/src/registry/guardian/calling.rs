//! The guardian as a caller of a registry sees it.

use memchr::memmem;

use super::{Entries, Entry, LiveSession, Options, state::State};
#[cfg(doc)]
use crate::Error;
use crate::{Result, Timestamp, policy::Decision, registry::Registry};

/// Decides of the steps that agents report, as the caller of a registry sees them.
/// [`Registry::guardian`](crate::Registry::guardian) has it.
pub struct Guardian<'r> {
    pub(super) registry: &'r Registry,
    pub(super) state: &'r State,
}

impl<'r> Guardian<'r> {
    pub(in crate::registry) fn new(registry: &'r Registry, state: &'r State) -> Guardian<'r> {
        Guardian { registry, state }
    }

    /// The live sessions of an agent, or of all, the one with the latest step first: those that the caller reports, or all
    /// where it sees everything.
    pub fn sessions(&self, agent: Option<&str>, limit: usize) -> Vec<LiveSession> {
        match (self.registry.grants(), self.registry.caller().owner()) {
            (None, _) => self.state.sessions.list(agent, None, limit),
            (Some(_), Some(reporter)) => self.state.sessions.list(agent, Some(reporter), limit),
            (Some(_), None) => Vec::new(),
        }
    }

    /// True if an entry of the trail is shown to the caller: one that it reported itself, unless it sees everything.
    fn shows(&self, entry: &Entry) -> bool {
        let is_own = || entry.reporter.is_some() && entry.reporter.as_ref() == self.registry.caller().owner();
        self.registry.grants().is_none() || is_own()
    }

    /// At most `limit` steps of a session, the oldest first, also of one that is no longer live: those that the caller
    /// reported, or all where it sees everything. Blocks.
    ///
    /// # Errors
    /// [`Error::Io`]
    pub fn steps(&self, session: &str, after: u64, limit: usize) -> Result<Vec<Entry>> {
        let json = serde_json::to_string(session).unwrap_or_default();
        let finder = memmem::Finder::new(json.as_bytes());
        let is_of_session = |entry: &Entry| entry.session.as_deref() == Some(session) && self.shows(entry);
        self.state.trail.entries(after, limit, |line| finder.find(line).is_some(), is_of_session)
    }

    /// At most `limit` entries after the one with the number `after`, the oldest first: of an agent, with a decision, not
    /// older than `since`. Those that the caller reported, or all where it sees everything. Blocks.
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

    /// Receives entries as they are made, but those about agents that the caller doesn't see. Who is thousands behind misses some, and is notified of how many.
    pub fn subscribe(&self) -> Entries {
        Entries::new(self.state.entries.subscribe(), self.registry)
    }

    /// Its options.
    pub fn options(&self) -> &Options {
        &self.state.options
    }
}

impl std::fmt::Debug for Guardian<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guardian").field("options", &self.state.options).finish_non_exhaustive()
    }
}
