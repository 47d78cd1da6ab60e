//! Descriptions of agents, read from their Thing Descriptions.

use std::collections::BTreeSet;

use agentdex_td::{TAG_MEMBERS, internal::listed_capabilities};
use serde_json::Value;

use super::{
    description::{Arguments, Description, Standing, Tool, Tools},
    file::Policy,
    rule::Modes,
    who::Who,
};

/// Members that may hold the data schema of a capability's input; the first that is there counts.
const INPUTS: [&str; 3] = ["lmos:input", "input", "agentspec:input"];

impl Description {
    /// Describes an agent by its Thing Description, with the modes that a policy has for it.
    pub fn of_thing(id: &str, thing: &Value, standing: Standing, policy: &Policy) -> Description {
        let vendor = vendor(thing).map(str::to_owned);
        let tags = tags(thing);
        let modes: Modes = policy.modes_for(&Who { id, tags: &tags, vendor: vendor.as_deref() });
        Description {
            id: id.to_owned(),
            title: thing.get("title").and_then(Value::as_str).unwrap_or_default().to_owned(),
            version: thing.get("version").and_then(|version| version.get("instance")?.as_str()).map(str::to_owned),
            standing,
            vendor,
            tags,
            tools: tools(thing),
            resources: resources(thing),
            mcp_servers: mcp_servers(thing),
            modes,
        }
    }
}

fn vendor(thing: &Value) -> Option<&str> {
    let vendor =
        thing.get("lmos:metadata").and_then(|metadata| metadata.get("lmos:vendor")).or(thing.get("lmos:vendor"))?;
    vendor.as_str().or_else(|| vendor.get("lmos:name").or_else(|| vendor.get("name"))?.as_str())
}

fn tags(thing: &Value) -> Vec<String> {
    let metadata = thing.get("aos:metadata").and_then(|metadata| metadata.get("@value"));
    let owners = [Some(thing), thing.get("lmos:metadata"), metadata].into_iter().flatten();
    let lists = owners.flat_map(|owner| TAG_MEMBERS.iter().filter_map(|name| owner.get(name)));
    let mut tags: Vec<String> = lists.flat_map(one_or_many).filter_map(Value::as_str).map(str::to_owned).collect();
    tags.sort_unstable();
    tags.dedup();
    tags
}

fn tools(thing: &Value) -> Tools {
    let mut tools = Tools::default();
    for (capability, entry) in listed_capabilities(thing) {
        let key = capability.key();
        let arguments = match entry {
            Some(entry) => of_entry(entry),
            None => {
                let input = thing.get("actions").and_then(|actions| actions.get(key)?.get("input"));
                input.map_or_else(Arguments::open, Arguments::of_schema)
            }
        };
        tools.add(Tool { id: key.to_owned(), name: capability.name.unwrap_or(key).to_owned(), arguments });
    }
    tools
}

fn of_entry(entry: &Value) -> Arguments {
    let declared = entry.get("aos:arguments");
    let Some(schema) = INPUTS.iter().find_map(|name| entry.get(name)) else {
        // A list that is there, but null, declares that there are none.
        return if declared.is_some() { Arguments::none() } else { Arguments::open() };
    };
    let mut arguments = Arguments::of_schema(schema);
    for argument in declared.into_iter().flat_map(one_or_many) {
        let text = |name: &str| argument.get(name).and_then(Value::as_str);
        if let (Some(name), Some(id)) = (text("aos:name"), text("aos:id")) {
            arguments.identify(name, id);
        }
    }
    arguments
}

/// The ids of resources, and what is linked to as a part.
fn resources(thing: &Value) -> BTreeSet<String> {
    let declared = list(thing, "aos:resources").filter_map(|resource| resource.get("aos:id")?.as_str());
    let is_item = |link: &&Value| link.get("rel").is_some_and(|relation| relation == "item");
    let linked = list(thing, "links").filter(is_item).filter_map(|link| link.get("href")?.as_str());
    declared.chain(linked).map(str::to_owned).collect()
}

fn mcp_servers(thing: &Value) -> BTreeSet<(String, String)> {
    let server = |server: &Value| {
        let text = |name: &str| server.get(name).and_then(Value::as_str).map(str::to_owned);
        Some((text("aos:name")?, text("aos:version")?))
    };
    list(thing, "aos:mcpServers").filter_map(server).collect()
}

fn list<'v>(thing: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    thing.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn one_or_many(value: &Value) -> std::slice::Iter<'_, Value> {
    match value {
        Value::Array(values) => values.iter(),
        one => std::slice::from_ref(one).iter(),
    }
}
