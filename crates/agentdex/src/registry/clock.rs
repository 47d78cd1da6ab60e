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

use super::{followers::Followers, thread::spawn};
use crate::{
    Error, Result,
    change::{Precondition, Timestamp},
    store::{Operation, Store, Write},
};

const TICK: Duration = Duration::from_millis(500);
/// Time budget for comparing texts, per tick.
const COMPARED_A_TICK: Duration = Duration::from_millis(2);
/// Time budget per tick after an improper shutdown.
const COMPARED_AFTER_CRASH: Duration = Duration::from_millis(50);
/// Time from startup to the first comparison, and between comparisons.
const FIRST_COMPARISON: Duration = Duration::from_secs(3600);
const COMPARED_EVERY: Duration = Duration::from_secs(24 * 3600);
/// The time between two log lines about a full disk.
const SAID_EVERY: Duration = Duration::from_secs(60);
/// Delay of a node of a cluster after which a line is logged.
const SAID_BEHIND_AFTER: Duration = Duration::from_secs(10);
const TRIM_EVERY: Duration = Duration::from_secs(30);
/// Time between comparisons of the nodes of a cluster, in milliseconds.
const VERIFIED_EVERY: u64 = 24 * 3600 * 1000;
/// Time until the next comparison if a node wasn't compared, for example because it was started later.
const VERIFIED_AGAIN_AFTER: u64 = 3600 * 1000;
/// Maximum number of Things purged together, which bounds the delay of writers.
const PURGE_AT_ONCE: usize = 256;

/// Maximum time by which the log may be ahead of the clock without a warning, since small corrections of clocks are
/// normal.
const TOLERATED_MS: i64 = 24 * 3600 * 1000;

/// The time of the log, if the clock is more than a day behind it.
pub(super) fn log_ahead(store: &Store) -> Option<Timestamp> {
    let (at, now) = (store.log_time(), Timestamp::now());
    (at.0.saturating_sub(now.0) > TOLERATED_MS).then_some(at)
}

/// Says how far the clock is behind the log, and what to do.
pub(super) fn behind(at: Timestamp, now: Timestamp) -> String {
    let days = at.0.saturating_sub(now.0) / TOLERATED_MS;
    let days = if days == 1 { "1 day".to_owned() } else { format!("{days} days") };
    format!(
        "the clock is {days} behind the last change. Until the clock has caught up, new changes get the time of that \
         change, {at}. If the clock is correct, reset the log's time with `agentdex clock accept`"
    )
}

/// Logs when the clock is far behind the log, and when it no longer is.
#[derive(Default)]
struct Watch {
    is_behind: bool,
}

impl Watch {
    fn look(&mut self, store: &Store) {
        let ahead = log_ahead(store);
        if ahead.is_some() == self.is_behind {
            return;
        }
        self.is_behind = ahead.is_some();
        match ahead {
            Some(at) => tracing::warn!("{}", behind(at, Timestamp::now())),
            None => tracing::info!("the clock is no longer behind the last change"),
        }
    }
}

pub(super) struct Clock {
    running: Mutex<Option<(Sender<()>, JoinHandle<()>)>>,
    /// Number of expired Things that were purged since the start.
    purged: Arc<AtomicU64>,
}

impl Clock {
    pub(super) fn start(store: Store, followers: Arc<Followers>) -> Result<Clock> {
        let (stop, stopped) = channel();
        let purged = Arc::new(AtomicU64::new(0));
        let counter = purged.clone();
        let mut watch = Watch::default();
        watch.look(&store);
        let thread = spawn("agentdex-clock", move || {
            let (mut trimmed, mut pause, mut said_full, mut is_behind) = (Instant::now(), TICK, None, false);
            let mut comparing = Comparing::new(&store);
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(pause) {
                followers.expire_waits();
                say_full(&store, &mut said_full);
                say_behind(&store, &mut is_behind);
                comparing.go_on(&store);
                watch.look(&store);
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
                if trimmed.elapsed() >= TRIM_EVERY && store.is_leader() {
                    trimmed = Instant::now();
                    if let Err(error) = verify_daily(&store) {
                        tracing::debug!(%error, "the nodes of the cluster could not be compared");
                    }
                    if let Err(error) = store.trim_log(Timestamp::now()) {
                        tracing::warn!(%error, "the change log could not be trimmed");
                    }
                }
            }
        })?;
        Ok(Clock { running: Mutex::new(Some((stop, thread))), purged })
    }

    /// Returns the number of expired Things that were purged since the start.
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

/// Comparison of texts with their digests: immediately after an improper shutdown, otherwise daily, in small steps at
/// each tick.
struct Comparing {
    /// Id at which to continue, or `None` between two rounds.
    next: Option<String>,
    /// Time budget per tick.
    time: Duration,
    /// The beginning of the next round.
    due: Instant,
}

impl Comparing {
    fn new(store: &Store) -> Comparing {
        let now = Instant::now();
        match store.was_closed() {
            true => Comparing { next: None, time: COMPARED_A_TICK, due: now + FIRST_COMPARISON },
            false => Comparing { next: Some(String::new()), time: COMPARED_AFTER_CRASH, due: now },
        }
    }

    fn go_on(&mut self, store: &Store) {
        let Some(from) = self.next.take().or_else(|| (self.due <= Instant::now()).then(String::new)) else { return };
        match store.compare_texts(&from, self.time) {
            Ok(Some(next)) => self.next = Some(next),
            Ok(None) => (self.time, self.due) = (COMPARED_A_TICK, Instant::now() + COMPARED_EVERY),
            Err(error) => {
                tracing::warn!(%error, "stored texts could not be verified");
                self.due = Instant::now() + COMPARED_EVERY;
            }
        }
    }
}

/// Logs that the disk is full, at most once per minute, and once that it no longer is.
fn say_full(store: &Store, said: &mut Option<Instant>) {
    match (store.check_space(), &said) {
        (Err(_), Some(before)) if before.elapsed() < SAID_EVERY => {}
        (Err(error), _) => {
            tracing::warn!(%error, "writes are refused: the disk is full");
            *said = Some(Instant::now());
        }
        (Ok(()), Some(_)) => {
            tracing::info!("the disk has space again, and writes are accepted");
            *said = None;
        }
        (Ok(()), None) => {}
    }
}

/// Logs once that a node doesn't keep up with its cluster, and once that it does again.
fn say_behind(store: &Store, is_behind: &mut bool) {
    let Some(delay) = store.delay() else { return };
    if (delay.behind_for >= SAID_BEHIND_AFTER) == *is_behind {
        return;
    }
    *is_behind = !*is_behind;
    match (*is_behind, store.log_status().and_then(|log| log.trouble)) {
        (true, Some(error)) => tracing::warn!(error, "the node doesn't keep up with its cluster"),
        (true, None) => tracing::warn!("the node doesn't keep up with its cluster"),
        (false, _) => tracing::info!("the node keeps up with its cluster again"),
    }
}

/// Asks the nodes of a cluster to compare their content, if they haven't for a day, or if a node wasn't compared and an hour
/// has passed. A node without others has nothing to compare.
fn verify_daily(store: &Store) -> Result<()> {
    let Some(log) = store.log_status().filter(|log| log.nodes.len() > 1) else { return Ok(()) };
    let are_compared = log.nodes.iter().all(|(_, node)| node.comparison.is_compared);
    let interval = if are_compared { VERIFIED_EVERY } else { VERIFIED_AGAIN_AFTER };
    // A time far in the future is that of a wrong clock.
    let is_due = |at: Timestamp| Timestamp::now().0.abs_diff(at.0) >= interval;
    if !store.digests_computed_at()?.is_none_or(is_due) {
        return Ok(());
    }
    match store.ask_for_digests() {
        // It is asked again when the backup has ended.
        Err(Error::Overloaded { .. }) => Ok(()),
        asked => asked.map(drop),
    }
}

/// Purges up to [`PURGE_AT_ONCE`] due Things, and returns their number.
fn purge(store: &Store) -> Result<usize> {
    if store.closed_to_writes().is_some() || !store.is_leader() {
        return Ok(0);
    }
    let due = store.expired(Timestamp::now(), PURGE_AT_ONCE)?;
    let purge = |id| {
        let (precondition, operation) = (Precondition::Any, Operation::Purge);
        store.submit(vec![Write { id, precondition, operation, actor: None }])
    };
    let tickets: Vec<_> = due.into_iter().map(purge).collect();
    let purged = tickets.len();
    tickets.into_iter().try_for_each(|ticket| ticket.wait().map(drop))?;
    Ok(purged)
}
