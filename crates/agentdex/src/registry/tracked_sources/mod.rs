//! Tracked sources: documents that are fetched from a URL, converted, registered, and then kept up to date by polling
//! the URL.
//!
//! A source is polled at an interval ([`schedule`]) with conditional requests ([`poll`]). A changed document is
//! imported again. If polls fail repeatedly, the Thing is marked as stale, but nothing is removed ([`reconcile`]). A
//! Thing with a time to live is renewed while its source is tracked ([`due`]). The state of a source ([`source`]) is
//! written in the same transaction as its Thing; it is removed with the Thing, or when the description is changed by
//! hand. No lock of the registry is held while waiting for the network.

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
