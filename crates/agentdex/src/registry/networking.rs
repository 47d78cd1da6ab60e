//! Public network options of a registry: tracking of sources, the token issuer, and the sign-in of people.

use std::sync::Arc;

use agentdex_api::SignIn;

use super::{
    Builder, Registry,
    issuer::{Issuer, IssuerOptions},
    tracked_sources::Tracking,
};

impl Builder {
    /// Allows importing documents by URL and polling those URLs for changes.
    pub fn tracking(mut self, tracking: Tracking) -> Builder {
        self.network.tracking = Some(tracking);
        self
    }

    /// Accepts tokens of an issuer, in addition to API keys, to identify the clients of a server.
    pub fn issuer(mut self, issuer: IssuerOptions) -> Builder {
        self.network.issuer = Some(issuer);
        self
    }
}

impl Registry {
    /// Returns the issuer of accepted tokens, if configured.
    pub fn issuer(&self) -> Option<&IssuerOptions> {
        self.0.network.issuer.as_deref().map(Issuer::options)
    }

    /// Returns the parameters with which the web page signs people in. Returns `None` if
    /// [`IssuerOptions::client_id`] is not set, or if the issuer has not been reached or has no usable endpoints.
    pub fn sign_in(&self) -> Option<Arc<SignIn>> {
        self.0.network.issuer.as_ref().and_then(|issuer| issuer.sign_in())
    }
}
