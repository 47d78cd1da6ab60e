//! What a registry tracks sources with: two pollers, the schedule and the thread that works it off.

use std::sync::Arc;

use tokio::sync::Mutex;

use super::{
    options::Tracking,
    poll::Poller,
    schedule::{Schedule, renewal},
    source::read_metadata,
};
use crate::{Result, fetch::Fetcher, registry::worker::Worker, store::Store};

pub(in crate::registry) struct Tracker {
    /// Polls sources for callers.
    pub(super) poller: Arc<Poller>,
    /// Polls those that are due. Neither waits for the other.
    pub(super) due_poller: Arc<Poller>,
    pub(super) schedule: Arc<Schedule>,
    /// Held while a source is read and then written.
    pub(super) reconciling: Mutex<()>,
    pub(super) worker: Worker,
}

impl Tracker {
    /// Schedules the stored sources. Nothing is polled yet.
    pub fn open(tracking: Tracking, store: &Store, sources: &[(String, Vec<u8>)]) -> Result<Tracker> {
        let schedule = Arc::new(Schedule::new(tracking.interval));
        for (id, metadata) in sources {
            if let Some(source) = read_metadata(id, metadata) {
                let expiry = store.find_unpurged(id)?.map(|record| record.expiry);
                schedule.plan(id, source.next_try, expiry.and_then(renewal));
            }
        }
        let poller = Poller::new(tracking);
        let due_poller = Arc::new(poller.separate());
        let (poller, reconciling) = (Arc::new(poller), Mutex::new(()));
        Ok(Tracker { poller, due_poller, schedule, reconciling, worker: Worker::default() })
    }

    /// How many sources are tracked.
    pub(in crate::registry) fn sources(&self) -> usize {
        self.schedule.len()
    }

    /// What fetches for callers.
    pub(in crate::registry) fn fetcher(&self) -> &Fetcher {
        &self.poller.tracking.fetcher
    }

    pub fn stop(&self) {
        self.worker.stop();
    }
}
