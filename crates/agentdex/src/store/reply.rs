//! `Reply`: where the outcome of a transaction is put, and taken from by who waits for it.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
};

use super::write::Applied;
use crate::{Error, Result};

/// The outcome of one transaction.
#[derive(Default)]
pub(super) struct Reply(Mutex<State>);

#[derive(Default)]
struct State {
    outcome: Option<Result<Applied>>,
    waker: Option<Waker>,
}

impl Reply {
    /// Puts the outcome; who is to be woken.
    pub fn fill(&self, outcome: Result<Applied>) -> Option<Waker> {
        let mut state = self.state();
        state.outcome = Some(outcome);
        state.waker.take()
    }

    /// Takes an outcome that is there.
    pub fn take(&self) -> Result<Applied> {
        self.state().outcome.take().unwrap_or(Err(Error::ShuttingDown))
    }

    /// Takes the outcome, or says who is to be woken once it is there.
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
