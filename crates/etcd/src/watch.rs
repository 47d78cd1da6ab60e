//! Watches: the changes of a range of keys, in order.

use std::{fmt, sync::Arc};

use crate::{
    calls::{Calls, Exchange},
    endpoint::Endpoint,
    error::{Error, Result},
    message::{Event, ResponseHeader, WatchCreateRequest, WatchProgressRequest, WatchRequest, WatchResponse},
};

/// Id in responses that concern all watches of a stream (`watch.go`, `InvalidWatchID`).
const ALL_WATCHES: i64 = -1;

/// A watch of a range of keys. Each watch has a stream of its own, which ends when it is dropped.
///
/// Events aren't read ahead: etcd keeps them until [`Watch::next`] is called.
pub struct Watch {
    exchange: Exchange<WatchRequest>,
    id: i64,
    header: ResponseHeader,
    error: Option<Error>,
}

/// Report of a watch.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Update {
    /// Events, ascending by revision. Events of the same revision are in the same update, unless it is `partial`.
    Events {
        /// Header, with the revision of the member, possibly later than the events.
        header: ResponseHeader,
        /// Events, never empty.
        events: Vec<Event>,
        /// True if the next update continues this update, possibly with events of the same revision. etcd splits updates
        /// larger than its limit for requests.
        partial: bool,
    },
    /// Notice that all events up to the revision of the header were reported.
    Progress {
        /// Header.
        header: ResponseHeader,
    },
}

impl Watch {
    pub(crate) async fn create(calls: &Arc<Calls>, endpoint: &Endpoint, create: WatchCreateRequest) -> Result<Watch> {
        let first = WatchRequest { create: Some(create), progress: None };
        let (exchange, response) = calls.open(endpoint, first, calls.request_deadline, is_unauthenticated).await?;
        if let Some(error) = cancellation(&exchange.endpoint, &response) {
            return Err(error);
        }
        if !response.created {
            let reason = "the first response doesn't confirm the watch".into();
            return Err(Error::NoAnswer { endpoint: exchange.endpoint, reason });
        }
        let header = response.header.unwrap_or_default();
        Ok(Watch { exchange, id: response.watch_id, header, error: None })
    }

    /// Returns the endpoint of the watch.
    pub fn endpoint(&self) -> &Endpoint {
        &self.exchange.endpoint
    }

    /// Returns the header of the response that created the watch.
    pub fn header(&self) -> ResponseHeader {
        self.header
    }

    /// Waits for the next update. No update is lost if the future is dropped. After an error the watch has ended, and
    /// further calls return the same error.
    ///
    /// # Errors
    ///
    /// - [`Error::Compacted`] if the events were compacted;
    /// - [`Error::WatchCanceled`] if etcd canceled the watch for another reason;
    /// - [`Error::NoAnswer`] if the connection was lost, or the client was closed;
    /// - the other errors of a call, by which etcd can end the stream.
    pub async fn next(&mut self) -> Result<Update> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        loop {
            let received = self.exchange.receive().await;
            match received.and_then(|response| self.update(response)) {
                Ok(Some(update)) => return Ok(update),
                Ok(None) => {}
                Err(error) => {
                    self.error = Some(error.clone());
                    return Err(error);
                }
            }
        }
    }

    /// Requests an [`Update::Progress`] (`WatchProgressRequest`, since etcd 3.4).
    ///
    /// # Errors
    ///
    /// [`Error::NoAnswer`] if the stream has ended.
    pub async fn request_progress(&self) -> Result<()> {
        self.exchange.send(WatchRequest { create: None, progress: Some(WatchProgressRequest {}) }).await
    }

    fn update(&mut self, response: WatchResponse) -> Result<Option<Update>> {
        if response.watch_id != self.id && response.watch_id != ALL_WATCHES {
            return Ok(None);
        }
        let canceled = cancellation(&self.exchange.endpoint, &response);
        let header = response.header.unwrap_or_default();
        match (response.events.is_empty(), canceled) {
            (false, canceled) => {
                self.error = canceled;
                Ok(Some(Update::Events { header, events: response.events, partial: response.fragment }))
            }
            (true, Some(error)) => Err(error),
            (true, None) if response.created => Ok(None),
            (true, None) => Ok(Some(Update::Progress { header })),
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("endpoint", self.endpoint()).field("error", &self.error).finish_non_exhaustive()
    }
}

fn cancellation(endpoint: &Endpoint, response: &WatchResponse) -> Option<Error> {
    let endpoint = endpoint.clone();
    if response.compact_revision > 0 {
        return Some(Error::Compacted { endpoint, revision: response.compact_revision });
    }
    response.canceled.then(|| Error::WatchCanceled { endpoint, reason: response.cancel_reason.clone() })
}

/// True if the watch may have been refused since the token has died: etcd 3.4 cancels it with `permission denied` then, as
/// if the user had no right to the range.
fn is_unauthenticated(response: &WatchResponse) -> bool {
    response.canceled
        && ["permission denied", "invalid auth token", "revision of auth store is old", "user name is empty"]
            .iter()
            .any(|reason| response.cancel_reason.contains(reason))
}
