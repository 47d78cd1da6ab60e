//! The bindings that come with agentdex.

use std::sync::Arc;

use super::{A2a, Binding, Http};

/// All of them. Which one is taken for a form is decided by [`Binding::fit`], not by their order.
pub(super) fn all() -> Vec<Arc<dyn Binding>> {
    vec![Arc::new(A2a), Arc::new(Http)]
}
