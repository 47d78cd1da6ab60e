//! The query language: what people type, read without ever refusing it.
//!
//! | written | means |
//! |---|---|
//! | `weather forecast` | any of the words; more and rarer ones rank higher |
//! | `"weather forecast"` | the words side by side |
//! | `+weather` | must be there |
//! | `-weather` | must not be there |
//! | `weath*` | words that begin so |
//! | `title:weather`, `description:"long range"` | words of that part alone |
//! | `vendor:acme`, `-tag:beta`, `type:lmos:*` | as the filter of that name; `id` and `language` too |
//!
//! A field of exact values restricts, as its filter does: one of those named within a field, and of
//! each field. Words beside it stay required. Ranges of versions (`billing@^1.2`) are for the filter
//! `capability` alone: one that can't be read is refused, as a query never is. Whatever isn't one of these forms is text, a quote
//! that isn't closed included.

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

/// One part of a query.
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
    /// A word that is being typed: itself, or the beginning of another one.
    Begun(String),
}
