//! Follower for the RDF statements of all Things, and their view for SPARQL queries. Statements are kept in memory,
//! and read from the records at startup.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicUsize};

use super::{
    follower::{Durability, Follower, changed},
    runner::Shared,
    stop::Stop,
    taken_in::TakenIn,
    unseen::Unseen,
};
use crate::{
    Error, Result,
    access::{Access, Grants},
    change::Position,
    search::sparql::{QuadStore, Snapshot},
    store::{LoggedChange, Record, Store},
    td::json_ld::{Expander, Pending, Statements},
    td::{self, Registration},
};

/// Number of descriptions in a portion, which are parsed in parallel.
const RECORDS_AT_ONCE: usize = 128;
/// Maximum size of the descriptions in a portion, in bytes. A stop waits for the current portion.
const BYTES_AT_ONCE: usize = 1024 * 1024;
/// Number of portions sorted together during a rebuild. Unsorted statements take more memory.
const PORTIONS_IN_A_SEGMENT: usize = 16;

/// Statements for SPARQL queries, with their follower and the number of running queries.
pub(in crate::registry) struct Sparql {
    pub quads: Arc<Quads>,
    /// Follower that keeps the statements up to date with the log.
    pub following: Arc<Shared>,
    /// Number of running queries.
    pub running: AtomicUsize,
}

/// Statements as of the last commit, and the Things removed since.
pub(in crate::registry) struct Quads {
    store: Store,
    shown: Mutex<Shown>,
}

#[derive(Default)]
struct Shown {
    snapshot: Option<(Snapshot, Unseen)>,
    /// Access to each description when it was indexed.
    taken_in: TakenIn,
}

/// Access to descriptions indexed since the last commit.
#[derive(Default)]
struct Accesses {
    /// True if that is all there is.
    is_all: bool,
    changed: Vec<(String, Option<Access>)>,
}

impl Quads {
    pub(in crate::registry) fn new(store: Store) -> Arc<Quads> {
        Arc::new(Quads { store, shown: Mutex::default() })
    }

    /// Returns the statements, and the ids of Things that were removed since they were read or whose statements were
    /// hidden from a caller with these grants. Returns `None` if there are no statements yet.
    ///
    /// # Errors
    /// [`Error::Store`]
    pub(in crate::registry) fn visible(&self, grants: Option<&Grants>) -> Result<Option<(Snapshot, Vec<String>)>> {
        let mut shown = self.lock();
        let Some((snapshot, unseen)) = &mut shown.snapshot else { return Ok(None) };
        if !unseen.read_on(&self.store)? {
            // What was removed can't be told any more.
            shown.snapshot = None;
            return Ok(None);
        }
        let (snapshot, mut hidden) = (snapshot.clone(), unseen.newly_deleted().to_vec());
        hidden.extend(shown.taken_in.unseen_by(grants).map(str::to_owned));
        Ok(Some((snapshot, hidden)))
    }

    fn show(&self, snapshot: Snapshot, accesses: Accesses, position: Position) {
        let mut shown = self.lock();
        if accesses.is_all {
            shown.taken_in = TakenIn::default();
        }
        accesses.changed.iter().for_each(|(id, access)| shown.taken_in.put(id, access.as_ref()));
        let unseen = match shown.snapshot.take() {
            Some((_, mut unseen)) => {
                unseen.shown(position.seq);
                unseen
            }
            None => Unseen::after(position.seq),
        };
        shown.snapshot = Some((snapshot, unseen));
    }

    fn lock(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps the statements at the end of the log.
pub(in crate::registry) struct QuadFollower {
    store: Store,
    quads: Arc<Quads>,
    statements: QuadStore,
    accesses: Accesses,
    /// Position, or `None` before the statements were read.
    position: Option<Position>,
    expander: Expander,
}

impl QuadFollower {
    pub(in crate::registry) fn new(store: Store, quads: Arc<Quads>) -> QuadFollower {
        let (statements, accesses) = (QuadStore::new(), Accesses::default());
        QuadFollower { store, quads, statements, accesses, position: None, expander: Expander::new() }
    }

    /// Starts reading a description, together with registry data that changes only with it.
    fn start(&self, record: &Record) -> Result<Pending> {
        let registration = Registration {
            created: record.created,
            modified: record.modified,
            expires: None,
            ttl: None,
            retrieved: None,
        };
        Ok(self.expander.start(td::enrich(&record.text, &registration, td::Notes::default()))?)
    }

    /// Takes in descriptions, which are read side by side.
    fn put_all(&mut self, records: &[Record]) -> Result<()> {
        let pending: Vec<Pending> = records.iter().map(|record| self.start(record)).collect::<Result<_>>()?;
        self.accesses.changed.extend(records.iter().map(|record| (record.id.clone(), Some(record.access.clone()))));
        records
            .iter()
            .zip(pending)
            .try_for_each(|(record, read)| self.put(&record.id, read.wait().map_err(Error::from)))
    }

    fn put(&mut self, id: &str, read: Result<Statements>) -> Result<()> {
        match read {
            Ok(read) => self.statements.put(id, &read.quads),
            Err(error @ (Error::NotExpressible { .. } | Error::LimitExceeded { .. } | Error::MalformedJson { .. })) => {
                tracing::debug!(id, %error, "a description can't be converted to RDF statements");
                self.statements.remove(id);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

impl Follower for QuadFollower {
    fn name(&self) -> &'static str {
        super::SPARQL
    }

    fn position(&mut self) -> Result<Option<Position>> {
        Ok(self.position)
    }

    fn apply(&mut self, changes: &[Arc<LoggedChange>], stop: &Stop) -> Result<()> {
        let store = self.store.clone();
        let mut things = changed(&store, changes, stop).peekable();
        while things.peek().is_some() {
            let (mut records, mut bytes) = (Vec::new(), 0);
            while let Some(thing) = things.next_if(|_| records.len() < RECORDS_AT_ONCE && bytes < BYTES_AT_ONCE) {
                match thing? {
                    (_, Some(record)) => {
                        bytes += record.text.len();
                        records.push(record);
                    }
                    (id, None) => {
                        self.accesses.changed.push((id.to_owned(), None));
                        self.statements.remove(id);
                    }
                }
            }
            self.put_all(&records)?;
        }
        Ok(())
    }

    fn commit(&mut self, position: Position, _: Durability) -> Result<()> {
        self.quads.show(self.statements.commit(), std::mem::take(&mut self.accesses), position);
        self.position = Some(position);
        Ok(())
    }

    fn rebuild(&mut self, records: &mut dyn Iterator<Item = Result<Record>>, position: Position) -> Result<()> {
        self.position = None;
        self.statements = QuadStore::new();
        self.accesses = Accesses { is_all: true, ..Accesses::default() };
        for portion in 1_usize.. {
            let (mut part, mut bytes) = (Vec::new(), 0);
            while part.len() < RECORDS_AT_ONCE && bytes < BYTES_AT_ONCE {
                let Some(record) = records.next().transpose()? else { break };
                bytes += record.text.len();
                part.push(record);
            }
            if part.is_empty() {
                break;
            }
            self.put_all(&part)?;
            if portion.is_multiple_of(PORTIONS_IN_A_SEGMENT) {
                self.statements.commit();
            }
        }
        // What its threads remember of all those descriptions is of no use for the next.
        self.expander = Expander::new();
        self.commit(position, Durability::System)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::followers::taken_in::tests::{STEPS, Writer};

    #[test]
    fn statements_are_hidden_from_who_did_not_see_what_they_say() {
        let writer = Writer::new();
        let end = || Position { epoch: writer.store.epoch(), seq: *writer.store.durable().borrow() };
        let quads = Quads::new(writer.store.clone());
        let mut follower = QuadFollower::new(writer.store.clone(), quads.clone());
        follower.rebuild(&mut std::iter::empty(), end()).unwrap();
        let is_hidden = |grants: Option<&Grants>| !quads.visible(grants).unwrap().unwrap().1.is_empty();
        for (visibility, text) in STEPS {
            let change = writer.put(visibility, text);
            // The statements are those of before; who may see them is too, and nobody where fewer may now.
            let (was_private, is_narrower) = (text == "public again", text == "private");
            let expected = (was_private || is_narrower, is_narrower);
            assert_eq!((is_hidden(Some(&Grants::default())), is_hidden(None)), expected, "before {text}");
            follower.apply(&[change], &Stop::default()).unwrap();
            follower.commit(end(), Durability::Process).unwrap();
            let is_private = text == "private";
            assert_eq!((is_hidden(Some(&Grants::default())), is_hidden(None)), (is_private, false), "after {text}");
            assert!(!is_hidden(Some(&writer.owner())), "its owner sees it");
        }
    }
}
