//! The requests of owners who are slowed, see [`super::backpressure`]: each owner has one line, in which one request at a time
//! has its turn.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::OwnedMutexGuard;

use crate::access::Owner;

/// Interval at which it is checked whether an owner is still slowed.
const INTERVAL: Duration = Duration::from_millis(20);

/// The lines of owners.
#[derive(Default)]
pub(super) struct Pace(Mutex<HashMap<Owner, Arc<tokio::sync::Mutex<()>>>>);

/// The turn of a request to write, for as long as this lives.
pub(super) struct Turn {
    _own: Option<OwnedMutexGuard<()>>,
}

impl Turn {
    /// The turn of a request that nothing slows.
    pub fn free() -> Turn {
        Turn { _own: None }
    }
}

impl Pace {
    /// Waits until an owner isn't slowed any more, and until its requests before had their turns.
    pub async fn turn(&self, owner: &Owner, is_slowed: impl Fn() -> bool) -> Turn {
        if !self.has_waiting(owner) && !is_slowed() {
            return Turn::free();
        }
        let own = self.line(owner).lock_owned().await;
        while is_slowed() {
            tokio::time::sleep(INTERVAL).await;
        }
        Turn { _own: Some(own) }
    }

    /// True if a request of an owner waits, or has the only turn.
    fn has_waiting(&self, owner: &Owner) -> bool {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.get(owner).is_some_and(|line| Arc::strong_count(line) > 1)
    }

    fn line(&self, owner: &Owner) -> Arc<tokio::sync::Mutex<()>> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.retain(|_, line| Arc::strong_count(line) > 1);
        lines.entry(owner.clone()).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use futures_util::future::join_all;

    use super::*;

    #[test]
    fn slowed_requests_have_their_turns_one_by_one_and_none_is_refused() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (pace, is_slowed) = (Pace::default(), AtomicBool::new(true));
        let (eve, bob): (Owner, Owner) = ("eve".parse().unwrap(), "bob".parse().unwrap());
        let (at_once, most, done) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let write = async || {
            let turn = pace.turn(&eve, || is_slowed.load(Ordering::Relaxed)).await;
            most.fetch_max(at_once.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            tokio::task::yield_now().await;
            at_once.fetch_sub(1, Ordering::Relaxed);
            done.fetch_add(1, Ordering::Relaxed);
            drop(turn);
        };
        let others = async {
            // Whoever isn't slowed doesn't wait for who is.
            let turn = pace.turn(&bob, || false).await;
            assert!(turn._own.is_none());
            assert_eq!(done.load(Ordering::Relaxed), 0);
            is_slowed.store(false, Ordering::Relaxed);
        };
        runtime.block_on(async { tokio::join!(join_all((0..20).map(|_| write())), others) });
        assert_eq!((done.into_inner(), most.into_inner()), (20, 1));
        let free = runtime.block_on(pace.turn(&eve, || false));
        assert!(free._own.is_none(), "nobody waits any more");
    }
}
