//! The language model behind an agent.

use serde_json::{Number, Value};

use super::{Mapper, writer::Writer};
use crate::convert::agent_spec::{
    Profile,
    graph::Key,
    types::{ComponentType, Kind},
};

/// What a description says of a language model. Where it runs and how it is paid for is its user's business.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Model<'d> {
    members: Vec<(&'static str, Fact<'d>)>,
}

#[derive(Debug, PartialEq)]
enum Fact<'d> {
    Text(&'d str),
    Number(&'d Number),
}

impl<'d> Mapper<'_, 'd> {
    /// The model of an agent, or of the agent that a specialized one stands on.
    pub(super) fn model(&self, key: Key) -> Model<'d> {
        let graph = self.graph;
        let agent = graph.part(key, "agent").filter(|_| graph.is_a(key, "SpecializedAgent")).unwrap_or(key);
        let Some(config) = graph.part(agent, "llm_config") else { return Model::default() };
        let mut members = Vec::new();
        let provider = self.text(config, "provider").or_else(|| provider_of(graph.known(config)?));
        let texts = [
            ("agentspec:modelName", self.text(config, "model_id")),
            ("agentspec:provider", provider),
            ("agentspec:apiType", self.text(config, "api_type")),
        ];
        members.extend(texts.into_iter().filter_map(|(name, text)| Some((name, Fact::Text(text?)))));
        let parameters = self.field(config, "default_generation_parameters");
        for (name, parameter) in [
            ("agentspec:temperature", "temperature"),
            ("agentspec:maxTokens", "max_tokens"),
            ("agentspec:topP", "top_p"),
        ] {
            let value = parameters.and_then(|parameters| parameters.get(parameter));
            if let Some(Value::Number(number)) = value.and_then(|value| self.resolve(value)) {
                members.push((name, Fact::Number(number)));
            }
        }
        Model { members }
    }
}

impl Model<'_> {
    /// Whether there is nothing to say.
    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Writes the values.
    pub(super) fn write(&self, writer: &mut Writer) {
        for (name, fact) in &self.members {
            fact.write(writer.name(name));
        }
    }
}

impl Fact<'_> {
    fn write(&self, writer: &mut Writer) {
        match self {
            Fact::Text(text) => writer.text(text),
            Fact::Number(number) => writer.number(number),
        }
    }
}

/// Who provides the models of a type of configuration, where that has one choice only.
fn provider_of(config: &ComponentType) -> Option<&'static str> {
    ["provider", "api_provider"].into_iter().find_map(|name| match config.field(name)?.kind(Profile::Spec) {
        Kind::Choice([only]) => Some(*only),
        _ => None,
    })
}
