//! A guarded HTTP fetcher for URLs that stand in documents or come from callers (SSRF protection).
//!
//! A client that can make a server fetch can try to make it fetch from hosts that only the server reaches. So every
//! URL, and each hop of a redirect again, is checked before anything is sent: [`target`] reads it, the [`Resolver`] is
//! asked once for the addresses of the name, [`address`] and the [`AllowList`] decide, and the connection goes to the
//! very addresses that were checked. The response is bounded in time, by [`mod@rate_limits`] and by [`body`], and must be JSON.
//! URLs that the operator sets need none of this.
//!
//! - [`Fetcher`] fetches one JSON document, also conditionally ([`Validators`]);
//! - [`Connections`] opens reused connections for requests of any kind, with the same checks;
//! - [`candidates`] lists the well-known places of a document on a site.

mod address;
mod allow;
mod answer;
mod attempt;
mod body;
mod canonical;
mod connections;
mod error;
mod fetcher;
mod options;
mod probe;
mod rate_limits;
mod redacted_url;
mod resolver;
mod target;
mod tls;

pub use self::{
    allow::AllowList,
    answer::{Answer, Fetched, Validators},
    connections::{Connections, refusal},
    error::{BoxError, Error, Result},
    fetcher::Fetcher,
    options::{Options, Request},
    probe::{Candidate, Place, candidates},
    resolver::{Resolver, Resolving},
};
// Shared with the other crates of agentdex; no part of the public interface.
#[doc(hidden)]
pub use self::{
    canonical::{canonical_url, is_same_url},
    rate_limits::Permit,
    redacted_url::shown,
};

/// The README, whose examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
