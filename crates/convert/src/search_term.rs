//! Terms of extensions that are worth a search: formats name them, and the index reads them.

/// A member to search by, beside those that every Thing may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchTerm {
    /// The members on the way there from the root of a description; arrays on the way are read through.
    pub path: &'static [&'static str],
    /// Content of the member.
    pub content: SearchContent,
}

/// Content of the member that a [`SearchTerm`] names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchContent {
    /// A text, or several.
    Text,
    /// A data schema, whose names, titles and descriptions are read.
    Schema,
    /// An object that may have tags.
    Tags,
    /// Anything: a Thing that has the member speaks this protocol, even if no form says so.
    Protocol(&'static str),
    /// Why a Thing shouldn't be used any more, such as `deprecated`: a value of the filter `status`, and a lower rank.
    Withdrawal,
}
