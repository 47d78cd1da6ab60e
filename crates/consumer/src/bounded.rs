//! Enforcement of a call's time limits on its events, and cancellation of calls that are no longer awaited.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt, stream};
use tokio::time::{Instant, timeout, timeout_at};

use super::{Control, Error, Events, Exchange, Limits, Result};

/// Maximum time for a cancellation that nobody waits for.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// Waits for something that a call needs.
pub(super) async fn within<T>(
    id: &str,
    limits: &Limits,
    whole: Duration,
    waiting_for: &'static str,
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    let idle = limits.idle.map(|idle| Instant::now() + idle);
    let (until, limit) = match (limits.deadline, idle) {
        (Some(deadline), Some(idle)) if idle < deadline => (idle, limits.idle.unwrap_or(whole)),
        (Some(deadline), _) => (deadline, whole),
        (None, Some(idle)) => (idle, limits.idle.unwrap_or(whole)),
        (None, None) => return work.await,
    };
    timeout_at(until, work).await.map_err(|_| Error::TimedOut { id: id.to_owned(), waiting_for, limit })?
}

/// Cancels a call that is dropped before its end.
pub(super) struct CancelOnDrop(Option<Arc<dyn Control>>);

impl CancelOnDrop {
    pub(super) fn new(control: Option<Arc<dyn Control>>) -> CancelOnDrop {
        CancelOnDrop(control)
    }

    /// Ends it without a cancellation.
    pub(super) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let (Some(control), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move {
                // A protocol that can't cancel says so, and nobody is left to be notified.
                let _ = timeout(CANCEL_TIMEOUT, control.cancel()).await;
            });
        }
    }
}

struct Bounded {
    events: Events,
    id: String,
    limits: Limits,
    whole: Duration,
    cancel: CancelOnDrop,
    is_over: bool,
}

/// The exchange with its events bounded.
pub(super) fn bounded(exchange: Exchange, id: String, limits: Limits, whole: Duration) -> Exchange {
    let cancel = CancelOnDrop(exchange.control.clone());
    let state = Bounded { events: exchange.events, id, limits, whole, cancel, is_over: false };
    let events = stream::unfold(state, |mut state| async move {
        if state.is_over {
            return None;
        }
        let next = async { Ok(state.events.next().await) };
        let next = within(&state.id, &state.limits, state.whole, "the next part of the response", next).await;
        let event = match next {
            Ok(Some(event)) => event,
            Ok(None) => {
                drop(state.cancel.0.take());
                return None;
            }
            Err(error) => Err(error),
        };
        state.is_over = !matches!(&event, Ok(event) if !event.is_last());
        let goes_on = match &event {
            // An answer is complete, and one that waits for input goes on in the next call.
            Ok(event) => event.is_last(),
            // What came to an end is the connection: the task can be asked for again.
            Err(error) => {
                error.is_transient() && state.cancel.0.as_ref().is_some_and(|control| control.task().is_some())
            }
        };
        if goes_on {
            drop(state.cancel.0.take());
        }
        Some((event, state))
    });
    Exchange { events: events.boxed(), control: exchange.control }
}
