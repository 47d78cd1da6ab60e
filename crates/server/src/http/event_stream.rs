//! Server-sent events: the head of such a response, and all that an open one holds.

use std::time::Duration;

use actix_web::{
    HttpRequest, HttpResponse, HttpResponseBuilder,
    http::header::{CACHE_CONTROL, HeaderName},
    web::{Bytes, Data},
};

use tokio::time::{Instant, sleep_until};

use super::{context::Context, limits::Place, metrics::Counted, problem::Problem, stop::Stopped};

/// The comment that keeps a silent stream alive.
pub(super) const HEARTBEAT: Bytes = Bytes::from_static(b": alive\n\n");

/// Starts a response with server-sent events.
pub(super) fn head() -> HttpResponseBuilder {
    let mut response = HttpResponse::Ok();
    response
        .content_type("text/event-stream")
        .insert_header((CACHE_CONTROL, "no-store"))
        // Proxies such as nginx would buffer events otherwise.
        .insert_header((HeaderName::from_static("x-accel-buffering"), "no"));
    response
}

/// The end of a wait for the next event of a stream.
pub(super) enum Waited<T> {
    /// It came.
    Came(T),
    /// The stream was silent for as long as it may be.
    Silent,
    /// The stream has to end.
    Stopped,
}

/// A stream that is open: counted, and with a place of those that there are.
pub(super) struct Open {
    /// The end of the server, or of the credentials of the caller.
    pub stopped: Stopped,
    /// The longest silence.
    pub heartbeat: Duration,
    _counted: Counted,
    _place: Place,
}

impl Open {
    /// Takes a place for the stream that answers a request.
    ///
    /// # Errors
    /// 503 where there is none.
    pub fn new(context: &Data<Context>, request: &HttpRequest) -> Result<Open, Problem> {
        Ok(Open {
            _place: context.streams.take_for_stream(request)?,
            _counted: context.metrics.event_stream(),
            stopped: Context::stopped(context, request),
            heartbeat: context.options.heartbeat,
        })
    }

    /// Returns the end of a silence that begins now.
    pub fn silent_until(&self) -> Instant {
        Instant::now() + self.heartbeat
    }

    /// Waits for the next event, at most until the end of a silence.
    pub async fn wait<T>(&mut self, silent_until: Instant, next: impl Future<Output = T>) -> Waited<T> {
        tokio::select! {
            biased;
            () = self.stopped.wait() => Waited::Stopped,
            came = next => Waited::Came(came),
            () = sleep_until(silent_until) => Waited::Silent,
        }
    }
}
