//! Capabilities of a Thing in addition to its actions: the agent's own tools, and the abilities of its members and
//! steps.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Mapper, data_schema::DataSchemas};
use crate::{
    agent_spec::{
        findings::Findings,
        graph::{Key, Keys},
        inference::Side,
        terms::REQUIRES_CONFIRMATION,
        types::Role,
    },
    td::MAX_AFFORDANCES,
};

/// The most capabilities of one description: there are actions too.
const MOST: usize = MAX_AFFORDANCES - 100;

/// Something that a component can do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Capability<'d> {
    /// The `lmos:id` that it is found by.
    pub(super) key: String,
    what: What<'d>,
    /// The member or step that can do it.
    via: Option<Key>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum What<'d> {
    /// A tool or a signature of one, an agent, a step.
    Component(Key),
    /// A tool of an MCP server, by its name.
    Named(&'d str),
}

impl<'d> Mapper<'_, 'd> {
    /// Lists the capabilities of a component: its tools, members and steps, each once.
    pub(super) fn capabilities(&self, key: Key) -> Vec<Capability<'d>> {
        let mut found = Vec::new();
        self.collect_capabilities(key, None, &mut Keys::from_iter([key]), &mut found);
        let mut known = HashSet::with_capacity(found.len());
        found.retain(|capability| known.insert(capability.clone()));
        found
    }

    /// `via` is the member or step that `key` belongs to.
    fn collect_capabilities(&self, key: Key, via: Option<Key>, seen: &mut Keys, found: &mut Vec<Capability<'d>>) {
        self.collect_filtered(key, via, found);
        let is_specialized = self.graph.is_a(key, "SpecializedAgent");
        for (_, parts) in self.graph.all_parts(key) {
            if self.effort.spend(1 + parts.len()).is_err() || found.len() > MOST {
                return;
            }
            for part in parts.iter().copied() {
                if !seen.insert(part) {
                    continue;
                }
                let role = self.graph.role(part);
                match role {
                    Role::None => {}
                    Role::Tool => found.push(Capability { key: self.tool_key(part), what: What::Component(part), via }),
                    // What it stands on is the agent itself.
                    Role::Agent if !is_specialized => {
                        let via = via.or(Some(part));
                        found.push(Capability { key: self.key(part), what: What::Component(part), via });
                        self.collect_capabilities(part, via, seen, found);
                    }
                    Role::Step => {
                        let via = via.or(Some(part));
                        found.push(Capability { key: self.key(part), what: What::Component(part), via });
                    }
                    Role::ToolBox => {
                        let count = found.len();
                        self.collect_capabilities(part, via, seen, found);
                        if found.len() == count {
                            found.push(Capability { key: self.key(part), what: What::Component(part), via });
                        }
                    }
                    Role::Frame => self.collect_capabilities(part, via.or(Some(part)), seen, found),
                    Role::Agent | Role::Part => self.collect_capabilities(part, via, seen, found),
                }
            }
        }
    }

    /// The tools that a toolbox lists.
    fn collect_filtered(&self, toolbox: Key, via: Option<Key>, found: &mut Vec<Capability<'d>>) {
        found.extend(self.filtered_tools(toolbox).into_iter().map(|(key, what)| Capability { key, what, via }));
    }

    fn filtered_tools(&self, toolbox: Key) -> Vec<(String, What<'d>)> {
        let Some(Value::Array(filter)) = self.field(toolbox, "tool_filter") else { return Vec::new() };
        let mut signatures = self.graph.parts(toolbox, "tool_filter").iter();
        let tool = |entry: &'d Value| match self.resolve(entry).and_then(Value::as_str) {
            Some(name) => Some((name.to_owned(), What::Named(name))),
            None => signatures.next().map(|part| (self.tool_key(*part), What::Component(*part))),
        };
        filter.iter().filter_map(tool).collect()
    }

    /// The tools of an MCP server that a toolbox names, each with its signature if that is known.
    pub(super) fn listed_tools(&self, toolbox: Key) -> Vec<(String, Option<Key>)> {
        let tools = self.filtered_tools(toolbox).into_iter();
        let mut known = HashSet::new();
        tools
            .map(|(key, what)| match what {
                What::Component(part) => (key, Some(part)),
                What::Named(_) => (key, None),
            })
            .filter(|(key, _)| known.insert(key.clone()))
            .collect()
    }

    /// The name of a tool, which is what callers know it by.
    pub(super) fn tool_key(&self, key: Key) -> String {
        self.text(key, "name").filter(|name| !name.is_empty()).map_or_else(|| self.key(key), str::to_owned)
    }

    /// Returns the name of a component as an action or a capability: its own name if that is a word, else the words of
    /// that name in lower case, or of its type if there are none.
    pub(super) fn key(&self, key: Key) -> String {
        let name = self.text(key, "name").unwrap_or_default();
        let slug = slug(name);
        if slug.is_empty() { slug_of_type(self.graph.type_name(key)) } else { slug }
    }

    /// The entries of `lmos:capabilities`: that of a component that nobody can call, if `own`, and `capabilities`.
    pub(super) fn capability_entries(
        &self,
        schemas: &mut DataSchemas,
        own: Option<Key>,
        capabilities: Vec<Capability<'d>>,
        findings: &mut Findings,
    ) -> Vec<Value> {
        if let (true, Some(root)) = (capabilities.len() > MOST, self.graph.root()) {
            let message = || {
                format!(
                    "there are more than {MOST} tools, nested agents, and steps; the description lists only the first \
                     {MOST}"
                )
            };
            findings.warning(|| self.graph.at(root), "too-many-capabilities", message);
        }
        let own = own.map(|key| Capability { key: self.key(key), what: What::Component(key), via: None });
        let listed = own.into_iter().chain(capabilities.into_iter().take(MOST));
        listed.map(|capability| self.capability_entry(schemas, &capability)).collect()
    }

    fn capability_entry(&self, schemas: &mut DataSchemas, capability: &Capability<'d>) -> Value {
        let mut entry = Map::new();
        let mut put = |name: &str, value: Value| drop(entry.insert(name.to_owned(), value));
        put("lmos:id", capability.key.as_str().into());
        match capability.what {
            What::Named(name) => put("lmos:name", name.into()),
            What::Component(key) => {
                put("lmos:name", self.text(key, "name").unwrap_or(&capability.key).into());
                let description = self.text(key, "description").unwrap_or_default();
                // Many may have the same long one.
                if !description.is_empty() && schemas.spend(description.len()) {
                    put("lmos:description", description.into());
                }
                put("agentspec:componentType", self.graph.type_name(key).into());
                if self.requires_confirmation(key) {
                    put(REQUIRES_CONFIRMATION, true.into());
                }
                for (name, side) in [("agentspec:input", Side::Inputs), ("agentspec:output", Side::Outputs)] {
                    self.data(schemas, key, side).into_iter().for_each(|data| put(name, data));
                }
            }
        }
        if let Some(via) = capability.via {
            let id = self.graph.id(via).or_else(|| self.text(via, "name"));
            put("agentspec:via", id.unwrap_or(self.graph.type_name(via)).into());
        }
        entry.into()
    }
}

/// A name as a key: as it is if it is a word of letters, digits, `_`, `-` and `.`.
fn slug(name: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_-.".contains(character);
    if name.chars().all(is_plain) {
        return name.to_owned();
    }
    let mut slug = String::with_capacity(name.len());
    for character in name.chars() {
        if character.is_alphanumeric() {
            slug.extend(character.to_lowercase());
        } else if matches!(character, '_' | '.') {
            slug.push(character);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

/// The name of a type as a key: `A2AAgent` is `a2a-agent`.
fn slug_of_type(type_name: &str) -> String {
    let mut slug = String::new();
    let characters: Vec<char> = type_name.chars().collect();
    for (index, character) in characters.iter().enumerate() {
        let next_is_lower = characters.get(index + 1).is_some_and(|next| next.is_lowercase());
        if index > 0 && character.is_uppercase() && (next_is_lower || characters[index - 1].is_lowercase()) {
            slug.push('-');
        }
        slug.extend(character.to_lowercase());
    }
    slug
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_keys() {
        for (name, key) in [
            ("find_trains", "find_trains"),
            ("Weather Assistant", "weather-assistant"),
            ("GetForecast", "GetForecast"),
            ("  Köln & Bonn! ", "köln-bonn"),
            ("!?", ""),
        ] {
            assert_eq!(slug(name), key);
        }
        assert_eq!(slug_of_type("A2AAgent"), "a2a-agent");
        assert_eq!(slug_of_type("MCPToolBox"), "mcp-tool-box");
    }
}
