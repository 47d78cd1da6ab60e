//! Format-specific members of descriptions that are indexed for searches.

/// A searched member, in addition to the members searched in all Things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchTerm {
    /// Path from the root of a description, by member names. Arrays on the path are traversed.
    pub path: &'static [&'static str],
    /// Content of the member.
    pub content: SearchContent,
}

/// Content of a searched member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchContent {
    /// A string, or an array of strings.
    Text,
    /// A data schema, whose names, titles, and descriptions are read.
    Schema,
    /// An object that may contain tags.
    Tags,
    /// Any value. A Thing that has the member supports this protocol, even if no form names the protocol.
    Protocol(&'static str),
    /// The reason why a Thing should no longer be used, such as `deprecated`. It is a value of the filter `status`, and
    /// lowers the rank.
    Withdrawal,
}
