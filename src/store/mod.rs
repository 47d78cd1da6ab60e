//! The store: records, originals, the change log, expiry and cursors in one sled tree.
//!
//! (Key layout, committer and rules: see the design. This file is the door.)

use std::{future::Future, path::Path, pin::Pin, sync::Arc, task, time::Duration};

use tokio::sync::watch;

use crate::{
    Result,
    change::{Change, Cursor, Epoch, Precondition, Seq, Timestamp},
};

/// How the store is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// The most changes that the log keeps.
    pub retained_changes: u64,
    /// The longest that the log keeps a change.
    pub retained_for: Duration,
    /// sled's cache in bytes.
    pub cache_bytes: u64,
    /// The most transactions that share one flush.
    pub group_size: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            retained_changes: 1_000_000,
            retained_for: Duration::from_secs(30 * 24 * 3600),
            cache_bytes: 64 * 1024 * 1024,
            group_size: 256,
        }
    }
}

/// What a write does to a record.
#[derive(Debug, Clone)]
pub enum Operation {
    /// Creates or replaces. Where the stored form doesn't change it is a renewal: no `Change`.
    Put {
        /// The stored form ([`crate::td::ThingDescription::text`]).
        text: String,
        /// Its capability keys.
        capabilities: Vec<String>,
        /// Its expiry.
        expiry: Expiry,
        /// The document it was converted from.
        original: Option<Original>,
    },
    /// Moves the expiry and nothing else; no `Change`.
    Renew {
        /// The new expiry.
        expiry: Expiry,
    },
    /// Removes.
    Remove,
    /// Removes what is still due, as a follower of the clock; a `Change` like any removal.
    Purge,
}

/// When a Thing expires.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Expiry {
    /// Time to live in seconds, as the client gave it.
    pub ttl: Option<u64>,
    /// The moment; none: never.
    pub expires: Option<Timestamp>,
}

/// The document that a record was converted from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Original {
    /// The format's name, such as `agent-spec`.
    pub format: String,
    /// The media type of `bytes`.
    pub media_type: String,
    /// The document, with secrets replaced by references.
    pub bytes: Vec<u8>,
}

/// One write to one record.
#[derive(Debug, Clone)]
pub struct Write {
    /// The record.
    pub id: String,
    /// What must hold of it.
    pub precondition: Precondition,
    /// What is done to it.
    pub operation: Operation,
    /// Who does it; absent without authentication.
    pub actor: Option<String>,
}

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The record is new.
    Created(Seq),
    /// The record was replaced.
    Updated(Seq),
    /// The stored form is what it was; at most the expiry moved. The seq is that of its last change.
    Renewed(Seq),
    /// The record is gone.
    Removed(Seq),
    /// A purge found nothing due.
    NotDue,
}

/// A record as it is stored.
#[derive(Debug, Clone)]
pub struct Record {
    /// The id.
    pub id: String,
    /// The stored form.
    pub text: String,
    /// Its last change.
    pub seq: Seq,
    /// When it was created.
    pub created: Timestamp,
    /// When it was last changed.
    pub modified: Timestamp,
    /// When it expires.
    pub expiry: Expiry,
    /// The format it was converted from; none if it came as a TD.
    pub format: Option<String>,
}

/// A part of the log.
#[derive(Debug, Clone)]
pub struct Changes {
    /// In order, without gaps.
    pub changes: Vec<Arc<Change>>,
    /// The durable end of the log when this was read.
    pub last: Seq,
    /// The oldest change that the log still has.
    pub oldest: Seq,
    /// Whether changes after the asked position are gone, or it lies beyond the end: a resync is needed.
    pub truncated: bool,
}

/// The durable home of all records. Cloning is cheap; the last clone closes it.
#[derive(Clone)]
pub struct Store {
    _inner: Arc<()>,
}

impl Store {
    /// Opens or creates the store in a directory, and gives every expiry with a ttl a grace of that ttl.
    ///
    /// # Errors
    /// [`crate::Error::StoreInUse`], [`crate::Error::UnsupportedStoreFormat`], [`crate::Error::Store`].
    pub fn open(_directory: &Path, _options: Options) -> Result<Store> {
        todo!()
    }

    /// The life of this store.
    pub fn epoch(&self) -> Epoch {
        todo!()
    }

    /// The registry's uuid, drawn when the store was created.
    pub fn registry_id(&self) -> uuid::Uuid {
        todo!()
    }

    /// The durable end of the log, as it moves.
    pub fn durable(&self) -> watch::Receiver<Seq> {
        todo!()
    }

    /// Hands a transaction to the committer: all of its writes or none, one outcome a write.
    /// The ticket is fulfilled once it is durable.
    pub fn submit(&self, _transaction: Vec<Write>) -> Ticket {
        todo!()
    }

    /// The record of that id, unless it has expired.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn find(&self, _id: &str) -> Result<Option<Record>> {
        todo!()
    }

    /// The record of that id, also if it has expired and isn't purged yet: what the index must have,
    /// since a restart can give it a grace.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn find_unpurged(&self, _id: &str) -> Result<Option<Record>> {
        todo!()
    }

    /// What a record was converted from.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn original(&self, _id: &str) -> Result<Option<Original>> {
        todo!()
    }

    /// The unexpired records in ascending order of id, from `start` (inclusive) on.
    pub fn records(&self, _start: Option<&str>) -> Records {
        todo!()
    }

    /// As [`Store::records`], with those that have expired and aren't purged yet.
    pub fn records_unpurged(&self, _start: Option<&str>) -> Records {
        todo!()
    }

    /// Drains what was submitted, makes it durable and refuses what comes later. Blocks.
    pub fn close(&self) {
        todo!()
    }

    /// How many unexpired records there are.
    pub fn len(&self) -> u64 {
        todo!()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The ids that have expired and aren't purged yet, at most `limit`.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn expired(&self, _now: Timestamp, _limit: usize) -> Result<Vec<String>> {
        todo!()
    }

    /// At most `limit` changes after `since`, none beyond the durable end.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn changes(&self, _since: Seq, _limit: usize) -> Result<Changes> {
        todo!()
    }

    /// The retained changes of one Thing, oldest first, after `since`, at most `limit`.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn history(&self, _id: &str, _since: Seq, _limit: usize) -> Result<Vec<Change>> {
        todo!()
    }

    /// The cursor that a follower keeps here.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn cursor(&self, _follower: &str) -> Result<Option<Cursor>> {
        todo!()
    }

    /// Keeps the cursor of a follower; durable with the next commit or after a second, whichever is first.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn set_cursor(&self, _follower: &str, _cursor: Cursor) -> Result<()> {
        todo!()
    }

    /// Forgets the cursor of a follower.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn remove_cursor(&self, _follower: &str) -> Result<()> {
        todo!()
    }

    /// Why the store takes no writes, if it takes none.
    pub fn closed_to_writes(&self) -> Option<String> {
        todo!()
    }

    /// Drops what the log needs no longer. Called from time to time by the registry.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn trim_log(&self, _now: Timestamp) -> Result<()> {
        todo!()
    }
}

/// Waits for a transaction to become durable: as a future, or by [`Ticket::wait`].
#[must_use = "a write is acknowledged by its ticket"]
pub struct Ticket {
    _private: (),
}

impl Ticket {
    /// Blocks until the transaction is durable. For the errors see [`crate::Error`]:
    /// `PreconditionFailed`, `WritesClosed`, `ShuttingDown`, `Store`.
    pub fn wait(self) -> Result<Vec<Outcome>> {
        todo!()
    }
}

impl Future for Ticket {
    type Output = Result<Vec<Outcome>>;

    fn poll(self: Pin<&mut Self>, _context: &mut task::Context<'_>) -> task::Poll<Self::Output> {
        todo!()
    }
}

/// Iterates over records.
pub struct Records {
    _private: (),
}

impl Iterator for Records {
    type Item = Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        todo!()
    }
}
