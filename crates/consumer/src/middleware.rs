//! Middleware around a call: logging, traces, rate limits, and retries.
//!
//! AG2 calls its guardrails middleware, too. To refuse a call, a middleware returns [`Error::Denied`]; to change the
//! request, it changes the [`Call`]; to change the answer, it maps the events of the [`Exchange`].

mod guardian;
mod logging;
mod rate;
mod retry;
mod tracing_context;

use std::{fmt, sync::Arc};

pub use self::{guardian::ReportSteps, logging::Logging, rate::RateLimit, retry::Retry, tracing_context::PassTrace};
use super::{Call, Exchange, Pending};

/// An interceptor of calls. It runs after the call is resolved and checked, right before it is sent.
pub trait Middleware: fmt::Debug + Send + Sync {
    /// Handles a call, passing it on with `next` any number of times.
    ///
    /// # Errors
    /// Errors of the middleware itself, such as [`Error::Denied`](super::Error::Denied), and errors of the call.
    fn handle<'a>(&'a self, call: Call, next: Next<'a>) -> Pending<'a, Exchange>;
}

/// The end of the chain of middleware, which sends the call.
pub(super) type Last<'a> = &'a (dyn Fn(Call) -> Pending<'a, Exchange> + Sync);

/// Remaining middleware of a call, followed by its binding.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    rest: &'a [Arc<dyn Middleware>],
    send: Last<'a>,
}

impl<'a> Next<'a> {
    pub(super) fn new(all: &'a [Arc<dyn Middleware>], send: Last<'a>) -> Next<'a> {
        Next { rest: all, send }
    }

    /// Passes the call to the next middleware, or to the binding.
    pub fn run(self, call: Call) -> Pending<'a, Exchange> {
        match self.rest.split_first() {
            Some((first, rest)) => first.handle(call, Next { rest, ..self }),
            None => (self.send)(call),
        }
    }
}

impl fmt::Debug for Next<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").field("rest", &self.rest).finish_non_exhaustive()
    }
}
