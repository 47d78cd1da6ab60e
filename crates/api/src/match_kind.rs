//! The effect of a change on a saved query.

use std::fmt;

/// The effect of a change on a saved query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatchKind {
    /// A new Thing matches.
    Created,
    /// A Thing that matched before was changed, and still matches.
    Updated,
    /// A Thing started to match.
    Matched,
    /// A Thing no longer matches.
    Unmatched,
    /// A Thing that matched was deleted.
    Deleted,
}

impl MatchKind {
    /// All kinds.
    pub const ALL: [MatchKind; 5] =
        [MatchKind::Created, MatchKind::Updated, MatchKind::Matched, MatchKind::Unmatched, MatchKind::Deleted];

    /// Returns `thing_created`, `thing_updated`, `thing_matched`, `thing_unmatched`, or
    /// `thing_deleted`.
    pub fn as_str(self) -> &'static str {
        match self {
            MatchKind::Created => "thing_created",
            MatchKind::Updated => "thing_updated",
            MatchKind::Matched => "thing_matched",
            MatchKind::Unmatched => "thing_unmatched",
            MatchKind::Deleted => "thing_deleted",
        }
    }

    /// Returns the kind with the given name.
    pub fn from_name(name: &str) -> Option<MatchKind> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for MatchKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
