//! A Thing as it is read: the stored form and what the registry knows about it.

use std::sync::Arc;

use crate::{
    Result,
    access::{Access, Grants},
    change::{Seq, Timestamp},
    store::{Expiry, Record, Records},
    td::{self, Registration},
};

/// A registered Thing.
#[derive(Debug, Clone)]
pub struct Thing {
    record: Record,
}

impl Thing {
    /// Its id.
    pub fn id(&self) -> &str {
        &self.record.id
    }

    /// Its last change; what its ETag is made of.
    pub fn seq(&self) -> Seq {
        self.record.seq
    }

    /// The stored form: the document as it came, but for what was fixed, without `registration`.
    pub fn text(&self) -> &str {
        &self.record.text
    }

    /// The format it was converted from; none if it came as a TD.
    pub fn format(&self) -> Option<&str> {
        self.record.format.as_deref()
    }

    /// Whose it is, and who sees it.
    pub fn access(&self) -> &Access {
        &self.record.access
    }

    /// When it expires.
    pub fn expiry(&self) -> Expiry {
        self.record.expiry
    }

    /// When its description was last changed.
    pub fn modified(&self) -> Timestamp {
        self.record.modified
    }

    /// What the registry knows of it: the `registration` member of the enriched TD.
    pub fn registration(&self, retrieved: Timestamp) -> Registration {
        Registration {
            created: self.record.created,
            modified: self.record.modified,
            expires: self.record.expiry.expires,
            ttl: self.record.expiry.ttl,
            retrieved: Some(retrieved),
        }
    }

    /// The enriched TD (WoT Discovery, section 7.3.1): the stored form with `registration`, read now.
    pub fn enriched(&self) -> String {
        td::enrich(&self.record.text, &self.registration(Timestamp::now()))
    }
}

impl From<Record> for Thing {
    fn from(record: Record) -> Thing {
        Thing { record }
    }
}

/// Iterates over Things; made by [`super::Registry::list`].
pub struct Things {
    records: Records,
    /// What is seen beside what is public; none: everything.
    sight: Option<Arc<Grants>>,
}

impl Things {
    pub(super) fn new(records: Records, sight: Option<Arc<Grants>>) -> Things {
        Things { records, sight }
    }
}

impl Things {
    #[cfg(feature = "jsonpath")]
    /// The next few Things as an iterator of their own, so that another thread can read their texts; none after the
    /// last.
    pub(super) fn take_chunk(&mut self) -> Result<Option<Things>> {
        let sight = self.sight.clone();
        Ok(self.records.take_chunk()?.map(|records| Things { records, sight }))
    }
}

impl Iterator for Things {
    type Item = Result<Thing>;

    fn next(&mut self) -> Option<Self::Item> {
        let is_seen = |record: &Record| self.sight.as_ref().is_none_or(|grants| grants.see(&record.access));
        let next = self.records.find(|record| record.as_ref().map_or(true, is_seen))?;
        Some(next.map(Thing::from))
    }
}
