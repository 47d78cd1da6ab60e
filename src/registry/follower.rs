//! The search follower: keeps the index at the end of the log, and rebuilds it where it can't follow.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread::JoinHandle,
    time::Duration,
};

use serde::Serialize;

use super::thread::spawn;
use crate::{
    Error, Result,
    change::{Position, Seq},
    search::{Entry, Index, IndexWriter},
    store::{Record, Store},
};

/// The most changes that are taken in before the next commit.
const CHANGES_AT_ONCE: usize = 4096;
/// How long the follower rests after a failure.
const REST: Duration = Duration::from_secs(1);

/// Whether search answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum IndexStatus {
    /// It does, and shows every change up to `seq`.
    Ready {
        /// The last change that can be searched.
        seq: Seq,
    },
    /// It will, once `total` records are indexed.
    Rebuilding {
        /// Records indexed so far.
        done: u64,
        /// Records to index, as counted at the start.
        total: u64,
    },
}

/// What the follower's thread and those who search share.
#[derive(Default)]
struct Shared {
    index: RwLock<Option<Index>>,
    done: AtomicU64,
    total: AtomicU64,
}

/// Somebody waits until `target` can be searched.
struct Refresh {
    target: Seq,
    reached: Sender<Result<Seq>>,
}

pub(super) struct SearchFollower {
    shared: Arc<Shared>,
    running: Mutex<Option<(Sender<Refresh>, JoinHandle<()>)>>,
}

impl SearchFollower {
    pub(super) fn start(directory: &Path, store: Store, interval: Duration) -> Result<SearchFollower> {
        let directory = directory.join("search");
        let shared = Arc::new(Shared::default());
        let (refreshes, receiver) = channel();
        let mut follower = Follower { shared: shared.clone(), store, directory, waiting: Vec::new() };
        let followed = match follower.open()? {
            // An empty index is there at once: nobody has to wait for a new registry.
            None if follower.store.is_empty() => Some(follower.rebuild(&receiver)?),
            opened => opened,
        };
        let thread = spawn("agentdex-search", move || follower.run(followed, &receiver, interval))?;
        Ok(SearchFollower { shared, running: Mutex::new(Some((refreshes, thread))) })
    }

    /// The index, if it isn't being rebuilt.
    pub(super) fn index(&self) -> Result<Index> {
        let index = self.shared.index.read().unwrap_or_else(PoisonError::into_inner).clone();
        index.ok_or_else(|| Error::IndexRebuilding {
            done: self.shared.done.load(Ordering::Relaxed),
            total: self.shared.total.load(Ordering::Relaxed),
        })
    }

    pub(super) fn status(&self) -> IndexStatus {
        match self.index() {
            Ok(index) => IndexStatus::Ready { seq: index.cursor().map_or(Seq::ZERO, |cursor| cursor.seq) },
            Err(_) => IndexStatus::Rebuilding {
                done: self.shared.done.load(Ordering::Relaxed),
                total: self.shared.total.load(Ordering::Relaxed),
            },
        }
    }

    /// Waits until `target` can be searched.
    pub(super) fn refresh(&self, target: Seq, timeout: Duration) -> Result<Seq> {
        let cursor = self.index()?.cursor();
        if let Some(cursor) = cursor.filter(|cursor| cursor.seq >= target) {
            return Ok(cursor.seq);
        }
        let (reached, answer) = channel();
        {
            let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            let (refreshes, _) = running.as_ref().ok_or(Error::ShuttingDown)?;
            refreshes.send(Refresh { target, reached }).map_err(|_| Error::ShuttingDown)?;
        }
        match answer.recv_timeout(timeout) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => Err(Error::ConsistencyTimeout { seconds: timeout.as_secs() }),
            Err(RecvTimeoutError::Disconnected) => Err(Error::ShuttingDown),
        }
    }

    /// Takes in what is left, commits and ends the thread.
    pub(super) fn stop(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((refreshes, thread)) = running {
            drop(refreshes);
            let _ = thread.join();
        }
    }
}

impl Drop for SearchFollower {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn set_index(&self, index: Option<Index>) {
        *self.index.write().unwrap_or_else(PoisonError::into_inner) = index;
    }
}

struct Follower {
    shared: Arc<Shared>,
    store: Store,
    directory: PathBuf,
    waiting: Vec<Refresh>,
}

impl Follower {
    /// Takes up the index in the directory, if it can follow this store from where it is.
    fn open(&self) -> Result<Option<(IndexWriter, Position)>> {
        let found = Index::open(&self.directory)?;
        let can_follow = |cursor: Position| -> Result<bool> {
            Ok(cursor.epoch == self.store.epoch() && !self.store.changes(cursor.seq, 1)?.truncated)
        };
        match found {
            Some((index, writer, cursor)) if can_follow(cursor)? => {
                self.shared.set_index(Some(index));
                Ok(Some((writer, cursor)))
            }
            _ => {
                self.shared.total.store(self.store.len(), Ordering::Relaxed);
                Ok(None)
            }
        }
    }

    fn run(&mut self, mut state: Option<(IndexWriter, Position)>, refreshes: &Receiver<Refresh>, interval: Duration) {
        // Half the interval: what is acknowledged just after a look is still seen in time.
        let tick = interval / 2;
        loop {
            let stopping = match refreshes.recv_timeout(if state.is_some() { tick } else { Duration::ZERO }) {
                Ok(refresh) => {
                    self.waiting.push(refresh);
                    self.waiting.extend(refreshes.try_iter());
                    false
                }
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => true,
            };
            if stopping && state.is_none() {
                return;
            }
            let step = match state.take() {
                Some((mut writer, cursor)) => {
                    self.follow(&mut writer, cursor).map(|cursor| cursor.map(|cursor| (writer, cursor)))
                }
                None => self.rebuild(refreshes).map(Some),
            };
            match step {
                Ok(Some(followed)) => state = Some(followed),
                Ok(None) => self.shared.set_index(None),
                Err(Error::ShuttingDown) => return,
                Err(error) => {
                    tracing::error!(%error, source = error_source(&error), "the search index can't follow the log; it is rebuilt");
                    self.shared.set_index(None);
                    std::thread::sleep(REST);
                }
            }
            if stopping {
                return;
            }
        }
    }

    /// Takes in what the log has after `cursor`; none where the log no longer reaches back to it.
    fn follow(&mut self, writer: &mut IndexWriter, mut cursor: Position) -> Result<Option<Position>> {
        loop {
            let changes = self.store.changes(cursor.seq, CHANGES_AT_ONCE)?;
            if changes.truncated {
                return Ok(None);
            }
            if let Some(last) = changes.changes.last() {
                let ids: HashSet<&str> = changes.changes.iter().map(|change| change.id.as_str()).collect();
                for id in ids {
                    match self.store.find_unpurged(id)? {
                        Some(record) => put(writer, &record)?,
                        None => writer.delete(id)?,
                    }
                }
                cursor.seq = last.seq;
                writer.commit(cursor)?;
            }
            self.answer(cursor.seq);
            if cursor.seq >= changes.last {
                return Ok(Some(cursor));
            }
        }
    }

    fn answer(&mut self, seq: Seq) {
        self.waiting.retain(|refresh| {
            let reached = seq >= refresh.target;
            if reached {
                let _ = refresh.reached.send(Ok(seq));
            }
            !reached
        });
    }

    /// Builds the index from the records. The position is taken before the scan: what is written
    /// meanwhile is taken in again, which is harmless.
    fn rebuild(&mut self, stop: &Receiver<Refresh>) -> Result<(IndexWriter, Position)> {
        let cursor = Position { epoch: self.store.epoch(), seq: *self.store.durable().borrow() };
        let total = self.store.len();
        self.shared.done.store(0, Ordering::Relaxed);
        self.shared.total.store(total, Ordering::Relaxed);
        if total > 0 {
            tracing::info!(total, "rebuilding the search index");
        }
        let (index, mut writer) = Index::create(&self.directory)?;
        for record in self.store.records_unpurged(None) {
            put(&mut writer, &record?)?;
            let done = self.shared.done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(1024) {
                match stop.try_recv() {
                    Ok(refresh) => self.waiting.push(refresh),
                    Err(std::sync::mpsc::TryRecvError::Empty) => {}
                    Err(std::sync::mpsc::TryRecvError::Disconnected) => return Err(Error::ShuttingDown),
                }
            }
            if done.is_multiple_of(10_000) {
                tracing::info!(done, total, "rebuilding the search index");
            }
        }
        writer.commit(cursor)?;
        if total > 0 {
            tracing::info!(total, "the search index is rebuilt");
        }
        self.shared.set_index(Some(index));
        Ok((writer, cursor))
    }
}

fn put(writer: &mut IndexWriter, record: &Record) -> Result<()> {
    let thing = serde_json::from_str(&record.text)
        .map_err(|error| Error::Index { doing: "reading a stored description", source: error.into() })?;
    writer.put(Entry { id: &record.id, thing: &thing, format: record.format.as_deref() })
}

fn error_source(error: &Error) -> Option<String> {
    std::error::Error::source(error).map(ToString::to_string)
}
