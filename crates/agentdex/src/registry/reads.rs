//! Reads of Things and changes, as far as the caller sees them.

use std::{borrow::Cow, sync::Arc};

use super::{Redaction, Registry, Thing, Things, presence::Presence};
#[cfg(doc)]
use crate::Error;
use crate::{
    Result,
    change::{Change, Seq, Timestamp},
    convert::Credentials,
    store::LoggedChange,
    store::{Logged, Original, Part, Record},
    td::{self, Document, Json, Report},
};

/// Changes of the log that are visible to the caller.
#[derive(Debug, Clone)]
pub struct Changes {
    /// Changes in ascending order, without omissions.
    pub changes: Vec<Arc<LoggedChange>>,
    /// Durable end of the log at the time of reading.
    pub last: Seq,
    /// Position of the oldest entry of the log; a position beyond `last` if the log is empty.
    pub oldest: Seq,
    /// True if entries after the requested position are gone, or the position is beyond the end. The reader has to
    /// resync.
    pub truncated: bool,
}

impl Registry {
    /// Returns the Thing with the given id, or `None` if it doesn't exist, has expired, or is hidden from the caller.
    /// The id is normalized by [`td::normalize_id`].
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
    /// let thing = registry.find("urn:example:weather")?.expect("it was registered");
    /// assert!(thing.text().contains("forecast"));
    /// assert!(registry.find("urn:example:nobody")?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidId`], [`Error::LimitExceeded`], [`Error::Store`].
    pub fn find(&self, id: &str) -> Result<Option<Thing>> {
        let id = self.stored_id(id)?;
        Ok(self.find_record(&id)?.map(|record| Thing::new(record, &self.0.flags)))
    }

    /// Returns an id in its stored form. Ids stored by earlier versions may differ from their normal form.
    pub(super) fn stored_id<'i>(&self, id: &'i str) -> Result<Cow<'i, str>> {
        let normal = td::normalize_id(id)?;
        let is_stored = normal != id && self.0.store.find(id)?.is_some();
        Ok(if is_stored { id.into() } else { normal })
    }

    /// Returns the record with the given id, if it is visible to the caller.
    pub(super) fn find_record(&self, id: &str) -> Result<Option<Record>> {
        let record = self.0.store.find(id)?;
        let sight = record.as_ref().and_then(|record| (!record.access.is_public()).then(|| self.grants()).flatten());
        let record = record.filter(|record| sight.is_none_or(|grants| grants.see(&record.access)));
        Ok(record.map(|mut record| {
            record.part_of.retain(|document| self.sees(document));
            record
        }))
    }

    /// Returns an iterator over the Things visible to the caller, in ascending order of id. Things are read lazily.
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
    /// registry.register(Description::new("Tide agent").id("urn:example:tides"))?;
    /// let ids: Vec<String> = registry.list().map(|thing| Ok(thing?.id().to_owned())).collect::<agentdex::Result<_>>()?;
    /// assert_eq!(ids, ["urn:example:tides", "urn:example:weather"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list(&self) -> Things {
        self.list_from(None)
    }

    /// Returns an iterator like [`Registry::list`] that begins at the id `start`, or at the first Thing if `start` is
    /// `None`.
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
    /// // A page after the one that ended with this id: nothing is between an id and itself with a zero byte.
    /// let last = "urn:example:weather";
    /// assert_eq!(registry.list_from(Some(&format!("{last}\0"))).count(), 0);
    /// assert_eq!(registry.list_from(Some(last)).count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list_from(&self, start: Option<&str>) -> Things {
        // Also where all are public by now: they are read later.
        Things::new(self.0.store.records(start), self.grants(), self.0.flags.clone())
    }

    /// Returns the number of Things that are visible to the caller.
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
    /// assert_eq!((registry.len(), registry.is_empty()), (1, false));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> u64 {
        let unseen = self.sight().map_or(0, |grants| self.0.store.unseen(&grants));
        self.0.store.len().saturating_sub(unseen)
    }

    /// True if no Things are visible to the caller.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads up to `limit` entries of the log after `since`, and returns the changes in them that are visible to the
    /// caller. An entry about members of a namespace can contain several changes.
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
    /// use agentdex::Seq;
    ///
    /// let read = registry.changes(Seq::ZERO, 100)?;
    /// assert_eq!(read.changes[0].kind.as_str(), "thing_created");
    /// // That was all: the next ones are after this one.
    /// assert_eq!(read.changes[0].seq, read.last);
    /// assert!(registry.changes(read.last, 100)?.changes.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Store`]
    pub fn changes(&self, since: Seq, limit: usize) -> Result<Changes> {
        let Part { entries, last, oldest, truncated } = self.0.store.changes(since, limit)?;
        let presence = Presence::at(since);
        let changes = entries.iter().flat_map(|entry| self.seen(entry, presence)).collect::<Result<_>>()?;
        Ok(Changes { changes, last, oldest, truncated })
    }

    /// Returns up to `limit` unfiltered entries of the log after `since`. Filter them with [`Registry::seen`] before
    /// showing them to a caller.
    ///
    /// # Errors
    /// [`Error::Store`]
    #[doc(hidden)]
    pub fn entries(&self, since: Seq, limit: usize) -> Result<Part> {
        self.0.store.changes(since, limit)
    }

    /// Returns the entry at a position, or `None` if the log has no entry there or no longer retains it.
    ///
    /// # Errors
    /// [`Error::Store`]
    #[doc(hidden)]
    pub fn entry(&self, seq: Seq) -> Result<Option<Logged>> {
        self.0.store.entry(seq)
    }

    /// Returns up to `limit` entries after `since` if they are cached in memory, and an empty list at the end of the
    /// log. Never waits for the disk. Filter the entries with [`Registry::seen`] before showing them to a caller.
    #[doc(hidden)]
    pub fn cached_entries(&self, since: Seq, limit: usize) -> Option<Vec<Logged>> {
        self.0.store.cached_changes(since, limit)
    }

    /// Returns up to `limit` retained changes of a Thing after `since`, oldest first. Also works for removed Things.
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
    /// use agentdex::Seq;
    ///
    /// registry.patch("urn:example:weather", r#"{"description": "Forecasts for every city"}"#)?;
    /// registry.remove("urn:example:weather")?;
    /// let history = registry.history("urn:example:weather", Seq::ZERO, 100)?;
    /// let kinds: Vec<&str> = history.iter().map(|change| change.kind.as_str()).collect();
    /// assert_eq!(kinds, ["thing_created", "thing_updated", "thing_deleted"]);
    /// assert!(history[1].patch.as_ref().is_some_and(|patch| patch.get().contains("every city")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidId`], [`Error::LimitExceeded`], [`Error::Store`].
    pub fn history(&self, id: &str, since: Seq, limit: usize) -> Result<Vec<Change>> {
        self.history_after(id, since, limit, Presence::at(since))
    }

    /// Like [`Registry::history`], for a reader whose `presence` differs from the position `since`.
    ///
    /// # Errors
    /// Same as [`Registry::history`].
    #[doc(hidden)]
    pub fn history_after(&self, id: &str, since: Seq, limit: usize, presence: Presence) -> Result<Vec<Change>> {
        let id = self.stored_id(id)?;
        let seen = self.seen_history(&id, since, limit, presence)?;
        Ok(seen.into_iter().map(|change| Arc::unwrap_or_clone(change).into()).collect())
    }

    /// Returns the document from which a Thing was converted, without later edits. Returns `None` if the Thing doesn't
    /// exist or was registered as a Thing Description, or if the document is hidden from the caller.
    ///
    /// ```
    /// # use agentdex::{Registry, td::Description};
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = Registry::open(directory.path())?;
    /// # registry.register(Description::new("Weather agent").id("urn:example:weather").capability("forecast"))?;
    /// // It was written by hand: there is no document in another format.
    /// assert!(registry.original("urn:example:weather")?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidId`], [`Error::LimitExceeded`], [`Error::Store`].
    pub fn original(&self, id: &str) -> Result<Option<Original>> {
        let id = self.stored_id(id)?;
        match self.find_record(&id)? {
            Some(record) if record.is_edited => Ok(self.unedited_source(&record)?.and_then(|(_, original)| original)),
            Some(_) => self.0.store.original(&id),
            None => Ok(None),
        }
    }

    /// Checks a document without storing it. The report contains violations if registration would refuse the document,
    /// and warnings about problems that registration would fix.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # let registry = agentdex::Registry::open(directory.path())?;
    /// let report = registry.validate(r#"{"@context": "https://www.w3.org/2022/wot/td/v1.1", "title": 7}"#)?;
    /// assert!(!report.is_valid());
    /// assert!(report.violations.iter().any(|violation| violation.pointer == "/title"));
    /// assert!(registry.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::MalformedJson`], [`Error::LimitExceeded`].
    pub fn validate(&self, document: impl Into<Json>) -> Result<Report> {
        let document = Document::parse(document.into().as_bytes())?;
        let credentials = Credentials::find(document.text(), document.value());
        let mut report = td::assess(document, self.options().strictness);
        match self.options().redaction {
            Redaction::Flag => report.warnings.extend(credentials.warnings()),
            Redaction::Replace => report.warnings.extend(credentials.replacements()),
            Redaction::Refuse => report.violations.extend(credentials.violations()),
        }
        Ok(report)
    }

    /// Returns the number of visible Things that have expired but are not yet purged. The cost is independent of that
    /// number if all Things are public. When thousands expire at once, some of them are only counted by a later call.
    ///
    /// # Errors
    /// [`Error::Store`]
    #[doc(hidden)]
    pub fn expired_count(&self) -> Result<usize> {
        let Some(grants) = self.sight() else { return self.0.store.expired_count() };
        Ok(self.expired()?.iter().filter(|id| self.0.store.is_seen(id, &grants)).count())
    }

    /// Returns the ids of Things that have expired but are not yet purged. Usually empty.
    ///
    /// # Errors
    /// [`Error::Store`]
    #[doc(hidden)]
    pub fn expired(&self) -> Result<Arc<[String]>> {
        self.0.store.all_expired(Timestamp::now())
    }
}
