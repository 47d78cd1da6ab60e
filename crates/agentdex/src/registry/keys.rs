//! API keys of a registry: creation, listing, revocation, and authentication.

use std::{
    collections::{BTreeMap, HashMap, hash_map},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicI64, Ordering},
    },
};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::{
    Error, Result,
    access::{ApiKey, Caller, NewKey, Principal, Secret, Token},
    change::Timestamp,
    store::{AuditChain, AuditEntry, AuditedState, Named, Store},
};

/// The most keys.
const MAX_KEYS: usize = 100_000;
/// Minimum time between two recorded uses of a key, in milliseconds.
const USE_RECORDED_EVERY: i64 = 60_000;
/// Stands for no use.
const NEVER: i64 = i64::MIN;

/// A key as it is stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(flatten)]
    key: ApiKey,
    secret: Secret,
}

/// A key in use.
struct Entry {
    key: ApiKey,
    secret: Secret,
    principal: Arc<Principal>,
    last_used: AtomicI64,
}

impl Entry {
    fn new(Stored { key, secret }: Stored) -> Entry {
        let principal =
            Principal { owner: key.owner.clone(), role: key.role, key: key.id.clone(), expires: key.expires };
        let last_used = AtomicI64::new(key.last_used.map_or(NEVER, |moment| moment.0));
        Entry { key, secret, principal: Arc::new(principal), last_used }
    }

    /// The key with its last use.
    fn shown(&self) -> ApiKey {
        let last_used = Some(self.last_used.load(Ordering::Relaxed)).filter(|moment| *moment != NEVER);
        ApiKey { last_used: last_used.map(Timestamp), ..self.key.clone() }
    }

    fn encode(&self) -> Result<Vec<u8>> {
        let stored = Stored { key: self.shown(), secret: self.secret.clone() };
        serde_json::to_vec(&stored)
            .map_err(|source| Error::Store { doing: "writing an API key", source: source.into() })
    }
}

/// API keys of a registry. All keys are in memory.
pub struct Keys {
    store: Store,
    known: Arc<Known>,
}

/// Keys in memory, updated with each commit.
#[derive(Default)]
struct Known {
    entries: RwLock<HashMap<String, Arc<Entry>>>,
    /// Revoked keys that may still be on disk. They are already rejected, but would become valid again after a
    /// restart.
    revoking: Mutex<BTreeMap<String, ApiKey>>,
    /// Number of keys that were revoked since the start.
    revoked: watch::Sender<u64>,
}

impl Known {
    /// Applies a commit.
    fn take(&self, committed: &[Named]) {
        for named in committed {
            let Named::Key { id, value } = named else { continue };
            match value.as_deref().map(read_key).transpose() {
                Ok(Some(stored)) => self.add(id, stored),
                Ok(None) => drop(self.remove(id)),
                Err(error) => tracing::warn!(key = id, %error, "a stored API key can't be used"),
            }
        }
    }

    fn add(&self, id: &str, stored: Stored) {
        // A use may be stored after the key was revoked, and before the revocation is.
        let revoking = self.revoking();
        if revoking.contains_key(id) {
            return;
        }
        match self.write().entry(id.to_owned()) {
            hash_map::Entry::Occupied(known) => {
                let used = stored.key.last_used.map_or(NEVER, |moment| moment.0);
                known.get().last_used.fetch_max(used, Ordering::Relaxed);
            }
            hash_map::Entry::Vacant(place) => drop(place.insert(Arc::new(Entry::new(stored)))),
        }
    }

    fn remove(&self, id: &str) -> bool {
        let is_removed = self.write().remove(id).is_some();
        if is_removed {
            self.revoked.send_modify(|revoked| *revoked += 1);
        }
        is_removed
    }

    fn revoking(&self) -> MutexGuard<'_, BTreeMap<String, ApiKey>> {
        self.revoking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<String, Arc<Entry>>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<String, Arc<Entry>>> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keys {
    /// Reads the keys of a store.
    ///
    /// # Errors
    /// [`Error::Store`]
    pub fn open(store: &Store) -> Result<Keys> {
        let known = Arc::<Known>::default();
        let listening = known.clone();
        store.listen(Arc::new(move |committed| listening.take(committed)));
        // A commit that is published meanwhile waits.
        let mut entries = known.write();
        for (id, bytes) in store.local().keys()? {
            entries.insert(id, Arc::new(Entry::new(read_key(&bytes)?)));
        }
        drop(entries);
        Ok(Keys { store: store.clone(), known })
    }

    /// Creates a key. Returns its metadata, and the secret text to send with requests. The text can't be retrieved
    /// later. Blocks until the key is durable. The audit trail records the creation without an owner; for an
    /// authenticated caller, use [`Registry::create_key`].
    ///
    /// [`Registry::create_key`]: super::Registry::create_key
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] beyond 100,000 keys, [`Error::WritesClosed`], [`Error::ShuttingDown`].
    pub fn create(&self, new: NewKey) -> Result<(ApiKey, String)> {
        self.create_noted(new, |entry| entry)
    }

    /// Creates a key. `in_name` sets the author of the audit entry.
    pub(super) fn create_noted(
        &self,
        new: NewKey,
        in_name: impl FnOnce(AuditEntry) -> AuditEntry,
    ) -> Result<(ApiKey, String)> {
        if self.known.read().len() >= MAX_KEYS {
            return Err(Error::LimitExceeded { what: "number of API keys", maximum: MAX_KEYS as u64 });
        }
        let text = Token::from_random(&random());
        let malformed =
            || Error::Store { doing: "creating an API key", source: "the generated key can't be parsed".into() };
        let token = Token::parse(&text).ok_or_else(malformed)?;
        let created = Timestamp::now();
        let expires = new.ttl.map(|ttl| created.plus_seconds(ttl));
        let (id, role, owner) = (token.id.to_owned(), new.role, new.owner);
        let key = ApiKey { id, role, owner, created, expires, last_used: None, is_revoking: false };
        let entry = Entry::new(Stored { key: key.clone(), secret: token.secret() });
        self.store.local().put_key_noted(&key.id, entry.encode()?, Some(in_name(about("POST", &key))))?;
        Ok((key, text))
    }

    /// Returns all keys, oldest first. Includes expired keys, and revoked keys whose revocation isn't stored yet.
    pub fn list(&self) -> Vec<ApiKey> {
        let mut keys: Vec<ApiKey> = self.known.read().values().map(|entry| entry.shown()).collect();
        let mut revoking = self.known.revoking();
        revoking.retain(|id, _| self.store.local().is_removing_key(id));
        keys.extend(revoking.values().cloned());
        drop(revoking);
        keys.sort_by(|one, other| (one.created, &one.id).cmp(&(other.created, &other.id)));
        keys
    }

    /// Revokes a key, and returns false if it doesn't exist. The key is rejected immediately. Blocks until the
    /// revocation is durable. If the revocation can't be stored, the key is listed with [`ApiKey::is_revoking`]; on a
    /// full disk, the revocation is retried. As in [`Keys::create`], the audit trail records no owner.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::WritesClosed`], [`Error::ShuttingDown`].
    pub fn revoke(&self, id: &str) -> Result<bool> {
        self.revoke_noted(id, |entry| entry)
    }

    /// Revokes a key. `in_name` sets the author of the audit entry.
    pub(super) fn revoke_noted(&self, id: &str, in_name: impl FnOnce(AuditEntry) -> AuditEntry) -> Result<bool> {
        let known = self.known.read().get(id).cloned();
        let key = match known {
            Some(entry) => {
                let key = ApiKey { is_revoking: true, ..entry.shown() };
                self.known.revoking().insert(id.to_owned(), key.clone());
                self.known.remove(id);
                key
            }
            None => match self.known.revoking().get(id).cloned() {
                Some(key) => key,
                None => return Ok(false),
            },
        };
        self.store.local().remove_key_noted(id, Some(in_name(about("DELETE", &key))))?;
        self.known.revoking().remove(id);
        Ok(true)
    }

    /// Returns the holder of a key, or `None` if the key doesn't exist, has expired, or was revoked. Records the use
    /// of the key, at most once a minute.
    pub fn authenticate(&self, text: &str) -> Option<Caller> {
        let token = Token::parse(text)?;
        let now = Timestamp::now();
        let entry = self.known.read().get(token.id).cloned()?;
        if !entry.secret.matches(&token) || !entry.key.is_valid_at(now) {
            return None;
        }
        let last_used = entry.last_used.load(Ordering::Relaxed);
        let is_due = last_used == NEVER || now.0.saturating_sub(last_used) >= USE_RECORDED_EVERY;
        if is_due {
            self.record_use(&entry, last_used, now);
        }
        Some(Caller::Principal(entry.principal.clone()))
    }

    /// True if there is a key of that id.
    pub(super) fn has(&self, id: &str) -> bool {
        self.known.read().contains_key(id)
    }

    /// Changes whenever a key is revoked.
    pub(super) fn revoked(&self) -> watch::Receiver<u64> {
        self.known.revoked.subscribe()
    }

    /// Records the use of a key. The use also counts if it can't be stored.
    fn record_use(&self, entry: &Entry, before: i64, now: Timestamp) {
        if entry.last_used.compare_exchange(before, now.0, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return;
        }
        let stored = entry.encode().and_then(|bytes| self.store.local().use_key(&entry.key.id, bytes));
        if let Err(error) = stored {
            tracing::debug!(key = entry.key.id, %error, "the use of an API key can't be recorded");
        }
    }
}

/// Creates the audit entry about a created or revoked key.
fn about(action: &str, key: &ApiKey) -> AuditEntry {
    let state = Some(AuditedState {
        owner: Some(key.owner.clone()),
        role: Some(key.role),
        expires: key.expires,
        ..AuditedState::default()
    });
    let (from, to) = if action == "DELETE" { (state, None) } else { (None, state) };
    let (action, target) = (action.to_owned(), format!("/keys/{}", key.id));
    AuditEntry { action, target, from, to, chain: Some(AuditChain::Administration), ..AuditEntry::default() }
}

/// Reads a key as it is stored.
///
/// # Errors
/// [`Error::Store`]
pub(super) fn stored_key(bytes: &[u8]) -> Result<ApiKey> {
    read_key(bytes).map(|stored| stored.key)
}

fn read_key(bytes: &[u8]) -> Result<Stored> {
    serde_json::from_slice(bytes).map_err(|source| Error::Store { doing: "reading an API key", source: source.into() })
}

/// Bytes of the random number generator of the system: version 4 UUIDs without the bytes that have fixed bits.
fn random() -> [u8; 38] {
    let mut bytes = [0; 38];
    for part in bytes.chunks_mut(6) {
        let random = uuid::Uuid::new_v4();
        for (byte, random) in part.iter_mut().zip(random.as_bytes()) {
            *byte = *random;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::{
        access::Role,
        store::{Directories, Faults, Options},
    };

    #[test]
    fn random_bytes_have_no_fixed_bits() {
        let (mut all, mut any) = ([0xff; 38], [0; 38]);
        for _ in 0..200 {
            for (index, byte) in random().into_iter().enumerate() {
                all[index] &= byte;
                any[index] |= byte;
            }
        }
        assert_eq!((all, any), ([0; 38], [0xff; 38]));
    }

    #[test]
    fn keys_are_valid_until_they_expire_or_are_revoked() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), Default::default()).unwrap();
        let keys = Keys::open(&store).unwrap();
        let new = |ttl| NewKey { role: Role::Register, owner: "team".parse().unwrap(), ttl };
        let (key, text) = keys.create(new(None)).unwrap();
        let (_, expired) = keys.create(new(Some(0))).unwrap();
        assert_eq!(keys.authenticate(&expired), None);
        let Some(Caller::Principal(principal)) = keys.authenticate(&text) else { panic!("not authenticated") };
        assert_eq!((principal.role, principal.owner.as_str(), &principal.key), (Role::Register, "team", &key.id));
        assert!(keys.list().into_iter().any(|listed| listed.id == key.id && listed.last_used.is_some()));
        let other_secret = format!("{}{}", &text[..text.len() - 1], if text.ends_with('0') { '1' } else { '0' });
        assert_eq!(keys.authenticate(&other_secret), None);

        drop(keys);
        store.close();
        drop(store);
        let store = Store::open(directory.path(), Default::default()).unwrap();
        let keys = Keys::open(&store).unwrap();
        assert!(keys.authenticate(&text).is_some());
        let on_disk = store.local().keys().unwrap();
        let secret = text.rsplit('_').next().unwrap().as_bytes();
        assert!(on_disk.iter().all(|(_, bytes)| !bytes.windows(secret.len()).any(|window| window == secret)));
        assert!(keys.revoke(&key.id).unwrap() && !keys.revoke(&key.id).unwrap());
        assert_eq!(keys.authenticate(&text), None);
        drop(keys);
        assert_eq!(Keys::open(&store).unwrap().list().len(), 1);
        store.close();
    }

    #[test]
    fn keys_follow_what_another_store_commits() {
        let directories = Directories::new(2, 1, Faults { lag: 2_000, ..Faults::default() });
        let open = |number| Store::open(&directories.path(number), directories.options(number, Options::default()));
        let stores = [0, 1].map(|number| open(number).unwrap());
        let [one, other] = [0, 1].map(|number| Keys::open(&stores[number]).unwrap());
        let until = |holds: &dyn Fn() -> bool| {
            let started = Instant::now();
            while !holds() {
                assert!(started.elapsed() < Duration::from_secs(60));
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        let new = NewKey { role: Role::Register, owner: "team".parse().unwrap(), ttl: None };
        let (key, text) = one.create(new).unwrap();
        until(&|| other.authenticate(&text).is_some());
        assert_eq!(other.list()[0].id, key.id);
        let revoked = one.revoked();
        assert!(other.revoke(&key.id).unwrap());
        until(&|| one.authenticate(&text).is_none());
        assert!(revoked.has_changed().unwrap() && one.list().is_empty());
        assert!(!one.revoke(&key.id).unwrap());
        stores.iter().for_each(Store::close);
    }
}
