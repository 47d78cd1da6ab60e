//! An embeddable discovery registry for software agents.
//!
//! Agents are described as LMOS agents, in the form of W3C Web of Things Thing Descriptions. The registry validates
//! and stores descriptions, finds agents by their capabilities, and notifies subscribers of changes. Start with
//! [`Registry`]; the modules below are in reading order.

pub use agentdex_api::access;
#[cfg(feature = "consumer")]
pub use agentdex_consumer as consumer;
pub use agentdex_convert as convert;
#[cfg(any(feature = "fetch", feature = "guardian"))]
pub use agentdex_convert::signature;
#[cfg(feature = "fetch")]
pub use agentdex_fetch as fetch;
#[cfg(feature = "guardian")]
pub use agentdex_guardian as policy;
#[cfg(feature = "guardian")]
pub use agentdex_sacp::{self as sacp, expression};
pub use agentdex_td as td;

/// Types of changes, used by the log and by the wire format.
pub mod change {
    pub use agentdex_api::{Change, ChangeKind, Cursor, DeletionReason, Epoch, Position, Precondition, Seq, Timestamp};
}
pub mod error;
mod numbered;

pub mod search;
#[doc(hidden)]
pub mod store;

pub mod registry;

pub use agentdex_api::{Change, ChangeKind, Cursor, DeletionReason, Epoch, Position, Precondition, Seq, Timestamp};
pub use error::Error;
pub use registry::{Builder, Registry};

/// Result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The README, whose examples are tested.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
