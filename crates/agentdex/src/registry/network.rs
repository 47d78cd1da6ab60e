//! Components of a registry that need the network: tracked sources, and the token issuer. Replaced by `no_network.rs`
//! in builds without the feature `fetch`.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::{
    issuer::{Issuer, IssuerOptions},
    measures::{Measures, Metric},
    tracked_sources::{Tracked, Tracker, Tracking},
};
use crate::{
    Result,
    access::{Principal, Unauthenticated},
    store::Store,
    td::Violation,
};

/// Options of components that need the network.
#[derive(Debug, Clone, Default)]
pub(super) struct NetworkOptions {
    pub tracking: Option<Tracking>,
    pub issuer: Option<IssuerOptions>,
}

/// The tracker and the issuer of a registry.
pub(super) struct Network {
    pub tracker: Option<Tracker>,
    pub issuer: Option<Arc<Issuer>>,
}

impl Network {
    /// Schedules the stored sources and fetches the keys of the issuer. Nothing is polled yet.
    pub fn open(
        options: NetworkOptions,
        store: &Store,
        sources: &[(String, Vec<u8>)],
        measures: &Measures,
    ) -> Result<Network> {
        let tracker = options.tracking.map(|tracking| Tracker::open(tracking, store, sources)).transpose()?;
        let issuer = options.issuer.map(Issuer::start).transpose()?;
        if let Some(issuer) = &issuer {
            measures.add(issuer);
        }
        Ok(Network { tracker, issuer })
    }

    /// Returns the number of tracked sources of Things accepted by `is_seen`, or `None` if tracking is not
    /// configured.
    pub fn metric(&self, is_seen: impl Fn(&str) -> bool) -> Option<Metric> {
        let value = self.tracker.as_ref()?.sources(is_seen) as u64;
        Some(Metric { name: "agentdex_tracked_sources", help: "Tracked sources.", value })
    }

    /// Authenticates the holder of a token. Returns `None` if no issuer is configured.
    pub async fn authenticate(&self, token: &str) -> Option<std::result::Result<Arc<Principal>, Unauthenticated>> {
        Some(self.issuer.as_ref()?.authenticate(token).await)
    }

    /// Updates the schedule of a Thing's source from the stored metadata, after a possible change.
    pub async fn reschedule(&self, store: &Store, id: &str) {
        if let Some(tracker) = &self.tracker {
            tracker.reschedule(store, id).await;
        }
    }

    /// Stops polling and fetching.
    pub fn stop(&self) {
        if let Some(tracker) = &self.tracker {
            tracker.stop();
        }
        if let Some(issuer) = &self.issuer {
            issuer.stop();
        }
    }
}

/// Returns the metadata to be stored for the source of a Thing.
///
/// # Errors
/// The value is not a source, or is the source of another Thing.
pub(super) fn checked_source(id: &str, source: &RawValue) -> std::result::Result<Vec<u8>, Violation> {
    let bytes = source.get().as_bytes().to_vec();
    match Tracked::from_metadata(&bytes) {
        Ok(source) if source.id == id => Ok(bytes),
        Ok(source) => Err(Violation::new(
            "/source/id",
            "other-source",
            format!("this is the source of another Thing, {:?}", source.id),
        )),
        Err(error) => Err(Violation::new("/source", "no-source", error.to_string())),
    }
}
