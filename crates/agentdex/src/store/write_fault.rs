//! `WriteFault`: a fault of the next write of a commit, for tests.

use std::sync::{Mutex, PoisonError};

/// Fault of the next write of a commit, if any.
#[derive(Debug, Default)]
pub struct WriteFault(Mutex<Option<Fault>>);

/// Way in which a write fails in a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    Failure,
    Panic,
}

impl WriteFault {
    /// Sets the fault of the next write.
    pub fn set(&self, fault: Fault) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
    }

    /// Fails or panics, if a fault is set.
    pub fn occur(&self) -> Result<(), String> {
        let fault = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        match fault {
            Some(Fault::Failure) => Err("the write fails".to_owned()),
            Some(Fault::Panic) => panic!("the write panics"),
            None => Ok(()),
        }
    }
}
