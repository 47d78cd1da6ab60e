//! `Registry`: the only place that joins store, search and descriptions.

/// The registry.
#[derive(Clone)]
pub struct Registry {}

/// Opens a registry.
pub struct Builder {}
