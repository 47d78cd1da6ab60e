//! Versions of a Thing: its registered or imported description in each version, without edits.

use super::{Registry, Thing};
use crate::{
    Error, Result,
    access::Visibility,
    change::Seq,
    search::choose_version,
    store::{DeclaredTexts, Declarer, Original, Record, version_of},
    td::{self, internal::thing_version},
};

/// A version of a Thing.
#[derive(Debug, Clone)]
pub struct ThingVersion {
    /// Version, or `None` for a description without a version.
    pub version: Option<String>,
    /// True for the version that is served if a request names none.
    pub is_served: bool,
    /// Position at which the version was stored, on which its ETag is based.
    pub seq: Seq,
    /// Format from which the version was converted, or `None` for a Thing Description.
    pub format: Option<String>,
    /// Id of the document that declares this version as a part, or `None` if the version was imported or registered on
    /// its own.
    pub document: Option<String>,
    /// Visibility of the version, if it is narrower than that of the Thing and the caller may change the Thing.
    pub visibility: Option<Visibility>,
    /// False for a version of a former owner, which the caller may remove but not read. Its text is empty.
    pub is_readable: bool,
    pub(super) text: String,
    pub(super) original: Option<Original>,
}

impl Registry {
    /// Returns the versions of a Thing, the served version first.
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

    /// Returns a version of a Thing, without edits. `range` is a version, an npm range (its highest version), or
    /// `latest`. [`Thing::seq`] of the result is the position at which the version was stored.
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

    /// Returns the version selected by a range.
    pub(super) fn version(&self, id: &str, range: &str) -> Result<ThingVersion> {
        let mut versions = self.versions(id)?;
        versions.retain(|version| version.is_readable);
        // A higher one may be hidden from some of those who see the Thing.
        let is_served = versions.first().is_some_and(|version| version.is_served);
        if range == "latest" && is_served {
            return Ok(versions.swap_remove(0));
        }
        let names: Vec<&str> = versions.iter().filter_map(|version| version.version.as_deref()).collect();
        // What is no range is the name of no version.
        let chosen = choose_version(range, &names).unwrap_or_default().map(str::to_owned);
        let found = versions.into_iter().find(|version| chosen.is_some() && version.version == chosen);
        found.ok_or_else(|| Error::NoSuchVersion { id: id.to_owned(), version: range.to_owned() })
    }

    /// Returns the versions visible to the caller, or all versions if the caller may change the Thing. If the text on
    /// which edits are based is hidden, the served text takes its place.
    fn seen_versions(&self, record: &Record, declared: DeclaredTexts) -> Result<Vec<ThingVersion>> {
        let (grants, may_change) = (self.grants(), record.access.lets_change(&self.1));
        let mut versions = Vec::new();
        for (number, (declaration, text, original)) in declared.declarations.into_iter().enumerate() {
            let document = match &declaration.by {
                Declarer::Itself => None,
                Declarer::Document(document) => Some(document.clone()),
            };
            let is_served = number == 0;
            if let Some(document) = &document
                && !may_change
                && self.find_record(document)?.is_none()
            {
                continue;
            }
            let own = declaration.access(&record.access);
            let is_shown = grants.as_ref().is_none_or(|grants| own.admits(grants));
            if !is_shown && !is_served && !may_change {
                continue;
            }
            let visibility = Some(own.access.visibility).filter(|_| may_change && own != record.access.clone().into());
            let (text, original, seq) = match is_shown {
                true => (text, original, declaration.base),
                false if is_served => {
                    (record.text.clone(), None, if may_change { declaration.base } else { record.seq })
                }
                false => (String::new(), None, declaration.base),
            };
            // That of a text that isn't shown would be one of its words.
            let named = declaration.version.filter(|_| is_shown || may_change);
            versions.push(ThingVersion {
                version: named.or_else(|| version_of(&text)),
                is_served,
                seq,
                format: declaration.format,
                document,
                visibility,
                is_readable: is_shown || is_served,
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
    /// Returns the description in this version, without edits.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the document from which the version was converted, or `None` if there is none, or it is hidden from the
    /// caller.
    pub fn original(&self) -> Option<&Original> {
        self.original.as_ref()
    }

    fn compare(&self, other: &ThingVersion) -> std::cmp::Ordering {
        let key = |version: &ThingVersion| (version.version.as_deref().and_then(thing_version), version.seq);
        key(self).cmp(&key(other))
    }
}
