//! Prompts of an agent, if they are published.

use serde_json::{Value, json};

use super::Mapper;
use crate::agent_spec::{
    graph::{Key, Keys},
    types::Secrecy,
};

impl Mapper<'_, '_> {
    /// The prompts of a component and of its parts that are no Things of their own.
    pub(super) fn prompts(&self, key: Key) -> Vec<Value> {
        let mut prompts = Vec::new();
        if self.options.publish_prompts {
            self.collect_prompts(key, &mut Keys::from_iter([key]), &mut prompts);
        }
        let described = |(field, text)| json!({"agentspec:field": field, "agentspec:text": text});
        prompts.into_iter().map(described).collect()
    }

    fn collect_prompts<'s>(&'s self, key: Key, seen: &mut Keys, prompts: &mut Vec<(&'static str, &'s str)>) {
        if let Some(known) = self.graph.known(key) {
            let fields = known.fields().iter().filter(|field| field.secrecy == Secrecy::Prompt);
            let texts = fields.filter_map(|field| Some((field.name, self.text(key, field.name)?)));
            prompts.extend(texts.filter(|(_, text)| !text.is_empty()));
        }
        for (_, parts) in self.graph.all_parts(key) {
            if self.effort.spend(1 + parts.len()).is_err() {
                return;
            }
            for part in parts.iter().copied().filter(|part| !self.is_part_of_its_own(*part)) {
                if seen.insert(part) {
                    self.collect_prompts(part, seen, prompts);
                }
            }
        }
    }
}
