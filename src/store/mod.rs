//! The store: records, originals, the change log, expiry and positions in one sled tree.
//!
//! - `layout`, `value`: the keys of the tree, as a table, and the encoding of what is under them
//! - `open`: the directory, the lock, the format version
//! - `committer`, `group`, `overlay`: the one thread that writes; a batch and a flush for many transactions
//! - `view`: what readers see, which is nothing that a crash could take back
//! - `records`, `log`, `recent`, `trim`, `expiry`, `positions`, `sessions`: the parts
//!
//! A write is a [`Write`] with a precondition, submitted in a transaction; its [`Ticket`] is
//! fulfilled once it is durable. What changed is a [`Change`] in the log, read by followers.

mod committer;
mod expiry;
mod group;
mod layout;
mod log;
mod open;
mod options;
mod overlay;
mod positions;
mod recent;
mod records;
mod sessions;
mod sync;
mod ticket;
mod trim;
mod value;
mod view;
mod write;

use std::{
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Sender},
    },
    thread::{self, JoinHandle},
};

use tokio::sync::{oneshot, watch};

use self::{
    committer::{Committer, Message, Transaction},
    view::View,
};
use crate::{
    Error, Result,
    change::{Change, Epoch, Position, Seq, Timestamp},
};

pub use self::{
    log::Changes,
    options::Options,
    records::{Record, Records},
    ticket::Ticket,
    write::{Expiry, Operation, Original, Outcome, Write},
};

#[doc(hidden)]
pub use self::options::FlushHook;

/// The durable home of all records. Cloning is cheap; the last clone closes it.
#[derive(Clone)]
pub struct Store {
    view: Arc<View>,
    committer: Arc<Handle>,
}

/// The committer as seen from outside.
struct Handle {
    messages: Sender<Message>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Handle {
    /// Lets the committer finish what it was given, and waits for it.
    fn close(&self) {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            // It has ended already if nobody receives, and a panic in it was dealt with there.
            let _ = self.messages.send(Message::Close);
            let _ = thread.join();
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
    /// [`crate::Error::StoreInUse`], [`crate::Error::UnsupportedStoreFormat`], [`crate::Error::Store`],
    /// [`crate::Error::Io`].
    pub fn open(directory: &Path, options: Options) -> Result<Store> {
        let (view, file, state) = open::open(directory, options)?;
        let view = Arc::new(view);
        let (messages, received) = mpsc::channel();
        let committer = Committer::new(view.clone(), file, received, state);
        let thread = thread::Builder::new().name("committer".into()).spawn(move || committer.run());
        let thread = thread.map_err(|source| Error::Io { doing: "starting the committer".into(), source })?;
        Ok(Store { view, committer: Arc::new(Handle { messages, thread: Mutex::new(Some(thread)) }) })
    }

    /// Finishes what was submitted, then takes no more writes ([`crate::Error::ShuttingDown`]). Blocks.
    /// Reading goes on. The directory is free for another process once all clones and iterators are gone.
    pub fn close(&self) {
        self.committer.close();
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
        self.view.durable.subscribe()
    }

    /// Hands a transaction to the committer: all of its writes or none, one outcome a write.
    /// The ticket is fulfilled once it is durable.
    pub fn submit(&self, transaction: Vec<Write>) -> Ticket {
        let (reply, ticket) = Ticket::new();
        // Nobody receives after `close`: the reply is dropped, which is what the ticket then tells.
        let _ = self.committer.messages.send(Message::Transaction(Transaction { writes: transaction, reply }));
        ticket
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

    /// What a record was converted from.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn original(&self, id: &str) -> Result<Option<Original>> {
        self.view.original(id)
    }

    /// What is noted of a record by [`Operation::Note`].
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn note(&self, id: &str) -> Result<Option<Vec<u8>>> {
        self.view.note(id)
    }

    /// All notes with the ids of their records, those that have expired and aren't purged yet included.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn notes(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.view.notes()
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

    /// How many unexpired records there are.
    pub fn len(&self) -> u64 {
        // Where reading fails, the records that were counted are the best answer there is.
        self.view.live_records().unwrap_or_else(|_| self.view.records())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The ids that have expired and aren't purged yet, at most `limit`, the longest expired first.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<String>> {
        self.view.expired(now, limit)
    }

    /// At most `limit` changes after `since`, none beyond the durable end; fewer where they are large.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn changes(&self, since: Seq, limit: usize) -> Result<Changes> {
        self.view.changes(since, limit)
    }

    /// The next changes after `since`, at most `limit`, if they are in memory; empty at the end of the log.
    pub fn cached_changes(&self, since: Seq, limit: usize) -> Option<Vec<Arc<Change>>> {
        self.view.cached_changes(since, *self.view.durable.borrow(), limit)
    }

    /// The retained changes of one Thing, oldest first, after `since`, at most `limit`.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn history(&self, id: &str, since: Seq, limit: usize) -> Result<Vec<Change>> {
        self.view.history(id, since, limit)
    }

    /// The position that a follower keeps here.
    ///
    /// # Errors
    /// None today; a store elsewhere may have some.
    pub fn position(&self, follower: &str) -> Result<Option<Position>> {
        Ok(self.view.position(follower))
    }

    /// Keeps the position of a follower; durable with the next commit or after a second, whichever is first.
    ///
    /// # Errors
    /// [`crate::Error::WritesClosed`]
    pub fn set_position(&self, follower: &str, position: Position) -> Result<()> {
        self.move_position(follower, Some(position))
    }

    /// Forgets the position of a follower.
    ///
    /// # Errors
    /// [`crate::Error::WritesClosed`]
    pub fn remove_position(&self, follower: &str) -> Result<()> {
        self.move_position(follower, None)
    }

    fn move_position(&self, follower: &str, position: Option<Position>) -> Result<()> {
        self.view.check_open_to_writes()?;
        if self.view.move_position(follower, position) {
            self.committer.messages.send(Message::LocalStateMoved).map_err(|_| Error::ShuttingDown)?;
        }
        Ok(())
    }

    /// The sessions that network followers keep here, by name.
    ///
    /// # Errors
    /// [`crate::Error::Store`]
    pub fn sessions(&self) -> Result<Vec<(String, Vec<u8>)>> {
        self.view.read_sessions()
    }

    /// Keeps a session; durable as a position is.
    ///
    /// # Errors
    /// [`crate::Error::WritesClosed`]
    pub fn put_session(&self, name: &str, session: Vec<u8>) -> Result<()> {
        self.move_session(name, Some(session))
    }

    /// Forgets a session.
    ///
    /// # Errors
    /// [`crate::Error::WritesClosed`]
    pub fn remove_session(&self, name: &str) -> Result<()> {
        self.move_session(name, None)
    }

    fn move_session(&self, name: &str, session: Option<Vec<u8>>) -> Result<()> {
        self.view.check_open_to_writes()?;
        if self.view.move_session(name, session) {
            self.committer.messages.send(Message::LocalStateMoved).map_err(|_| Error::ShuttingDown)?;
        }
        Ok(())
    }

    /// Why the store takes no writes, if it takes none.
    pub fn closed_to_writes(&self) -> Option<String> {
        self.view.closed.get().cloned()
    }

    /// Drops what the log needs no longer. Called from time to time by the registry.
    ///
    /// # Errors
    /// [`crate::Error::Store`], [`crate::Error::WritesClosed`], [`crate::Error::ShuttingDown`].
    pub fn trim_log(&self, now: Timestamp) -> Result<()> {
        let (done, trimmed) = oneshot::channel();
        self.committer.messages.send(Message::Trim { now, done }).map_err(|_| Error::ShuttingDown)?;
        pollster::block_on(trimmed).unwrap_or(Err(Error::ShuttingDown))
    }
}
