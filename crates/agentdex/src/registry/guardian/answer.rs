//! Answers to requests to the guardian, based on the agents visible to the sender.

use std::{sync::atomic::Ordering::Relaxed, time::Instant};

use serde_json::{Map, Value};

use super::{Guardian, agents::Known};
use crate::{
    Result, Timestamp,
    access::Access,
    convert::aos::{Answer, Call, ErrorKind, RpcError},
    policy::{self, Answered, Guard, Judged, Reply, agent_id, agent_ids},
};

impl Guardian<'_> {
    /// True if all agents named in a request body are in memory. Otherwise [`Guardian::answer`] reads them from the
    /// store.
    pub fn has_all_agents(&self, body: &Value) -> bool {
        agent_ids(body).all(|id| self.state.agents.cached(&id).is_some())
    }

    /// Answers a request or a batch of requests. Returns `None` if there are only notifications. May read the store;
    /// see [`Guardian::has_all_agents`]. An agent hidden from the caller is treated as unregistered. Steps of a
    /// visible agent with an owner may only be reported by its owner, members of its namespace, and callers with
    /// access to everything.
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
            self.perform(call, request, started).unwrap_or_else(|error| {
                tracing::error!(%error, "the guardian can't decide about a step");
                Err(RpcError::of(ErrorKind::Internal, "the decision failed; try again later"))
            })
        };
        let Answered { reply, refused } = policy::answer(body, perform);
        self.state.counts.refused.fetch_add(refused, Relaxed);
        reply
    }

    fn perform(
        &self,
        call: &Call,
        request: &Map<String, Value>,
        started: Instant,
    ) -> Result<std::result::Result<Answer, RpcError>> {
        if let Call::Ping(_) = call {
            return Ok(Ok(Answer::Ping(policy::pong(Timestamp::now()))));
        }
        let agent = match agent_id(call) {
            Some(id) => self.agent(&id)?,
            None => None,
        };
        if let Some(agent) = agent.as_deref().filter(|agent| !self.may_report(&agent.access)) {
            let detail = format!(
                "{:?} belongs to another owner; only its owner, the members of its namespace, and admins can report its \
                 steps",
                agent.description.id
            );
            return Ok(Err(RpcError::of(ErrorKind::Forbidden, &detail)));
        }
        let options = &self.state.options;
        let guard = Guard {
            policy: &options.policy,
            sessions: &self.state.sessions,
            reporter: self.registry.caller().owner(),
            dry_run: options.dry_run,
            store_content: options.store_content,
        };
        let description = agent.as_deref().map(|agent| &agent.description);
        let Judged { result, entry } = guard.judge(call, request, description, Timestamp::now());
        if let Some(mut entry) = entry {
            entry.microseconds = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.state.record(entry, agent.as_deref().map(|agent| &agent.access));
        }
        Ok(Ok(Answer::Decision(Box::new(result))))
    }

    /// Returns the agent with the given id, if it is visible to the caller.
    fn agent(&self, id: &str) -> Result<Known> {
        let agents = &self.state.agents;
        let known = match agents.cached(id) {
            Some(known) => known,
            None => agents.load(id)?,
        };
        let grants = self.registry.grants();
        // What is in memory may be older than the store: who doesn't see the agent any more sees no former version of it.
        let is_seen =
            |access: &Access| grants.as_ref().is_none_or(|grants| grants.see(access)) && self.registry.sees(id);
        Ok(known.filter(|agent| is_seen(&agent.access)))
    }

    /// True if the caller may report steps of an agent that it sees.
    fn may_report(&self, access: &Access) -> bool {
        let (Some(owner), Some(grants)) = (&access.owner, self.registry.grants()) else { return true };
        let is_member = || grants.since(access).is_some();
        grants.owner.as_ref() == Some(owner) || is_member()
    }
}
