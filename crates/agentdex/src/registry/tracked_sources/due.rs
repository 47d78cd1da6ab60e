//! Due work: polls of sources and renewals of Things.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{Arc, Weak},
    task::Poll,
    time::Duration,
};

use agentdex_api::RefreshResult;
use tokio::{sync::Notify, task::JoinSet};

use super::{
    poll::{Polled, Poller},
    schedule::DuePoll,
    tracker::Tracker,
};
use crate::{
    Error, Result, Timestamp,
    registry::{Inner, Registry},
    td::Document,
};

/// Polls that are under way at the same time.
pub(super) const AT_ONCE: usize = 8;
/// Renewals that are made durable together.
const RENEWALS_AT_ONCE: usize = 1000;
/// The longest pause: the clock may be set.
const LONGEST_REST: Duration = Duration::from_secs(60);
/// Pause before a node of a cluster checks whether it leads now. Only the leader polls.
const LEADING_AFTER: Duration = Duration::from_secs(5);

impl Registry {
    /// Polls due sources in a thread of its own, until that is stopped.
    pub(in crate::registry) fn start_polling(&self) -> Result<()> {
        let Some(tracker) = self.0.network.tracker.as_ref().filter(|tracker| tracker.poller.tracking.in_background)
        else {
            return Ok(());
        };
        tracker.follow_store(&self.0.store);
        let inner = Arc::downgrade(&self.0);
        tracker.worker.start("agentdex-refresh", |wake| async move { run(&inner, &wake).await })
    }

    /// Renews Things that would expire although their source is tracked. That needs no poll.
    pub(super) async fn renew_due(&self, tracker: &Tracker, now: Timestamp) -> Result<()> {
        let nothing = Document::parse(b"{}")?;
        for ids in tracker.schedule.take_renewals(now).chunks(RENEWALS_AT_ONCE) {
            let mut tickets = Vec::new();
            for id in ids {
                if let Some(record) = self.0.store.find(id)?.filter(|record| record.expiry.ttl.is_some())
                    && self.is_tracked(id)?
                {
                    tickets.push(self.0.store.submit(vec![self.prepare_patch(&record, &nothing, None)?.write]));
                }
            }
            for ticket in tickets {
                match ticket.await {
                    // What was changed or removed meanwhile is scheduled by what it is now.
                    Ok(_) | Err(Error::PreconditionFailed { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            for id in ids {
                tracker.reschedule(&self.0.store, id).await;
            }
        }
        Ok(())
    }
}

/// Works off the schedule until the registry is gone.
///
/// It holds the registry for moments only, never while it waits for the network: a registry whose last
/// clone is dropped closes at once, and stops the thread.
async fn run(inner: &Weak<Inner>, wake: &Notify) {
    let mut polls = JoinSet::new();
    loop {
        let rest = match caught(begin(inner, &mut polls)).await {
            Ok(Some(rest)) => rest,
            Ok(None) => return,
            Err(_) => LONGEST_REST,
        };
        tokio::select! {
            // Its result is stored by then, unless the task was aborted.
            Some(ended) = polls.join_next() => if let Err(error) = ended {
                tracing::error!(%error, "the result of a poll could not be stored");
            },
            () = wake.notified() => {}
            () = tokio::time::sleep(rest) => {}
        }
    }
}

/// Renews due Things, starts as many polls as allowed, and returns the time until further work is due, or `None` if
/// the registry is gone.
async fn begin(inner: &Weak<Inner>, polls: &mut JoinSet<Result<RefreshResult>>) -> Option<Duration> {
    let registry = Registry::of(inner.upgrade()?);
    let tracker = registry.0.network.tracker.as_ref()?;
    tracker.schedule_committed(&registry.0.store).await;
    if !registry.0.store.is_leader() {
        return Some(LEADING_AFTER);
    }
    let now = Timestamp::now();
    if let Err(error) = registry.renew_due(tracker, now).await {
        tracing::warn!(%error, "Things of tracked sources could not be renewed");
    }
    for due in tracker.schedule.take_polls(now, AT_ONCE - polls.len()) {
        polls.spawn(poll(inner.clone(), tracker.due_poller.clone(), due, now));
    }
    let schedule = &tracker.schedule;
    let next = if polls.len() < AT_ONCE { schedule.next() } else { schedule.next_renewal() };
    let rest = next.map(|next| next.0.saturating_sub(Timestamp::now().0)).map(u64::try_from);
    Some(rest.map_or(LONGEST_REST, |rest| Duration::from_millis(rest.unwrap_or_default())).min(LONGEST_REST))
}

/// Polls a source that is due. Any failure is stored, and affects no other source.
pub(super) async fn poll(
    inner: Weak<Inner>,
    poller: Arc<Poller>,
    due: DuePoll,
    now: Timestamp,
) -> Result<RefreshResult> {
    let refreshed = match caught(poll_source(&inner, &poller, &due.id, now)).await {
        Ok(refreshed) => refreshed,
        Err(panic) => reconcile_panic(&inner, &due.id, panic, now).await,
    };
    if let Err(error) = &refreshed {
        tracing::info!(id = due.id, %error, "a tracked source could not be refreshed");
    }
    refreshed
}

/// Polls a source and writes the result. The registry is not held while the network is waited for.
pub(super) async fn poll_source(
    inner: &Weak<Inner>,
    poller: &Poller,
    id: &str,
    now: Timestamp,
) -> Result<RefreshResult> {
    let registry = || inner.upgrade().map(Registry::of).ok_or(Error::ShuttingDown);
    let Some(loaded) = registry()?.load_tracked_source(id)? else {
        let registry = registry()?;
        registry.0.network.reschedule(&registry.0.store, id).await;
        return Ok(RefreshResult::Stopped);
    };
    let polled = poller.poll(&loaded.source, &loaded.original.bytes, now).await;
    registry()?.reconcile(&loaded.source, polled, now).await
}

/// Records a document whose conversion panicked as refused.
async fn reconcile_panic(inner: &Weak<Inner>, id: &str, panic: Panic, now: Timestamp) -> Result<RefreshResult> {
    let registry = Registry::of(inner.upgrade().ok_or(Error::ShuttingDown)?);
    let Some(loaded) = registry.load_tracked_source(id)? else { return Ok(RefreshResult::Stopped) };
    let error = Error::Io { doing: "reading the document".into(), source: io::Error::other(panic) };
    registry.reconcile(&loaded.source, Polled::Failed(error), now).await
}

/// Something panicked, which was reported on standard error.
#[derive(Debug, thiserror::Error)]
#[error("an internal error (a panic)")]
struct Panic;

/// Work whose panics end nothing but itself.
async fn caught<T>(work: impl Future<Output = T>) -> std::result::Result<T, Panic> {
    let mut work = pin!(work);
    std::future::poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)));
        polled.map_or(Poll::Ready(Err(Panic)), |poll| poll.map(Ok))
    })
    .await
}
