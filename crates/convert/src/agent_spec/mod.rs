//! Open Agent Spec: configurations of agents, flows and tools.
//!
//! A [`Configuration`] is read into a graph of its components, by one table of the types that there are,
//! and validated in one of two [`Profile`]s: by the text of the language, or by what its SDK accepts.
//!
//! - **All or nothing.** All agents of a document are registered, or none. The same document again changes nothing; one
//!   that leads to the same description, such as YAML after JSON, replaces the original without an event. Nested agents
//!   and tools that it no longer has are removed with it (they have `agentdex:partOf`), and all of them when its Thing is
//!   removed or expires. Components in separate files are parts of the form of a request, or `--component`.
//! - **Found by what it can do.** The action of an agent, or without an address its capability, has the name of the agent.
//!   Its tools are capabilities too, and those of the members and steps of a team or flow (`agentspec:via` names the
//!   member).
//! - **No secrets.** What the language marks as a secret, keys and tokens anywhere in a text, credentials in URLs, and what
//!   looks like a secret under a name that says so, is replaced before anything is stored, each with a warning; prompts
//!   too, unless they are to be published. An export is the document without them; `components_registry` supplies them.
//! - **No invented addresses.** An agent whose address isn't in the document is called once a base gives its URL: `{id}`
//!   and `{name}` in it are filled in, which several agents need. It gets a POST of its inputs as JSON there, or messages
//!   of A2A.
//! - **Edits.** What was edited in a Thing is in the member of the configuration that it is made of, and the rest in
//!   `metadata.thingDescriptionEdits`: operations of JSON Patch (RFC 6902) on the Thing Description, made on import.
//! - **Exports.** A configuration that another Thing was exported as has its description in `metadata.thingDescription`,
//!   which is read; texts that were edited in the configuration are edited in it.

mod chain;
mod coercion;
mod configuration;
mod conversion;
mod edits;
mod export;
mod exported;
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
mod sensitive_headers;
mod source;
mod stored;
mod supply;
mod terms;
mod thing;
mod types;
mod version;
#[cfg(feature = "yaml")]
mod yaml_text;

pub(super) use self::format::FORMAT;
pub(crate) use self::terms::{DESCRIPTION, REQUEST, REQUIRES_CONFIRMATION};
pub use self::{
    chain::{FlowChain, NeededAgent},
    configuration::Configuration,
    export::{FlowLink, FlowStep, flow_of, from_thing},
    options::{Options, Profile, Protocol, Security},
    thing::{AGENT_SPEC_CONTEXT, AGENT_SPEC_NAMESPACE},
};
