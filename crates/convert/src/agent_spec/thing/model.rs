//! The language model used by an agent.

use serde_json::{Map, Value};

use super::Mapper;
use crate::agent_spec::{
    Profile,
    graph::Key,
    types::{ComponentType, Kind},
};

impl Mapper<'_, '_> {
    /// Describes the model of an agent, or of the agent that a specialized one stands on. Where it runs and how it is
    /// paid for is left out, as its user's business.
    pub(super) fn model(&self, key: Key) -> Map<String, Value> {
        let graph = self.graph;
        let agent = graph.part(key, "agent").filter(|_| graph.is_a(key, "SpecializedAgent")).unwrap_or(key);
        let Some(config) = graph.part(agent, "llm_config") else { return Map::new() };
        let provider = self.text(config, "provider").or_else(|| provider_of(graph.known(config)?));
        let texts = [
            ("agentspec:modelName", self.text(config, "model_id")),
            ("agentspec:provider", provider),
            ("agentspec:apiType", self.text(config, "api_type")),
        ];
        let texts = texts.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?.into())));
        let parameters = self.field(config, "default_generation_parameters");
        let numbers = [
            ("agentspec:temperature", "temperature"),
            ("agentspec:maxTokens", "max_tokens"),
            ("agentspec:topP", "top_p"),
        ];
        let number = |(name, parameter): (&str, &str)| {
            let value = self.resolve(parameters?.get(parameter)?)?;
            value.is_number().then(|| (name.to_owned(), value.clone()))
        };
        texts.chain(numbers.into_iter().filter_map(number)).collect()
    }
}

/// Finds the provider of the models of a type of configuration, where that has one choice only.
fn provider_of(config: &ComponentType) -> Option<&'static str> {
    ["provider", "api_provider"].into_iter().find_map(|name| match config.field(name)?.kind(Profile::Spec) {
        Kind::Choice([only]) => Some(*only),
        _ => None,
    })
}
