//! The query language. Any text is a valid query.
//!
//! | written | meaning |
//! |---|---|
//! | `weather forecast` | any of the words; matches with more or rarer words rank higher |
//! | `"weather forecast"` | the words next to each other |
//! | `+weather` | required |
//! | `-weather` | excluded |
//! | `weath*` | words with this prefix |
//! | `title:weather`, `description:"long range"` | words in that field only |
//! | `vendor:acme`, `-tag:beta`, `type:lmos:*` | same as the filter with that name; also `id` and `language` |
//!
//! A field with exact values restricts the result like its filter: at least one of the given values must match in
//! each field. Words outside of fields remain required. Version ranges (`billing@^1.2`) are only supported in the
//! filter `capability`, which rejects invalid ranges; queries are never rejected. Everything else is text, including
//! an unclosed quote.

mod compile;
mod exact;
mod excluded;
mod hints;
mod languages;
mod parse;
mod sentences;
mod telling;
mod token;
mod wording;
mod words;

pub(super) use compile::{Compiled, compile, exact_field};
pub(super) use exact::{ExactTerm, lmos_name};
pub(super) use hints::hints;
pub(super) use languages::present_languages;
pub(super) use parse::{parse, parse_typed};
pub(super) use telling::Telling;
pub(super) use token::{Token, split_prefix, tokens};
pub(super) use wording::Wording;
pub(super) use words::{MOST_PAIRS, Part, Spelling, completed, may_be_id};

use super::schema::ExactField;

/// A part of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clause {
    pub occur: Occur,
    pub target: Target,
    pub pattern: Pattern,
}

/// Occurrence of a clause: it may, must or must not match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occur {
    Any,
    Must,
    Not,
}

/// Part of a Thing that a clause searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// All words.
    Text,
    /// The words of titles.
    Title,
    /// The words of descriptions.
    Description,
    /// The id.
    Id,
    /// Exact values.
    Exact(ExactField),
}

/// Text that a clause matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pattern {
    Word(String),
    Phrase(String),
    Prefix(String),
    /// A word that is still being typed: the word itself, or a prefix of another word.
    Begun(String),
}
