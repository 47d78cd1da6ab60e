//! The tracker of sources: two pollers, the schedule, and the thread for due work.

use std::sync::Arc;

use tokio::sync::Mutex;

use super::{
    options::Tracking,
    poll::Poller,
    schedule::{Schedule, renewal},
    source::{Tracked, read_metadata},
};
use crate::{Result, Timestamp, fetch::Fetcher, registry::worker::Worker, store::Store};

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
    /// Schedules the stored sources. Does not poll yet.
    pub fn open(tracking: Tracking, store: &Store, sources: &[(String, Vec<u8>)]) -> Result<Tracker> {
        let schedule = Arc::new(Schedule::new(tracking.interval));
        for (id, metadata) in sources {
            if let Some(source) = read_metadata(id, metadata) {
                let expiry = store.find_unpurged(id)?.map(|record| record.expiry);
                schedule.plan(id, source.next_try, expiry.and_then(renewal));
                schedule.set_url(id, &source.source);
            }
        }
        let poller = Poller::new(tracking);
        let due_poller = Arc::new(poller.separate());
        let (poller, reconciling) = (Arc::new(poller), Mutex::new(()));
        Ok(Tracker { poller, due_poller, schedule, reconciling, worker: Worker::default() })
    }

    /// Updates the schedule of a source from the stored metadata, after a possible change.
    pub(in crate::registry) async fn reschedule(&self, store: &Store, id: &str) {
        let _reconciling = self.reconciling.lock().await;
        self.schedule_as_stored(store, id);
    }

    pub(super) fn schedule_as_stored(&self, store: &Store, id: &str) {
        let metadata = store.metadata(id);
        let source = metadata.and_then(|metadata| metadata.map(|bytes| Tracked::from_metadata(&bytes)).transpose());
        match (source, store.find(id)) {
            (Ok(Some(source)), Ok(Some(record))) => {
                // A time to live that was set by hand may be too short to be renewed in time.
                let soon = Timestamp::now().plus_seconds(1);
                let renewal = renewal(record.expiry).map(|renewal| renewal.max(soon));
                self.schedule.plan(id, source.next_try, renewal);
                self.schedule.set_url(id, &source.source);
            }
            (Err(error), _) | (_, Err(error)) => tracing::warn!(id, %error, "a tracked source can't be scheduled"),
            _ => self.schedule.forget(id),
        }
        self.worker.wake();
    }

    /// Returns the number of tracked sources of Things accepted by `is_seen`.
    pub(in crate::registry) fn sources(&self, is_seen: impl Fn(&str) -> bool) -> usize {
        self.schedule.count(is_seen)
    }

    /// Returns the fetcher for requests of callers.
    pub(in crate::registry) fn fetcher(&self) -> &Fetcher {
        &self.poller.tracking.fetcher
    }

    pub fn stop(&self) {
        self.worker.stop();
    }
}
