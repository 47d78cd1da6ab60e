//! Methods of [`Registry`] for tracked sources.

use agentdex_api::{RefreshResult, TrackedSource};
use tokio::task::JoinSet;

use super::{
    discovery::{Detected, New},
    due,
    poll::NewDocument,
    request::TrackRequest,
    schedule::{Outlook, next_try, renewal},
    source::{Tracked, read_metadata},
    tracker::Tracker,
};
use crate::{
    Error, Result, Timestamp,
    convert::Format,
    fetch::{is_same_url, shown},
    registry::{Import, Imported, Registry, expiry::ttl_out_of_range},
    signature::{TrustedKeys, Verification, verify},
    store::Expiry,
    td::{self, Document, Violation},
};

/// The number of fetches while others begin or end to track the same URL.
const ATTEMPTS: u32 = 3;

/// The shortest time to live of the Thing of a tracked source, in seconds: it is renewed continually.
const MIN_TTL: u64 = 60;

impl Registry {
    /// Fetches the document at a URL, imports it, and polls the URL from then on. For the URL of an agent, well-known
    /// locations are tried, and an MCP server without a card is asked for its description. If the request names no
    /// format, the locations of all formats are tried; a Thing Description is then registered, but not polled.
    ///
    /// If the URL is already tracked for a Thing that the caller may change, that Thing is updated, even if the
    /// document would get a different id. If the request names another id, the URL is tracked for that Thing instead.
    ///
    /// # Errors
    /// [`Error::FetchRefused`], for example if the registry was opened without a fetcher, [`Error::FetchFailed`],
    /// [`Error::FetchTimedOut`], [`Error::FetchBusy`]; [`Error::SignatureRequired`]; [`Error::LimitExceeded`] beyond
    /// 100,000 tracked sources; [`Error::Contended`] if others repeatedly track and untrack the URL;
    /// [`Error::RejectedDocument`] with an error of the conversion; otherwise the same as [`Registry::import`].
    pub async fn track(&self, request: TrackRequest) -> Result<Imported> {
        let tracker = self.0.network.tracker.as_ref().ok_or_else(|| no_fetcher(&request.url))?;
        let now = Timestamp::now();
        for _ in 0..ATTEMPTS {
            let new = match request.format {
                Some(format) => self.fetch_new(tracker, &request, format, now).await?,
                None => match self.detect_new(tracker, &request, now).await? {
                    Detected::Document(new) => *new,
                    Detected::Description(fetched) => return self.put_fetched(&request, fetched).await,
                },
            };
            let _reconciling = tracker.reconciling.lock().await;
            let known = self.known_sources(tracker, &new.url, new.document.format)?;
            let is_for_known = [new.id.as_deref(), new.own_id().as_deref()].contains(&known.id());
            if request.id.is_some() || is_for_known {
                return self.register_new(tracker, &request, new, &known, now).await;
            }
            // Somebody began or ended to track it in the meantime: it has to be converted for another id.
        }
        Err(Error::Contended { id: shown(&request.url), attempts: ATTEMPTS })
    }

    /// Imports a document that was fetched, and tracks its URL from now on.
    async fn register_new(
        &self,
        tracker: &Tracker,
        request: &TrackRequest,
        new: New,
        known: &KnownSources,
        now: Timestamp,
    ) -> Result<Imported> {
        let New { url, document, .. } = &new;
        let ttl = self.tracked_ttl(request.ttl);
        let mut url_before = None;
        let metadata = |id: &str| {
            tracker.schedule.check_room(id)?;
            let before = self.0.store.metadata(id)?.and_then(|metadata| read_metadata(id, &metadata));
            url_before = before.map(|before| before.state.source).filter(|before| !is_same_url(before, url));
            if request.dry_run {
                return Ok(None);
            }
            let source = self.begin_tracking(tracker, id, url, document, now)?;
            // Before it is durable: a caller that waits for that may be gone by then.
            let expires = ttl.map(|ttl| now.plus_seconds(ttl));
            tracker.schedule.plan(id, source.next_try, renewal(Expiry { ttl, expires }));
            tracker.schedule.set_url(id, url);
            source.to_metadata().map(Some)
        };
        let imported = self.import_with_metadata(request.to_import(document, ttl), metadata).await;
        let own_id = new.own_id();
        if let Some(id) = &own_id {
            tracker.schedule_as_stored(&self.0.store, id);
        }
        let mut imported = request.with_warnings(imported?, ttl, url_before.as_deref());
        if let Some(first) = imported.things.first_mut().filter(|_| request.dry_run) {
            // Nothing is noted in a dry run, but the import itself goes on being tracked.
            first.warnings.retain(|warning| warning.rule != "tracking-stopped");
        }
        let moved = known.own.iter().filter(|id| Some(*id) != own_id.as_ref());
        self.end_tracking_elsewhere(tracker, moved, request.dry_run, &mut imported).await?;
        Ok(imported)
    }

    /// Ends the tracking of a URL for other Things of the caller, which stay as they are.
    async fn end_tracking_elsewhere(
        &self,
        tracker: &Tracker,
        ids: impl Iterator<Item = &String>,
        dry_run: bool,
        imported: &mut Imported,
    ) -> Result<()> {
        for id in ids {
            if !dry_run {
                match self.end_tracking(id).await {
                    Ok(()) | Err(Error::NotTracked { .. }) => tracker.schedule.forget(id),
                    Err(error) => return Err(error),
                }
            }
            let message = format!(
                "the source of this Thing was tracked for {id} until now; {id} stays, but is no longer updated"
            );
            let warning = Violation::new("", "tracking-moved", message);
            imported.things.iter_mut().take(1).for_each(|first| first.warnings.push(warning.clone()));
        }
        Ok(())
    }

    /// Polls a source immediately, and imports its document if it has changed.
    ///
    /// # Errors
    /// [`Error::NotTracked`]; [`Error::NotOwner`]; [`Error::Contended`]; errors of fetching and importing as for
    /// [`Registry::track`], which are also stored.
    pub async fn refresh_source(&self, id: &str) -> Result<RefreshResult> {
        let id = td::normalize_id(id)?;
        let record = self.find_record(&id)?;
        let metadata = if record.is_some() { self.0.store.metadata(&id)? } else { None };
        let metadata = metadata.ok_or_else(|| Error::NotTracked { id: id.to_string() })?;
        if record.is_some_and(|record| !record.access.lets_change(&self.1)) {
            return Err(Error::NotOwner { id: id.into() });
        }
        let url = || Tracked::from_metadata(&metadata).map(|source| source.state.source);
        let Some(tracker) = self.0.network.tracker.as_ref() else { return Err(no_fetcher(&url()?)) };
        due::poll_source(&std::sync::Arc::downgrade(&self.0), &tracker.poller, &id, Timestamp::now()).await
    }

    /// Renews Things and polls sources that are due at `now`, several at a time, and returns the number of polls.
    /// Failures of sources are stored. Call this if no thread polls in the background
    /// ([`Tracking::in_background`](super::Tracking::in_background)).
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::WritesClosed`], [`Error::ShuttingDown`]. Sources not polled because of an error
    /// become due again a little later.
    pub async fn refresh_due(&self, now: Timestamp) -> Result<usize> {
        let Some(tracker) = &self.0.network.tracker else { return Ok(0) };
        self.renew_due(tracker, now).await?;
        let mut due = tracker.schedule.take_polls(now, usize::MAX).into_iter();
        let (count, mut polls) = (due.len(), JoinSet::new());
        loop {
            for due in due.by_ref().take(due::AT_ONCE - polls.len()) {
                polls.spawn(due::poll(std::sync::Arc::downgrade(&self.0), tracker.due_poller.clone(), due, now));
            }
            match polls.join_next().await {
                None => return Ok(count),
                Some(Ok(Err(error @ (Error::Store { .. } | Error::WritesClosed { .. } | Error::ShuttingDown)))) => {
                    return Err(error);
                }
                Some(_) => {}
            }
        }
    }

    /// Stops tracking a source. Its Thing stays, but no longer indicates whether its source is stale.
    ///
    /// # Errors
    /// [`Error::NotTracked`]; [`Error::Contended`]; [`Error::WritesClosed`], [`Error::ShuttingDown`].
    pub async fn untrack(&self, id: &str) -> Result<()> {
        let id = td::normalize_id(id)?;
        if !self.sees(&id) {
            return Err(Error::NotTracked { id: id.into() });
        }
        let Some(tracker) = &self.0.network.tracker else { return self.end_tracking(&id).await };
        let _reconciling = tracker.reconciling.lock().await;
        self.end_tracking(&id).await?;
        tracker.schedule.forget(&id);
        Ok(())
    }

    /// Returns all tracked sources in ascending order of id. Sources whose state can't be read are logged and omitted.
    ///
    /// # Errors
    /// [`Error::Store`]
    pub fn tracked_sources(&self) -> Result<Vec<TrackedSource>> {
        let all = self.0.store.all_metadata()?;
        let seen = all.iter().filter(|(id, _)| self.sees(id));
        Ok(seen.filter_map(|(id, metadata)| read_metadata(id, metadata)).map(|source| source.state).collect())
    }

    /// Returns the tracked source of a Thing, or `None` if it isn't tracked.
    ///
    /// # Errors
    /// [`Error::InvalidId`], [`Error::LimitExceeded`], [`Error::Store`].
    pub fn find_tracked_source(&self, id: &str) -> Result<Option<TrackedSource>> {
        let id = td::normalize_id(id)?;
        let metadata = if self.sees(&id) { self.0.store.metadata(&id)? } else { None };
        metadata.map(|metadata| Ok(Tracked::from_metadata(&metadata)?.state)).transpose()
    }

    /// Checks the signatures of a card against trusted keys and the keys of its domain. `url` is the URL from which it
    /// was fetched, if any.
    ///
    /// # Errors
    /// [`Error::SignatureRequired`]
    pub async fn check_card(&self, card: &Document, url: Option<&str>) -> Result<Verification> {
        let now = Timestamp::now();
        match &self.0.network.tracker {
            Some(tracker) => tracker.poller.check(card, url, now).await,
            None => Ok(verify(card, &TrustedKeys::none(), now)),
        }
    }

    /// Returns the time to live of the Thing of a tracked source. If the registry imposes a time to live, it is
    /// requested, so that it can be renewed.
    pub(super) fn tracked_ttl(&self, requested: Option<u64>) -> Option<u64> {
        let options = self.options();
        let requested = requested.or(options.default_ttl).or(options.max_ttl);
        requested.map(|ttl| self.granted_ttl(ttl.max(MIN_TTL)))
    }

    /// Returns the Things for which a URL is already tracked, as far as the caller sees and may change them.
    pub(super) fn known_sources(&self, tracker: &Tracker, url: &str, format: Format) -> Result<KnownSources> {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for id in tracker.schedule.ids_at(url) {
            let Some(record) = self.find_record(&id)?.filter(|record| record.access.lets_change(&self.1)) else {
                continue;
            };
            let source = self.0.store.metadata(&id)?.and_then(|metadata| read_metadata(&id, &metadata));
            let Some(source) = source.filter(|source| source.format == format && is_same_url(&source.source, url))
            else {
                continue;
            };
            let found = if record.access.owner.as_ref() == self.1.owner() { &mut own } else { &mut others };
            found.push((source.tracked_since, id));
        }
        let in_order = |mut found: Vec<(Timestamp, String)>| {
            found.sort();
            found.into_iter().map(|(_, id)| id).collect()
        };
        Ok(KnownSources { own: in_order(own), others: in_order(others) })
    }

    /// The state of a source from now on, which may be tracked already.
    fn begin_tracking(
        &self,
        tracker: &Tracker,
        id: &str,
        url: &str,
        document: &NewDocument,
        now: Timestamp,
    ) -> Result<Tracked> {
        let mut source = Tracked::begin(id, url, document.format, now);
        source.set_response(&document.validators, &document.url);
        source.add_revision(&document.hash, now);
        let interval = tracker.poller.tracking.interval;
        let outlook = Outlook { interval, failures: 0, max_age: document.max_age, retry_after: None };
        source.next_try = next_try(id, now, outlook);
        if let Some(before) = self.0.store.metadata(id)?.and_then(|metadata| read_metadata(id, &metadata))
            && is_same_url(&before.source, url)
        {
            source.continue_from(before, &document.hash, now);
        }
        Ok(source)
    }
}

impl TrackRequest {
    fn to_import(&self, document: &NewDocument, ttl: Option<u64>) -> Import {
        Import::new(document.conversion.clone())
            .if_exists(self.if_exists)
            .replace(self.replace)
            .ttl(ttl)
            .dry_run(self.dry_run)
            .actor(self.actor.clone())
            .with_access(self.access.clone())
            .signed(document.verification.clone())
    }

    /// Adds warnings if the granted time to live differs from the requested one, or if another source was tracked
    /// before.
    fn with_warnings(&self, mut imported: Imported, ttl: Option<u64>, url_before: Option<&str>) -> Imported {
        let warning = self.ttl.zip(ttl).and_then(|(requested, granted)| ttl_out_of_range(requested, granted));
        imported.things.iter_mut().for_each(|thing| thing.warnings.extend(warning.clone()));
        if let (Some(before), Some(first)) = (url_before, imported.things.first_mut()) {
            let message = format!("the source of the Thing has changed; until now, it was {}", shown(before));
            first.warnings.push(Violation::new("", "source-changed", message));
        }
        imported
    }
}

/// Ids of Things for which a URL is already tracked, longest tracked first.
pub(super) struct KnownSources {
    /// Ids of Things with the owner that a new Thing would have.
    own: Vec<String>,
    /// Those of others, which an admin may change.
    others: Vec<String>,
}

impl KnownSources {
    /// Returns the Thing to be updated when the URL is registered again.
    pub(super) fn id(&self) -> Option<&str> {
        self.own.first().or(self.others.first()).map(String::as_str)
    }
}

fn no_fetcher(url: &str) -> Error {
    let reason = "this registry was opened without a fetcher".into();
    Error::FetchRefused { url: shown(url), reason }
}
