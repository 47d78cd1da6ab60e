//! The options of a guardian in a library without the feature `guardian`: there are none.

/// Options of the guardian, which the feature `guardian` gives.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {}
