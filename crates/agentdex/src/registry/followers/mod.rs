//! Followers of the log. Each has its own thread and is driven by [`runner`].
//!
//! A follower has a position in the log; its data can be deleted and rebuilt from the records. To add a follower,
//! implement [`Follower`] and start it next to the other calls of [`Followers::start`].

mod flags;
mod follower;
#[cfg(feature = "guardian")]
pub(super) mod guardian;
#[cfg(feature = "sparql")]
pub(super) mod quads;
mod queries;
mod runner;
mod search;
mod shapes;
mod stop;
mod taken_in;
mod unseen;
mod vectors;
mod waiting;

use std::{
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread::JoinHandle,
    time::Instant,
};

pub use self::follower::{FollowerState, FollowerStatus};
pub(super) use self::{
    flags::{FlagsFollower, SharedFlags},
    queries::QueriesFollower,
    runner::Shared,
    search::{Search, SearchFollower, Visible},
    shapes::{ShapesFollower, SharedShapes},
    vectors::VectorFollower,
    waiting::Waited,
};
use self::{follower::Follower, runner::Runner};
use super::thread::{lower_priority, spawn};
use crate::{Result, store::Store};

/// Followers required only by a specific kind of search. While they are being built, these searches fail and
/// everything else is ready.
pub(super) const OPTIONAL: [&str; 4] = [VECTORS, SHAPES, SPARQL, FLAGS];

const VECTORS: &str = "vectors";
const SHAPES: &str = "shapes";
const FLAGS: &str = "flags";
const SPARQL: &str = "sparql";

/// Followers that run.
pub(super) struct Followers {
    running: Vec<Running>,
}

struct Running {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Followers {
    /// Creates an empty list.
    pub(super) fn new() -> Followers {
        Followers { running: Vec::new() }
    }

    /// Starts a follower. Its existing data has been opened on return; a rebuild continues on its thread.
    pub(super) fn start(&mut self, follower: impl Follower + 'static, store: &Store) -> Result<Arc<Shared>> {
        let shared = Arc::new(Shared::new(follower.name(), store.log_reader()));
        let thread = format!("agentdex-{}", follower.name());
        let mut runner = Runner::new(Box::new(follower), store.clone(), shared.clone());
        let (prepared, opened) = mpsc::channel();
        let run = move || {
            // Threads that the follower starts have the priority of this one.
            lower_priority();
            runner.prepare();
            let _ = prepared.send(());
            runner.run();
        };
        let thread = Mutex::new(Some(spawn(&thread, run)?));
        // An error: it has panicked, which its status says.
        let _ = opened.recv();
        self.running.push(Running { shared: shared.clone(), thread });
        Ok(shared)
    }

    /// Returns the status of each follower.
    pub(super) fn status(&self) -> Vec<FollowerStatus> {
        self.running.iter().map(|running| running.shared.status()).collect()
    }

    /// Ends waits that have timed out, even if a follower is busy.
    pub(super) fn expire_waits(&self) {
        let now = Instant::now();
        self.running.iter().for_each(|running| running.shared.waiting.expire(now));
    }

    /// Stops each after the change that it applies, or a few if it lacks no more: it commits durably and ends, however far
    /// behind it is.
    pub(super) fn stop(&self) {
        self.running.iter().for_each(|running| running.shared.waiting.stop());
        for running in &self.running {
            let thread = running.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(thread) = thread {
                let _ = thread.join();
            }
        }
    }
}

impl Drop for Followers {
    fn drop(&mut self) {
        self.stop();
    }
}
