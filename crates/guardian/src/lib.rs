//! Decisions about the steps of agents: allow, deny or modify, by the rules of a policy.
//!
//! Pure functions over a step, its agent's description and its session: nothing here reads a store, waits, or knows
//! where steps come from.
//!
//! - [`Policy`], [`PolicyFile`], [`Rule`], [`Modes`], [`OwnRule`]: policies, as a file has them and compiled;
//! - [`Description`], [`Tools`], [`Arguments`]: the facts about an agent, read from its Thing Description;
//! - [`Step`], [`Action`], [`Origin`]: a step, wherever it comes from; [`decide`], [`Verdict`]: the decision about it;
//! - [`answer`], [`Guard`], [`step_of`]: requests of the Agent Observability Standard, whose types are in [`aos`];
//! - [`Session`], [`Sessions`]: live sessions, a bounded table;
//! - [`Entry`], [`ocsf`], [`otlp`]: the entry of the trail, as an event of OCSF, and as a span of OTLP.
//!
//! [`decide`] applies the rules, each of which is off, warns or is enforced, in general or for an agent, a tag or a
//! vendor:
//!
//! | rule | finds | unless a policy says otherwise |
//! |---|---|---|
//! | `agent-registered`, `agent-live` | an agent that isn't registered, or has expired | enforced |
//! | `agent-current`, `agent-version` | an agent whose source is stale; another version than that registered | warns |
//! | `tool-declared`, `tool-arguments` | calls of tools that aren't declared, or with other arguments; also by MCP | enforced |
//! | `tool-result` | results that are not those of a call of the turn | enforced |
//! | `source-declared`, `resource-declared`, `mcp-server-declared` | what isn't declared | warns |
//! | `a2a-message`, `mcp-message` | messages that aren't well formed | enforced |
//! | `mask-secrets`, `mask-personal-data` | what must not be shown; enforced, the step is modified | warns, off |
//!
//! Own rules are [`Expression`](agentdex_sacp::expression::Expression)s in CEL over `step`, `agent` and `session`. All of
//! a policy's share one [`EXPRESSION_BUDGET`]. A step that can't be judged, since the time is over or a value isn't of
//! the type that a rule expects, is not allowed. `step.response` is the SACP response that a step carries; a rule with
//! `then = "fail-response"` makes it a failure instead of denying the step (SACP, section 9.1).

pub use agentdex_api::guardian::{Decision, Entry, Finding, LiveSession, Mode, SacpResponse};
pub use agentdex_convert::aos;
use agentdex_sacp::{self as sacp, expression};
pub use agentdex_td::Timestamp;

mod a2a;
mod answer;
mod decide;
mod describe;
mod description;
mod digest;
mod file;
mod guard;
pub mod ocsf;
pub mod otlp;
mod own;
mod request;
mod rule;
mod sacp_response;
mod session;
mod sessions;
mod step;
mod verdict;
mod who;

pub use self::{
    answer::{Answered, Reply, answer, pong},
    decide::{EXPRESSION_BUDGET, Edit, Edited, decide},
    description::{Arguments, Description, Given, Standing, Tool, Tools},
    file::{Exception, MAX_EXPRESSIONS, Policy, PolicyError, PolicyFile},
    guard::{Guard, Judged, agent_id, agent_ids},
    own::{Consequence, OwnRule},
    request::step_of,
    rule::{Modes, Rule},
    session::{MAX_OPEN_CALLS, Session},
    sessions::{SessionKey, Sessions},
    step::{Action, Citation, Origin, Step},
    verdict::Verdict,
    who::Who,
};

/// The README, whose examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
