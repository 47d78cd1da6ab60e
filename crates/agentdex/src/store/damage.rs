//! Records that can't be read: reported by their ids, once each, while all others are served.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use crate::Error;

/// The most ids that are remembered; what is damaged beyond is reported again and again.
const MOST_REPORTED: usize = 10_000;

/// The ids that were reported.
#[derive(Default)]
pub(super) struct Damage(Mutex<BTreeSet<String>>);

impl Damage {
    /// Reports a record that can't be read.
    pub fn report(&self, id: &str, error: &Error) {
        let mut reported = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.contains(id) {
            return;
        }
        let reason = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
        tracing::error!(
            id,
            reason,
            "a record is damaged and not served; `agentdex check` lists all faults, `agentdex restore` makes a directory from a \
             backup"
        );
        if reported.len() < MOST_REPORTED {
            reported.insert(id.to_owned());
        }
    }

    /// How many were reported.
    pub fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}
