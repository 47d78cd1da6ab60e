//! Numbers of queries.

/// Number of a query; none is given twice.
pub(super) type QueryNo = u32;
