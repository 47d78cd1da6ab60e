//! A registry that doesn't use the network: what `network.rs` is in a library without the feature `fetch`.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::measures::{Measures, Metric};
use crate::{
    Result,
    access::{Principal, Unauthenticated},
    store::Store,
    td::Violation,
};

/// Options of what needs the network.
#[derive(Debug, Clone, Default)]
pub(super) struct NetworkOptions {}

/// Neither a tracker nor an issuer.
pub(super) struct Network;

impl Network {
    /// Leaves stored sources as they are.
    pub fn open(_: NetworkOptions, _: &Store, _: &[(String, Vec<u8>)], _: &Measures) -> Result<Network> {
        Ok(Network)
    }

    /// The number of tracked sources: none can be.
    pub fn metric(&self, _: impl Fn(&str) -> bool) -> Option<Metric> {
        None
    }

    /// The holder of a token: there is no issuer.
    pub async fn authenticate(&self, _: &str) -> Option<std::result::Result<Arc<Principal>, Unauthenticated>> {
        None
    }

    /// Leaves the schedule, which there is not, as it is.
    pub async fn reschedule(&self, _: &Store, _: &str) {}

    /// Ends nothing.
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
