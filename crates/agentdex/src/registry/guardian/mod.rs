//! The guardian: it decides of the steps that agents report (Agent Observability Standard), by what the registry knows of
//! them.
//!
//! [`Guardian::answer`] takes a request in JSON-RPC and decides. What it needs of an agent is in memory ([`agents`]):
//! read when the agent takes its first step, and changed by a follower of the log since, so that no decision reads the
//! store or a description. A decision may miss a write that is younger than the interval in which followers read the
//! log, 50 ms; [`Registry::catch_up_guardian`](crate::Registry::catch_up_guardian) waits for all writes so far. Renewals are no changes of the log, so that
//! an agent counts as expired once it is purged, within a second.
//!
//! Own rules have 20 ms together, 50,000 values in a step, and patterns that stand in the rule; what can't be decided is
//! denied. The trail has hashes of what is exchanged, or with an option the content, without secrets.
//!
//! [`Guardian`] acts for a caller, as the registry does that it comes from: an agent that the caller doesn't see is not
//! registered for it, and a session belongs to who reports its steps.
//!
//! [`Sessions`] are bounded in number and forgotten once they are idle. Every decision goes to the [`trail`] and to those
//! who subscribe. Which rules there are, and what they find, is in [`crate::policy`].

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
