//! Imports by URL: a document is fetched, converted and registered, and from then on followed.
//!
//! A source is asked again on an interval ([`schedule`]), conditionally ([`look`]). What changed is
//! imported again; a source that fails again and again makes its Thing stale, and removes nothing
//! ([`settle`]). What is remembered of a source ([`followed`]) is durable in one transaction with its
//! Thing, and ends with it, or when the description is changed by hand. The network is never waited for
//! while the registry is held ([`worker`]).

mod followed;
mod look;
mod options;
mod schedule;
mod settle;
mod trust;
mod worker;

use std::{sync::Arc, time::Duration};

use tokio::sync::Mutex;

pub use self::{
    followed::{FollowedImport, ImportStatus, Revision},
    options::{Arrived, Converter, Follow, Following},
    settle::Refreshed,
};
use self::{
    look::{Arrival, Follower},
    schedule::{Outlook, Schedule, next_try},
    worker::Worker,
};
use super::{Import, Imported, Registry};
use crate::{
    Error, Result, Timestamp,
    change::Precondition,
    fetch::candidates,
    signature::{TrustedKeys, Verification, verify},
    store::{Operation, Store, Write},
    td::{self, Document},
};

/// What a registry follows sources with.
pub(super) struct Imports {
    follower: Arc<Follower>,
    schedule: Schedule,
    /// Held while something is written of an import that rests on what was read of it.
    settling: Mutex<()>,
    worker: Worker,
}

impl Imports {
    /// Takes up what is followed. Nothing is looked at before [`Imports::start`].
    pub fn open(following: Following, store: &Store) -> Result<Imports> {
        let schedule = Schedule::default();
        for (id, note) in store.notes()? {
            match FollowedImport::from_note(&note) {
                Ok(import) => schedule.plan(&id, import.next_try),
                Err(error) => tracing::warn!(id, %error, "an import can't be followed"),
            }
        }
        let follower = Arc::new(Follower::new(following));
        Ok(Imports { follower, schedule, settling: Mutex::new(()), worker: Worker::default() })
    }

    /// Looks at what is due, in a thread of its own, until it is stopped.
    pub fn start(&self, registry: &Registry) -> Result<()> {
        if self.follower.following.in_background { self.worker.start(registry) } else { Ok(()) }
    }

    pub fn stop(&self) {
        self.worker.stop();
    }
}

impl Registry {
    /// Fetches the document at a URL, imports it, and follows it from now on. Of an agent card the URL
    /// may be that of its agent: then the well-known places are tried.
    ///
    /// # Errors
    /// [`Error::FetchRefused`], also where the registry was opened without a fetcher,
    /// [`Error::FetchFailed`], [`Error::FetchTimedOut`], [`Error::FetchBusy`];
    /// [`Error::SignatureRequired`]; those of the conversion; those of [`Registry::import`].
    pub async fn follow(&self, mut follow: Follow) -> Result<Imported> {
        let imports = self.0.imports.as_ref().ok_or_else(|| no_fetcher(&follow.url))?;
        follow.ttl = self.followed_ttl(follow.ttl);
        let now = Timestamp::now();
        let (source, arrival) = imports.bring(&follow, now).await?;
        let import = Import::new(arrival.conversion.clone()).if_exists(follow.if_exists).ttl(follow.ttl);
        let import = import.dry_run(follow.dry_run).actor(follow.actor.clone()).signed(arrival.verification.clone());
        let at_most = follow.ttl.map(|ttl| Duration::from_secs(self.granted_ttl(ttl)) / 2);
        let interval = imports.follower.following.interval;
        let outlook = Outlook { interval, failures: 0, max_age: arrival.max_age, at_most };
        let _settling = imports.settling.lock().await;
        let mut planned = None;
        let note = |id: &str| {
            let mut record = FollowedImport::begin(id, &source, &follow, &arrival, now);
            record.next_try = next_try(id, now, outlook);
            if let Some(before) = self.find_import(id)?.filter(|before| before.source == source) {
                record.continue_from(before, &arrival.hash, now);
            }
            if follow.dry_run {
                return Ok(None);
            }
            planned = Some((record.id.clone(), record.next_try));
            record.to_note().map(Some)
        };
        let imported = self.import_noting(import, note).await?;
        if let Some((id, moment)) = planned {
            imports.schedule.plan(&id, moment);
            imports.worker.wake();
        }
        Ok(imported)
    }

    /// Looks at a source now, and imports its document if it changed.
    ///
    /// # Errors
    /// [`Error::NotFollowed`]; what is wrong with the source, which is then remembered: as
    /// [`Registry::follow`]; [`Error::Contended`].
    pub async fn refresh_import(&self, id: &str) -> Result<Refreshed> {
        self.refresh_import_at(&td::normalize_id(id)?, Timestamp::now()).await
    }

    /// Looks at all sources that are due at this moment, one after the other, and says how many there
    /// were. Failures are remembered. For registries without a thread for it
    /// ([`Following::in_background`]).
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::WritesClosed`], [`Error::ShuttingDown`].
    pub async fn refresh_due(&self, now: Timestamp) -> Result<usize> {
        let Some(imports) = &self.0.imports else { return Ok(0) };
        let due = imports.schedule.take_due(now, usize::MAX);
        for id in &due {
            if let Err(error @ (Error::Store { .. } | Error::WritesClosed { .. } | Error::ShuttingDown)) =
                self.refresh_import_at(id, now).await
            {
                return Err(error);
            }
        }
        Ok(due.len())
    }

    /// Follows a source no longer. Its Thing stays.
    ///
    /// # Errors
    /// [`Error::NotFollowed`]; [`Error::WritesClosed`], [`Error::ShuttingDown`].
    pub async fn unfollow(&self, id: &str) -> Result<()> {
        let id = td::normalize_id(id)?.into_owned();
        let _settling = match &self.0.imports {
            Some(imports) => Some(imports.settling.lock().await),
            None => None,
        };
        if self.0.store.note(&id)?.is_none() {
            return Err(Error::NotFollowed { id });
        }
        let (precondition, operation) = (Precondition::Present, Operation::Note(None));
        self.commit_all(vec![Write { id: id.clone(), precondition, operation, actor: None }], false).await?;
        if let Some(imports) = &self.0.imports {
            imports.schedule.forget(&id);
        }
        Ok(())
    }

    /// All followed imports in ascending order of id.
    ///
    /// # Errors
    /// [`Error::Store`]
    pub fn imports(&self) -> Result<Vec<FollowedImport>> {
        self.0.store.notes()?.iter().map(|(_, note)| FollowedImport::from_note(note)).collect()
    }

    /// How the source of a Thing is followed; none if it isn't.
    ///
    /// # Errors
    /// [`Error::InvalidId`], [`Error::LimitExceeded`], [`Error::Store`].
    pub fn find_import(&self, id: &str) -> Result<Option<FollowedImport>> {
        let note = self.0.store.note(&td::normalize_id(id)?)?;
        note.map(|note| FollowedImport::from_note(&note)).transpose()
    }

    /// Checks the signatures of a card, with the keys that are trusted and those of its domain. `source`
    /// is the URL that it came from, if it came from one.
    ///
    /// # Errors
    /// [`Error::SignatureRequired`]
    pub async fn check_card(&self, card: &Document, source: Option<&str>) -> Result<Verification> {
        let now = Timestamp::now();
        match &self.0.imports {
            Some(imports) => imports.follower.check(card, source, now).await,
            None => Ok(verify(card, &TrustedKeys::none(), now)),
        }
    }

    /// The time to live of a followed Thing. Where one is imposed, it is asked for, so that each look renews it.
    fn followed_ttl(&self, asked: Option<u64>) -> Option<u64> {
        let options = self.options();
        asked.or(options.default_ttl).or(options.max_ttl)
    }

    async fn refresh_import_at(&self, id: &str, now: Timestamp) -> Result<Refreshed> {
        let not_followed = || Error::NotFollowed { id: id.into() };
        let loaded = self.load_import(id)?.ok_or_else(not_followed)?;
        let imports = self.0.imports.as_ref().ok_or_else(|| no_fetcher(&loaded.import.source))?;
        let look = imports.follower.look(&loaded.import, &loaded.original.bytes, now).await;
        self.settle(imports, id, look, now).await
    }
}

impl Imports {
    /// Fetches what is to be followed, from the first place that has it.
    async fn bring(&self, follow: &Follow, now: Timestamp) -> Result<(String, Arrival)> {
        let mut first_failure = None;
        for place in candidates(&follow.url, look::well_known(follow.format)) {
            let bringing = self.follower.bring(&place, follow.format, follow.id.as_deref(), now);
            match bringing.await {
                Ok(arrival) => return Ok((place, arrival)),
                Err(error) if look::may_be_elsewhere(&error) => {
                    first_failure.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        Err(first_failure.unwrap_or_else(|| no_fetcher(&follow.url)))
    }
}

fn no_fetcher(url: &str) -> Error {
    let reason = "this registry was opened without a fetcher".into();
    Error::FetchRefused { url: url.into(), reason }
}
