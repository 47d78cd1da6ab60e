//! Open Agent Spec: configurations of agents, flows and tools.
//!
//! A [`Configuration`] is read into a graph of its components, by one table of the types that there are,
//! and validated in one of two [`Profile`]s: by the text of the language, or by what its SDK accepts.

mod chain;
mod coercion;
mod configuration;
mod conversion;
mod export;
mod faults;
mod findings;
mod format;
mod graph;
mod identity;
mod inference;
mod json_schema;
mod marks;
mod options;
mod pattern;
mod placeholders;
mod places;
mod property;
mod reading;
mod references;
mod rules;
mod sdk_types;
mod secrets;
mod source;
mod stored;
mod supply;
mod thing;
mod types;
mod version;
#[cfg(feature = "yaml")]
mod yaml_text;

pub(super) use self::format::FORMAT;
pub use self::{
    chain::{FlowChain, NeededAgent},
    configuration::Configuration,
    export::{FlowLink, FlowStep, flow_of, from_thing},
    options::{Options, Profile, Protocol},
    thing::{AGENT_SPEC_CONTEXT, AGENT_SPEC_NAMESPACE},
};
