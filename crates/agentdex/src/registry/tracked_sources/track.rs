//! The calls of [`Registry`] about tracked sources.

use agentdex_api::{RefreshResult, TrackedSource};
use tokio::task::JoinSet;

use super::{
    due,
    poll::{self, NewDocument},
    request::TrackRequest,
    schedule::{Outlook, next_try, renewal},
    source::{Tracked, read_metadata},
    tracker::Tracker,
};
use crate::{
    Error, Result, Timestamp,
    fetch::{candidates, is_same_url, shown},
    registry::{Import, Imported, Registry, expiry::ttl_out_of_range},
    signature::{TrustedKeys, Verification, verify},
    store::Expiry,
    td::{self, Document, Violation},
};

/// The shortest time to live of the Thing of a tracked source, in seconds: it is renewed continually.
const MIN_TTL: u64 = 60;

impl Registry {
    /// Fetches the document at a URL, imports it, and polls the URL from now on. For an agent card the URL
    /// may be that of its agent: then the well-known places are tried.
    ///
    /// # Errors
    /// [`Error::FetchRefused`], also where the registry was opened without a fetcher,
    /// [`Error::FetchFailed`], [`Error::FetchTimedOut`], [`Error::FetchBusy`];
    /// [`Error::SignatureRequired`]; [`Error::LimitExceeded`] where 100,000 sources are tracked; those of the
    /// conversion; those of [`Registry::import`].
    pub async fn track(&self, request: TrackRequest) -> Result<Imported> {
        let tracker = self.0.network.tracker.as_ref().ok_or_else(|| no_fetcher(&request.url))?;
        let now = Timestamp::now();
        let (url, document) = tracker.fetch_new(&request, now).await?;
        let ttl = self.tracked_ttl(request.ttl);
        let _reconciling = tracker.reconciling.lock().await;
        let mut url_before = None;
        let metadata = |id: &str| {
            tracker.schedule.check_room(id)?;
            let before = self.0.store.metadata(id)?.and_then(|metadata| read_metadata(id, &metadata));
            url_before = before.map(|before| before.state.source).filter(|before| !is_same_url(before, &url));
            if request.dry_run {
                return Ok(None);
            }
            let source = self.begin_tracking(tracker, id, &url, &document, now)?;
            // Before it is durable: a caller that waits for that may be gone by then.
            let expires = ttl.map(|ttl| now.plus_seconds(ttl));
            tracker.schedule.plan(id, source.next_try, renewal(Expiry { ttl, expires }));
            source.to_metadata().map(Some)
        };
        let imported = self.import_with_metadata(request.to_import(&document, ttl), metadata).await;
        if let Some(Ok(id)) = document.conversion.things.first().map(|first| td::normalize_id(&first.id)) {
            tracker.schedule_as_stored(&self.0.store, &id);
        }
        imported.map(|imported| request.with_warnings(imported, ttl, url_before.as_deref()))
    }

    /// Polls a source now, and imports its document if it changed.
    ///
    /// # Errors
    /// [`Error::NotTracked`]; what is wrong with the source, which is then stored: as
    /// [`Registry::track`]; [`Error::Contended`].
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

    /// Renews the Things that are due at this moment, polls all sources that are due, several at a time, and
    /// returns how many there were. Failures are stored. For registries without a thread for it
    /// ([`Tracking::in_background`](super::Tracking::in_background)).
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::WritesClosed`], [`Error::ShuttingDown`]; sources that weren't polled then are due
    /// again a little later.
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

    /// Stops tracking a source. Its Thing stays, and no longer says whether its source is stale.
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

    /// All tracked sources in ascending order of id, without those whose state can't be read: these are logged.
    ///
    /// # Errors
    /// [`Error::Store`]
    pub fn tracked_sources(&self) -> Result<Vec<TrackedSource>> {
        let all = self.0.store.all_metadata()?;
        let seen = all.iter().filter(|(id, _)| self.sees(id));
        Ok(seen.filter_map(|(id, metadata)| read_metadata(id, metadata)).map(|source| source.state).collect())
    }

    /// The tracked source of a Thing; none if it has none.
    ///
    /// # Errors
    /// [`Error::InvalidId`], [`Error::LimitExceeded`], [`Error::Store`].
    pub fn find_tracked_source(&self, id: &str) -> Result<Option<TrackedSource>> {
        let id = td::normalize_id(id)?;
        let metadata = if self.sees(&id) { self.0.store.metadata(&id)? } else { None };
        metadata.map(|metadata| Ok(Tracked::from_metadata(&metadata)?.state)).transpose()
    }

    /// Checks the signatures of a card, with the keys that are trusted and those of its domain. `url`
    /// is the URL that it came from, if it came from one.
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

    /// The time to live of the Thing of a tracked source. Where the registry imposes one, it is requested, so that it
    /// can be renewed.
    pub(super) fn tracked_ttl(&self, requested: Option<u64>) -> Option<u64> {
        let options = self.options();
        let requested = requested.or(options.default_ttl).or(options.max_ttl);
        requested.map(|ttl| self.granted_ttl(ttl.max(MIN_TTL)))
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
            .ttl(ttl)
            .dry_run(self.dry_run)
            .actor(self.actor.clone())
            .with_access(self.access.clone())
            .signed(document.verification.clone())
    }

    /// Warns where another time to live was granted than was requested, and where another source was tracked before.
    fn with_warnings(&self, mut imported: Imported, ttl: Option<u64>, url_before: Option<&str>) -> Imported {
        let warning = self.ttl.zip(ttl).and_then(|(requested, granted)| ttl_out_of_range(requested, granted));
        imported.things.iter_mut().for_each(|thing| thing.warnings.extend(warning.clone()));
        if let (Some(before), Some(first)) = (url_before, imported.things.first_mut()) {
            let message = format!("its source was {} until now", shown(before));
            first.warnings.push(Violation::new("", "source-changed", message));
        }
        imported
    }
}

impl Tracker {
    /// Fetches a document that isn't tracked yet, from the first place that has it.
    async fn fetch_new(&self, request: &TrackRequest, now: Timestamp) -> Result<(String, NewDocument)> {
        let mut first_failure = None;
        for place in candidates(&request.url, poll::well_known(request.format)) {
            match self.poller.fetch_new(&place, request.format, request.id.as_deref(), now).await {
                Ok(document) => return Ok((place, document)),
                Err(error) if poll::may_be_elsewhere(&error) => {
                    first_failure.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        Err(first_failure.unwrap_or_else(|| no_fetcher(&request.url)))
    }
}

fn no_fetcher(url: &str) -> Error {
    let reason = "this registry was opened without a fetcher".into();
    Error::FetchRefused { url: shown(url), reason }
}
