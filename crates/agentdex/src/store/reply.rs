//! `Reply`: a slot for the outcome of a transaction, filled by the committer and read by the waiter.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
};

use super::write::Applied;
use crate::{Error, Result};

/// Outcome of a transaction.
#[derive(Default)]
pub(super) struct Reply(Mutex<State>);

#[derive(Default)]
struct State {
    outcome: Option<Result<Applied>>,
    waker: Option<Waker>,
}

impl Reply {
    /// Stores the outcome, and returns the waker of the waiter.
    pub fn fill(&self, outcome: Result<Applied>) -> Option<Waker> {
        let mut state = self.state();
        state.outcome = Some(outcome);
        state.waker.take()
    }

    /// Takes the outcome, which must be available.
    pub fn take(&self) -> Result<Applied> {
        self.state().outcome.take().unwrap_or(Err(Error::ShuttingDown))
    }

    /// Takes the outcome, or registers the waker to be woken when it is available.
    pub fn poll(&self, waker: &Waker) -> Poll<Result<Applied>> {
        let mut state = self.state();
        if let Some(outcome) = state.outcome.take() {
            return Poll::Ready(outcome);
        }
        state.waker = Some(waker.clone());
        Poll::Pending
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
