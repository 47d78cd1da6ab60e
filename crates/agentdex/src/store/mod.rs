//! The store: records, originals, the change log, expiries, and positions of followers in a single sled tree.
//!
//! - `layout`, `value`, `reread`: the keys of the tree (as a table), the encoding of their values, and its fuzz test
//! - `upgrade`: conversion of earlier store formats
//! - `sum`: checksums for detecting damage
//! - `witness`, `recovery`, `tear`: the last durable state, recorded outside of the tree; data overwritten by sled's
//!   recovery, preserved until the store is verified; torn writes after a power failure
//! - `directory`, `open`, `sync`: lock and format version; loading; the part of a flush that sled omits
//! - `held`: directories opened by this process
//! - `database`: sled, without its endless flushes
//! - `tree`: the tree as visible to readers, limited to durable data
//! - `queue`, `commit`, `reply`: group commit; waiting threads commit themselves
//! - `work`: the steps of a commit
//! - `space`: free disk space for commits
//! - `damage`, `panics`: unreadable data, and sled's panics about it
//! - `applier`, `overlay`: deterministic application of commands to records and changes; its result is a commit, a list
//!   of keys and values
//! - `effects`: changes of a commit to the state in memory, which follow from its keys and values
//! - `install`: commits that another store has decided
//! - `commit_log`, `appender`, `append_counters`: a log of commits shared by several stores, and the connection of a
//!   store to it
//! - `digests`: digests of a store, for comparison with the stores with the same log
//! - `comparison`, `shadow`: comparison of a store with one that has installed its commits, for tests
//! - `log`, `logged`, `recent`, `reader`: changes of Things and of memberships
//! - `past`: lives of ids that were restricted at some time
//! - `namespaces`: current and past members of namespaces
//! - `clock`: time of the log, which only moves forward unless reset by hand
//! - `gaps`: gaps between positions, for tests
//! - `audit`: audit trail of changes and denials
//! - `age`: age of entries of the log and of the audit trail
//! - `check`, `inspect`, `copy`: consistency checks, also of a store that can't be opened
//! - `salvage`, `repair`: recovery of readable data from a damaged store
//! - `snapshot`, `saving`, `restore`: consistent snapshots, and stores restored from them
//! - `records`, `expiry`: reading records and expiries
//! - `restricted`: restricted Things
//! - `named_write`: saved queries and API keys
//! - `listeners`: listeners to changes of queries, keys, and metadata
//! - `local`, `local_state`: node-local state outside of the log, and pending uses and revocations of keys
//!
//! A write is a [`Write`] with a precondition, submitted in a transaction. Its [`Ticket`] resolves when the
//! transaction is durable. Changes are recorded as [`Change`]s in the log, which is read by followers.

mod age;
mod append_counters;
mod appender;
mod applier;
mod audit;
mod audit_entries;
mod check;
mod clock;
mod commit;
mod commit_log;
#[cfg(any(test, debug_assertions))]
mod comparison;
mod copy;
mod damage;
mod database;
mod declaration;
mod declaring;
mod digests;
mod directory;
mod effects;
mod expiry;
mod gaps;
mod held;
mod hidden;
mod inspect;
mod install;
mod layout;
mod listeners;
mod local;
mod local_state;
mod log;
mod log_entries;
mod logged;
mod logged_change;
mod lossy_import;
mod membership;
mod named_write;
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
#[cfg(debug_assertions)]
mod shadow;
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
mod work;
mod write;
#[cfg(test)]
mod write_fault;

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
    append_counters::AppendCounts,
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
    restore::{Pair, Purpose, RestoredContent, restore},
    salvage::{Salvaged, accept_rollback, salvage},
    serving::capability_keys,
    snapshot::Snapshot,
    text_access::TextAccess,
    write::{
        Applied, Author, Declares, Edited, Edits, Expiry, Operation, Original, Outcome, OwnDeclaration, Patch, Remark,
        Write,
    },
};

#[cfg(feature = "cluster")]
pub(crate) use self::commit_log::etcd::{
    EtcdCluster,
    options::{Limits, NodeOptions},
};

pub(crate) use self::{
    commit_log::{CommitLog, Delay, LogStatus, SharedLog},
    listeners::{Listener, Named},
    named_write::Expects,
};

#[cfg(test)]
pub(crate) use self::commit_log::memory::{Directories, Faults};

#[doc(hidden)]
pub use self::{gaps::Gaps, options::FlushHook, panics::is_caught as is_panic_caught};

/// Durable storage of all records. Cloning is cheap; dropping the last clone closes the store.
#[derive(Clone)]
pub struct Store {
    view: Arc<View>,
    handle: Arc<Handle>,
}

/// The committer, and the threads of its own.
struct Handle {
    committer: Arc<Committer>,
    #[cfg(debug_assertions)]
    shadow: Option<Arc<shadow::Shadow>>,
    threads: Mutex<Option<[JoinHandle<()>; 2]>>,
}

impl Handle {
    /// Lets the committer finish its queue, and waits for it.
    fn close(&self) {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some([committing, witnessing]) = threads.take() {
            self.committer.close();
            // A panic in it was dealt with there.
            let _ = committing.join();
            #[cfg(debug_assertions)]
            let difference = self.shadow.as_ref().and_then(|shadow| shadow.difference());
            self.committer.release();
            let _ = witnessing.join();
            #[cfg(debug_assertions)]
            assert!(thread::panicking() || difference.is_none(), "the store and its shadow differ: {difference:?}");
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.close();
    }
}

impl Store {
    /// Opens or creates the store in a directory. Records with a time to live get their full time to live from now on.
    /// The directory is made accessible to its owner only; the files of the store are in `store`.
    ///
    /// # Errors
    /// [`crate::Error::StoreInUse`], [`crate::Error::UnsupportedStoreFormat`], [`crate::Error::StoreBehind`] and
    /// [`crate::Error::StoreDamaged`] (in which case nothing was written), [`crate::Error::ClusterDirectory`],
    /// [`crate::Error::ClusterRefused`], [`crate::Error::ClusterUnavailable`], [`crate::Error::Store`],
    /// [`crate::Error::Io`].
    pub fn open(directory: &Path, options: Options) -> Result<Store> {
        let Opened { view, files, witness, state, log } = open::open(directory, options)?;
        let view = Arc::new(view);
        let committer = Arc::new(Committer::new(view.clone(), files, Arc::new(witness), state, log)?);
        if view.options.log.is_some() {
            let caught_up = committer.catch_up();
            let checked =
                caught_up.and_then(|state| open::check_followed(directory, &view.options.followed, &view.slot(&state)));
            checked.inspect_err(|_| committer.release())?;
        }
        let start = |name: &str, run: fn(&Committer)| {
            let running = committer.clone();
            let thread = thread::Builder::new().name(name.into()).spawn(move || run(&running));
            thread.map_err(|source| Error::Io { doing: format!("starting the thread {name}"), source })
        };
        #[cfg(debug_assertions)]
        let shadow = shadow::Shadow::of(&view)?;
        committer.subscribe();
        let threads = [start("committer", Committer::run)?, start("witness", Committer::run_witness)?];
        let threads = Mutex::new(Some(threads));
        let handle = Handle {
            committer,
            #[cfg(debug_assertions)]
            shadow,
            threads,
        };
        Ok(Store { view, handle: Arc::new(handle) })
    }

    /// Commits the submitted transactions, stops accepting writes, wakes everyone waiting for changes, and releases
    /// the directory, even if clones exist. Further writes and reads from disk fail with
    /// [`crate::Error::ShuttingDown`]. Blocks.
    pub fn close(&self) {
        self.handle.close();
    }

    /// Returns a reader of the log that doesn't keep the store open.
    pub fn log_reader(&self) -> LogReader {
        LogReader::new(self.view.clone())
    }

    /// Returns the epoch of the store.
    pub fn epoch(&self) -> Epoch {
        self.view.epoch
    }

    /// Returns the UUID of the registry, generated when the store was created.
    pub fn registry_id(&self) -> uuid::Uuid {
        self.view.registry_id
    }

    /// Returns the state of the log shared with other stores, if any.
    pub(crate) fn log_status(&self) -> Option<LogStatus> {
        self.shared_log()?.status()
    }

    /// Returns counts of the commits appended to the log shared with other stores.
    pub(crate) fn append_counts(&self) -> AppendCounts {
        self.view.appends.read()
    }

    /// Returns the end of the log once it contains all writes acknowledged before the call, by this store or by another
    /// store with the same shared log.
    ///
    /// # Errors
    /// [`crate::Error::LogUnavailable`] if the shared log doesn't respond, or if this store is too far behind it.
    pub(crate) fn acknowledged(&self) -> impl Future<Output = Result<Seq>> + Send + use<> {
        let (caught_up, end) = (self.shared_log().map(CommitLog::caught_up), self.durable());
        async move {
            if let Some(caught_up) = caught_up {
                caught_up.await.map_err(|_| Error::LogUnavailable)?;
            }
            Ok(*end.borrow())
        }
    }

    /// Resolves once a write can be decided, based on all writes that were acknowledged before the call.
    ///
    /// # Errors
    /// Same as [`Store::acknowledged`].
    pub(crate) async fn ready_to_decide(&self) -> Result<()> {
        if let Some(log) = self.shared_log() {
            log.until_decidable().await.map_err(|_| Error::LogUnavailable)?;
        }
        self.acknowledged().await.map(drop)
    }

    /// Asks all stores with the same shared log to compute their digests, and to publish them in the log. Returns the
    /// number of the commit after which they compute them.
    ///
    /// # Errors
    /// [`crate::Error::Overloaded`] while this store is being read for a backup or an earlier comparison,
    /// [`crate::Error::LogUnavailable`], [`crate::Error::OutcomeUnknown`], [`crate::Error::WritesClosed`],
    /// [`crate::Error::ShuttingDown`].
    pub(crate) fn ask_for_digests(&self) -> Result<u64> {
        self.handle.committer.ask_for_digests()
    }

    /// Returns the time at which digests were last computed.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub(crate) fn digests_computed_at(&self) -> Result<Option<Timestamp>> {
        let found = self.view.tree.db()?.get(layout::DIGESTS_KEY).map_err(tree::reading)?;
        found.map(|moment| value::decode_moment(&moment)).transpose()
    }

    /// True if this store carries out the periodic work for all stores with the same shared log, or has no such log.
    pub fn is_leader(&self) -> bool {
        self.handle.committer.is_leader()
    }

    /// Returns the log shared with other stores, if any.
    pub(crate) fn shared_log(&self) -> Option<&dyn CommitLog> {
        self.handle.committer.log()
    }

    /// Returns how far this store is behind the log shared with other stores, if any.
    pub(crate) fn delay(&self) -> Option<Delay> {
        self.shared_log()?.delay()
    }

    /// Adds a listener to changes of API keys, saved queries, and metadata.
    pub(crate) fn listen(&self, listener: Listener) {
        self.view.listeners.add(listener);
    }

    /// Returns a receiver for the durable end of the log.
    pub fn durable(&self) -> watch::Receiver<Seq> {
        self.view.log.watch()
    }

    /// Submits a transaction. Its writes are applied atomically, with an outcome for each write. The transaction is
    /// committed when its ticket is waited for, polled, or dropped, unless it was committed earlier together with
    /// another transaction. Transactions are committed in the order of submission.
    pub fn submit(&self, transaction: Vec<Write>) -> Ticket {
        self.handle.committer.submit(transaction.into())
    }

    /// Submits a transaction on behalf of an author with limited permissions.
    pub fn submit_as(&self, author: Author, writes: Vec<Write>) -> Ticket {
        self.handle.committer.submit(Transaction::new(author, writes))
    }

    /// Like [`Store::submit_as`], but rolls the writes back. The outcomes are those a commit would have, with the
    /// current last position of each record (0 if it doesn't exist). Other transactions don't see the writes.
    pub fn foretell(&self, author: Author, writes: Vec<Write>) -> Ticket {
        self.handle.committer.submit(Transaction { dry_run: true, ..Transaction::new(author, writes) })
    }

    /// Returns up to `limit` entries of the audit trail with numbers greater than `after`.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn audited(&self, after: u64, limit: usize) -> Result<Audited> {
        self.view.audit.read(&self.view.tree, after, limit)
    }

    /// Adds an entry to the audit trail, to be committed with the next transaction.
    pub fn note(&self, entry: AuditEntry) -> Ticket {
        let author = Author { notes: vec![entry], ..Author::default() };
        self.handle.committer.submit(Transaction::new(author, Vec::new()))
    }

    /// True if there are restricted Things.
    pub fn has_restricted(&self) -> bool {
        !self.view.restricted.is_empty()
    }

    /// Returns the access to a restricted Thing, or `None` if the Thing is public.
    pub fn restricted_access(&self, id: &str) -> Option<Access> {
        self.view.restricted.access(id)
    }

    /// Returns the number of restricted Things, including expired Things that are not yet purged.
    pub fn restricted_count(&self) -> usize {
        self.view.restricted.len()
    }

    /// Returns the ids of restricted Things.
    pub fn restricted_ids(&self) -> Vec<String> {
        self.view.restricted.ids()
    }

    /// Returns the ids of Things hidden from a caller with these grants.
    pub fn unseen_ids(&self, by: &Grants) -> Vec<String> {
        self.view.restricted.unseen_ids(by)
    }

    /// True if a caller with these grants sees the Thing, or if the Thing doesn't exist.
    pub fn is_seen(&self, id: &str, by: &Grants) -> bool {
        self.view.restricted.is_seen(id, by)
    }

    /// Returns the number of Things hidden from a caller with these grants, including expired Things that are not yet
    /// purged.
    pub fn unseen(&self, by: &Grants) -> u64 {
        self.view.restricted.unseen(by)
    }

    /// Returns the record with the given id, unless it has expired.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn find(&self, id: &str) -> Result<Option<Record>> {
        self.view.find(id)
    }

    /// Returns the record with the given id, even if it has expired but is not yet purged. The index must contain
    /// such records, since a restart can extend their expiry.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn find_unpurged(&self, id: &str) -> Result<Option<Record>> {
        self.view.find_unpurged(id)
    }

    /// Returns the document from which a record was converted, or `None` if the record was registered as a TD.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn original(&self, id: &str) -> Result<Option<Original>> {
        self.view.original(id)
    }

    /// Returns the declarations of a record with their texts and originals, and its edits.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn declared(&self, id: &str) -> Result<Option<DeclaredTexts>> {
        self.view.declared(id)
    }

    /// Returns the ids of the records declared as parts by the document of a record, ascending.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn parts(&self, id: &str) -> Result<Vec<String>> {
        self.view.parts(id)
    }

    /// Returns the metadata of a record, as set by [`Operation::Metadata`].
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn metadata(&self, id: &str) -> Result<Option<Vec<u8>>> {
        self.view.metadata(id)
    }

    /// Returns all metadata with the ids of their records, including expired records that are not yet purged.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn all_metadata(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.view.all_metadata()
    }

    /// Returns an iterator over the unexpired records in ascending order of id (by code points), starting with
    /// `start`. Concurrent writes may or may not be included.
    pub fn records(&self, start: Option<&str>) -> Records {
        Records::new(self.view.clone(), start, false)
    }

    /// Like [`Store::records`], but includes expired records that are not yet purged.
    pub fn records_unpurged(&self, start: Option<&str>) -> Records {
        Records::new(self.view.clone(), start, true)
    }

    /// Returns the number of unexpired records. When thousands of records expire at once, some of them may still be
    /// counted briefly.
    pub fn len(&self) -> u64 {
        self.view.live_records()
    }

    /// True if there are no records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of damaged records found so far.
    pub fn damaged(&self) -> usize {
        self.view.tree.damage.count()
    }

    /// True if the store was opened without a witness although a witness was expected.
    pub fn is_unwitnessed(&self) -> bool {
        self.view.is_unwitnessed
    }

    /// Compares the texts and originals of records with their digests, starting at an id, for a limited time.
    /// Records that differ are no longer served. Returns the id at which to continue, or `None` at the end.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn compare_texts(&self, from: &str, time: Duration) -> Result<Option<String>> {
        self.view.compare_texts(from, time)
    }

    /// True if the store was properly closed before it was opened.
    pub fn was_closed(&self) -> bool {
        self.view.was_closed
    }

    /// Fails if the disk has no space for writes.
    ///
    /// # Errors
    /// [`crate::Error::DiskFull`]
    pub fn check_space(&self) -> Result<()> {
        self.view.space.check()
    }

    /// Returns the number of free bytes on the disk of the store, or `None` if the system doesn't report it.
    pub fn free_space(&self) -> Option<u64> {
        self.view.space.free()
    }

    /// Returns the number of expired records that are not yet purged. When thousands of records expire at once, some
    /// of them may not be counted yet.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn expired_count(&self) -> Result<usize> {
        self.view.expiries.count(Timestamp::now(), || 0).map(|(expired, _)| expired)
    }

    /// Returns up to `limit` ids of expired records that are not yet purged, in order of expiry.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<String>> {
        self.view.expiries.expired(now, limit)
    }

    /// Returns all ids of expired records that are not yet purged, in order of expiry. Returns the same `Arc` until
    /// the set changes.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn all_expired(&self, now: Timestamp) -> Result<Arc<[String]>> {
        self.view.expiries.all_expired(now)
    }

    /// Returns up to `limit` changes after `since`, up to the durable end. Returns fewer changes if they are large.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn changes(&self, since: Seq, limit: usize) -> Result<Part> {
        self.view.log.changes(since, limit)
    }

    /// Returns up to `limit` changes after `since` if they are cached in memory, and an empty list at the end of the
    /// log.
    pub fn cached_changes(&self, since: Seq, limit: usize) -> Option<Vec<Logged>> {
        self.view.log.cached(since, self.view.log.last(), limit)
    }

    /// Returns up to `limit` retained changes of a Thing after `since`, oldest first.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn history(&self, id: &str, since: Seq, limit: usize) -> Result<Vec<Change>> {
        self.view.log.history(id, since, limit, &*self.view)
    }

    /// Returns the lives of an id, as far as the log contains them ([`Lives`]), or `None` if the Thing was public in
    /// all retained changes.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn lives_unseen(&self, id: &str) -> Result<Option<Arc<Lives>>> {
        if self.view.past.last(id).is_none() {
            return Ok(None);
        }
        self.lives(id).map(Some)
    }

    /// Returns the lives of an id, as far as the log contains them.
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

    /// Returns the ids of Things visible to a namespace.
    pub fn ids_in_namespace(&self, number: NamespaceNumber) -> Vec<String> {
        self.view.restricted.ids_in(number)
    }

    /// Returns the ids of Things that were restricted at or after a position.
    pub fn ids_unseen_since(&self, seq: Seq) -> Vec<String> {
        self.view.past.since(seq)
    }

    /// Returns the position before the oldest entry of the log.
    pub fn log_start(&self) -> Seq {
        self.view.log.start().trimmed_to
    }

    /// Claims a namespace, changes its members, or gives it up. Fails with [`crate::Error::Contended`] if the name of a
    /// new namespace is claimed or if the namespace has another owner, and with [`crate::Error::NotFound`] if it was
    /// given up.
    pub fn write_namespace(&self, author: Author, namespace: NamespaceWrite) -> Ticket {
        let transaction = Transaction { namespace: Some(namespace), ..Transaction::new(author, Vec::new()) };
        self.handle.committer.submit(transaction)
    }

    /// Returns the grants of a caller for Things that aren't public, or `None` if the caller sees everything.
    pub fn grants(&self, caller: &Caller) -> Option<Arc<Grants>> {
        match caller {
            Caller::Trusted => None,
            Caller::Anonymous => Some(Arc::default()),
            Caller::Principal(principal) if principal.role == Role::Admin => None,
            Caller::Principal(principal) => Some(self.grants_of(&principal.owner)),
        }
    }

    /// Returns the grants of an owner for Things that aren't public.
    pub fn grants_of(&self, owner: &Owner) -> Arc<Grants> {
        self.view.namespaces.grants_of(owner)
    }

    /// Returns the namespace with the given name, unless it was given up.
    pub fn find_namespace(&self, name: &Namespace) -> Option<(NamespaceNumber, Arc<NamespaceRecord>)> {
        self.view.namespaces.find(name)
    }

    /// Returns the namespace with the given number, even if it was given up.
    pub fn namespace(&self, number: NamespaceNumber) -> Option<Arc<NamespaceRecord>> {
        self.view.namespaces.get(number)
    }

    /// Returns the namespaces that are not given up, sorted by name.
    pub fn namespaces(&self) -> Vec<(NamespaceNumber, Arc<NamespaceRecord>)> {
        self.view.namespaces.list()
    }

    /// Returns the end of the log from which this store was restored, or `None` if it was not restored. Positions in
    /// that log refer to other changes.
    pub fn origin(&self) -> Option<Position> {
        self.view.origin.map(|origin| Position { epoch: origin.epoch, seq: origin.last })
    }

    /// Returns the entry at a position, or `None` if the log has no entry there or no longer retains it.
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

    /// Returns the reason why the store refuses writes, or `None` if it accepts them.
    pub fn closed_to_writes(&self) -> Option<String> {
        self.view.closed.get().cloned()
    }

    /// Takes a snapshot of the whole store. Later writes are not included. Only one snapshot can exist at a time, and
    /// retention of the log is suspended meanwhile.
    ///
    /// # Errors
    /// [`crate::Error::Overloaded`] while another snapshot exists, [`crate::Error::WritesClosed`].
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.handle.committer.snapshot()
    }

    /// Reads a snapshot of the whole store and returns all inconsistencies.
    ///
    /// # Errors
    /// Same as [`Store::snapshot`], and [`crate::Error::Store`].
    pub fn check(&self) -> Result<Checked> {
        let snapshot = self.handle.committer.snapshot()?.passing_over_damage();
        check::check(snapshot, || self.view.tree.damage.gaps())
    }

    /// Returns the time of the log: the time of its last entry or of the clock, whichever is later.
    pub fn log_time(&self) -> Timestamp {
        self.handle.committer.log_time()
    }

    /// Resets the time of the log to the time of the clock, if the log is ahead. Returns the previous and the new time.
    /// Blocks until the write is durable.
    ///
    /// # Errors
    /// [`crate::Error::WritesClosed`], [`crate::Error::ShuttingDown`].
    pub fn accept_clock(&self) -> Result<(Timestamp, Timestamp)> {
        self.handle.committer.accept_clock()
    }

    /// Drops entries of the log beyond its retention. Called by the registry from time to time.
    ///
    /// # Errors
    /// [`crate::Error::Store`], [`crate::Error::WritesClosed`], [`crate::Error::ShuttingDown`].
    pub fn trim_log(&self, now: Timestamp) -> Result<()> {
        self.handle.committer.trim_log(now)
    }
}
