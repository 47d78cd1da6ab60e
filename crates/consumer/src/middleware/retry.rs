//! Retries of calls that can safely be repeated.

use std::time::Duration;

use serde_json::Value;

use super::{
    super::{Call, Error, Exchange, Pending},
    Middleware, Next,
};

/// Retries calls that failed transiently before an answer began, if a retry is safe: reads, actions described as safe
/// or idempotent, and calls rejected by a busy server (status 429 or 503).
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    attempts: u32,
    pause: Duration,
}

impl Retry {
    /// Limits the total number of attempts. The pause before a retry is half a second at first, doubles with each
    /// attempt, and is at least as long as requested by the agent (`Retry-After`).
    pub fn new(attempts: u32) -> Retry {
        Retry { attempts, pause: Duration::from_millis(500) }
    }

    /// Sets the pause before the first retry.
    pub fn pause(self, pause: Duration) -> Retry {
        Retry { pause, ..self }
    }
}

impl Middleware for Retry {
    fn handle<'a>(&'a self, call: Call, next: Next<'a>) -> Pending<'a, Exchange> {
        Box::pin(async move {
            let mut attempt = 1;
            loop {
                let error = match next.run(call.clone()).await {
                    Err(error) if attempt < self.attempts && may_repeat(&call, &error) => error,
                    outcome => return outcome,
                };
                let own = self.pause * 2u32.saturating_pow(attempt - 1).min(1024);
                let pause = match error {
                    Error::Status { retry_after: Some(asked), .. } => own.max(asked),
                    _ => own,
                };
                let is_in_time =
                    call.limits.deadline.is_none_or(|deadline| tokio::time::Instant::now() + pause < deadline);
                if !is_in_time {
                    return Err(error);
                }
                tokio::time::sleep(pause).await;
                attempt += 1;
            }
        })
    }
}

fn may_repeat(call: &Call, error: &Error) -> bool {
    let action = call.description.find(&call.form.affordance);
    let is = |member: &str| action.and_then(|action| action.get(member)) == Some(&Value::Bool(true));
    let is_repeatable = call.request.is_safe() || is("safe") || is("idempotent");
    // A server that is busy has not begun.
    let is_refused = matches!(error, Error::Status { status: 429 | 503, .. });
    error.is_transient() && (is_repeatable || is_refused)
}
