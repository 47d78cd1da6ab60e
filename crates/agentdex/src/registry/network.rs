//! The part of a registry that needs the network: tracked sources, and the issuer of tokens. `no_network.rs` stands for it in
//! a library without the feature `fetch`.

use std::sync::Arc;

use agentdex_api::SignIn;
use serde_json::value::RawValue;

use super::{
    Builder, Registry,
    issuer::{Issuer, IssuerOptions},
    measures::Metric,
    records::invalid,
    tracked_sources::{Tracked, Tracker, Tracking},
};
use crate::{
    Result,
    access::{Principal, Unauthenticated},
    store::Store,
};

/// Options of what needs the network.
#[derive(Debug, Clone, Default)]
pub(super) struct NetworkOptions {
    tracking: Option<Tracking>,
    issuer: Option<IssuerOptions>,
}

impl Builder {
    /// Lets the registry import documents by URL, and poll those URLs for changes.
    pub fn tracking(mut self, tracking: Tracking) -> Builder {
        self.network.tracking = Some(tracking);
        self
    }

    /// Lets clients of servers that authenticate prove who they are with tokens of an issuer, beside API keys.
    pub fn issuer(mut self, issuer: IssuerOptions) -> Builder {
        self.network.issuer = Some(issuer);
        self
    }
}

/// The tracker and the issuer of a registry.
pub(super) struct Network {
    pub tracker: Option<Tracker>,
    issuer: Option<Arc<Issuer>>,
}

impl Network {
    /// Schedules the stored sources and fetches the keys of the issuer. Nothing is polled yet.
    pub fn open(options: NetworkOptions, store: &Store, sources: &[(String, Vec<u8>)]) -> Result<Network> {
        Ok(Network {
            tracker: options.tracking.map(|tracking| Tracker::open(tracking, store, sources)).transpose()?,
            issuer: options.issuer.map(Issuer::start).transpose()?,
        })
    }

    /// Starts what needs the registry: its numbers, and polling.
    pub fn start(registry: &Registry) -> Result<()> {
        if let Some(issuer) = &registry.0.network.issuer {
            registry.add_metrics(issuer);
        }
        registry.start_polling()
    }

    /// The number of sources that are tracked; none where none can be.
    pub fn metric(&self) -> Option<Metric> {
        let value = self.tracker.as_ref()?.sources() as u64;
        Some(Metric { name: "agentdex_tracked_sources", help: "Sources that are tracked.", value })
    }

    /// The holder of a token; none without an issuer.
    pub async fn authenticate(&self, token: &str) -> Option<std::result::Result<Arc<Principal>, Unauthenticated>> {
        Some(self.issuer.as_ref()?.authenticate(token).await)
    }

    /// Ends polls and fetches.
    pub fn stop(&self) {
        if let Some(tracker) = &self.tracker {
            tracker.stop();
        }
        if let Some(issuer) = &self.issuer {
            issuer.stop();
        }
    }
}

impl Registry {
    /// The issuer whose tokens are accepted.
    pub fn issuer(&self) -> Option<&IssuerOptions> {
        self.0.network.issuer.as_deref().map(Issuer::options)
    }

    /// The sign-in of people on the web page, where the issuer is set up for that and has been reached.
    pub fn sign_in(&self) -> Option<Arc<SignIn>> {
        self.0.network.issuer.as_ref().and_then(|issuer| issuer.sign_in())
    }
}

/// Returns what is stored of the source of a Thing.
///
/// # Errors
/// [`crate::Error::Invalid`] where it is not a source, or that of another Thing.
pub(super) fn checked_source(id: &str, source: &RawValue) -> Result<Vec<u8>> {
    let bytes = source.get().as_bytes().to_vec();
    match Tracked::from_metadata(&bytes) {
        Ok(source) if source.id == id => Ok(bytes),
        Ok(source) => Err(invalid("/source/id", "other-source", format!("it is the source of {:?}", source.id))),
        Err(error) => Err(invalid("/source", "no-source", error.to_string())),
    }
}
