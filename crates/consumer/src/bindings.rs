//! The built-in bindings.

use std::sync::Arc;

use super::{A2a, Binding, Http};

/// Returns all built-in bindings. [`Binding::fit`], not their order, determines the binding for a form.
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
