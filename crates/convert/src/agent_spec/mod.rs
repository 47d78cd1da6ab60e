//! Open Agent Spec: configurations of agents, flows, and tools.
//!
//! A [`Configuration`] is parsed into a graph of its components, driven by a table of component types, and validated
//! according to one of two [`Profile`]s: the text of the specification, or the rules of its SDK.
//!
//! - **Atomic registration.** Either all agents of a document are registered, or none. Registering the same document
//!   again changes nothing. A different document that results in the same description, such as YAML after JSON,
//!   replaces the original without an event. Nested agents and tools that are no longer in the document are removed
//!   (they have `agentdex:partOf`), and all of them are removed when the document's Thing is removed or expires.
//!   Components in separate files are sent as parts of a form, or with `--component`.
//! - **Searchable abilities.** The action of an agent (or its capability, if the agent has no address) has the name of
//!   the agent. Its tools are capabilities, too, as are those of the members and steps of a team or flow
//!   (`agentspec:via` names the member).
//! - **No secrets.** Fields marked as secrets by the language, keys and tokens in any text, credentials in URLs, and
//!   values that look like secrets and have the name of one are replaced before anything is stored, each with a
//!   warning. The same applies to prompts, unless they are to be published. An export contains references instead, for
//!   which `components_registry` supplies the values.
//! - **No invented addresses.** An agent without an address in the document can be called if a base URL is given. The
//!   placeholders `{id}` and `{name}` in it are replaced, and are required for documents with several agents. The agent
//!   receives its inputs as JSON in a POST request to that URL, or A2A messages.
//! - **Edits.** Edits of a Thing are written to the corresponding fields of the configuration. All other edits are
//!   stored in `metadata.thingDescriptionEdits`, as JSON Patch operations (RFC 6902) that an import applies to the
//!   Thing Description.
//! - **Exports.** A configuration exported from another Thing contains the Thing's description in
//!   `metadata.thingDescription`, which an import uses. Texts edited in the configuration are then edited in the
//!   description, too.

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
