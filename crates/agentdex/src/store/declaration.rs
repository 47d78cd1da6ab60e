//! Declarations: who says that a record is there, each with the text and the original that it brought.

use std::cmp::Ordering;

use semver::Version;

use super::{
    layout::corrupt,
    sum::Digest,
    value::{Reader, StoredRecord, put_bytes},
};
use crate::{Result, change::Seq, td::internal::semantic_version};

/// The most versions of one record by one who declares it.
pub(super) const MOST_VERSIONS: usize = 20;

/// The one who declares a record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Declarer {
    /// The record itself: it was registered, or imported as the first Thing of a document.
    Itself,
    /// The document of another Thing, of which it is a part; by the id of that Thing.
    Document(String),
}

/// A declaration of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// The declarer.
    pub by: Declarer,
    /// The version, of what has several or was given one.
    pub version: Option<String>,
    /// The seq that its text and its original lie under.
    pub base: Seq,
    /// The format of its original.
    pub format: Option<String>,
    pub(super) text: Digest,
    pub(super) original: Option<Digest>,
}

/// The declarations of a record; the first is the one that is served.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Declarations(pub Vec<Declaration>);

impl Declaration {
    /// The id of the Thing of the document, where one declares it.
    pub(super) fn document(&self) -> Option<&str> {
        match &self.by {
            Declarer::Itself => None,
            Declarer::Document(document) => Some(document),
        }
    }

    /// By version, and what is of no version, or of none that can be compared, below all others by arrival.
    pub(super) fn compare(&self, other: &Declaration) -> Ordering {
        let key = |declaration: &Declaration| (declaration.number(), declaration.base);
        key(self).cmp(&key(other))
    }

    fn number(&self) -> Option<Version> {
        self.version.as_deref().and_then(semantic_version)
    }

    fn is(&self, by: &Declarer, version: Option<&str>) -> bool {
        self.by == *by && self.version.as_deref() == version
    }
}

impl Declarations {
    pub fn decode(bytes: &[u8]) -> Result<Declarations> {
        let (mut reader, mut declarations) = (Reader(bytes), Vec::new());
        while !reader.0.is_empty() {
            let by = match reader.string()? {
                "" => Declarer::Itself,
                document => Declarer::Document(document.to_owned()),
            };
            let version = reader.optional_string()?.map(str::to_owned);
            let (base, text) = (Seq(reader.u64()?), Digest(reader.chunk()?));
            let original = match reader.u8()? {
                0 => None,
                1 => Some(Digest(reader.chunk()?)),
                _ => return Err(corrupt()),
            };
            let format = reader.optional_string()?.map(str::to_owned);
            declarations.push(Declaration { by, version, base, format, text, original });
        }
        Ok(Declarations(declarations))
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for Declaration { by, version, base, format, text, original } in &self.0 {
            let by = match by {
                Declarer::Itself => "",
                Declarer::Document(document) => document,
            };
            put_bytes(&mut bytes, by.as_bytes());
            put_bytes(&mut bytes, version.as_deref().unwrap_or_default().as_bytes());
            bytes.extend_from_slice(&base.0.to_be_bytes());
            bytes.extend_from_slice(&text.0);
            bytes.push(u8::from(original.is_some()));
            bytes.extend(original.iter().flat_map(|digest| digest.0));
            put_bytes(&mut bytes, format.as_deref().unwrap_or_default().as_bytes());
        }
        bytes
    }

    pub fn find(&self, by: &Declarer, version: Option<&str>) -> Option<&Declaration> {
        self.0.iter().find(|declaration| declaration.is(by, version))
    }

    /// Takes those out that are by somebody: of one version, or of all.
    pub fn release(&mut self, by: &Declarer, version: Option<Option<&str>>) -> Vec<Declaration> {
        let is_released =
            |declaration: &mut Declaration| declaration.by == *by && version.is_none_or(|v| declaration.is(by, v));
        self.0.extract_if(.., is_released).collect()
    }

    /// Puts the best of those first that may be served.
    pub fn choose(&mut self, may_be_served: impl Fn(&Declaration) -> bool) {
        let best = (0..self.0.len()).max_by(|one, other| match (self.0.get(*one), self.0.get(*other)) {
            (Some(one), Some(other)) => may_be_served(one).cmp(&may_be_served(other)).then_with(|| one.compare(other)),
            _ => Ordering::Equal,
        });
        if let Some(best) = best {
            let best = self.0.remove(best);
            self.0.insert(0, best);
        }
    }

    /// The documents that it is a part of, ascending, without repeats.
    pub fn documents(&self) -> Vec<&str> {
        let mut documents: Vec<&str> = self.0.iter().filter_map(Declaration::document).collect();
        documents.sort_unstable();
        documents.dedup();
        documents
    }

    /// True where documents alone declare it.
    pub fn is_part(&self) -> bool {
        self.0.iter().all(|declaration| declaration.by != Declarer::Itself)
    }

    /// True for what needn't be said of a record: that it declares itself, with what is served.
    pub fn are_implied(&self, served: Seq) -> bool {
        matches!(&*self.0, [Declaration { by: Declarer::Itself, version: None, base, .. }] if *base == served)
    }
}

impl StoredRecord<'_> {
    /// Its declarations, the served one first.
    pub fn declared(&self) -> Result<Declarations> {
        if !self.declarations.is_empty() {
            return Declarations::decode(self.declarations);
        }
        let (by, format) = (Declarer::Itself, self.format.map(str::to_owned));
        let itself =
            Declaration { by, version: None, base: self.seq, format, text: self.text, original: self.original };
        Ok(Declarations(vec![itself]))
    }

    /// The seq that its original lies under.
    pub fn base(&self) -> Result<Seq> {
        if self.declarations.is_empty() {
            return Ok(self.seq);
        }
        Ok(self.declared()?.0.first().map_or(self.seq, |served| served.base))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declaration(by: Declarer, version: Option<&str>, base: u64) -> Declaration {
        let version = version.map(str::to_owned);
        let original = base.is_multiple_of(2).then(|| Digest::of(b"original"));
        let format = original.map(|_| "a2a".to_owned());
        Declaration { by, version, base: Seq(base), format, text: Digest::of(b"text"), original }
    }

    #[test]
    fn declarations_are_read_as_they_were_written() {
        let written = Declarations(vec![
            declaration(Declarer::Itself, Some("1.0.0"), 4),
            declaration(Declarer::Document("urn:ä".into()), None, 5),
        ]);
        assert_eq!(Declarations::decode(&written.encode()).unwrap(), written);
        assert!(Declarations::decode(&written.encode()[1..]).is_err());
    }

    #[test]
    fn the_highest_version_is_the_best_and_what_is_none_comes_below() {
        let order = [None, Some("beta"), Some("0.9.0"), Some("1.0.0-rc.1"), Some("1.0.0"), Some("v1.10.0")];
        for (place, version) in order.iter().enumerate() {
            for below in &order[..place] {
                let mut both = Declarations(vec![
                    declaration(Declarer::Itself, *below, if version.is_none() { 1 } else { 3 }),
                    declaration(Declarer::Itself, *version, 7),
                ]);
                both.choose(|_| true);
                assert_eq!(both.0[0].version.as_deref(), *version, "{below:?} {version:?}");
            }
        }
        let mut documents = Declarations(vec![
            declaration(Declarer::Document("a".into()), Some("2.0.0"), 1),
            declaration(Declarer::Document("b".into()), Some("1.0.0"), 2),
        ]);
        documents.choose(|declaration| declaration.base == Seq(2));
        assert_eq!(documents.0[0].base, Seq(2), "what may be served comes before what is newer");
    }
}
