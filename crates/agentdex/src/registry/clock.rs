//! The clock thread: purges expired Things, trims the log, ends waits that time out.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use super::{followers::Followers, parts, thread::spawn};
use crate::{
    Result,
    change::{Precondition, Timestamp},
    store::{Operation, Store, Write},
};

const TICK: Duration = Duration::from_millis(500);
const TRIM_EVERY: Duration = Duration::from_secs(30);
/// The maximum number of Things that are purged together: writers wait for no more than that.
const PURGE_AT_ONCE: usize = 256;

pub(super) struct Clock {
    running: Mutex<Option<(Sender<()>, JoinHandle<()>)>>,
    /// How many Things have expired and were purged since the start.
    purged: Arc<AtomicU64>,
}

impl Clock {
    pub(super) fn start(store: Store, followers: Arc<Followers>) -> Result<Clock> {
        let (stop, stopped) = channel();
        let purged = Arc::new(AtomicU64::new(0));
        let counter = purged.clone();
        let thread = spawn("agentdex-clock", move || {
            let (mut trimmed, mut pause) = (Instant::now(), TICK);
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(pause) {
                followers.expire_waits();
                // While there are more to purge there is no pause: every search has to exclude them.
                pause = match purge(&store) {
                    Ok(count) => {
                        counter.fetch_add(count as u64, Ordering::Relaxed);
                        if count == PURGE_AT_ONCE { Duration::ZERO } else { TICK }
                    }
                    Err(error) => {
                        tracing::warn!(%error, "expired Things could not be purged");
                        TICK
                    }
                };
                if trimmed.elapsed() >= TRIM_EVERY {
                    trimmed = Instant::now();
                    if let Err(error) = store.trim_log(Timestamp::now()) {
                        tracing::warn!(%error, "the change log could not be trimmed");
                    }
                }
            }
        })?;
        Ok(Clock { running: Mutex::new(Some((stop, thread))), purged })
    }

    /// How many Things have expired and were purged since the start.
    pub(super) fn purged(&self) -> u64 {
        self.purged.load(Ordering::Relaxed)
    }

    pub(super) fn stop(&self) {
        let running = self.running.lock().ok().and_then(|mut running| running.take());
        if let Some((stop, thread)) = running {
            drop(stop);
            let _ = thread.join();
        }
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Purges what is due, at most [`PURGE_AT_ONCE`], with the parts of documents whose Things these are, and returns how
/// many.
fn purge(store: &Store) -> Result<usize> {
    if store.closed_to_writes().is_some() {
        return Ok(0);
    }
    let due = store.expired(Timestamp::now(), PURGE_AT_ONCE)?;
    let purge = |id: String| {
        let parts = match store.find_unpurged(&id)? {
            Some(expired) => parts::removals(store, &expired, |_| false)?,
            None => Vec::new(),
        };
        let purge = Write { id, precondition: Precondition::Any, operation: Operation::Purge, actor: None };
        Ok(store.submit([vec![purge], parts].concat()))
    };
    let tickets: Vec<_> = due.into_iter().map(purge).collect::<Result<_>>()?;
    let purged = tickets.len();
    tickets.into_iter().try_for_each(|ticket| ticket.wait().map(drop))?;
    Ok(purged)
}
