//! Configurations as Thing Descriptions.
//!
//! An agent, or a tool that can be reached, becomes a Thing with an action of its name. Where nobody says
//! how it is reached, that is a capability instead: no form is made up. Its own tools and what its members
//! and steps can do are capabilities too.

mod action;
mod capabilities;
mod data_schema;
mod endpoint;
mod layers;
mod model;
mod parts;
mod prompts;
mod security;
mod template;
mod writer;

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
};

use serde_json::Value;

pub(super) use self::endpoint::{Base, RESERVED};
use self::{data_schema::DataSchemas, endpoint::Endpoint, writer::Writer};
use super::{
    Options,
    effort::Effort,
    findings::Findings,
    graph::{Graph, Key},
    inference::Inference,
    types::Call,
};
use crate::{
    Error, Result,
    convert::{a2a::A2A_NAMESPACE, redaction::Hidden},
    td::{CONTEXT_1_1, Document, LMOS_NAMESPACE, LmosKind, MAX_DOCUMENT_BYTES},
};

/// The namespace of the terms for what a Thing Description has no words for.
pub const AGENT_SPEC_NAMESPACE: &str = "urn:agentdex:agent-spec:";
/// The JSON-LD context that defines them. Descriptions only name the namespace: the context of a Thing
/// Description has no room for more (TD 1.1, section 5.3.1.1), and nobody has to fetch anything to read one.
pub const AGENT_SPEC_CONTEXT: &str = include_str!("../../../schemas/agent-spec.jsonld");

/// The namespace of what forms say of MCP.
const MCP_NAMESPACE: &str = "urn:agentdex:mcp:";
/// The namespace of what forms say of HTTP (HTTP Vocabulary in RDF 1.0).
const HTTP_NAMESPACE: &str = "http://www.w3.org/2011/http#";

/// The most schemas of one description that stand where a reference to them was.
const MOST_INLINED: usize = 500;

/// Makes Things of the components of a configuration, which is valid.
pub(super) struct Mapper<'m, 'd> {
    pub graph: &'m Graph<'d>,
    pub inference: &'m Inference<'d>,
    /// What was hidden in the main document.
    pub hidden: &'m [Hidden],
    /// The main document as it was sent.
    pub sent: &'d Value,
    pub options: &'m Options,
    /// Where agents are deployed.
    pub base: Option<Base>,
    /// The components that are Things, which links may lead to.
    pub registered: HashSet<Key>,
    /// The version that the document says it is written for.
    pub spec_version: Option<&'d str>,
    /// What is left of the work that finding parts may take: components that many have in common are
    /// visited for each of these.
    pub effort: Effort,
    /// Ids that were made, some of all that is in a component: many may link to the same.
    pub ids: RefCell<HashMap<Key, String>>,
}

/// What a form leads to.
enum Target {
    /// Where the component says that it is reached.
    Own(Endpoint),
    /// Where it is deployed.
    Base(String),
}

impl<'d> Mapper<'_, 'd> {
    /// The description of a component that is a Thing.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] where it would be larger or deeper than the registry takes, or takes too
    /// much to be made.
    pub(super) fn describe(&self, key: Key, kind: LmosKind, findings: &mut Findings) -> Result<Document> {
        let description = self.written(key, kind, findings)?;
        self.check_effort()?;
        if description.len() > MAX_DOCUMENT_BYTES {
            let what = "length in bytes of the Thing Description made of the configuration";
            return Err(Error::LimitExceeded { what, maximum: MAX_DOCUMENT_BYTES as u64 });
        }
        Document::parse(description.as_bytes()).map_err(|error| match error {
            Error::LimitExceeded { what: "JSON nesting depth", maximum } => {
                let what = "nesting depth of the Thing Description made of the configuration";
                Error::LimitExceeded { what, maximum }
            }
            error => error,
        })
    }

    /// # Errors
    /// [`Error::LimitExceeded`] where finding parts took too much, so that some are missing.
    pub(super) fn check_effort(&self) -> Result<()> {
        let what = "number of steps to find the parts of all Things of the configuration";
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

    fn written(&self, key: Key, kind: LmosKind, findings: &mut Findings) -> Result<String> {
        let target = self.target(key);
        let capabilities = self.capabilities(key);
        let mut writer = Writer::with_capacity(4096);
        writer.open('{');
        self.write_identity(&mut writer, key, kind, target.as_ref())?;
        let endpoint = match &target {
            Some(Target::Own(endpoint)) => Some(endpoint),
            _ => None,
        };
        self.write_security(&mut writer, key, endpoint)?;
        let has_action = target.is_some() || self.options.thing_model;
        let mut schemas = DataSchemas::new(&mut writer, MOST_INLINED);
        self.write_capabilities(&mut schemas, (!has_action).then_some(key), &capabilities, findings);
        if has_action {
            self.write_actions(&mut schemas, key, target.as_ref());
        }
        self.warn_of_headers(key, target.as_ref(), findings);
        self.write_links(&mut writer, key);
        self.write_metadata(&mut writer, key);
        writer.close('}');
        Ok(writer.into_text())
    }

    /// Where a Thing is called: as its component says, or at the base.
    fn target(&self, key: Key) -> Option<Target> {
        let base = || {
            let base = self.base.as_ref().filter(|base| !base.is_shared() || self.graph.root() == Some(key))?;
            let name = self.text(key, "name").unwrap_or(self.graph.type_name(key));
            let id = self.graph.id(key).map(str::to_owned).or_else(|| self.thing_id(key).ok())?;
            Some(Target::Base(base.address(&id, name)))
        };
        self.own_endpoint(key).map(Target::Own).or_else(base)
    }

    /// How a component says itself that it is called.
    fn call(&self, key: Key) -> Call {
        self.graph.known(key).map_or(Call::Unsaid, |known| known.call)
    }

    /// Whether nothing says where a Thing is called.
    pub(super) fn has_no_target(&self, key: Key) -> bool {
        !self.options.thing_model && self.target(key).is_none()
    }

    /// Whether a component says itself where it is called.
    pub(super) fn is_reached(&self, key: Key) -> bool {
        self.own_endpoint(key).is_some()
    }

    fn write_identity(&self, writer: &mut Writer, key: Key, kind: LmosKind, target: Option<&Target>) -> Result<()> {
        writer.name("@context").array(|writer| {
            writer.word(CONTEXT_1_1);
            writer.object(|writer| {
                writer.name("lmos").word(LMOS_NAMESPACE);
                writer.name("agentspec").word(AGENT_SPEC_NAMESPACE);
                if target.is_some() {
                    writer.name("a2a").word(A2A_NAMESPACE);
                    writer.name("mcp").word(MCP_NAMESPACE);
                    writer.name("htv").word(HTTP_NAMESPACE);
                }
            });
        });
        writer.name("@type").array(|writer| {
            if target.is_none() && self.options.thing_model {
                writer.word("tm:ThingModel");
            }
            writer.word(match kind {
                LmosKind::Agent => "lmos:Agent",
                LmosKind::Tool => "lmos:Tool",
            });
            writer.word(&format!("agentspec:{}", self.graph.type_name(key)));
        });
        writer.name("id").word(&self.thing_id(key)?);
        writer.name("title").text(self.text(key, "name").unwrap_or(self.graph.type_name(key)));
        if let Some(description) = self.text(key, "description") {
            writer.name("description").text(description);
        }
        Ok(())
    }

    /// What only this format has.
    fn write_metadata(&self, writer: &mut Writer, key: Key) {
        if let Some(own) = self.graph.id(key) {
            writer.name("agentspec:id").text(own);
        }
        if let Some(version) = self.spec_version {
            writer.name("agentspec:specVersion").text(version);
        }
        let model = self.model(key);
        if !model.is_empty() {
            writer.name("agentspec:model").object(|writer| model.write(writer));
        }
        if let Some(metadata @ Value::Object(members)) = self.field(key, "metadata")
            && !members.is_empty()
        {
            writer.name("agentspec:metadata").json(metadata);
        }
        self.write_prompts(writer, key);
    }

    fn write_links(&self, writer: &mut Writer, key: Key) {
        let mut known = HashSet::new();
        // Nothing but the document itself may be registered.
        let parts = if self.registered.len() > 1 { self.registered_parts(key) } else { Vec::new() };
        let links: Vec<_> = parts
            .into_iter()
            .filter_map(|part| Some((part.role, self.thing_id(part.key).ok()?)))
            .filter(|(_, id)| known.insert(id.clone()))
            .collect();
        if links.is_empty() {
            return;
        }
        writer.name("links").array(|writer| {
            for (role, id) in &links {
                writer.object(|writer| {
                    writer.name("rel").word(role);
                    writer.name("href").word(id);
                    writer.name("type").word("application/td+json");
                });
            }
        });
    }
}
