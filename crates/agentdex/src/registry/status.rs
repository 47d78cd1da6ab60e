//! Status of a registry, for health checks and metrics.

use super::{
    clock,
    followers::{FollowerStatus, OPTIONAL},
};
use crate::change::{Seq, Timestamp};

/// Health of a registry: the end of its log, its followers, and whether it takes writes.
///
/// ```
/// # use agentdex::{Registry, td::Description};
/// # let directory = tempfile::tempdir()?;
/// # let registry = Registry::open(directory.path())?;
/// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
/// registry.refresh()?;
/// let status = registry.status();
/// assert_eq!((status.things, status.not_ready()), (1, None));
/// assert_eq!(status.searchable(), Some(registry.last_seq()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Status {
    /// The durable end of the log.
    pub cursor: String,
    /// Number of Things that the caller sees.
    pub things: u64,
    /// Status of each follower of the log; `search` is the one that searches need, `vectors` the one for searches by
    /// meaning.
    pub followers: Vec<FollowerStatus>,
    /// Why writes are refused, if they are.
    pub closed_to_writes: Option<String>,
    /// Why the disk has no room for writes, if it has none.
    pub disk_full: Option<String>,
    /// The time of the log, if the clock is more than a day behind it.
    pub clock_behind: Option<Timestamp>,
}

impl Status {
    /// Why the registry isn't ready: writes are refused, or a follower doesn't answer or keep up. None where
    /// it is. Followers that one kind of search needs, such as `vectors`, may still be built: that search says so.
    pub fn not_ready(&self) -> Option<String> {
        let closed =
            self.closed_to_writes.is_some().then(|| "the registry takes no writes until it is restarted".into());
        let full = self.disk_full.is_some().then(|| "the disk has no room for writes".into());
        let closed = closed.or(full);
        let mut needed = self.followers.iter().filter(|follower| !OPTIONAL.contains(&follower.name));
        closed.or_else(|| needed.find_map(FollowerStatus::reason))
    }

    /// Notes for who runs the registry: it answers and takes writes, and something isn't as it should be.
    pub fn notes(&self) -> Vec<String> {
        self.clock_behind.map(|at| clock::behind(at, Timestamp::now())).into_iter().collect()
    }

    /// The last change that searches show; none where they aren't answered.
    pub fn searchable(&self) -> Option<Seq> {
        self.followers.iter().find(|follower| follower.name == "search")?.seq
    }
}
