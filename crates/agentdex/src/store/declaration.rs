//! Declarations of a record, each with a text and an original. The declarer is the record itself or a document.

use std::cmp::Ordering;

use semver::Version;

use super::{
    layout::corrupt,
    sum::Digest,
    text_access::TextAccess,
    value::{Reader, StoredRecord, put_bytes},
};
use crate::{Result, access::Access, change::Seq, td::internal::thing_version};

/// Maximum number of versions of a record per declarer.
pub(super) const MOST_VERSIONS: usize = 20;

/// The tag of the [`TextAccess`] among the members of a declaration.
const ACCESS: u8 = 1;

/// Declarer of a record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Declarer {
    /// The record itself: it was registered, or imported as the first Thing of a document.
    Itself,
    /// The document of another Thing, of which the record is a part. Contains the id of that Thing.
    Document(String),
}

/// A declaration of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// Declarer of the record.
    pub by: Declarer,
    /// Version, if the record has several versions or a named version.
    pub version: Option<String>,
    /// Position under which the text and the original are stored.
    pub base: Seq,
    /// Format of the original.
    pub format: Option<String>,
    pub(super) text: Digest,
    pub(super) original: Option<Digest>,
    /// The access of its text and its original; `None` if it is that of the record.
    pub(super) access: Option<TextAccess>,
    /// Members that this version doesn't know, encoded. They stay with the declaration.
    pub(super) unknown: Vec<u8>,
}

/// Declarations of a record, the served one first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Declarations(pub Vec<Declaration>);

impl Declaration {
    /// Returns the id of the document's Thing if the declarer is a document.
    pub(super) fn document(&self) -> Option<&str> {
        match &self.by {
            Declarer::Itself => None,
            Declarer::Document(document) => Some(document),
        }
    }

    /// Compares by version. Declarations without a version, or with a version that can't be compared, come below all
    /// others, in order of arrival.
    pub(super) fn compare(&self, other: &Declaration) -> Ordering {
        let key = |declaration: &Declaration| (declaration.number(), declaration.base);
        key(self).cmp(&key(other))
    }

    fn number(&self) -> Option<Version> {
        self.version.as_deref().and_then(thing_version)
    }

    /// Returns the access to the text and its original, given the access to the record.
    pub fn access(&self, of_record: &Access) -> TextAccess {
        self.access.clone().unwrap_or_else(|| of_record.clone().into())
    }

    /// Sets the access of its text and its original, in a record with the access `of_record`.
    pub(super) fn set_access(&mut self, access: TextAccess, of_record: &Access) {
        self.access = Some(access).filter(|access| !access.also.is_empty() || access.access != *of_record);
    }

    fn is(&self, by: &Declarer, version: Option<&str>) -> bool {
        self.by == *by && self.version.as_deref() == version
    }
}

impl Declarations {
    pub fn decode(bytes: &[u8]) -> Result<Declarations> {
        Declarations::decode_with(bytes, true)
    }

    /// Decodes declarations of format 4, which contain no access.
    pub fn decode_format_4(bytes: &[u8]) -> Result<Declarations> {
        Declarations::decode_with(bytes, false)
    }

    fn decode_with(bytes: &[u8], has_members: bool) -> Result<Declarations> {
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
            let (access, unknown) = if has_members { decode_members(reader.block()?)? } else { (None, Vec::new()) };
            declarations.push(Declaration { by, version, base, format, text, original, access, unknown });
        }
        Ok(Declarations(declarations))
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for Declaration { by, version, base, format, text, original, access, unknown } in &self.0 {
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
            put_bytes(&mut bytes, &encode_members(access.as_ref(), unknown));
        }
        bytes
    }

    pub fn find(&self, by: &Declarer, version: Option<&str>) -> Option<&Declaration> {
        self.0.iter().find(|declaration| declaration.is(by, version))
    }

    /// Removes and returns the declarations of a declarer: those of a version, or all of them if `version` is `None`.
    /// `Some(None)` selects the unnamed version.
    pub fn release(&mut self, by: &Declarer, version: Option<Option<&str>>) -> Vec<Declaration> {
        let is_released =
            |declaration: &mut Declaration| declaration.by == *by && version.is_none_or(|v| declaration.is(by, v));
        self.0.extract_if(.., is_released).collect()
    }

    /// Moves the best declaration that may be served to the front. If no declaration may be served, moves the best of
    /// all.
    pub fn choose(&mut self, may_be_served: impl Fn(&Declaration) -> Result<bool>) -> Result<()> {
        let may_be_served: Vec<bool> = self.0.iter().map(may_be_served).collect::<Result<_>>()?;
        let best = (0..self.0.len()).max_by(|one, other| match (self.0.get(*one), self.0.get(*other)) {
            (Some(first), Some(second)) => {
                may_be_served.get(*one).cmp(&may_be_served.get(*other)).then_with(|| first.compare(second))
            }
            _ => Ordering::Equal,
        });
        if let Some(best) = best {
            let best = self.0.remove(best);
            self.0.insert(0, best);
        }
        Ok(())
    }

    /// Returns the ids of the documents that declare the record, ascending and distinct.
    pub fn documents(&self) -> Vec<&str> {
        let mut documents: Vec<&str> = self.0.iter().filter_map(Declaration::document).collect();
        documents.sort_unstable();
        documents.dedup();
        documents
    }

    /// True if edits by hand are stored on top of the served declaration, because it has an original or is part of a
    /// document. Otherwise edits replace the text.
    pub fn take_edits(&self) -> bool {
        self.is_part() || self.0.first().is_some_and(|served| served.original.is_some())
    }

    /// True if the record is declared only by documents.
    pub fn is_part(&self) -> bool {
        self.0.iter().all(|declaration| declaration.by != Declarer::Itself)
    }

    /// True if the declarations need not be stored: the record declares itself with the served text.
    pub fn are_implied(&self, served: Seq) -> bool {
        let [only] = self.0.as_slice() else { return false };
        only.is(&Declarer::Itself, None) && only.base == served && only.access.is_none() && only.unknown.is_empty()
    }
}

fn encode_members(access: Option<&TextAccess>, unknown: &[u8]) -> Vec<u8> {
    let mut members = Vec::new();
    if let Some(access) = access {
        members.push(ACCESS);
        put_bytes(&mut members, &access.encode());
    }
    members.extend_from_slice(unknown);
    members
}

/// The access among the members of a declaration, and those that this version doesn't know.
fn decode_members(members: &[u8]) -> Result<(Option<TextAccess>, Vec<u8>)> {
    let (mut reader, mut access, mut unknown) = (Reader(members), None, Vec::new());
    while !reader.0.is_empty() {
        match (reader.u8()?, reader.block()?) {
            (ACCESS, block) => access = Some(TextAccess::decode(block)?),
            (tag, block) => {
                unknown.push(tag);
                put_bytes(&mut unknown, block);
            }
        }
    }
    Ok((access, unknown))
}

impl StoredRecord<'_> {
    /// Returns the declarations, the served declaration first.
    pub fn declared(&self) -> Result<Declarations> {
        if !self.declarations.is_empty() {
            return Declarations::decode(self.declarations);
        }
        let (by, format) = (Declarer::Itself, self.format.map(str::to_owned));
        let (base, text, original) = (self.seq, self.text, self.original);
        let unknown = Vec::new();
        Ok(Declarations(vec![Declaration { by, version: None, base, format, text, original, access: None, unknown }]))
    }

    /// Returns the position under which the original is stored.
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
    use crate::access::Visibility;

    fn declaration(by: Declarer, version: Option<&str>, base: u64) -> Declaration {
        let version = version.map(str::to_owned);
        let original = base.is_multiple_of(2).then(|| Digest::of(b"original"));
        let format = original.map(|_| "a2a".to_owned());
        let (access, unknown) = (None, Vec::new());
        Declaration { by, version, base: Seq(base), format, text: Digest::of(b"text"), original, access, unknown }
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
    fn access_and_members_of_later_versions_stay_with_a_declaration() {
        let access = TextAccess::from(Access { visibility: Visibility::Private, ..Access::default() });
        let unknown = [&[9, 0, 0, 0, 2][..], b"ab", &[12, 0, 0, 0, 0]].concat();
        for unknown in [Vec::new(), unknown] {
            for access in [None, Some(access.clone())] {
                let (access, unknown) = (access, unknown.clone());
                let one = Declaration { access, unknown, ..declaration(Declarer::Itself, None, 3) };
                let written = Declarations(vec![one, declaration(Declarer::Itself, Some("1.0.0"), 4)]);
                assert_eq!(Declarations::decode(&written.encode()).unwrap(), written);
            }
        }
    }

    #[test]
    fn the_highest_version_is_the_best_and_what_is_none_comes_below() {
        let order = [
            None,
            Some("beta"),
            Some("0.9.0"),
            Some("1.0.0-rc.1"),
            Some("1.0.0"),
            Some("v1.10.0"),
            Some("2"),
            Some("2.1"),
        ];
        for (place, version) in order.iter().enumerate() {
            for below in &order[..place] {
                let mut both = Declarations(vec![
                    declaration(Declarer::Itself, *below, if version.is_none() { 1 } else { 3 }),
                    declaration(Declarer::Itself, *version, 7),
                ]);
                both.choose(|_| Ok(true)).unwrap();
                assert_eq!(both.0[0].version.as_deref(), *version, "{below:?} {version:?}");
            }
        }
        let mut documents = Declarations(vec![
            declaration(Declarer::Document("a".into()), Some("2.0.0"), 1),
            declaration(Declarer::Document("b".into()), Some("1.0.0"), 2),
        ]);
        documents.choose(|declaration| Ok(declaration.base == Seq(2))).unwrap();
        assert_eq!(documents.0[0].base, Seq(2), "what may be served comes before what is newer");
    }
}
