//! Follower for the flags of Things. The flags are kept in memory, and computed from the records at every start.

use std::sync::{
    Arc, PoisonError, RwLock,
    atomic::{AtomicU64, Ordering},
};

use serde_json::Value;

use super::{
    follower::{Durability, Follower, changed},
    stop::Stop,
};
use crate::{
    Result,
    access::Visibility,
    change::{Position, Seq},
    convert::Credentials,
    registry::{
        names::{Named, Names, address_of},
        own_members::SIGNATURE,
    },
    store::{LoggedChange, Record, Store},
    td::{self, Flag},
};

/// Names of all Things and flags of their texts, up to a position of the log.
#[derive(Default)]
pub(in crate::registry) struct SharedFlags {
    names: RwLock<Names>,
    /// Position up to which this follower has read the log.
    position: AtomicU64,
}

impl SharedFlags {
    /// Returns the flags of a Thing, as far as the log was read.
    pub(in crate::registry) fn of(&self, id: &str) -> Vec<Flag> {
        self.names.read().unwrap_or_else(PoisonError::into_inner).flags_of(id)
    }

    /// Returns the ids of the first public Things with a title and a description, as far as the log was read. Edits
    /// may have changed the description.
    pub(in crate::registry) fn find_by_texts(&self, title: &str, description: Option<&str>) -> Vec<String> {
        self.names.read().unwrap_or_else(PoisonError::into_inner).find_by_texts(title, description)
    }

    /// Returns the ids of the first Things with an address, as far as the log was read.
    pub(in crate::registry) fn find_by_address(&self, address: &str) -> Vec<String> {
        self.names.read().unwrap_or_else(PoisonError::into_inner).find_by_address(address)
    }

    /// Returns the position up to which the follower has read the log.
    pub(in crate::registry) fn position(&self) -> Seq {
        Seq(self.position.load(Ordering::Acquire))
    }

    fn reached(&self, position: Position) {
        self.position.store(position.seq.0, Ordering::Release);
    }

    fn change(&self, change: impl FnOnce(&mut Names)) {
        change(&mut self.names.write().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Keeps the flags at the end of the log.
pub(in crate::registry) struct FlagsFollower {
    store: Store,
    shared: Arc<SharedFlags>,
    /// Position, or `None` before the first build.
    position: Option<Position>,
}

impl FlagsFollower {
    pub(in crate::registry) fn new(store: Store, shared: Arc<SharedFlags>) -> FlagsFollower {
        FlagsFollower { store, shared, position: None }
    }
}

impl Follower for FlagsFollower {
    fn name(&self) -> &'static str {
        super::FLAGS
    }

    fn position(&mut self) -> Result<Option<Position>> {
        Ok(self.position)
    }

    fn apply(&mut self, changes: &[Arc<LoggedChange>], stop: &Stop) -> Result<()> {
        for thing in changed(&self.store, changes, stop) {
            let (id, record) = thing?;
            match record {
                Some(record) => put(&record, |named| self.shared.change(|names| names.put(named))),
                None => self.shared.change(|names| names.remove(id)),
            }
        }
        Ok(())
    }

    fn commit(&mut self, position: Position, _: Durability) -> Result<()> {
        self.shared.reached(position);
        self.position = Some(position);
        Ok(())
    }

    fn rebuild(&mut self, records: &mut dyn Iterator<Item = Result<Record>>, position: Position) -> Result<()> {
        let mut built = Names::default();
        for record in records {
            put(&record?, |named| built.put(named));
        }
        self.shared.change(|names| *names = built);
        self.shared.reached(position);
        self.position = Some(position);
        Ok(())
    }
}

/// Reads the relevant properties of a Thing, before anything is locked.
fn put(record: &Record, put: impl FnOnce(Named<'_>)) {
    // What is stored is an object of JSON.
    let thing: Value = serde_json::from_str(&record.text).unwrap_or_default();
    // Credentials in documents of other formats are replaced on import, before they are converted.
    let is_as_converted = record.format.is_some() && !record.is_edited;
    let credentials = if is_as_converted { Vec::new() } else { Credentials::find(&record.text, &thing).flags() };
    put(Named {
        id: &record.id,
        title: thing.get("title").and_then(Value::as_str),
        description: thing.get("description").and_then(Value::as_str),
        address: record.format.as_deref().and_then(|format| address_of(format, &thing)),
        is_edited: record.is_edited,
        owner: record.access.owner.as_ref().map(|owner| owner.as_str()),
        created: record.created,
        is_public: record.access.visibility == Visibility::Public,
        is_signed: thing
            .get(SIGNATURE)
            .and_then(|signature| signature.get("status"))
            .is_some_and(|status| status == "valid"),
        flags: [td::flags(&thing), credentials].concat(),
    });
}
