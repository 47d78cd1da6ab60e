//! The tracker of sources: two pollers, the schedule, and the thread for due work.

use std::{
    collections::BTreeSet,
    sync::{Arc, PoisonError},
};

use tokio::sync::Mutex;

use super::{
    options::Tracking,
    poll::Poller,
    schedule::{Schedule, renewal},
    source::{Tracked, read_metadata},
};
use crate::{
    Result, Timestamp,
    fetch::Fetcher,
    registry::worker::Worker,
    store::{Named, Store},
};

pub(in crate::registry) struct Tracker {
    /// Polls sources for callers.
    pub(super) poller: Arc<Poller>,
    /// Polls those that are due. Neither waits for the other.
    pub(super) due_poller: Arc<Poller>,
    pub(super) schedule: Arc<Schedule>,
    /// Held while a source is read and then written.
    pub(super) reconciling: Mutex<()>,
    pub(super) worker: Worker,
    /// Ids with changed metadata, whose sources are to be scheduled.
    committed: Arc<std::sync::Mutex<BTreeSet<String>>>,
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
        let (worker, committed) = Default::default();
        Ok(Tracker { poller, due_poller, schedule, reconciling, worker, committed })
    }

    /// Wakes the worker when a commit changes metadata.
    pub(super) fn follow_store(&self, store: &Store) {
        let (ids, wake) = (self.committed.clone(), self.worker.waker());
        store.listen(Arc::new(move |committed| {
            let metadata = committed.iter().filter_map(|named| match named {
                Named::Metadata { id } => Some(id.clone()),
                _ => None,
            });
            let mut ids = ids.lock().unwrap_or_else(PoisonError::into_inner);
            ids.extend(metadata);
            if !ids.is_empty() {
                wake.notify_one();
            }
        }));
    }

    /// Schedules the sources of Things with changed metadata.
    pub(super) async fn schedule_committed(&self, store: &Store) {
        let ids = std::mem::take(&mut *self.committed.lock().unwrap_or_else(PoisonError::into_inner));
        for id in ids {
            self.reschedule(store, &id).await;
        }
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::{
        Registry,
        change::Precondition,
        convert::Format,
        fetch::Fetcher,
        registry::Options,
        store::{Declares, Directories, Expiry, Faults, Operation, Original, Write},
        td::Description,
    };

    #[test]
    fn sources_that_another_store_tracks_are_scheduled() {
        let directories = Directories::new(2, 1, Faults::default());
        let open = |number| {
            let store = directories.options(number, Options::default().store);
            let builder = Registry::builder(directories.path(number)).options(Options { store, ..Options::default() });
            builder.tracking(Tracking::new(Fetcher::new(crate::fetch::Options::default()).unwrap())).open().unwrap()
        };
        let registries = [0, 1].map(open);
        let [one, other] = &registries;
        let (id, url) = ("urn:a", "https://agents.example/card.json");
        let text = serde_json::to_string(&Description::new("Tides").id(id)).unwrap();
        let original = Original { format: "a2a".into(), bytes: b"{}".into(), ..Original::default() };
        let (capabilities, expiry, declares) = (Vec::new(), Expiry::default(), Declares::itself());
        let original = Some(original);
        let put = Operation::Put { text, capabilities, expiry, patch: None, original, created: None, declares };
        let source = Tracked::begin(id, url, Format::A2a, Timestamp::now()).to_metadata().unwrap();
        let writes = [put, Operation::Metadata(Some(source))];
        let write = |operation| Write { id: id.into(), precondition: Precondition::Any, operation, actor: None };
        one.0.store.submit(writes.map(write).into()).wait().unwrap();
        let is_scheduled = || other.0.network.tracker.as_ref().unwrap().schedule.ids_at(url) == [id];
        let started = Instant::now();
        while !is_scheduled() || !other.is_tracked(id).unwrap() {
            assert!(started.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(2));
        }
        registries.iter().for_each(Registry::close);
    }
}
