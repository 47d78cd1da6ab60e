//! Traces that go on in the agents (W3C Trace Context).

use super::{
    super::{Call, Exchange, Pending},
    Middleware, Next,
};

/// Gives each call a span of its own: of the trace that the settings name, or of a new one.
#[derive(Debug, Clone, Copy, Default)]
pub struct PassTrace;

impl Middleware for PassTrace {
    fn handle<'a>(&'a self, mut call: Call, next: Next<'a>) -> Pending<'a, Exchange> {
        call.trace = Some(call.trace.take().unwrap_or_default());
        next.run(call)
    }
}
