//! Requests and answers of one registry.

/// Each request with its answer, without what differs between any two registries.
pub type Transcript = Vec<(String, String)>;
