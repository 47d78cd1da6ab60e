//! Numbers of queries.

/// Number of a query. Numbers are never reused.
pub(super) type QueryNo = u32;
