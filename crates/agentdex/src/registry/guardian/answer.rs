//! Requests that the guardian of a registry answers.

use std::{sync::atomic::Ordering::Relaxed, time::Instant};

use serde_json::{Map, Value};

use super::Guardian;
use crate::{
    Result, Timestamp,
    convert::aos::{Answer, Call, ErrorKind, RpcError},
    policy::{self, Answered, Guard, Judged, Reply, agent_id, agent_ids},
};

impl Guardian {
    /// True if the agents that a body names are in memory; else [`Guardian::answer`] reads the store for them.
    pub fn has_all_agents(&self, body: &Value) -> bool {
        agent_ids(body).all(|id| self.agents.cached(&id).is_some())
    }

    /// Answers a request or a batch of them; none where there are only notifications. May read the store, unless
    /// [`Guardian::has_all_agents`].
    ///
    /// ```
    /// # fn main() -> agentdex::Result<()> {
    /// # let directory = std::env::temp_dir().join(format!("agentdex-guardian-{}", std::process::id()));
    /// let registry = agentdex::Registry::builder(&directory).open()?;
    /// let ping = serde_json::json!({
    ///     "jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"timestamp": "2026-11-22T10:00:00Z"},
    /// });
    /// let reply = serde_json::to_value(registry.guardian().answer(&ping)).unwrap();
    /// assert_eq!(reply["result"]["status"], "connected");
    /// # registry.close(); drop(registry); std::fs::remove_dir_all(directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn answer(&self, body: &Value) -> Option<Reply> {
        let perform = |call: &Call, request: &Map<String, Value>, started| {
            self.perform(call, request, started).map_err(|error| {
                tracing::error!(%error, "the guardian can't decide of a step");
                RpcError::of(ErrorKind::Internal, "the decision failed; try again later")
            })
        };
        let Answered { reply, refused } = policy::answer(body, perform);
        self.counts.refused.fetch_add(refused, Relaxed);
        reply
    }

    fn perform(&self, call: &Call, request: &Map<String, Value>, started: Instant) -> Result<Answer> {
        if let Call::Ping(_) = call {
            return Ok(Answer::Ping(policy::pong(Timestamp::now())));
        }
        let description = match agent_id(call) {
            Some(id) => match self.agents.cached(&id) {
                Some(known) => known,
                None => self.agents.load(&id)?,
            },
            None => None,
        };
        let guard = Guard {
            policy: &self.options.policy,
            sessions: &self.sessions,
            dry_run: self.options.dry_run,
            store_content: self.options.store_content,
        };
        let Judged { result, entry } = guard.judge(call, request, description.as_deref(), Timestamp::now());
        if let Some(mut entry) = entry {
            entry.microseconds = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.record(entry);
        }
        Ok(Answer::Decision(Box::new(result)))
    }
}
