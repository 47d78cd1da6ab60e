//! Versions of a Thing side by side: what it was registered or imported as in each, without edits.

use super::{Registry, Thing};
use crate::{
    Error, Result,
    change::Seq,
    search::choose_version,
    store::{DeclaredTexts, Declarer, Original, Record, version_of},
    td::{self, internal::semantic_version},
};

/// A version of a Thing.
#[derive(Debug, Clone)]
pub struct ThingVersion {
    /// The version; none of what names none.
    pub version: Option<String>,
    /// True of the one that everybody gets who asks for none.
    pub is_served: bool,
    /// The position that it was stored at: what its ETag is made of.
    pub seq: Seq,
    /// The format that it was converted from.
    pub format: Option<String>,
    /// The Thing of the document that declares it as a part.
    pub document: Option<String>,
    pub(super) text: String,
    pub(super) original: Option<Original>,
}

impl Registry {
    /// The versions of a Thing, the served one first; none where there is no such Thing.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = agentdex::Registry::open(directory.path())?;
    /// use agentdex::{registry::Write, td::Description};
    ///
    /// let tides = |version: &str| Description::new("Tide agent").id("urn:example:tides").version(version);
    /// for version in ["2.0.0", "1.0.0"] {
    ///     registry.write_blocking(Write::put(tides(version)).version(version))?;
    /// }
    /// let versions = registry.versions("urn:example:tides")?;
    /// let names: Vec<_> = versions.iter().filter_map(|version| version.version.as_deref()).collect();
    /// assert_eq!(names, ["2.0.0", "1.0.0"]);
    /// assert!(registry.find_version("urn:example:tides", "^1")?.text().contains("1.0.0"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::InvalidId`], [`Error::Store`].
    pub fn versions(&self, id: &str) -> Result<Vec<ThingVersion>> {
        let id = td::normalize_id(id)?;
        let not_found = || Error::NotFound { id: id.clone().into_owned() };
        let record = self.find_record(&id)?.ok_or_else(not_found)?;
        let declared = self.0.store.declared(&id)?.ok_or_else(not_found)?;
        self.seen_versions(&record, declared)
    }

    /// A Thing in a version: the one that is named, the highest in a range as npm writes it, or the `latest`. Without edits;
    /// its seq is that of the version.
    ///
    /// # Errors
    /// [`Error::NoSuchVersion`], [`Error::NotFound`], [`Error::InvalidId`], [`Error::Store`].
    pub fn find_version(&self, id: &str, range: &str) -> Result<Thing> {
        let id = td::normalize_id(id)?;
        let version = self.version(&id, range)?;
        let record = self.find_record(&id)?.ok_or_else(|| Error::NotFound { id: id.clone().into_owned() })?;
        let record = Record { text: version.text, seq: version.seq, format: version.format, ..record };
        Ok(Thing::new(record, &self.0.flags))
    }

    /// The version that a range means.
    pub(super) fn version(&self, id: &str, range: &str) -> Result<ThingVersion> {
        let versions = self.versions(id)?;
        let names: Vec<&str> = versions.iter().filter_map(|version| version.version.as_deref()).collect();
        // What is no range is the name of no version.
        let chosen = choose_version(range, &names).unwrap_or_default().map(str::to_owned);
        // What names no version has one, which is the latest.
        let is_latest = |version: &ThingVersion| range == "latest" && version.is_served && chosen.is_none();
        let is_chosen = |version: &ThingVersion| chosen.is_some() && version.version == chosen;
        let found = versions.into_iter().find(|version| is_chosen(version) || is_latest(version));
        found.ok_or_else(|| Error::NoSuchVersion { id: id.to_owned(), version: range.to_owned() })
    }

    /// The versions that the caller sees. Of a part those of documents that fewer see are its owner's business.
    fn seen_versions(&self, record: &Record, declared: DeclaredTexts) -> Result<Vec<ThingVersion>> {
        let is_own = record.access.lets_change(&self.1);
        let mut versions = Vec::new();
        for (number, (declaration, text, original)) in declared.declarations.into_iter().enumerate() {
            let document = match &declaration.by {
                Declarer::Itself => None,
                Declarer::Document(document) => Some(document.clone()),
            };
            if let Some(document) = &document
                && !is_own
                && self.0.store.find(document)?.is_none_or(|document| document.access != record.access)
            {
                continue;
            }
            let version = declaration.version.clone().or_else(|| version_of(&text));
            versions.push(ThingVersion {
                version,
                is_served: number == 0,
                seq: declaration.base,
                format: declaration.format,
                document,
                text,
                original,
            });
        }
        if let Some((_, others)) = versions.split_first_mut() {
            others.sort_by(|one, other| other.compare(one));
        }
        Ok(versions)
    }
}

impl ThingVersion {
    /// The description in this version, without edits.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The document that it was converted from.
    pub fn original(&self) -> Option<&Original> {
        self.original.as_ref()
    }

    fn compare(&self, other: &ThingVersion) -> std::cmp::Ordering {
        let key = |version: &ThingVersion| (version.version.as_deref().and_then(semantic_version), version.seq);
        key(self).cmp(&key(other))
    }
}
