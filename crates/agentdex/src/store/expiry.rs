//! Expiry: due records, and the extension of expiries after a restart.
//!
//! When a store is opened, every expiry with a ttl is extended to that ttl from now, so a registry that was down
//! doesn't purge Things that couldn't renew. Readers apply the extension on the fly until commits have written it to
//! the tree, in small steps between writes.
//!
//! With a shared log, the expiries in all stores are extended together, after no store could write for a while. A commit
//! records the beginning under `m/grace`, and the last step removes it.
//!
//! Expired records that are not yet purged are kept in memory. They are found by an incremental scan: a caller pays
//! for the records expired since the previous call, up to [`SCANNED_AT_ONCE`].

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
};

use sled::IVec;

use super::{
    database::Database,
    layout,
    tree::{Tree, reading},
    value,
    write::Expiry,
};
use crate::{Result, change::Timestamp};

/// Maximum number of expiries scanned per call.
const SCANNED_AT_ONCE: usize = 1024;

/// The extension of expiries, while it isn't written to the tree yet.
#[derive(Debug)]
pub(super) struct Grace(AtomicI64);

/// Value of [`Grace`] without an extension.
const NO_GRACE: i64 = i64::MIN;

impl Grace {
    /// Returns the extension for a store at its opening: since that moment, or since the moment recorded in the shared log.
    pub fn load(tree: &Database, opened: Timestamp, is_shared: bool) -> Result<Grace> {
        let since = if is_shared {
            let recorded = tree.get(layout::GRACE_KEY).map_err(reading)?;
            recorded.map(|bytes| value::decode_moment(&bytes)).transpose()?
        } else {
            tree.scan_prefix(layout::EXPIRIES).next().map(|_| opened)
        };
        Ok(Grace(AtomicI64::new(since.map_or(NO_GRACE, |Timestamp(since)| since))))
    }

    /// Marks the extension as written to the tree.
    pub fn grant(&self) {
        self.0.store(NO_GRACE, Ordering::Release);
    }

    /// Returns the moment since which ttls count, or `None` once the extension is written to the tree.
    pub fn pending(&self) -> Option<Timestamp> {
        Some(self.0.load(Ordering::Acquire)).filter(|since| *since != NO_GRACE).map(Timestamp)
    }
}

/// Extends an expiry during a grace `since` a moment: it is due at the earliest its ttl after that.
pub(super) fn extended(expiry: Expiry, since: Option<Timestamp>) -> Expiry {
    let (Some(ttl), Some(expires), Some(since)) = (expiry.ttl, expiry.expires, since) else { return expiry };
    Expiry { expires: Some(expires.max(since.plus_seconds(ttl))), ..expiry }
}

/// The expiries of records.
pub(super) struct Expiries {
    tree: Arc<Tree>,
    pub grace: Grace,
    expired: Mutex<Expired>,
}

/// The expired records, as far as the expiries were scanned.
struct Expired {
    /// Keys by moment and id.
    keys: BTreeSet<IVec>,
    /// First key not yet scanned.
    next: IVec,
    /// The ids of all keys, once somebody asked for them.
    ids: Option<Arc<[String]>>,
}

impl Expiries {
    pub fn new(tree: Arc<Tree>, grace: Grace) -> Expiries {
        let expired = Expired { keys: BTreeSet::new(), next: IVec::from(layout::DUE), ids: None };
        Expiries { tree, grace, expired: Mutex::new(expired) }
    }

    /// Returns the durable expiry of a record, or `None` if it has no expiry.
    pub fn of(&self, id: &str) -> Result<Option<Expiry>> {
        let Some(bytes) = self.tree.get(&layout::expiry_key(id))? else { return Ok(None) };
        value::decode_expiry(&bytes).map(|expiry| Some(extended(expiry, self.grace.pending())))
    }

    /// See [`super::Store::expired`].
    pub fn expired(&self, now: Timestamp, limit: usize) -> Result<Vec<String>> {
        // Unlocked between the steps: commits don't wait for all of them.
        while {
            let mut expired = self.lock();
            expired.keys.len() < limit && self.scan_on(&mut expired, now)?
        } {}
        let expired = self.lock();
        let keys = expired.keys.range(..layout::after_due(now)).take(limit);
        keys.map(|key| layout::id_of_due_key(key).map(str::to_owned)).collect()
    }

    /// See [`super::Store::all_expired`].
    pub fn all_expired(&self, now: Timestamp) -> Result<Arc<[String]>> {
        while self.scan_on(&mut self.lock(), now)? {}
        let mut expired = self.lock();
        let end = layout::after_due(now);
        let is_all = expired.keys.last().is_none_or(|last| *last < end);
        if let Some(ids) = expired.ids.clone().filter(|_| is_all) {
            return Ok(ids);
        }
        let keys = expired.keys.range(..end);
        let ids: Arc<[String]> =
            keys.map(|key| layout::id_of_due_key(key).map(str::to_owned)).collect::<Result<Vec<_>>>()?.into();
        expired.ids = is_all.then(|| ids.clone());
        Ok(ids)
    }

    /// Returns the number of expired records, and the result of `records`, called under the same lock. When very many
    /// records have just expired, some of them are not counted yet.
    pub fn count(&self, now: Timestamp, records: impl FnOnce() -> u64) -> Result<(usize, u64)> {
        let mut expired = self.lock();
        self.scan_on(&mut expired, now)?;
        let end = layout::after_due(now);
        let is_all = expired.keys.last().is_none_or(|last| *last < end);
        let count = if is_all { expired.keys.len() } else { expired.keys.range(..end).count() };
        Ok((count, records()))
    }

    /// Begins an extension since a moment, or ends it. The commit with it must be visible to readers.
    pub fn set_grace(&self, since: Option<Timestamp>) {
        let mut expired = self.lock();
        self.grace.0.store(since.map_or(NO_GRACE, |Timestamp(since)| since), Ordering::Release);
        if since.is_some() {
            // Records that had expired haven't any more.
            (expired.keys, expired.ids) = Default::default();
            expired.next = IVec::from(layout::DUE);
        }
    }

    /// Applies the expiries added (true) or removed by a durable batch. `show` makes the batch visible to readers.
    pub fn publish(&self, moved: Vec<(IVec, bool)>, show: impl FnOnce()) {
        let mut expired = self.lock();
        show();
        for (key, is_there) in moved {
            let is_changed = match is_there {
                false => expired.keys.remove(&key),
                true => key < expired.next && expired.keys.insert(key),
            };
            if is_changed {
                expired.ids = None;
            }
        }
    }

    /// Scans a step further; whether there may be more.
    fn scan_on(&self, expired: &mut Expired, now: Timestamp) -> Result<bool> {
        let end = layout::after_due(now);
        if expired.next >= end {
            return Ok(false);
        }
        let mut left = SCANNED_AT_ONCE;
        let (pairs, stopped_at) = self.tree.scan(&expired.next, &end, |_| {
            left -= 1;
            left == 0
        })?;
        let pending = self.grace.pending();
        for (key, _) in pairs {
            // What has a grace moves to a later key once that is in the tree.
            if pending.is_none() || self.of(layout::id_of_due_key(&key)?)?.is_some_and(|expiry| expiry.is_due(now)) {
                expired.keys.insert(key);
                expired.ids = None;
            }
        }
        expired.next = stopped_at.as_ref().map_or(end, |last| layout::key_after(last));
        Ok(stopped_at.is_some())
    }

    /// Returns the next expiries in order of ids, at most `limit`, as ids and keys.
    pub fn page(&self, start: &IVec, limit: usize) -> Result<Vec<(String, IVec)>> {
        let db = self.tree.db()?;
        let named = |(key, _): (IVec, IVec)| Ok((layout::name_of(&key, layout::EXPIRIES)?, key));
        self.tree.pairs(&db, start, layout::AFTER_EXPIRIES).take(limit).map(|pair| named(pair?)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Expired> {
        self.expired.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
