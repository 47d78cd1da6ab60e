//! Imports by URL: a document is fetched, converted and registered, and from then on followed.
//!
//! A source is asked again on an interval ([`schedule`]), conditionally ([`look`]). What changed is
//! imported again; a source that fails again and again makes its Thing stale, and removes nothing
//! ([`settle`]): what would expire is renewed as long as it is followed ([`due`]). What is remembered of a source ([`followed`]) is durable in one transaction with its
//! Thing, and ends with it, or when the description is changed by hand. The network is never waited for
//! while the registry is held ([`worker`]).

mod blocking;
mod due;
mod followed;
mod look;
mod options;
mod schedule;
mod settle;
mod trust;
mod worker;

use std::sync::Arc;

use tokio::{sync::Mutex, task::JoinSet};

pub use self::{
    followed::{FollowedImport, ImportStatus, Revision},
    options::{Arrived, Converter, Follow, Following},
    settle::Refreshed,
};
use self::{
    look::{Arrival, Looker},
    schedule::{Outlook, Schedule, next_try, renewal},
    worker::Worker,
};
use super::{Import, Imported, Registry, write::ttl_out_of_range};
use crate::{
    Error, Result, Timestamp,
    fetch::{candidates, shown},
    signature::{TrustedKeys, Verification, verify},
    store::{Expiry, Store},
    td::{self, Document, Violation},
};

/// The shortest time to live of what is followed, in seconds: it is renewed all the time.
const MIN_TTL: u64 = 60;

/// What a registry follows sources with.
pub(super) struct Imports {
    /// Asks sources for callers.
    looker: Arc<Looker>,
    /// Asks those that are due. Neither waits for the other.
    due_looker: Arc<Looker>,
    schedule: Arc<Schedule>,
    /// Held while something is written of an import that rests on what was read of it.
    settling: Mutex<()>,
    worker: Worker,
}

impl Imports {
    /// Takes up what is followed, as it is noted. Nothing is looked at before [`Imports::start`].
    pub fn open(following: Following, store: &Store, notes: &[(String, Vec<u8>)]) -> Result<Imports> {
        let schedule = Arc::new(Schedule::new(following.interval));
        for (id, note) in notes {
            if let Some(import) = read_note(id, note) {
                let expiry = store.find_unpurged(id)?.map(|record| record.expiry);
                schedule.plan(id, import.next_try, expiry.and_then(renewal));
            }
        }
        let looker = Looker::new(following);
        let due_looker = Arc::new(looker.apart());
        let (looker, settling) = (Arc::new(looker), Mutex::new(()));
        Ok(Imports { looker, due_looker, schedule, settling, worker: Worker::default() })
    }

    /// Looks at what is due, in a thread of its own, until it is stopped.
    pub fn start(&self, registry: &Registry) -> Result<()> {
        if self.looker.following.in_background { self.worker.start(registry) } else { Ok(()) }
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
    /// [`Error::SignatureRequired`]; [`Error::LimitExceeded`] where 100,000 are followed; those of the
    /// conversion; those of [`Registry::import`].
    pub async fn follow(&self, follow: Follow) -> Result<Imported> {
        let imports = self.0.imports.as_ref().ok_or_else(|| no_fetcher(&follow.url))?;
        let now = Timestamp::now();
        let (source, arrival) = imports.bring(&follow, now).await?;
        let ttl = self.followed_ttl(follow.ttl);
        let _settling = imports.settling.lock().await;
        let mut source_before = None;
        let note = |id: &str| {
            imports.schedule.check_room(id)?;
            let before = self.0.store.note(id)?.and_then(|note| read_note(id, &note));
            source_before = before.map(|before| before.source).filter(|before| *before != source);
            if follow.dry_run {
                return Ok(None);
            }
            let import = self.begin_import(imports, id, &source, &follow, &arrival, now)?;
            // Before it is durable: whoever waits for that may be gone by then.
            let expires = ttl.map(|ttl| now.plus_seconds(ttl));
            imports.schedule.plan(id, import.next_try, renewal(Expiry { ttl, expires }));
            import.to_note().map(Some)
        };
        let imported = self.import_noting(follow.to_import(&arrival, ttl), note).await;
        if let Some(Ok(id)) = arrival.conversion.things.first().map(|first| td::normalize_id(&first.id)) {
            self.plan_as_stored(imports, &id);
        }
        imported.map(|imported| follow.with_warnings(imported, ttl, source_before.as_deref()))
    }

    /// Looks at a source now, and imports its document if it changed.
    ///
    /// # Errors
    /// [`Error::NotFollowed`]; what is wrong with the source, which is then remembered: as
    /// [`Registry::follow`]; [`Error::Contended`].
    pub async fn refresh_import(&self, id: &str) -> Result<Refreshed> {
        let id = td::normalize_id(id)?;
        if self.0.store.note(&id)?.is_none() {
            return Err(Error::NotFollowed { id: id.into() });
        }
        let imports = self.0.imports.as_ref().ok_or_else(|| no_fetcher(&id))?;
        due::look_at(&Arc::downgrade(&self.0), &imports.looker, &id, Timestamp::now()).await
    }

    /// Renews what is due at this moment, looks at all sources that are, several at once, and says how many
    /// there were. Failures are remembered. For registries without a thread for it
    /// ([`Following::in_background`]).
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::WritesClosed`], [`Error::ShuttingDown`]; what wasn't looked at then is due
    /// again a little later.
    pub async fn refresh_due(&self, now: Timestamp) -> Result<usize> {
        let Some(imports) = &self.0.imports else { return Ok(0) };
        self.renew_due(imports, now).await?;
        let mut due = imports.schedule.take_looks(now, usize::MAX).into_iter();
        let (count, mut looks) = (due.len(), JoinSet::new());
        loop {
            for due in due.by_ref().take(due::AT_ONCE - looks.len()) {
                looks.spawn(due::look(Arc::downgrade(&self.0), imports.due_looker.clone(), due, now));
            }
            match looks.join_next().await {
                None => return Ok(count),
                Some(Ok(Err(error @ (Error::Store { .. } | Error::WritesClosed { .. } | Error::ShuttingDown)))) => {
                    return Err(error);
                }
                Some(_) => {}
            }
        }
    }

    /// Follows a source no longer. Its Thing stays, and no longer says whether its source is stale.
    ///
    /// # Errors
    /// [`Error::NotFollowed`]; [`Error::Contended`]; [`Error::WritesClosed`], [`Error::ShuttingDown`].
    pub async fn unfollow(&self, id: &str) -> Result<()> {
        let id = td::normalize_id(id)?;
        let Some(imports) = &self.0.imports else { return self.settle_end(&id).await };
        let _settling = imports.settling.lock().await;
        self.settle_end(&id).await?;
        imports.schedule.forget(&id);
        Ok(())
    }

    /// All followed imports in ascending order of id, but for those whose notes can't be read: these are logged.
    ///
    /// # Errors
    /// [`Error::Store`]
    pub fn imports(&self) -> Result<Vec<FollowedImport>> {
        Ok(self.0.store.notes()?.iter().filter_map(|(id, note)| read_note(id, note)).collect())
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
            Some(imports) => imports.looker.check(card, source, now).await,
            None => Ok(verify(card, &TrustedKeys::none(), now)),
        }
    }

    /// The time to live of a followed Thing. Where one is imposed, it is asked for, so that it can be renewed.
    fn followed_ttl(&self, asked: Option<u64>) -> Option<u64> {
        let options = self.options();
        let asked = asked.or(options.default_ttl).or(options.max_ttl);
        asked.map(|ttl| self.granted_ttl(ttl.max(MIN_TTL)))
    }

    /// What there is to remember of a source from now on, which may be followed already.
    fn begin_import(
        &self,
        imports: &Imports,
        id: &str,
        source: &str,
        follow: &Follow,
        arrival: &Arrival,
        now: Timestamp,
    ) -> Result<FollowedImport> {
        let mut import = FollowedImport::begin(id, source, follow, arrival, now);
        let interval = imports.looker.following.interval;
        let outlook = Outlook { interval, failures: 0, max_age: arrival.max_age, retry_after: None };
        import.next_try = next_try(id, now, outlook);
        if let Some(before) = self.0.store.note(id)?.and_then(|note| read_note(id, &note))
            && before.source == source
        {
            import.continue_from(before, &arrival.hash, now);
        }
        Ok(import)
    }

    /// Plans an import by what is stored, after somebody may have changed that.
    pub(super) async fn replan(&self, id: &str) {
        let Some(imports) = &self.0.imports else { return };
        let _settling = imports.settling.lock().await;
        self.plan_as_stored(imports, id);
    }

    fn plan_as_stored(&self, imports: &Imports, id: &str) {
        match (self.find_import(id), self.0.store.find(id)) {
            (Ok(Some(import)), Ok(Some(record))) => {
                // Whoever set a time to live by hand that is too short for this is not kept up with.
                let soon = Timestamp::now().plus_seconds(1);
                let renewal = renewal(record.expiry).map(|renewal| renewal.max(soon));
                imports.schedule.plan(id, import.next_try, renewal);
            }
            (Err(error), _) | (_, Err(error)) => tracing::warn!(id, %error, "an import can't be planned"),
            _ => imports.schedule.forget(id),
        }
        imports.worker.wake();
    }
}

impl Follow {
    fn to_import(&self, arrival: &Arrival, ttl: Option<u64>) -> Import {
        Import::new(arrival.conversion.clone())
            .if_exists(self.if_exists)
            .ttl(ttl)
            .dry_run(self.dry_run)
            .actor(self.actor.clone())
            .signed(arrival.verification.clone())
    }

    /// Says it where another time to live was granted than was asked for, and where another source was
    /// followed before.
    fn with_warnings(&self, mut imported: Imported, ttl: Option<u64>, source_before: Option<&str>) -> Imported {
        let warning = self.ttl.zip(ttl).and_then(|(asked, granted)| ttl_out_of_range(asked, granted));
        imported.things.iter_mut().for_each(|thing| thing.warnings.extend(warning.clone()));
        if let (Some(before), Some(first)) = (source_before, imported.things.first_mut()) {
            let message = format!("it was followed at {} until now", shown(before));
            first.warnings.push(Violation::new("", "source-changed", message));
        }
        imported
    }
}

impl Imports {
    /// Fetches what is to be followed, from the first place that has it.
    async fn bring(&self, follow: &Follow, now: Timestamp) -> Result<(String, Arrival)> {
        let mut first_failure = None;
        for place in candidates(&follow.url, look::well_known(follow.format)) {
            let bringing = self.looker.bring(&place, follow.format, follow.id.as_deref(), now);
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
    Error::FetchRefused { url: shown(url), reason }
}

/// What is noted of an import; what can't be read is logged, and keeps nobody from the others.
fn read_note(id: &str, note: &[u8]) -> Option<FollowedImport> {
    let import = FollowedImport::from_note(note);
    import.inspect_err(|error| tracing::warn!(id, %error, "a followed import can't be read")).ok()
}
