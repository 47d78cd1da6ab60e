//! Status of a registry, for health checks and metrics.

use agentdex_api::Cluster;

use super::{
    clock,
    followers::{FollowerStatus, OPTIONAL},
};
use crate::change::{Seq, Timestamp};

/// Health of a registry: the end of its log, its followers, and whether it accepts writes.
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
    /// Position of the last durable change, as `<epoch>-<seq>`.
    pub cursor: String,
    /// Number of Things visible to the caller.
    pub things: u64,
    /// Status of each follower of the log. Searches need `search`; searches by meaning need `vectors`, too.
    pub followers: Vec<FollowerStatus>,
    /// Reason why the store accepts no writes until it is opened again, if there is such a reason. A full disk is
    /// reported by [`Status::disk_full`].
    pub closed_to_writes: Option<String>,
    /// Reason why the disk has no space for writes, or `None` if there is space.
    pub disk_full: Option<String>,
    /// Time of the latest change in the log, if the system clock is more than a day behind it.
    pub clock_behind: Option<Timestamp>,
    /// State of the cluster, if the registry is a node of a cluster.
    pub cluster: Option<Cluster>,
}

impl Status {
    /// Returns the reason why the registry isn't ready, or `None` if it is ready. It isn't ready if writes are refused,
    /// if a follower doesn't answer or keep up, or if a node lags behind its cluster, differs from the others, or has a
    /// wrong clock. Followers
    /// for a single kind of search, such as `vectors`, don't count: searches of this kind report their problems.
    pub fn not_ready(&self) -> Option<String> {
        let closed =
            self.closed_to_writes.is_some().then(|| "the registry accepts no writes until it is restarted".into());
        let full = self.disk_full.is_some().then(|| "the disk has no room for writes".into());
        // A node that no longer follows its cluster accepts no writes either.
        let closed = self.behind_cluster().or(closed).or(full);
        let mut needed = self.followers.iter().filter(|follower| !OPTIONAL.contains(&follower.name));
        closed.or_else(|| needed.find_map(FollowerStatus::reason))
    }

    /// Returns the reason why a node of a cluster isn't ready: it lacks writes of the others, has a wrong clock, or has
    /// other content.
    fn behind_cluster(&self) -> Option<String> {
        let cluster = self.cluster.as_ref()?;
        let Cluster { behind_for, clock_ahead, problem, .. } = cluster;
        if let Some(problem) = problem {
            return Some(format!("this node no longer follows its cluster: {problem}"));
        }
        if !cluster.has_kept_up() {
            return Some(format!("this node has not kept up with its cluster for {behind_for:.0} s"));
        }
        if let Some(ahead) = clock_ahead {
            let (seconds, direction) = (ahead.abs(), if *ahead > 0.0 { "ahead of" } else { "behind" });
            return Some(format!(
                "the clock of this node is {seconds:.0} s {direction} the clocks of most other nodes"
            ));
        }
        let own = cluster.own().filter(|own| !own.differs.is_empty())?;
        let parts = own.differs.join(", ");
        Some(match &own.differs_from {
            None => format!("this node differs from most other nodes: {parts}; replace this node"),
            Some(leader) => format!(
                "this node differs from {leader}, the leader: {parts}; run `agentdex check` on both before you replace one"
            ),
        })
    }

    /// Returns notes for the operator about problems that don't affect readiness.
    pub fn notes(&self) -> Vec<String> {
        self.clock_behind.map(|at| clock::behind(at, Timestamp::now())).into_iter().collect()
    }

    /// Returns the position of the last searchable change, or `None` if searches aren't answered.
    pub fn searchable(&self) -> Option<Seq> {
        self.followers.iter().find(|follower| follower.name == "search")?.seq
    }
}
