//! The store: records, originals, the change log, expiry and positions in one sled tree.
//!
//! - `layout`, `value`, `reread`: the keys of the tree, as a table, the encoding of what is under them, and its test on
//!   whatever bytes
//! - `upgrade`: the format before made into this one
//! - `sum`: by which damage is noticed
//! - `witness`, `recovery`, `tear`: what the store had come to, beside it; what sled's recovery overwrites, until it is
//!   compared; what a power cut has left of a commit
//! - `directory`, `open`, `sync`: the lock and the format version; what is loaded; what sled leaves out of a flush
//! - `held`: the directories that this process has open
//! - `tree`: what readers see, which is nothing that a crash could take back
//! - `queue`, `commit`, `reply`: a batch and a flush for many transactions; who waits commits
//! - `space`: whether the disk has room for them
//! - `damage`, `panics`: what can't be read, and what sled makes of it
//! - `applier`, `overlay`: from commands to records and changes, the same wherever they are applied
//! - `log`, `logged`, `recent`, `reader`: the changes, and who became a member of a namespace
//! - `past`: the lives of ids of which not everybody saw everything
//! - `namespaces`: who is and was a member of which
//! - `clock`: the time of the log, which never goes back by itself
//! - `gaps`: numbers that their positions leave out, for tests
//! - `audit`: who changed what, and what was denied
//! - `age`: how old the entries of the log and of the audit trail are
//! - `check`, `inspect`, `copy`: whether all of it fits together, also of a store that doesn't open
//! - `salvage`, `repair`: what can be read of a damaged one
//! - `snapshot`, `saving`, `restore`: all that is stored at one moment, and a new store made of it
//! - `records`, `expiry`: reading them
//! - `restricted`: the Things that not everybody sees
//! - `local`, `local_state`: what belongs to this node and not to the log
//!
//! A write is a [`Write`] with a precondition, submitted in a transaction; its [`Ticket`] is
//! fulfilled once it is durable. What changed is a [`Change`] in the log, read by followers.

mod age;
mod applier;
mod audit;
mod audit_entries;
mod check;
mod clock;
mod commit;
mod copy;
mod damage;
mod declaration;
mod declaring;
mod directory;
mod expiry;
mod gaps;
mod held;
mod hidden;
mod inspect;
mod layout;
mod local;
mod local_state;
mod log;
mod log_entries;
mod logged;
mod logged_change;
mod lossy_import;
mod membership;
mod namespaces;
mod open;
mod options;
mod overlay;
mod panics;
mod parts;
mod past;
mod queue;
mod reader;
mod recent;
mod records;
mod recovery;
mod relation;
mod renditions;
mod repair;
mod reply;
mod reread;
mod restore;
mod restricted;
mod salvage;
mod saving;
mod serving;
mod snapshot;
mod space;
mod sum;
mod sync;
mod tear;
mod text_access;
mod tree;
mod upgrade;
mod upgrade_in_place;
mod value;
mod view;
mod witness;
mod write;

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use tokio::sync::watch;

use self::write::Transaction;
use self::{commit::Committer, open::Opened, view::View};
use crate::{
    Error, Result,
    access::{Access, Caller, Grants, Namespace, NamespaceNumber, Owner, Role},
    change::{Change, Epoch, Position, Seq, Timestamp},
};

pub use agentdex_api::{AuditChain, AuditEntry, Audited, AuditedState};

pub use self::{
    check::{Checked, Fault},
    commit::Ticket,
    copy::CopiedDirectory,
    declaration::{Declaration, Declarer},
    declaring::version_of,
    inspect::{Inspection, Verdict, inspect},
    local_state::{LocalState, StoredQuery},
    log::Part,
    logged::{Logged, Membership, Silent},
    logged_change::{ChangeOrigin, LoggedChange},
    namespaces::{Interval, NamespaceRecord, NamespaceWrite},
    options::Options,
    past::{Life, Lives},
    reader::LogReader,
    records::{DeclaredTexts, Record, Records},
    renditions::Slot,
    reread::reread,
    restore::{Pair, RestoredContent, restore, restore_without_keys},
    salvage::{Salvaged, accept_rollback, salvage},
    serving::capability_keys,
    snapshot::Snapshot,
    text_access::TextAccess,
    write::{
        Applied, Author, Declares, Edited, Edits, Expiry, Operation, Original, Outcome, OwnDeclaration, Patch, Remark,
        Write,
    },
};

#[doc(hidden)]
pub use self::{gaps::Gaps, options::FlushHook, panics::is_caught as is_panic_caught};

/// The durable home of all records. Cloning is cheap; the last clone closes it.
#[derive(Clone)]
pub struct Store {
    view: Arc<View>,
    handle: Arc<Handle>,
}

/// The committer, and the threads of its own.
struct Handle {
    committer: Arc<Committer>,
    threads: Mutex<Option<[JoinHandle<()>; 2]>>,
}

impl Handle {
    /// Lets the committer finish what it was given, and waits for it.
    fn close(&self) {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some([committing, witnessing]) = threads.take() {
            self.committer.close();
            // A panic in it was dealt with there.
            let _ = committing.join();
            self.committer.release();
            let _ = witnessing.join();
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.close();
    }
}

impl Store {
    /// Opens or creates the store in a directory, and gives every expiry with a ttl a grace of that
    /// ttl. The directory is made readable by its owner only; the store's files are in `store`.
    ///
    /// # Errors
    /// [`crate::Error::StoreInUse`], [`crate::Error::UnsupportedStoreFormat`], [`crate::Error::StoreBehind`] and
    /// [`crate::Error::StoreDamaged`] (then nothing was written), [`crate::Error::Store`], [`crate::Error::Io`].
    pub fn open(directory: &Path, options: Options) -> Result<Store> {
        let Opened { view, files, witness, state } = open::open(directory, options)?;
        let view = Arc::new(view);
        let committer = Arc::new(Committer::new(view.clone(), files, Arc::new(witness), state)?);
        let start = |name: &str, run: fn(&Committer)| {
            let running = committer.clone();
            let thread = thread::Builder::new().name(name.into()).spawn(move || run(&running));
            thread.map_err(|source| Error::Io { doing: format!("starting the thread {name}"), source })
        };
        let threads = [start("committer", Committer::run)?, start("witness", Committer::run_witness)?];
        Ok(Store { view, handle: Arc::new(Handle { committer, threads: Mutex::new(Some(threads)) }) })
    }

    /// Finishes what was submitted, then takes no more writes, wakes all who wait for changes, and releases the
    /// directory, also where there are other clones: from then on reading the disk and writing fail
    /// ([`crate::Error::ShuttingDown`]). Blocks.
    pub fn close(&self) {
        self.handle.close();
    }

    /// Reads the log without holding the store open.
    pub fn log_reader(&self) -> LogReader {
        LogReader::new(self.view.clone())
    }

    /// The life of this store.
    pub fn epoch(&self) -> Epoch {
        self.view.epoch
    }

    /// The registry's uuid, drawn when the store was created.
    pub fn registry_id(&self) -> uuid::Uuid {
        self.view.registry_id
    }

    /// The durable end of the log, as it moves.
    pub fn durable(&self) -> watch::Receiver<Seq> {
        self.view.log.watch()
    }

    /// Submits a transaction: all of its writes or none, one outcome a write. It is committed once its
    /// ticket is waited for, polled or dropped, if not earlier with another; in the order of submission.
    pub fn submit(&self, transaction: Vec<Write>) -> Ticket {
        self.handle.committer.submit(transaction.into())
    }

    /// Submits a transaction of somebody who may not do everything.
    pub fn submit_as(&self, author: Author, writes: Vec<Write>) -> Ticket {
        self.handle.committer.submit(Transaction::new(author, writes))
    }

    /// As [`Store::submit_as`], and takes the writes back: their outcomes are what they would have been, with the last
    /// seq that each record has (0 where there is none). Other transactions don't see anything of it.
    pub fn foretell(&self, author: Author, writes: Vec<Write>) -> Ticket {
        self.handle.committer.submit(Transaction { dry_run: true, ..Transaction::new(author, writes) })
    }

    /// At most `limit` entries of the audit trail after one.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn audited(&self, after: u64, limit: usize) -> Result<Audited> {
        self.view.audit.read(&self.view.tree, after, limit)
    }

    /// Adds an entry to the audit trail, with whatever else is committed next.
    pub fn note(&self, entry: AuditEntry) -> Ticket {
        let author = Author { notes: vec![entry], ..Author::default() };
        self.handle.committer.submit(Transaction::new(author, Vec::new()))
    }

    /// True if there are Things that not everybody sees.
    pub fn has_restricted(&self) -> bool {
        !self.view.restricted.is_empty()
    }

    /// The access to a Thing that not everybody sees; none to others.
    pub fn restricted_access(&self, id: &str) -> Option<Access> {
        self.view.restricted.access(id)
    }

    /// The number of Things that not everybody sees, those that have expired and aren't purged yet included.
    pub fn restricted_count(&self) -> usize {
        self.view.restricted.len()
    }

    /// The ids of Things that not everybody sees.
    pub fn restricted_ids(&self) -> Vec<String> {
        self.view.restricted.ids()
    }

    /// The ids of Things that somebody doesn't see.
    pub fn unseen_ids(&self, by: &Grants) -> Vec<String> {
        self.view.restricted.unseen_ids(by)
    }

    /// True if somebody sees a Thing; true where there is none of that id.
    pub fn is_seen(&self, id: &str, by: &Grants) -> bool {
        self.view.restricted.is_seen(id, by)
    }

    /// Returns the number of Things that `by` doesn't see, including those that have expired and aren't purged yet.
    pub fn unseen(&self, by: &Grants) -> u64 {
        self.view.restricted.unseen(by)
    }

    /// The record of that id, unless it has expired.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn find(&self, id: &str) -> Result<Option<Record>> {
        self.view.find(id)
    }

    /// The record of that id, also if it has expired and isn't purged yet: what the index must have,
    /// since a restart can give it a grace.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn find_unpurged(&self, id: &str) -> Result<Option<Record>> {
        self.view.find_unpurged(id)
    }

    /// Returns the document that a record was converted from; none if it came as a TD.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn original(&self, id: &str) -> Result<Option<Original>> {
        self.view.original(id)
    }

    /// The declarations of a record with their texts and originals, and its edits.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn declared(&self, id: &str) -> Result<Option<DeclaredTexts>> {
        self.view.declared(id)
    }

    /// The ids of the records that the document of a record declares as parts, ascending.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn parts(&self, id: &str) -> Result<Vec<String>> {
        self.view.parts(id)
    }

    /// The metadata of a record, as set by [`Operation::Metadata`].
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn metadata(&self, id: &str) -> Result<Option<Vec<u8>>> {
        self.view.metadata(id)
    }

    /// All metadata with the ids of their records, those that have expired and aren't purged yet included.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn all_metadata(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.view.all_metadata()
    }

    /// The unexpired records in ascending order of id (by code points), from `start` (inclusive) on.
    /// What is written meanwhile may or may not be seen.
    pub fn records(&self, start: Option<&str>) -> Records {
        Records::new(self.view.clone(), start, false)
    }

    /// As [`Store::records`], with those that have expired and aren't purged yet.
    pub fn records_unpurged(&self, start: Option<&str>) -> Records {
        Records::new(self.view.clone(), start, true)
    }

    /// Returns the number of unexpired records. Where thousands expire at once, some of them still count for a moment.
    pub fn len(&self) -> u64 {
        self.view.live_records()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of damaged records found so far.
    pub fn damaged(&self) -> usize {
        self.view.tree.damage.count()
    }

    /// True if it was opened without a witness that tells what it had come to, though there should have been one.
    pub fn is_unwitnessed(&self) -> bool {
        self.view.is_unwitnessed
    }

    /// Compares the texts and originals of records with what was written, from an id on, for some time; those that are others
    /// aren't served from then on. The id to go on from; none at the end.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn compare_texts(&self, from: &str, time: Duration) -> Result<Option<String>> {
        self.view.compare_texts(from, time)
    }

    /// True if it was closed properly before it was opened.
    pub fn was_closed(&self) -> bool {
        self.view.was_closed
    }

    /// Fails where the disk has no room for writes.
    ///
    /// # Errors
    /// [`crate::Error::DiskFull`]
    pub fn check_space(&self) -> Result<()> {
        self.view.space.check()
    }

    /// Returns the number of bytes free on the disk of the store; none where the system doesn't tell.
    pub fn free_space(&self) -> Option<u64> {
        self.view.space.free()
    }

    /// Returns the number of records that have expired and aren't purged yet. Where thousands expire at once, some of
    /// them don't count yet.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn expired_count(&self) -> Result<usize> {
        self.view.expiries.count(Timestamp::now(), || 0).map(|(expired, _)| expired)
    }

    /// The ids that have expired and aren't purged yet, at most `limit`, the longest expired first.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<String>> {
        self.view.expiries.expired(now, limit)
    }

    /// All ids that have expired and aren't purged yet, the longest expired first. It is the same list as long as
    /// none comes or goes.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn all_expired(&self, now: Timestamp) -> Result<Arc<[String]>> {
        self.view.expiries.all_expired(now)
    }

    /// At most `limit` changes after `since`, none beyond the durable end; fewer where they are large.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn changes(&self, since: Seq, limit: usize) -> Result<Part> {
        self.view.log.changes(since, limit)
    }

    /// The next changes after `since`, at most `limit`, if they are in memory; empty at the end of the log.
    pub fn cached_changes(&self, since: Seq, limit: usize) -> Option<Vec<Logged>> {
        self.view.log.cached(since, self.view.log.last(), limit)
    }

    /// The retained changes of one Thing, oldest first, after `since`, at most `limit`.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn history(&self, id: &str, since: Seq, limit: usize) -> Result<Vec<Change>> {
        self.view.log.history(id, since, limit, &*self.view)
    }

    /// The lives of an id in the log; none where everybody saw everything that the log has of it.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn lives_unseen(&self, id: &str) -> Result<Option<Arc<Lives>>> {
        if self.view.past.last(id).is_none() {
            return Ok(None);
        }
        self.lives(id).map(Some)
    }

    /// The lives of an id, as far as the log has them.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn lives(&self, id: &str) -> Result<Arc<Lives>> {
        let walk = || match self.view.log.lives(id, &*self.view) {
            Err(error) if layout::is_corrupt(&error) => {
                self.view.tree.damage.report(id, &error);
                Ok(Lives::unknown())
            }
            lives => lives,
        };
        self.view.past.lives(id, walk)
    }

    /// The ids of Things that are shown to a namespace.
    pub fn ids_in_namespace(&self, number: NamespaceNumber) -> Vec<String> {
        self.view.restricted.ids_in(number)
    }

    /// The ids of which not everybody saw everything from a position on.
    pub fn ids_unseen_since(&self, seq: Seq) -> Vec<String> {
        self.view.past.since(seq)
    }

    /// The position before the oldest entry of the log.
    pub fn log_start(&self) -> Seq {
        self.view.log.start().trimmed_to
    }

    /// Says who the members of a namespace are, claims one or gives one up.
    pub fn write_namespace(&self, author: Author, namespace: NamespaceWrite) -> Ticket {
        let transaction = Transaction { namespace: Some(namespace), ..Transaction::new(author, Vec::new()) };
        self.handle.committer.submit(transaction)
    }

    /// The grants of a caller beside what is public; none: it sees everything.
    pub fn grants(&self, caller: &Caller) -> Option<Arc<Grants>> {
        match caller {
            Caller::Trusted => None,
            Caller::Anonymous => Some(Arc::default()),
            Caller::Principal(principal) if principal.role == Role::Admin => None,
            Caller::Principal(principal) => Some(self.grants_of(&principal.owner)),
        }
    }

    /// The grants of an owner beside what is public.
    pub fn grants_of(&self, owner: &Owner) -> Arc<Grants> {
        self.view.namespaces.grants_of(owner)
    }

    /// The namespace of a name that isn't given up.
    pub fn find_namespace(&self, name: &Namespace) -> Option<(NamespaceNumber, Arc<NamespaceRecord>)> {
        self.view.namespaces.find(name)
    }

    /// The namespace of a number, also one that was given up.
    pub fn namespace(&self, number: NamespaceNumber) -> Option<Arc<NamespaceRecord>> {
        self.view.namespaces.get(number)
    }

    /// The namespaces that aren't given up, by name.
    pub fn namespaces(&self) -> Vec<(NamespaceNumber, Arc<NamespaceRecord>)> {
        self.view.namespaces.list()
    }

    /// The position up to which the log is another one's: of the store that this one was restored from.
    pub fn origin(&self) -> Option<Position> {
        self.view.origin.map(|origin| Position { epoch: origin.epoch, seq: origin.last })
    }

    /// The entry at a position; none where there is none, or none any more.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn entry(&self, seq: Seq) -> Result<Option<Logged>> {
        let before = Seq(seq.0.saturating_sub(1));
        let cached = self.cached_changes(before, 1).filter(|cached| !cached.is_empty());
        let read = match cached {
            Some(cached) => cached,
            None => self.changes(before, 1)?.entries,
        };
        Ok(read.into_iter().next().filter(|entry| entry.seq() == seq))
    }

    /// Returns the node-local state, which is not part of the log.
    pub fn local(&self) -> LocalState<'_> {
        LocalState { view: &self.view, committer: &self.handle.committer }
    }

    /// Why the store takes no writes, if it takes none.
    pub fn closed_to_writes(&self) -> Option<String> {
        self.view.closed.get().cloned()
    }

    /// All that is stored, as of now: what is written while it is read isn't in it. There is one at a time, and
    /// retention of the log waits for it.
    ///
    /// # Errors
    /// [`crate::Error::Overloaded`] while there is another, [`crate::Error::WritesClosed`].
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.handle.committer.snapshot()
    }

    /// Reads all that is stored, as of now, and says what of it doesn't fit together.
    ///
    /// # Errors
    /// As [`Store::snapshot`], and [`crate::Error::Store`].
    pub fn check(&self) -> Result<Checked> {
        let snapshot = self.handle.committer.snapshot()?.passing_over_damage();
        check::check(snapshot, || self.view.tree.damage.gaps())
    }

    /// The time of the log: that of its last entry, or the clock's, whichever is later.
    pub fn log_time(&self) -> Timestamp {
        self.handle.committer.log_time()
    }

    /// Sets the time of the log to that of the clock, where it is ahead of it, and returns what it was and is. Blocks until
    /// that is durable.
    ///
    /// # Errors
    /// [`crate::Error::WritesClosed`], [`crate::Error::ShuttingDown`].
    pub fn accept_clock(&self) -> Result<(Timestamp, Timestamp)> {
        self.handle.committer.accept_clock()
    }

    /// Drops what the log needs no longer. Called from time to time by the registry.
    ///
    /// # Errors
    /// [`crate::Error::Store`], [`crate::Error::WritesClosed`], [`crate::Error::ShuttingDown`].
    pub fn trim_log(&self, now: Timestamp) -> Result<()> {
        self.handle.committer.trim_log(now)
    }
}
