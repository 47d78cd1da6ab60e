//! The face of the network for an embedder: options of tracking and of the issuer of tokens, and how people sign in.

use std::sync::Arc;

use agentdex_api::SignIn;

use super::{
    Builder, Registry,
    issuer::{Issuer, IssuerOptions},
    tracked_sources::Tracking,
};

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
