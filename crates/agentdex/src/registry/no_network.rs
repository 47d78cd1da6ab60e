//! Replacement for `network.rs` in builds without the feature `fetch`: a registry without network access.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::measures::{Measures, Metric};
use crate::{
    Result,
    access::{Principal, Unauthenticated},
    store::Store,
    td::Violation,
};

/// Options of components that need the network. Empty without the feature `fetch`.
#[derive(Debug, Clone, Default)]
pub(super) struct NetworkOptions {}

/// Neither a tracker nor an issuer.
pub(super) struct Network;

impl Network {
    /// Ignores stored sources.
    pub fn open(_: NetworkOptions, _: &Store, _: &[(String, Vec<u8>)], _: &Measures) -> Result<Network> {
        Ok(Network)
    }

    /// Returns `None`: there are no tracked sources.
    pub fn metric(&self, _: impl Fn(&str) -> bool) -> Option<Metric> {
        None
    }

    /// Returns `None`: there is no issuer.
    pub async fn authenticate(&self, _: &str) -> Option<std::result::Result<Arc<Principal>, Unauthenticated>> {
        None
    }

    /// Does nothing: there is no schedule.
    pub async fn reschedule(&self, _: &Store, _: &str) {}

    /// Does nothing.
    pub fn stop(&self) {}
}

/// Refuses the source of a Thing.
///
/// # Errors
/// Always.
pub(super) fn checked_source(_: &str, _: &RawValue) -> std::result::Result<Vec<u8>, Violation> {
    let message = "this program was built without the feature `fetch`".to_owned();
    Err(Violation::new("/source", "no-fetching", message))
}
