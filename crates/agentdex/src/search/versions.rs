//! Capabilities in a version range: `name@range`, with the range (`version_range`) after the last `@`.
//!
//! Each name and id of a capability is indexed as a term with its version, or else with the version of the Thing. A
//! range is evaluated by iterating over the indexed versions of the name.

use std::collections::BTreeMap;

use semver::Version;
use tantivy::{
    DocId, DocSet, Searcher, SegmentReader, TERMINATED, Term,
    schema::{Field, IndexRecordOption},
};

use super::{failure::index_error, text::fold_case, version_range::Range};
use crate::{
    Error, Result,
    td::internal::{semantic_version, thing_version},
};

/// Tenant of a Thing that names no tenant.
pub(super) const ANY_TENANT: &str = "*";
/// Between name and version. After a name that has it itself, no version can be read.
const SEPARATOR: char = '\u{0}';
/// Maximum number of versions of a name that are read.
const MOST_VERSIONS: usize = 10_000;
/// Beginning of the message about a value that is meant as a range of versions of a Thing and can't be read.
const EXPECTED_OF_THING: &str = "expected a single version or";

/// Returns the term that a capability in a version is indexed as: its name regardless of case, and the version.
pub(super) fn term(name: &str, version: &str) -> String {
    format!("{}{SEPARATOR}{version}", fold_case(name))
}

/// A capability in a range of versions.
pub(super) struct Ranged<'a> {
    name: &'a str,
    range: Range,
}

impl<'a> Ranged<'a> {
    /// Parses `name@range`. Returns `None` if the text after the last `@` isn't meant as a range.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] if it is meant as a range but is invalid.
    pub fn read(value: &'a str) -> Result<Option<Ranged<'a>>> {
        let Some((name, text)) = value.rsplit_once('@').filter(|(name, _)| !name.is_empty()) else { return Ok(None) };
        let range = read_range(text, "the last @ of a capability must be followed by")?;
        Ok(range.map(|range| Ranged { name, range }))
    }

    /// Adds the terms of the versions in the range.
    pub fn find(&self, searcher: &Searcher, field: Field, found: &mut Versions) -> tantivy::Result<()> {
        find(searcher, field, &term(self.name, ""), &self.range, found)
    }
}

/// Chooses a version: the version with that name, the highest version in a range, or the `latest`.
///
/// # Errors
/// [`Error::InvalidQuery`] if `asked` is meant as a range but is invalid.
pub(crate) fn choose_version<'v>(asked: &str, versions: &[&'v str]) -> Result<Option<&'v str>> {
    if let Some(named) = versions.iter().find(|version| **version == asked) {
        return Ok(Some(named));
    }
    let number = |version: &str| thing_version(version);
    if asked == "latest" {
        let latest = versions.iter().max_by_key(|version| number(version));
        // What is no version comes by arrival, the served one first.
        return Ok(latest.filter(|latest| number(latest).is_some()).or(versions.first()).copied());
    }
    let Some(range) = read_range(asked, EXPECTED_OF_THING)? else { return Ok(None) };
    let is_in = |version: &&&str| number(version).is_some_and(|number| range.contains(&number));
    Ok(versions.iter().filter(is_in).max_by_key(|version| number(version)).copied())
}

/// Returns the versions of Things in a range, or `None` if the value is not a range.
///
/// # Errors
/// [`Error::InvalidQuery`] if the value is meant as a range but is invalid.
pub(super) fn of_things(searcher: &Searcher, field: Field, value: &str) -> Result<Option<Versions>> {
    let Some(range) = read_range(value, EXPECTED_OF_THING)? else { return Ok(None) };
    let mut found = Versions::default();
    find(searcher, field, "", &range, &mut found).map_err(index_error("looking versions up"))?;
    Ok(Some(found))
}

/// Parses a range. Returns `None` if the text isn't meant as a range.
fn read_range(text: &str, expected: &str) -> Result<Option<Range>> {
    match Range::parse(text) {
        Ok(range) => Ok(Some(range)),
        Err(reason) if is_meant_as_range(text) => Err(Error::InvalidQuery {
            message: format!(
                "{expected} an npm-style version range (^1.2, >=1 <3, 1.0.0 - 2.0.0, ~1.4 || 3.x), but {reason}"
            ),
        }),
        Err(_) => Ok(None),
    }
}

/// Adds the terms with a prefix that continue with a version in the range.
fn find(searcher: &Searcher, field: Field, from: &str, range: &Range, found: &mut Versions) -> tantivy::Result<()> {
    for segment in searcher.segment_readers() {
        let inverted_index = segment.inverted_index(field)?;
        let mut terms = inverted_index.terms().range().ge(from.as_bytes()).into_stream()?;
        let mut checked = 0;
        while checked < MOST_VERSIONS && terms.advance() {
            let Some(version) = terms.key().strip_prefix(from.as_bytes()) else { break };
            checked += 1;
            let Ok(text) = std::str::from_utf8(version) else { continue };
            let Some(version) = semantic_version(text) else { continue };
            if range.contains(&version) {
                found.add(version, Term::from_field_text(field, &format!("{from}{text}")));
            }
        }
    }
    Ok(())
}

/// Versions in a range, as terms of a field: those with a common beginning that go on with a version in the range.
#[derive(Debug)]
pub(super) struct VersionTerms {
    from: Box<str>,
    range: Range,
}

impl VersionTerms {
    /// Parses `name@range`. Returns `None` if the text after the last `@` isn't meant as a range.
    ///
    /// # Errors
    /// Same as [`Ranged::read`].
    pub fn of_capability(value: &str) -> Result<Option<VersionTerms>> {
        Ok(Ranged::read(value)?.map(|Ranged { name, range }| VersionTerms { from: term(name, "").into(), range }))
    }

    /// Parses a version range of Things. Returns `None` if the value is not a range.
    ///
    /// # Errors
    /// Same as [`of_things`].
    pub fn of_thing(value: &str) -> Result<Option<VersionTerms>> {
        let range = read_range(value, EXPECTED_OF_THING)?;
        Ok(range.map(|range| VersionTerms { from: "".into(), range }))
    }

    /// Returns the common prefix of the terms.
    pub fn from(&self) -> &str {
        &self.from
    }

    /// True if any of the terms, which must have the common prefix, has a version in the range.
    pub fn has_any<'t>(&self, terms: impl Iterator<Item = &'t str>) -> bool {
        let versions = terms.take(MOST_VERSIONS).filter_map(|term| term.strip_prefix(&*self.from));
        versions.filter_map(semantic_version).any(|version| self.range.contains(&version))
    }
}

/// True if text begins as a range does and not as the domain of an address may, such as 163.com.
fn is_meant_as_range(text: &str) -> bool {
    let text = text.trim();
    let is_letters = |label: &str| !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_domain =
        text.rsplit_once('.').is_some_and(|(rest, top)| !rest.contains(char::is_whitespace) && is_letters(top));
    let is_number = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
    text.starts_with(['<', '>', '=', '~', '^', '*', '|'])
        || (!is_domain && is_number(text.strip_prefix('v').unwrap_or(text)))
}

/// Matching versions, each with its terms.
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

    /// Adds the versions of another lookup.
    pub fn extend(&mut self, other: Versions) {
        for (version, terms) in other.terms {
            terms.into_iter().for_each(|term| self.add(version.clone(), term));
        }
    }

    /// Returns all terms.
    pub fn terms(&self) -> impl Iterator<Item = &Term> {
        self.terms.values().flatten()
    }

    /// Returns the rank of the highest version of each document of a segment; 0 is the lowest.
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

    fn read(value: &str) -> Option<(&str, Range)> {
        Ranged::read(value).unwrap().map(|ranged| (ranged.name, ranged.range))
    }

    #[test]
    fn a_range_begins_after_the_last_at() {
        assert_eq!(read("billing@^1.2"), Some(("billing", Range::parse("^1.2").unwrap())));
        assert_eq!(read("@scope/billing@>=1 <2 || 3.x").map(|(name, _)| name), Some("@scope/billing"));
        for literal in
            ["billing", "me@example.com", "me@163.com", "me@1und1.de", "billing@latest", "@^1", "@", "@scope/billing"]
        {
            assert_eq!(read(literal), None, "{literal}");
        }
    }

    #[test]
    fn what_is_meant_as_a_range_and_is_none_is_refused() {
        for range in [">=1.2.0,<2", ">=1, <3", "1.0.0, 2.5.0", ">1 <", "^1 beta", "^^1", "1.2.3.4", "01.2.3", "||foo"] {
            let Err(Error::InvalidQuery { message }) = Ranged::read(&format!("billing@{range}")) else {
                panic!("{range} is read");
            };
            assert!(message.contains(">=1 <3"), "{message}");
        }
        let long = format!("billing@{}", ">=1 ".repeat(20_000));
        assert!(matches!(Ranged::read(&long), Err(Error::InvalidQuery { .. })));
    }
}
