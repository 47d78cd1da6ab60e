//! Progress of the client of a connection, by which a stalled one is recognized.

use std::{
    cell::Cell,
    rc::Rc,
    task::Poll,
    time::{Duration, Instant},
};

use actix_http::Request;
use actix_web::HttpRequest;

/// The progress of the client of a connection.
pub(super) struct Progress {
    /// Since when no request is being served.
    idle_since: Cell<Option<Instant>>,
    /// Since when the client has taken nothing of what waits for it.
    blocked_since: Cell<Option<Instant>>,
    /// True if a response is worth nothing to a client that has closed its side.
    expects_client: Cell<bool>,
    /// True while no request has come since all of the last response was sent.
    is_between_requests: Cell<bool>,
}

/// Ends the connection of a request once its client closes its side, although clients may do that which wait
/// for a response: a stream that nobody reads would be noticed only when a write fails.
pub(super) fn expect_client(request: &HttpRequest) {
    if let Some(progress) = request.conn_data::<Rc<Progress>>() {
        progress.expects_client.set(true);
    }
}

impl Progress {
    pub(super) fn new() -> Progress {
        let idle_since = Cell::new(Some(Instant::now()));
        Progress {
            idle_since,
            blocked_since: Cell::new(None),
            expects_client: Cell::new(false),
            is_between_requests: Cell::new(true),
        }
    }

    /// Notes whether the client has taken something, or must before more can be written.
    pub(super) fn wrote<T>(&self, written: &Poll<T>) {
        match written {
            Poll::Ready(_) => self.blocked_since.set(None),
            Poll::Pending => self.blocked_since.set(self.blocked_since.get().or_else(|| Some(Instant::now()))),
        }
    }

    /// Notes that everything that was written has been sent.
    pub(super) fn sent(&self) {
        if self.idle_since.get().is_some() {
            self.is_between_requests.set(true);
        }
    }

    /// True while no request has come since all of the last response was sent.
    pub(super) fn is_between_requests(&self) -> bool {
        self.is_between_requests.get()
    }

    /// True if a response is worth nothing to a client that has closed its side.
    pub(super) fn expects_client(&self) -> bool {
        self.expects_client.get()
    }

    /// Why the connection isn't worth keeping.
    pub(super) fn stalled(&self, write_timeout: Duration, idle_timeout: Duration) -> Option<&'static str> {
        let is_over =
            |since: &Cell<Option<Instant>>, timeout| since.get().is_some_and(|since| since.elapsed() > timeout);
        if is_over(&self.blocked_since, write_timeout) {
            return Some("the client doesn't read the response");
        }
        // The head of the first request has a timer of its own, that of later ones has none.
        is_over(&self.idle_since, idle_timeout).then_some("no complete request was received")
    }
}

/// A request that is being served, until its response is sent.
pub(super) struct Serving(Option<Rc<Progress>>);

impl Serving {
    pub(super) fn of(request: &Request) -> Serving {
        let progress = request.conn_data::<Rc<Progress>>().cloned();
        if let Some(progress) = &progress {
            progress.idle_since.set(None);
            progress.is_between_requests.set(false);
        }
        Serving(progress)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(progress) = &self.0 {
            progress.idle_since.set(Some(Instant::now()));
            progress.expects_client.set(false);
        }
    }
}
