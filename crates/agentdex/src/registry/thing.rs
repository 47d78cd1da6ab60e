//! A registered Thing: its stored form, and metadata of the registry.

use std::sync::Arc;

use super::followers::SharedFlags;
use crate::{
    Result,
    access::{Access, Grants},
    change::{Seq, Timestamp},
    store::{Expiry, Record, Records},
    td::{self, Flag, Notes, Registration},
};

/// A registered Thing.
#[derive(Debug, Clone)]
pub struct Thing {
    record: Record,
    flags: Box<[Flag]>,
}

impl Thing {
    pub(super) fn new(record: Record, flags: &SharedFlags) -> Thing {
        Thing { flags: flags.of(&record.id).into(), record }
    }

    /// Returns the id.
    pub fn id(&self) -> &str {
        &self.record.id
    }

    /// Returns the position of the last change, on which the ETag is based.
    pub fn seq(&self) -> Seq {
        self.record.seq
    }

    /// Returns the stored form: the registered document with fixes, without `registration`.
    pub fn text(&self) -> &str {
        &self.record.text
    }

    /// Returns the format from which the Thing was converted, or `None` for a Thing Description.
    pub fn format(&self) -> Option<&str> {
        self.record.format.as_deref()
    }

    /// Returns the owner and visibility.
    pub fn access(&self) -> &Access {
        &self.record.access
    }

    /// Returns the expiry.
    pub fn expiry(&self) -> Expiry {
        self.record.expiry
    }

    /// Returns the time of creation.
    pub fn created(&self) -> Timestamp {
        self.record.created
    }

    /// Returns the time of the last change of the description.
    pub fn modified(&self) -> Timestamp {
        self.record.modified
    }

    /// Returns the flags of potentially deceptive texts, of credentials, and of a name that is easily mistaken for that
    /// of another agent. Flags are updated shortly after a change.
    pub fn flags(&self) -> &[Flag] {
        &self.flags
    }

    /// Returns the `registration` member of the enriched Thing Description: times of creation, change, expiry, and
    /// retrieval.
    pub fn registration(&self, retrieved: Timestamp) -> Registration {
        Registration {
            created: self.record.created,
            modified: self.record.modified,
            expires: self.record.expiry.expires,
            ttl: self.record.expiry.ttl,
            retrieved: Some(retrieved),
        }
    }

    /// Returns the enriched Thing Description (WoT Discovery, section 7.3.1): the stored form with `registration`,
    /// retrieved now.
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
    /// let thing = registry.find("urn:example:weather")?.expect("it was registered");
    /// assert!(!thing.text().contains("registration"));
    /// assert!(thing.enriched().contains("\"registration\":{\"created\":"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn enriched(&self) -> String {
        let notes = Notes { flags: &self.flags, part_of: &self.record.part_of };
        td::enrich(&self.record.text, &self.registration(Timestamp::now()), notes)
    }

    /// Returns the ids of the documents that declare the Thing as a part, as far as the caller can see them.
    pub fn part_of(&self) -> &[String] {
        &self.record.part_of
    }

    /// True if the Thing was imported, and edited since.
    pub fn is_edited(&self) -> bool {
        self.record.is_edited
    }
}

/// Iterator over Things, created by [`super::Registry::list`].
pub struct Things {
    records: Records,
    /// Grants of the reader, or `None` if it sees everything.
    grants: Option<Arc<Grants>>,
    flags: Arc<SharedFlags>,
}

impl Things {
    pub(super) fn new(records: Records, grants: Option<Arc<Grants>>, flags: Arc<SharedFlags>) -> Things {
        Things { records, grants, flags }
    }
}

impl Things {
    /// Returns the next few Things as a separate iterator, so that another thread can read their texts, or `None` at
    /// the end.
    pub(super) fn take_chunk(&mut self) -> Result<Option<Things>> {
        let (grants, flags) = (self.grants.clone(), self.flags.clone());
        Ok(self.records.take_chunk()?.map(|records| Things { records, grants, flags }))
    }
}

impl Iterator for Things {
    type Item = Result<Thing>;

    fn next(&mut self) -> Option<Self::Item> {
        let is_seen = |record: &Record| {
            record.access.is_public() || self.grants.as_ref().is_none_or(|grants| grants.see(&record.access))
        };
        let next = self.records.find(|record| record.as_ref().map_or(true, is_seen))?;
        Some(next.map(|mut record| {
            if let Some(grants) = &self.grants {
                record.part_of.retain(|document| self.records.is_seen(document, grants));
            }
            Thing::new(record, &self.flags)
        }))
    }
}
