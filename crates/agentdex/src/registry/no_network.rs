//! A registry that doesn't use the network: what `network.rs` is in a library without the feature `fetch`.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::{Registry, measures::Metric, records::invalid};
use crate::{
    Result,
    access::{Principal, Unauthenticated},
    store::Store,
};

/// Options of what needs the network.
#[derive(Debug, Clone, Default)]
pub(super) struct NetworkOptions {}

/// Neither a tracker nor an issuer.
pub(super) struct Network;

impl Network {
    /// Leaves stored sources as they are.
    pub fn open(_: NetworkOptions, _: &Store, _: &[(String, Vec<u8>)]) -> Result<Network> {
        Ok(Network)
    }

    /// Starts nothing.
    pub fn start(_: &Registry) -> Result<()> {
        Ok(())
    }

    /// The number of sources that are tracked: none can be.
    pub fn metric(&self) -> Option<Metric> {
        None
    }

    /// The holder of a token: there is no issuer.
    pub async fn authenticate(&self, _: &str) -> Option<std::result::Result<Arc<Principal>, Unauthenticated>> {
        None
    }

    /// Ends nothing.
    pub fn stop(&self) {}
}

impl Registry {
    /// Leaves the schedule of sources, which there is not, as it is.
    pub(super) async fn reschedule(&self, _: &str) {}
}

/// Refuses the source of a Thing.
///
/// # Errors
/// [`crate::Error::Invalid`]
pub(super) fn checked_source(_: &str, _: &RawValue) -> Result<Vec<u8>> {
    Err(invalid("/source", "no-fetching", "this program was built without the feature `fetch`".to_owned()))
}
