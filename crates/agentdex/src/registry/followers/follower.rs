//! The trait of followers of the log, and their status.

use std::{sync::Arc, time::Duration};

use agentdex_api as api;

use super::stop::Stop;
use crate::{
    Result,
    change::{Position, Seq},
    store::{LoggedChange, Record, Store},
};

/// Interval at which an idle follower polls the log.
const TICK: Duration = Duration::from_millis(50);

/// Data derived from the log, which can be rebuilt from the records.
///
/// A follower is driven by a single thread, see `runner`. After an error or a panic it is asked for its position
/// again and continues from there; changes applied since the last commit must be discarded.
pub(in crate::registry) trait Follower: Send {
    /// Returns the name for logs, metrics, and [`FollowerStatus`].
    fn name(&self) -> &'static str;

    /// Returns the last committed change, or `None` if the follower has to be rebuilt.
    ///
    /// # Errors
    /// Errors of determining the position.
    fn position(&mut self) -> Result<Option<Position>>;

    /// Applies changes, oldest first. A change may come again. Once `stop` is requested, the change that is being applied
    /// is the last: the follower can be committed at the position before all of them, and be dropped.
    ///
    /// # Errors
    /// [`crate::Error::ShuttingDown`] once `stop` is requested. Any other error is one after which the changes are applied
    /// again later.
    fn apply(&mut self, changes: &[Arc<LoggedChange>], stop: &Stop) -> Result<()>;

    /// Commits the applied changes with their last position.
    ///
    /// # Errors
    /// Same as [`Follower::apply`].
    fn commit(&mut self, position: Position, durability: Durability) -> Result<()>;

    /// Interval at which it polls the log while it has nothing to do.
    fn tick(&self) -> Duration {
        TICK
    }

    /// Inspects from time to time whether the data is intact. Called frequently.
    ///
    /// # Errors
    /// Errors of the inspection.
    fn inspect(&mut self) -> Result<Inspected> {
        Ok(Inspected::Nothing)
    }

    /// Rebuilds everything from the records, and commits it durably at `position`, the position of the log before the
    /// records were read.
    ///
    /// # Errors
    /// Same as [`Follower::apply`], and the first error of the records.
    fn rebuild(&mut self, records: &mut dyn Iterator<Item = Result<Record>>, position: Position) -> Result<()>;
}

/// The result of an inspection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::registry) enum Inspected {
    /// No inspection was due.
    Nothing,
    /// The data is intact, after it had been in doubt.
    Whole,
    /// The data must be rebuilt.
    Damaged,
}

/// Returns each changed Thing once, with its current record, or `None` if it was deleted. Fails once `stop` is requested.
pub(in crate::registry) fn changed<'c>(
    store: &'c Store,
    changes: &'c [Arc<LoggedChange>],
    stop: &'c Stop,
) -> impl Iterator<Item = Result<(&'c str, Option<Record>)>> {
    let mut ids: Vec<&str> = changes.iter().map(|change| change.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter().map(|id| {
        stop.check()?;
        Ok((id, store.find_unpurged(id)?))
    })
}

/// Kind of failure a commit must survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::registry) enum Durability {
    /// The end of the process.
    Process,
    /// A crash of the system, some time after the commit returns.
    SystemLater,
    /// A crash of the system.
    System,
}

/// Status of a follower: a part of the registry, such as the search index, that applies each change of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowerStatus {
    /// Name of the follower, such as `search`.
    pub name: &'static str,
    /// Current activity, or failure.
    pub state: FollowerState,
    /// Last change reflected by the follower; `None` if it can't answer queries.
    pub seq: Option<Seq>,
    /// Number of changes in the log after `seq`. An upper bound if they have not been counted yet.
    pub lag: u64,
    /// Number of failures since the registry was opened.
    pub failures: u64,
    /// Number of rebuilds since the registry was opened.
    pub rebuilds: u64,
}

impl FollowerStatus {
    /// True if the follower answers queries and keeps up with the log.
    pub fn is_ready(&self) -> bool {
        self.state == FollowerState::Following && self.seq.is_some()
    }

    /// Returns the reason why the follower is not ready, or `None` if it is ready.
    pub fn reason(&self) -> Option<String> {
        match &self.state {
            FollowerState::Following if self.seq.is_some() => None,
            FollowerState::Following => Some(format!("{}: not yet started", self.name)),
            FollowerState::Rebuilding { done, total } => {
                Some(format!("{}: rebuilding, {done} of {total} records done", self.name))
            }
            FollowerState::Failing { error } => Some(format!("{}: {error}; retrying", self.name)),
            FollowerState::Stopped => Some(format!("{}: stopped", self.name)),
        }
    }
}

/// State of a follower.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FollowerState {
    /// Applying changes of the log.
    Following,
    /// Being rebuilt from the records. Queries are answered from the previous state, if any.
    Rebuilding {
        /// Number of records processed so far.
        done: u64,
        /// Number of records to process, as counted at the start of the rebuild.
        total: u64,
    },
    /// Failed, and going to retry after a pause. Queries are answered from the previous state, if any.
    Failing {
        /// Description of the failure.
        error: String,
    },
    /// Stopped, since the registry was closed.
    Stopped,
}

impl From<FollowerStatus> for api::Follower {
    fn from(status: FollowerStatus) -> api::Follower {
        let FollowerStatus { name, state, seq, failures, rebuilds, lag: _ } = status;
        let follower = api::Follower { name: name.into(), seq, failures, rebuilds, ..api::Follower::default() };
        match state {
            FollowerState::Following => api::Follower { state: "following".into(), ..follower },
            FollowerState::Rebuilding { done, total } => {
                api::Follower { state: "rebuilding".into(), done: Some(done), total: Some(total), ..follower }
            }
            FollowerState::Failing { error } => {
                api::Follower { state: "failing".into(), error: Some(error), ..follower }
            }
            FollowerState::Stopped => api::Follower { state: "stopped".into(), ..follower },
        }
    }
}
