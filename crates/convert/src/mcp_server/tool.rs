//! Conversion of tools listed in a description to actions, and back.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{
    input::{objects, text},
    publisher_metadata::note,
    remote::Remote,
};
use crate::{
    agent_spec::REQUIRES_CONFIRMATION,
    data_schema::DataSchemas,
    keywords::Keyword,
    shape::Findings,
    td::{
        MAX_AFFORDANCES,
        internal::{Path, source_schema},
    },
};

type Object = Map<String, Value>;

/// Schemas of a tool, and the members of an action that they become.
const SCHEMAS: [(&str, &str); 2] = [("inputSchema", "input"), ("outputSchema", "output")];
/// The member of a tool's `_meta` that requires its user to agree to each call.
const CONFIRMATION: &str = "agentdex/requiresConfirmation";
/// Hints of a tool, and the members of an action that they become.
const HINTS: [(&str, &str); 2] = [("readOnlyHint", "safe"), ("idempotentHint", "idempotent")];
/// Members of an action that a tool says.
const OF_TOOL: [&str; 7] = ["title", "description", "safe", "idempotent", "input", "output", REQUIRES_CONFIRMATION];

/// A tool and its name.
#[derive(Clone, Copy)]
pub(super) struct Tool<'s> {
    pub(super) name: &'s str,
    members: &'s Object,
}

/// The tools of a server: its own, or those that somebody noted in `_meta`. Of several with one name, the first is taken.
pub(super) fn tools<'s>(server: &'s Object, findings: &mut Findings) -> Vec<Tool<'s>> {
    let (mut tools, mut known) = (Vec::new(), HashSet::new());
    let root = Path::ROOT;
    let own = root.member("tools");
    add_tools(server, &own, &mut tools, &mut known, findings);
    if tools.is_empty() {
        let meta = root.member("_meta");
        for (name, noted) in server.get("_meta").and_then(Value::as_object).into_iter().flatten() {
            if let Some(noted) = noted.as_object() {
                let place = meta.member(name);
                add_tools(noted, &place.member("tools"), &mut tools, &mut known, findings);
            }
        }
    }
    if tools.len() > MAX_AFFORDANCES {
        let message = || {
            format!(
                "the server has {} tools; the Thing Description contains only the first {MAX_AFFORDANCES}",
                tools.len()
            )
        };
        findings.add(&own, "too-many-tools", message);
        tools.truncate(MAX_AFFORDANCES);
    }
    tools
}

fn add_tools<'s>(
    owner: &'s Object,
    list: &Path<'_>,
    tools: &mut Vec<Tool<'s>>,
    known: &mut HashSet<&'s str>,
    findings: &mut Findings,
) {
    let listed = owner.get("tools").and_then(Value::as_array).into_iter().flatten().enumerate();
    for (index, members) in listed.filter_map(|(index, tool)| Some((index, tool.as_object()?))) {
        match text(members, "name") {
            None => findings.add(&list.index(index), "tool-name", || "the tool has no name, and is left out".into()),
            Some(name) if !known.insert(name) => {
                let message = || format!("several tools have the name {name:?}; only the first is used");
                findings.add(&list.index(index), "tool-repeated", message);
            }
            Some(name) => tools.push(Tool { name, members }),
        }
    }
}

impl Tool<'_> {
    /// The action of the tool, called at each of the remotes.
    pub(super) fn action(&self, remotes: &[Remote], schemas: &mut DataSchemas, findings: &mut Findings) -> Object {
        let mut action = self.described(schemas);
        if schemas.take_cut() {
            let message = || {
                let name = self.name;
                format!(
                    "a schema of {name:?} is recursive, too deep, or too large; the description of the data is \
                    truncated"
                )
            };
            findings.add(&Path::ROOT.member("tools"), "schema-cut", message);
        }
        if schemas.take_broken() {
            let message = || {
                let name = self.name;
                format!(
                    "a `$ref` in a schema of {name:?} has no target in that schema, so the values described by the \
                     `$ref` are not checked"
                )
            };
            findings.add(&Path::ROOT.member("tools"), "schema-reference", message);
        }
        add_forms(&mut action, remotes, Some(self.name));
        action
    }

    /// The members of its action beside forms and variables.
    fn described(&self, schemas: &mut DataSchemas) -> Object {
        let text = |name: &str| text(self.members, name);
        let mut action = Object::new();
        action.insert("title".to_owned(), text("title").unwrap_or(self.name).into());
        action.extend(text("description").map(|text| ("description".to_owned(), text.into())));
        let hints = self.members.get("annotations").and_then(Value::as_object);
        for (hint, member) in HINTS {
            let is_set = hints.and_then(|hints| hints.get(hint)).and_then(Value::as_bool);
            action.extend(is_set.map(|is_set| (member.to_owned(), is_set.into())));
        }
        for (schema, member) in SCHEMAS {
            action.extend(self.members.get(schema).map(|schema| (member.to_owned(), schemas.of(schema))));
        }
        if self.members.get("_meta").and_then(|meta| meta.get(CONFIRMATION)) == Some(&Value::Bool(true)) {
            action.insert(REQUIRES_CONFIRMATION.to_owned(), true.into());
        }
        action
    }

    /// The capability of the tool where nothing reaches it.
    pub(super) fn capability_members(&self) -> Object {
        let member = |from: &str, to: &str| Some((to.to_owned(), text(self.members, from)?.into()));
        let members = [member("name", "id"), member("title", "name"), member("description", "description")];
        members.into_iter().flatten().collect()
    }
}

/// The data schemas of one description.
pub(super) fn data_schemas() -> DataSchemas {
    DataSchemas::new("mcp:jsonSchema")
}

/// The action of a server that doesn't say which tools it has.
pub(super) fn any_tool(remotes: &[Remote]) -> Object {
    let mut action = Object::new();
    action.insert("title".to_owned(), "Call one of the server's tools".into());
    let name = json!({"type": "string", "description": "Name of the tool; `tools/list` lists the tools"});
    let input = json!({
        "type": "object", "required": ["name"], "properties": {"name": name, "arguments": {"type": "object"}},
    });
    action.insert("input".to_owned(), input);
    add_forms(&mut action, remotes, None);
    action
}

fn add_forms(action: &mut Object, remotes: &[Remote], tool: Option<&str>) {
    let forms: Vec<Value> = remotes.iter().map(|remote| remote.form("tools/call", tool)).collect();
    action.insert("forms".to_owned(), forms.into());
    let variables: Object = remotes.iter().flat_map(|remote| remote.variables.clone()).collect();
    if !variables.is_empty() {
        action.insert("uriVariables".to_owned(), variables.into());
    }
}

/// Puts the tools that the actions of a Thing call into a server, where it has them noted already or else in `_meta`. A
/// tool that is noted stays as it is as long as its action says the same.
pub(super) fn write_tools(thing: &Object, server: &mut Object, findings: &mut Findings) {
    // What nothing reaches has tools without actions.
    if !server.contains_key("remotes") {
        return;
    }
    let called = called_tools(thing);
    let mut written = Vec::with_capacity(called.len());
    let is_same = {
        let noted = tools(server, &mut Findings::default());
        let mut schemas = data_schemas();
        let mut known = HashSet::new();
        let mut is_same = noted.len() == called.len();
        for tool in &noted {
            let Some((_, action)) = called.iter().find(|(name, _)| *name == tool.name) else { continue };
            known.insert(tool.name);
            let described = tool.described(&mut schemas);
            let is_equal = OF_TOOL.iter().all(|member| described.get(*member) == action.get(*member));
            is_same &= is_equal;
            written.push(if is_equal { tool.members.clone().into() } else { of_action(tool.name, action, findings) });
        }
        for (name, action) in called.iter().filter(|(name, _)| !known.contains(name)) {
            written.push(of_action(name, action, findings));
        }
        is_same
    };
    if is_same {
        return;
    }
    // Those that are noted elsewhere would be read as well.
    let metas = server.get_mut("_meta").and_then(Value::as_object_mut);
    for noted in metas.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
        noted.remove("tools");
    }
    if server.contains_key("tools") {
        server.insert("tools".to_owned(), written.into());
    } else if !written.is_empty() {
        note(server, "tools", written.into());
    }
}

/// Moves the tools of a server to `_meta`, for documents that have no other place for them.
pub(super) fn move_to_meta(server: &mut Object) {
    if let Some(tools) = server.remove("tools").filter(|tools| *tools != json!([])) {
        note(server, "tools", tools);
    }
}

/// The tools that actions call by a form for MCP, each with the first action that calls it.
fn called_tools(thing: &Object) -> Vec<(&str, &Object)> {
    let actions = thing.get("actions").and_then(Value::as_object).into_iter().flatten();
    let mut known = HashSet::new();
    let called = actions.filter_map(|(_, action)| {
        let action = action.as_object()?;
        let mut forms = objects(action, "forms").filter(|form| text(form, "subprotocol") == Some("mcp"));
        Some((forms.find_map(|form| text(form, "mcp:tool"))?, action))
    });
    called.filter(|(name, _)| known.insert(*name)).collect()
}

/// The tool that an action calls.
fn of_action(name: &str, action: &Object, findings: &mut Findings) -> Value {
    let mut tool = Object::from_iter([("name".to_owned(), name.into())]);
    let mut put = |name: &str, value: Value| drop(tool.insert(name.to_owned(), value));
    text(action, "title").filter(|title| *title != name).into_iter().for_each(|title| put("title", title.into()));
    text(action, "description").into_iter().for_each(|text| put("description", text.into()));
    // What isn't an object goes under the name that callers give it by convention.
    let input = action.get("input").map_or_else(|| json!({"type": "object"}), json_schema);
    let of_value = |schema: &Value| json!({"type": "object", "properties": {"input": schema}, "required": ["input"]});
    put("inputSchema", if is_of_object(&input) { input } else { of_value(&input) });
    match action.get("output").map(json_schema) {
        Some(output) if is_of_object(&output) => put("outputSchema", output),
        Some(_) => {
            let message = || {
                format!("the output of {name:?} is left out, because MCP tools can only describe objects as outputs")
            };
            findings.add(&Path::ROOT.member("actions").member(name), "output-not-object", message);
        }
        None => {}
    }
    let hint = |(hint, member): &(&str, &str)| Some(((*hint).to_owned(), action.get(*member)?.clone()));
    let hints: Object = HINTS.iter().filter_map(hint).collect();
    if !hints.is_empty() {
        put("annotations", hints.into());
    }
    if action.get(REQUIRES_CONFIRMATION) == Some(&Value::Bool(true)) {
        put("_meta", json!({CONFIRMATION: true}));
    }
    tool.into()
}

fn is_of_object(schema: &Value) -> bool {
    schema.get("type").is_some_and(|name| name == "object")
}

/// A data schema as a JSON Schema (2020-12).
fn json_schema(data: &Value) -> Value {
    if let Some(source) = source_schema(data) {
        return source.clone();
    }
    let Value::Object(members) = data else { return data.clone() };
    let named = |schemas: &Object| -> Value {
        schemas.iter().map(|(name, schema)| (name.clone(), json_schema(schema))).collect::<Object>().into()
    };
    let listed = |schemas: &[Value]| -> Value { schemas.iter().map(json_schema).collect() };
    let member = |(name, value): (&String, &Value)| {
        let member = match (name.as_str(), value) {
            ("properties", Value::Object(schemas)) => named(schemas),
            ("items", Value::Array(schemas)) => return Some(("prefixItems".to_owned(), listed(schemas))),
            ("items" | "additionalProperties", Value::Object(_)) => json_schema(value),
            ("oneOf" | "anyOf" | "allOf", Value::Array(schemas)) => listed(schemas),
            ("unit", _) => return None,
            (name, _) => Keyword::find(name).map(|_| value.clone())?,
        };
        Some((name.clone(), member))
    };
    members.iter().filter_map(member).collect::<Object>().into()
}
