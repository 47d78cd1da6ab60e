//! Several agents with the same abilities: fallback, and routing by capability.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value;
use tokio::time::timeout;

use super::{Agent, Consumer, Conversation, Error, Message, Result, Search};

/// Maximum time for a router to connect to an agent.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum number of agents compared by a router.
const MAX_CANDIDATES: usize = 10;

/// Fallback over several agents: a message is sent to the first agent, then to the second if the first fails, and so
/// on. Use this only for messages that are safe to send twice, since an agent may fail after having done its work.
///
/// ```no_run
/// # async fn example(consumer: agentdex_consumer::Consumer) -> agentdex_consumer::Result<()> {
/// use agentdex_consumer::FirstThatAnswers;
///
/// let agents = consumer.find_all("weather forecast").await?;
/// let answer = FirstThatAnswers::of(agents).or_found_by("weather").ask("Will it rain in Bonn?").await?;
/// println!("{}: {}", answer.agent().title(), answer.message());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct FirstThatAnswers {
    agents: Vec<Agent>,
    query: Option<String>,
}

impl FirstThatAnswers {
    /// Creates a fallback that tries these agents in order.
    pub fn of(agents: impl IntoIterator<Item = Agent>) -> FirstThatAnswers {
        FirstThatAnswers { agents: agents.into_iter().collect(), query: None }
    }

    /// Adds a search with `query` for the case that all agents fail. Agents found by the search are tried, unless they
    /// were tried before. Nothing is searched if the fallback was created without agents.
    pub fn or_found_by(self, query: impl Into<String>) -> FirstThatAnswers {
        FirstThatAnswers { query: Some(query.into()), ..self }
    }

    /// Sends a message to the agents one by one until one of them succeeds.
    ///
    /// # Errors
    /// [`Error::AllFailed`] with the error of each agent; [`Error::Directory`] if the search failed.
    pub async fn ask(&self, message: impl Into<Message>) -> Result<Conversation> {
        let message = message.into();
        let mut failures = Vec::new();
        for agent in &self.agents {
            match agent.process(message.clone()).await.and_then(Conversation::into_result) {
                Ok(conversation) => return Ok(conversation),
                Err(error) => failures.push((agent.id().to_owned(), error)),
            }
        }
        let found = match (&self.query, self.agents.first()) {
            (Some(query), Some(first)) => Consumer::of(first).find_all(query).await?,
            _ => Vec::new(),
        };
        for agent in found {
            if failures.iter().any(|(id, _)| id == agent.id()) {
                continue;
            }
            match agent.process(message.clone()).await.and_then(Conversation::into_result) {
                Ok(conversation) => return Ok(conversation),
                Err(error) => failures.push((agent.id().to_owned(), error)),
            }
        }
        Err(Error::AllFailed { failures })
    }
}

/// Picks the best reachable agent among up to 10 agents with a capability. Agents with a valid signature of their card
/// are preferred, then agents whose source isn't stale (the registry can still fetch the document they were imported
/// from), then agents with a higher score.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Router {
    capability: String,
    is_verified_only: bool,
}

impl Router {
    /// Creates a router for a capability, by id or name, optionally with a version range (`translate@^1.2`).
    pub fn by_capability(capability: impl Into<String>) -> Router {
        Router { capability: capability.into(), is_verified_only: false }
    }

    /// Restricts the choice to agents whose card has a valid signature of a trusted key.
    pub fn verified_only(self) -> Router {
        Router { is_verified_only: true, ..self }
    }

    /// Picks an agent. [`Agent::why`] explains the choice.
    ///
    /// # Errors
    /// [`Error::NotFound`] if no suitable agent with the capability is reachable; [`Error::Directory`].
    pub async fn choose(&self, consumer: &Consumer) -> Result<Agent> {
        let search = Search { query: None, capability: Some(self.capability.clone()), limit: MAX_CANDIDATES };
        let why = format!("it has the capability {:?}", self.capability);
        let mut agents = Vec::new();
        for candidate in consumer.search(&search).await? {
            let score = candidate.score;
            let capabilities =
                if candidate.capabilities.is_empty() { vec![self.capability.clone()] } else { Vec::new() };
            let candidate =
                super::Candidate { capabilities: [candidate.capabilities, capabilities].concat(), ..candidate };
            agents.extend(consumer.of_candidate(candidate, &why).await?.map(|agent| (agent, score)));
        }
        let count = agents.len();
        let is = |agent: &Agent, member: &str, name: &str| {
            let value = agent.description().value().get(member);
            value.is_some_and(|value| value == name || value.get("status").and_then(Value::as_str) == Some(name))
        };
        let mut ranked: Vec<(Agent, bool, bool, f32)> = agents
            .into_iter()
            .map(|(agent, score)| {
                let is_verified = is(&agent, "agentdex:signature", "valid");
                let is_current = !is(&agent, "agentdex:status", "stale");
                (agent, is_verified, is_current, score)
            })
            .filter(|(agent, is_verified, ..)| agent.check().is_ok() && (*is_verified || !self.is_verified_only))
            .collect();
        ranked.sort_by(|a, b| (b.1, b.2).cmp(&(a.1, a.2)).then(b.3.total_cmp(&a.3)));
        let live = ranked
            .iter()
            .map(|(agent, ..)| async { timeout(PROBE_TIMEOUT, agent.is_reachable()).await.unwrap_or(false) });
        let live = join_all(live).await;
        let mut dead = 0;
        for ((agent, is_verified, is_current, _), is_live) in ranked.into_iter().zip(live) {
            if !is_live {
                dead += 1;
                continue;
            }
            let signature = if is_verified {
                "its card has a valid signature"
            } else {
                "no agent with a valid signature can be reached"
            };
            let source = if is_current {
                "its source is current"
            } else {
                "its source is stale, but no better match can be reached"
            };
            let why = [
                format!("it is the best reachable match of {count}; better matches that can't be reached: {dead}"),
                signature.into(),
                source.into(),
            ];
            return Ok(agent.because(why));
        }
        Err(Error::NotFound { query: self.capability.clone() })
    }
}
