//! Rate limiting of calls.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::{Instant, sleep_until};

use super::{
    super::{Call, Exchange, Pending},
    Middleware, Next,
};

/// Agents whose rates are remembered; beyond, those without a call under way are forgotten.
const MAX_AGENTS: usize = 1024;

/// Delays calls to limit their rate per agent.
#[derive(Debug)]
pub struct RateLimit {
    interval: Duration,
    /// When the next call of an agent is due.
    due: Mutex<HashMap<String, Instant>>,
}

impl RateLimit {
    /// Limits the calls to each agent to `calls` in each period `per`, evenly spaced.
    pub fn new(calls: u32, per: Duration) -> RateLimit {
        RateLimit { interval: per / calls.max(1), due: Mutex::default() }
    }

    /// The moment of the next call, which is taken by asking.
    fn turn(&self, agent: &str) -> Instant {
        let now = Instant::now();
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        if due.len() >= MAX_AGENTS {
            due.retain(|_, due| *due > now);
        }
        let next = due.entry(agent.to_owned()).or_insert(now);
        let turn = (*next).max(now);
        *next = turn + self.interval;
        turn
    }
}

impl Middleware for RateLimit {
    fn handle<'a>(&'a self, call: Call, next: Next<'a>) -> Pending<'a, Exchange> {
        Box::pin(async move {
            sleep_until(self.turn(call.description.id())).await;
            next.run(call).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_one_agent_come_evenly() {
        let limit = RateLimit::new(10, Duration::from_secs(3600));
        let first = limit.turn("a");
        assert_eq!(limit.turn("a") - first, Duration::from_secs(360));
        assert!(limit.turn("b") - first < Duration::from_secs(60));
    }
}
