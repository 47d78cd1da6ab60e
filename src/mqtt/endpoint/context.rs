//! What all connections of an endpoint share.

use std::sync::Arc;

use tokio::sync::watch;

use super::{super::EndpointOptions, index::SubscriptionIndex, sessions::Sessions};

/// What all connections of an endpoint share.
pub(super) struct Context {
    pub index: Arc<SubscriptionIndex>,
    pub sessions: Arc<Sessions>,
    pub options: EndpointOptions,
    /// Turns true when the endpoint stops.
    pub stop: watch::Receiver<bool>,
}
