//! The bindings that come with agentdex.

use std::sync::Arc;

use super::{A2a, Binding, Http};

/// All of them. Which one is taken for a form is decided by [`Binding::fit`], not by their order.
pub(super) fn all() -> Vec<Arc<dyn Binding>> {
    Vec::from([
        Arc::new(A2a) as Arc<dyn Binding>,
        Arc::new(Http),
        #[cfg(feature = "mcp")]
        Arc::new(super::Mcp::default()),
        #[cfg(feature = "mqtt")]
        Arc::new(super::Mqtt),
        #[cfg(feature = "websocket")]
        Arc::new(super::WebSocket),
    ])
}
