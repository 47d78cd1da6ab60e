//! Options of a guardian in builds without the feature `guardian`. Empty.

/// Options of the guardian. Empty without the feature `guardian`.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Options {}
