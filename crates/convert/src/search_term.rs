//! Terms of extensions that are worth a search: formats name them, and the index reads them.

/// A searched member, in addition to those that every Thing can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchTerm {
    /// The path from the root of a description, by member names; arrays on the way are traversed.
    pub path: &'static [&'static str],
    /// Content of the member.
    pub content: SearchContent,
}

/// Content of the member that a [`SearchTerm`] names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchContent {
    /// A string, or several.
    Text,
    /// A data schema, whose names, titles, and descriptions are read.
    Schema,
    /// An object that may have tags.
    Tags,
    /// Anything: a Thing that has the member speaks this protocol, even if no form says so.
    Protocol(&'static str),
    /// Why a Thing should no longer be used, such as `deprecated`: a value of the filter `status`, and a lower rank.
    Withdrawal,
}
