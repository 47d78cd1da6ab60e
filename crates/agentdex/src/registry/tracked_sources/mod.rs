//! Tracked sources: a document is fetched from a URL, converted and registered, and its URL polled from then on.
//!
//! A source is polled on an interval ([`schedule`]), with a conditional request ([`poll`]). A document that
//! changed is imported again. A source that fails repeatedly makes its Thing stale, but removes nothing
//! ([`reconcile`]): a Thing that would expire is renewed as long as its source is tracked ([`due`]). The state of a
//! source ([`source`]) is written in one transaction with its Thing, and ends with it, or when the description is
//! changed by hand. The registry is never held while the network is waited for.

mod blocking;
mod discovery;
mod due;
mod options;
mod poll;
mod reconcile;
mod request;
mod schedule;
mod source;
mod track;
mod tracker;
mod trust;

pub use self::{
    options::{Converter, FetchedDocument, ServerDescriber, Tracking},
    request::TrackRequest,
};
pub(super) use self::{source::Tracked, tracker::Tracker};
#[doc(inline)]
pub use agentdex_api::{RefreshResult, Revision, SourceStatus, TrackedSource};
