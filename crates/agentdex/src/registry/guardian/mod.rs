//! The guardian: decides about the steps reported by agents (Agent Observability Standard), using the registry's
//! knowledge of the agents.
//!
//! [`Guardian::answer`] takes a request in JSON-RPC and returns the decision. The required data of an agent is cached
//! in memory ([`agents`]): it is read on the agent's first step and then updated by a follower of the log, so
//! decisions need neither the store nor the description. A decision may miss writes younger than 50 ms, the interval
//! at which followers read the log; [`Registry::catch_up_guardian`](crate::Registry::catch_up_guardian) waits for all
//! previous writes. Renewals are not recorded in the log, so an agent counts as expired only when it is purged,
//! within a second.
//!
//! Custom rules have a budget of 20 ms and 50,000 values per step, and patterns must be constants of the rule.
//! Undecidable steps are denied. The trail contains hashes of the exchanged content or, if enabled, the content
//! without secrets.
//!
//! A [`Guardian`] acts on behalf of a caller, like the registry from which it is obtained. An agent hidden from the
//! caller is treated as unregistered, and a session belongs to the caller that reports its steps.
//!
//! [`Sessions`] are limited in number and removed when idle. Every decision is recorded in the [`trail`] and sent to
//! subscribers. For the rules and their findings see [`crate::policy`].

mod agents;
mod answer;
mod calling;
mod entries;
mod ocsf;
mod options;
mod state;
mod trail;

pub(super) use self::{agents::Agents, state::State};
pub use self::{calling::Guardian, entries::Entries, options::Options, trail::Retention};

#[cfg(doc)]
use crate::policy::Sessions;
pub use crate::policy::{Entry, LiveSession, Reply, SacpResponse};
