//! Configurations as Thing Descriptions.
//!
//! An agent, or a tool that can be reached, becomes a Thing with one action, `invoke`. Where nobody
//! says how it is reached, that is a capability instead: no form is made up.

mod action;
mod data_schema;
mod endpoint;
mod layers;
mod model;
mod parts;
mod prompts;
mod security;
mod tools;
mod writer;

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
};

use serde_json::Value;

pub(super) use self::endpoint::checked_base;
use self::{
    data_schema::DataSchemas,
    endpoint::{Endpoint, Variables},
    writer::Writer,
};
use super::{
    Options,
    effort::Effort,
    findings::Findings,
    graph::{Graph, Key},
    inference::Inference,
    redaction::Redaction,
};
use crate::{
    Error, Result,
    td::{CONTEXT_1_1, LMOS_NAMESPACE, LmosKind, MAX_DOCUMENT_BYTES, MAX_NESTING},
};

/// The namespace of the terms for what a Thing Description has no words for.
pub const AGENT_SPEC_NAMESPACE: &str = "urn:agentdex:agent-spec:";
/// The JSON-LD context that defines them. Descriptions only name the namespace: the context of a Thing
/// Description has no room for more (TD 1.1, section 5.3.1.1), and nobody has to fetch anything to read one.
pub const AGENT_SPEC_CONTEXT: &str = include_str!("../../../schemas/agent-spec.jsonld");

/// The most schemas of one description that stand where a reference to them was.
const MOST_INLINED: usize = 500;

/// Makes Things of the components of a configuration, which is valid.
pub(super) struct Mapper<'m, 'd> {
    pub graph: &'m Graph<'d>,
    pub inference: &'m Inference<'d>,
    pub redaction: &'m Redaction<'d>,
    pub options: &'m Options,
    /// The base of the forms of the root, checked.
    pub base: Option<String>,
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
    pub(super) fn describe(&self, key: Key, kind: LmosKind, is_root: bool, findings: &mut Findings) -> Result<String> {
        let description = self.written(key, kind, is_root, findings)?;
        self.check_effort()?;
        check_limits(&description)?;
        Ok(description)
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
        if self.redaction.hides(value) { None } else { self.graph.resolve(value) }
    }

    fn written(&self, key: Key, kind: LmosKind, is_root: bool, findings: &mut Findings) -> Result<String> {
        let base = self.base.clone().filter(|_| is_root);
        let target = self.own_endpoint(key).map(Target::Own).or(base.map(Target::Base));
        let mut writer = Writer::with_capacity(4096);
        writer.open('{');
        self.write_identity(&mut writer, key, kind, target.is_none())?;
        let endpoint = match &target {
            Some(Target::Own(endpoint)) => Some(endpoint),
            _ => None,
        };
        self.write_security(&mut writer, key, endpoint)?;
        self.write_model(&mut writer, key, target.as_ref());
        let mut schemas = DataSchemas::new(&mut writer, MOST_INLINED);
        if target.is_some() || self.options.thing_model {
            schemas.writer.name("actions").open('{');
            schemas.writer.name("invoke").open('{');
            self.write_invoke(&mut schemas, key, target.as_ref());
            schemas.writer.close('}');
            schemas.writer.close('}');
        } else {
            self.write_capability(&mut schemas, key);
            findings.warning(|| self.graph.at(key), "no-endpoint", || no_endpoint(is_root));
        }
        self.write_tools(&mut schemas, &self.own_tools(key));
        self.warn_of_headers(key, target.as_ref(), findings);
        self.write_prompts(&mut writer, key);
        self.write_links(&mut writer, key);
        writer.close('}');
        Ok(writer.into_text())
    }

    fn write_identity(&self, writer: &mut Writer, key: Key, kind: LmosKind, has_no_target: bool) -> Result<()> {
        writer.name("@context").array(|writer| {
            writer.word(CONTEXT_1_1);
            writer.object(|writer| {
                writer.name("lmos").word(LMOS_NAMESPACE);
                writer.name("agentspec").word(AGENT_SPEC_NAMESPACE);
            });
        });
        writer.name("@type").array(|writer| {
            if has_no_target && self.options.thing_model {
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
        if let Some(own) = self.graph.id(key) {
            writer.name("agentspec:id").text(own);
        }
        if let Some(version) = self.spec_version {
            writer.name("agentspec:specVersion").text(version);
        }
        let metadata = self.field(key, "metadata");
        if let Some(metadata @ Value::Object(members)) = metadata
            && !members.is_empty()
        {
            let owner = self.graph.id(key).unwrap_or_default();
            writer.name("agentspec:metadata").data(&self.redaction.free_form(owner, "metadata", metadata));
        }
        Ok(())
    }

    fn write_model(&self, writer: &mut Writer, key: Key, target: Option<&Target>) {
        let model = self.model(key);
        if model.is_empty() {
            return;
        }
        writer.name("agentspec:model").object(|writer| model.write(writer));
        let base = match target {
            Some(Target::Base(base)) => Some(base),
            _ => None,
        };
        if base.is_none() && !self.options.thing_model {
            return;
        }
        writer.name("properties").object(|writer| {
            writer.name("modelConfiguration").object(|writer| {
                writer.name("description").word("The configuration of the language model behind the agent.");
                writer.name("type").word("object");
                writer.name("readOnly").flag(true);
                writer.name("properties").object(|writer| model.write_schemas(writer));
                if let Some(base) = base {
                    writer.name("forms").array(|writer| {
                        writer.object(|writer| {
                            writer.name("op").word("readproperty");
                            writer.name("href").word(&format!("{base}/properties/modelConfiguration"));
                            writer.name("contentType").word("application/json");
                        });
                    });
                }
            });
        });
    }

    /// What the action would be if somebody said how it is called.
    fn write_capability(&self, schemas: &mut DataSchemas<'_>, key: Key) {
        schemas.writer.name("lmos:capabilities").open('[');
        schemas.writer.open('{');
        schemas.writer.name("id").word("invoke");
        schemas.writer.name("name").text(self.text(key, "name").unwrap_or(self.graph.type_name(key)));
        if let Some(description) = self.text(key, "description") {
            schemas.writer.name("description").text(description);
        }
        self.write_data_of(schemas, ["agentspec:input", "agentspec:output"], key, &Variables::default());
        schemas.writer.close('}');
        schemas.writer.close(']');
    }

    fn write_links(&self, writer: &mut Writer, key: Key) {
        let mut known = HashSet::new();
        let links: Vec<_> = self
            .thing_parts(key)
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

/// What to do about a Thing that nobody says how to reach.
fn no_endpoint(is_root: bool) -> &'static str {
    match is_root {
        true => {
            "nothing says where it is reached, so that it is described by capabilities instead of an action; \
             pass `--base` (`?base=`) with the URL that it is deployed at"
        }
        false => {
            "nothing says where this part is reached, so that it is described by capabilities instead of an \
             action; pass `--base` (`?base=`) with a document of its own to say where"
        }
    }
}

/// Refuses a description that the registry wouldn't take.
fn check_limits(description: &str) -> Result<()> {
    if description.len() > MAX_DOCUMENT_BYTES {
        let what = "length in bytes of the Thing Description made of the configuration";
        return Err(Error::LimitExceeded { what, maximum: MAX_DOCUMENT_BYTES as u64 });
    }
    if nesting(description) > MAX_NESTING {
        let what = "nesting depth of the Thing Description made of the configuration";
        return Err(Error::LimitExceeded { what, maximum: MAX_NESTING as u64 });
    }
    Ok(())
}

fn nesting(json: &str) -> usize {
    let (mut depth, mut deepest, mut is_text, mut is_escaped) = (0usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if std::mem::take(&mut is_escaped) => {}
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth -= 1,
            _ => {}
        }
    }
    deepest
}
