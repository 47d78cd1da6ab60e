//! Conversion of configurations to Thing Descriptions.
//!
//! An agent, or a tool with an address, becomes a Thing with an action of the same name. Without a known address, the
//! action becomes a capability instead, since addresses are never invented. The same applies to a tool of a program
//! that callers run themselves (stdio), whose command is in `mcp:packages`. The agent's own tools, and the abilities of
//! its members and steps, also become capabilities.

mod action;
mod capabilities;
mod connection;
mod endpoint;
mod model;
mod parts;
mod prompts;
mod request;
mod security;

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
};

use serde_json::Value;

pub(super) use self::endpoint::{Base, RESERVED, variable_name};
use self::{
    data_schema::{DataSchemas, json_literal},
    endpoint::Endpoint,
};
use super::{
    Options, edits,
    findings::Findings,
    graph::{Graph, Key},
    inference::Inference,
    sensitive_headers,
    types::Call,
};
use crate::casting::effort::Effort;
use crate::{
    ConvertedThing, Error, Result, Source,
    a2a::A2A_NAMESPACE,
    data_schema,
    mcp_server::MCP_NAMESPACE,
    redaction::Hidden,
    td::{LmosKind, MAX_DOCUMENT_BYTES},
    thing_builder::{HTTP_NAMESPACE, ThingBuilder},
};

/// Namespace of Agent Spec terms in Thing Descriptions.
pub const AGENT_SPEC_NAMESPACE: &str = "urn:agentdex:agent-spec:";
/// JSON-LD context that defines these terms. Descriptions only declare the namespace, since the context of a Thing
/// Description is a map of strings (TD 1.1, section 5.3.1.1), and so readers don't need to fetch a context.
pub const AGENT_SPEC_CONTEXT: &str = agentdex_td::contexts::AGENT_SPEC;

/// Makes Things of the components of a configuration, which is valid.
pub(super) struct Mapper<'m, 'd> {
    pub graph: &'m Graph<'d>,
    pub inference: &'m Inference<'d>,
    /// Values hidden in the main document.
    pub hidden: &'m [Hidden],
    /// The original main document.
    pub sent: &'d Value,
    pub options: &'m Options,
    /// Address at which agents are deployed.
    pub base: Option<Base>,
    /// Components that become Things, to which links may refer.
    pub registered: HashSet<Key>,
    /// Version declared by the document.
    pub spec_version: Option<&'d str>,
    /// Remaining budget for finding parts: components shared by many others are visited for each of them.
    pub effort: Effort,
    /// Created ids, some of which are derived from all content of a component; cached, since many
    /// links can lead to the same component.
    pub ids: RefCell<HashMap<Key, String>>,
}

/// The target of a form.
enum Target {
    /// The endpoint that the component itself specifies.
    Own(Endpoint),
    /// The address at which it is deployed.
    Base(String),
}

impl<'d> Mapper<'_, 'd> {
    /// The description of a component that is a Thing, which is made of this document.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] where it would be larger or deeper than the registry takes, or takes too
    /// much to be made.
    pub(super) fn describe(
        &self,
        key: Key,
        kind: LmosKind,
        source: Source,
        findings: &mut Findings,
    ) -> Result<ConvertedThing> {
        let too_large = || {
            let what = "size in bytes of the Thing Description generated from the configuration";
            Error::LimitExceeded { what, maximum: MAX_DOCUMENT_BYTES as u64 }
        };
        let thing = self.built(key, kind, findings)?;
        self.check_effort()?;
        let thing = thing.ok_or_else(too_large)?.finish(source).map_err(|error| match error {
            Error::DocumentTooLarge { .. } => too_large(),
            Error::LimitExceeded { what: "JSON nesting depth", maximum } => {
                let what = "nesting depth of the Thing Description generated from the configuration";
                Error::LimitExceeded { what, maximum }
            }
            error => error,
        })?;
        let metadata = self.field(key, "metadata").and_then(Value::as_object);
        Ok(match metadata.and_then(edits::taken_out) {
            Some((edits, _)) => edits::edited(thing, &edits, || self.graph.at(key), findings),
            None => thing,
        })
    }

    /// # Errors
    /// [`Error::LimitExceeded`] where finding parts took too much, so that some are missing.
    pub(super) fn check_effort(&self) -> Result<()> {
        let what = "number of steps needed to collect the parts of all Things in the configuration";
        match self.effort.is_spent() {
            true => Err(Error::LimitExceeded { what, maximum: Effort::DOCUMENT }),
            false => Ok(()),
        }
    }

    /// A field's value if it may be shown.
    fn field(&self, key: Key, field: &str) -> Option<&'d Value> {
        self.resolve(self.graph.written(key, field)?)
    }

    /// A field that is a string and may be shown.
    fn text(&self, key: Key, field: &str) -> Option<&'d str> {
        self.field(key, field)?.as_str()
    }

    /// A value within a field, where it is a reference to a plain value that value, if it may be shown.
    fn resolve(&self, value: &'d Value) -> Option<&'d Value> {
        self.graph.resolve(value)
    }

    /// The description; none where there is more than anybody takes.
    fn built(&self, key: Key, kind: LmosKind, findings: &mut Findings) -> Result<Option<ThingBuilder>> {
        let target = self.target(key);
        let type_name = self.graph.type_name(key);
        let mut thing = ThingBuilder::new(kind, self.thing_id(key)?, self.text(key, "name").unwrap_or(type_name));
        thing.type_(&format!("agentspec:{type_name}"));
        thing.prefix("agentspec", AGENT_SPEC_NAMESPACE);
        if target.is_some() {
            thing.prefix("a2a", A2A_NAMESPACE);
            thing.prefix("mcp", MCP_NAMESPACE);
            thing.prefix("htv", HTTP_NAMESPACE);
        } else if self.options.thing_model {
            thing.type_("tm:ThingModel");
        }
        thing.set_text("description", self.text(key, "description"));
        let endpoint = match &target {
            Some(Target::Own(endpoint)) => Some(endpoint),
            _ => None,
        };
        let (definitions, security) = self.security(key, endpoint)?;
        thing.set("securityDefinitions", definitions);
        thing.set("security", security);
        let has_action = target.is_some() || self.options.thing_model;
        let mut schemas = DataSchemas::new("agentspec:jsonSchema");
        let own = (!has_action).then_some(key);
        thing.set_list(
            "lmos:capabilities",
            self.capability_entries(&mut schemas, own, self.capabilities(key), findings),
        );
        if has_action {
            thing.set("actions", self.actions(&mut schemas, key, target.as_ref()).into());
        }
        self.warn_of_request(key, target.as_ref(), findings);
        if schemas.take_cut() {
            let message = "a schema is recursive, too deep, or too large; the description of the data is truncated";
            findings.warning(|| self.graph.at(key), "schema-cut", || message);
        }
        if schemas.take_broken() {
            let message = "a `$ref` has no target in its schema, so the values described by the `$ref` are not checked";
            findings.warning(|| self.graph.at(key), "schema-reference", || message);
        }
        if let Some(program) = self.program(key) {
            thing.prefix("mcp", MCP_NAMESPACE);
            thing.set("mcp:packages", vec![program].into());
        }
        self.add_links(&mut thing, key);
        self.add_metadata(&mut thing, key);
        Ok((!schemas.is_full()).then_some(thing))
    }

    /// Finds the target of a Thing's forms: the endpoint that its component specifies, or else its address at the base.
    fn target(&self, key: Key) -> Option<Target> {
        let base = || {
            let base = self.base.as_ref().filter(|base| !base.is_shared() || self.graph.root() == Some(key))?;
            let name = self.text(key, "name").unwrap_or(self.graph.type_name(key));
            let id = self.graph.id(key).map(str::to_owned).or_else(|| self.thing_id(key).ok())?;
            Some(Target::Base(base.address(&id, name)))
        };
        self.own_endpoint(key).map(Target::Own).or_else(base)
    }

    /// Returns the kind of call that a component itself specifies.
    fn call(&self, key: Key) -> Call {
        self.graph.known(key).map_or(Call::Unsaid, |known| known.call)
    }

    /// True if nothing says where a Thing is called, or how it is run.
    pub(super) fn has_no_target(&self, key: Key) -> bool {
        !self.options.thing_model && self.target(key).is_none() && self.program(key).is_none()
    }

    /// The inputs that go into the URL of a request.
    pub(super) fn request_variables(&self, key: Key) -> Vec<String> {
        self.own_endpoint(key).map(|endpoint| endpoint.variables.names().to_vec()).unwrap_or_default()
    }

    /// True if a component says itself where it is called.
    pub(super) fn is_reached(&self, key: Key) -> bool {
        self.own_endpoint(key).is_some()
    }

    /// Adds the members that only this format has: id, version, model, metadata and prompts.
    fn add_metadata(&self, thing: &mut ThingBuilder, key: Key) {
        for (name, text) in [("agentspec:id", self.graph.id(key)), ("agentspec:specVersion", self.spec_version)] {
            text.into_iter().for_each(|text| thing.set(name, text.into()));
        }
        let model = self.model(key);
        if !model.is_empty() {
            thing.set("agentspec:model", model.into());
        }
        if let Some(Value::Object(metadata)) = self.field(key, "metadata") {
            let mut rest = edits::taken_out(metadata).map_or_else(|| metadata.clone(), |(_, rest)| rest);
            rest.remove(sensitive_headers::KEPT);
            if !rest.is_empty() {
                thing.set("agentspec:metadata", json_literal(&rest.into()));
            }
        }
        thing.set_list("agentspec:prompts", self.prompts(key));
    }

    fn add_links(&self, thing: &mut ThingBuilder, key: Key) {
        let mut known = HashSet::new();
        // Nothing but the document itself may be registered.
        let parts = if self.registered.len() > 1 { self.registered_parts(key) } else { Vec::new() };
        for part in parts {
            if let Ok(id) = self.thing_id(part.key)
                && known.insert(id.clone())
            {
                thing.link(part.role, &id, Some("application/td+json"));
            }
        }
    }
}
