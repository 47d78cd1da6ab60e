//! Propagation of traces to agents (W3C Trace Context).

use super::{
    super::{Call, Exchange, Pending},
    Middleware, Next,
};

/// Sends the trace context of each call to the agent. The call continues the trace in the settings, or starts a new
/// trace.
#[derive(Debug, Clone, Copy, Default)]
pub struct PassTrace;

impl Middleware for PassTrace {
    fn handle<'a>(&'a self, mut call: Call, next: Next<'a>) -> Pending<'a, Exchange> {
        call.trace = Some(call.trace.take().unwrap_or_default());
        next.run(call)
    }
}
