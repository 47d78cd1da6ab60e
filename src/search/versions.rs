//! Capabilities in a range of versions: `name@range`, where the range is written as npm does (`^1.2`,
//! `>=1 <3 || 5.x`, `1.0.0 - 2.0.0`) and begins after the last `@`.
//!
//! Each name and id of a capability is indexed with its version as one term. A range is looked up by
//! going through the versions that the index has of that name.

use std::collections::BTreeMap;

use nodejs_semver::{Range, Version};
use tantivy::{
    DocId, DocSet, Searcher, SegmentReader, TERMINATED, Term,
    schema::{Field, IndexRecordOption},
};

/// The tenant of a Thing that names none.
pub(super) const ANY_TENANT: &str = "*";
/// Between name and version. After a name that has it itself, no version can be read.
const SEPARATOR: char = '\u{0}';
/// The most versions of one name that are looked at.
const MOST_VERSIONS: usize = 10_000;

/// What a capability in a version is indexed as.
pub(super) fn term(name: &str, version: &str) -> String {
    format!("{name}{SEPARATOR}{version}")
}

/// A capability in a range of versions.
pub(super) struct Ranged<'a> {
    name: &'a str,
    range: Range,
}

impl<'a> Ranged<'a> {
    /// Reads `name@range`; none where nothing after an `@` is a range.
    pub fn read(value: &'a str) -> Option<Ranged<'a>> {
        let (name, range) = value.rsplit_once('@')?;
        let range = Range::parse(range).ok().filter(|_| !name.is_empty())?;
        Some(Ranged { name, range })
    }

    /// Adds the terms of the versions that satisfy.
    pub fn find(&self, searcher: &Searcher, field: Field, found: &mut Versions) -> tantivy::Result<()> {
        let from = term(self.name, "");
        for segment in searcher.segment_readers() {
            let inverted_index = segment.inverted_index(field)?;
            let mut terms = inverted_index.terms().range().ge(from.as_bytes()).into_stream()?;
            let mut looked_at = 0;
            while looked_at < MOST_VERSIONS && terms.advance() {
                let Some(version) = terms.key().strip_prefix(from.as_bytes()) else { break };
                looked_at += 1;
                let Ok(text) = std::str::from_utf8(version) else { continue };
                let Ok(version) = Version::parse(text) else { continue };
                if version.satisfies(&self.range) {
                    found.add(version, Term::from_field_text(field, &term(self.name, text)));
                }
            }
        }
        Ok(())
    }
}

/// Versions that satisfy what is asked for, each with its terms.
#[derive(Default)]
pub(super) struct Versions {
    terms: BTreeMap<Version, Vec<Term>>,
}

impl Versions {
    fn add(&mut self, version: Version, term: Term) {
        let terms = self.terms.entry(version).or_default();
        if !terms.contains(&term) {
            terms.push(term);
        }
    }

    /// All terms.
    pub fn terms(&self) -> impl Iterator<Item = &Term> {
        self.terms.values().flatten()
    }

    /// The place of the highest version that each document of a segment has: 0 is the lowest.
    pub fn places(&self, segment: &SegmentReader) -> tantivy::Result<BTreeMap<DocId, usize>> {
        let mut places = BTreeMap::new();
        for (place, terms) in self.terms.values().enumerate() {
            for term in terms {
                let inverted_index = segment.inverted_index(term.field())?;
                let Some(mut postings) = inverted_index.read_postings(term, IndexRecordOption::Basic)? else {
                    continue;
                };
                while postings.doc() != TERMINATED {
                    places.insert(postings.doc(), place);
                    postings.advance();
                }
            }
        }
        Ok(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_begins_after_the_last_at() {
        let read = |value| Ranged::read(value).map(|ranged| (ranged.name.to_owned(), ranged.range.to_string()));
        assert_eq!(read("billing@^1.2"), Some(("billing".into(), ">=1.2.0 <2.0.0-0".into())));
        assert_eq!(read("@scope/billing@>=1 <2 || 3.x").map(|(name, _)| name), Some("@scope/billing".into()));
        for literal in ["billing", "me@example.com", "billing@latest", "@^1", "@scope/billing"] {
            assert_eq!(read(literal), None, "{literal}");
        }
    }
}
