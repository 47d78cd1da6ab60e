//! What a document that was made of a Thing doesn't say of it.
//!
//! Texts and addresses are looked for in the document, data and security in the Things that importing it gives. What only
//! agentdex reads, a description in metadata or an extension of ours, is left out before.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::{
    Export, Format, ImportOptions, Input, Rendition, Result,
    agent_spec::DESCRIPTION,
    td::{Violation, internal::Path},
};

/// The rule of its warnings.
const RULE: &str = "not-expressed";
/// The most warnings of one document.
const MOST: usize = 50;
/// The most forms of one action that are checked.
const MOST_FORMS: usize = 64;

impl Export {
    /// Makes a document of a Thing Description, in one of its versions. Each member of the Thing that the document lacks
    /// or changes gives a warning `not-expressed`, with a pointer into the Thing.
    ///
    /// # Errors
    /// [`Error::NotExpressible`](crate::Error::NotExpressible) says what such a document can't say.
    pub fn from_thing(&self, thing: &Value, version: Option<&str>) -> Result<Rendition> {
        let mut made = (self.from_thing)(thing, version)?;
        if let Some((format, _)) = Format::exports().find(|(_, export)| export.path == self.path) {
            made.warnings.extend(unexpressed(format, thing, &made.bytes));
        }
        Ok(made)
    }
}

/// The members of a Thing that a document doesn't say, or says otherwise; a warning for each, with a pointer into the Thing.
fn unexpressed(format: Format, thing: &Value, document: &[u8]) -> Vec<Violation> {
    let Ok(mut document) = serde_json::from_slice::<Value>(document) else { return Vec::new() };
    without_own(&mut document);
    let mut texts = BTreeSet::new();
    collect_texts(&document, &mut texts);
    let expressed = Expressed { things: things_of(format, thing, &document), texts, noun: format.descriptor().noun };
    let mut found = Vec::new();
    expressed.compare(thing, &mut found);
    found.truncate(MOST);
    found
}

/// Removes what no other program reads.
fn without_own(document: &mut Value) {
    if let Some(Value::Object(metadata)) = document.get_mut("metadata") {
        metadata.remove(DESCRIPTION);
    }
    let extensions = document.pointer_mut("/capabilities/extensions").and_then(Value::as_array_mut);
    if let Some(extensions) = extensions {
        extensions.retain(|one| !one["uri"].as_str().is_some_and(|uri| uri.starts_with("urn:agentdex:")));
    }
}

fn things_of(format: Format, thing: &Value, document: &Value) -> Vec<Value> {
    let Some(import) = format.import() else { return Vec::new() };
    let id = thing.get("id").and_then(Value::as_str);
    let options = ImportOptions::of_fetched(id, None).by_default("tools", "true");
    let things_of_root = |root: &Value| {
        let converted = import.to_things(&Input::json(root.to_string().as_bytes()), &options);
        converted.map(|conversion| conversion.things).unwrap_or_default()
    };
    let things = match document.get("additional_tools").and_then(Value::as_array) {
        // Tools without an agent are no Thing together, but each is one.
        Some(tools) => tools.iter().flat_map(|tool| things_of_root(&as_root(tool, document))).collect(),
        None => things_of_root(document),
    };
    things.into_iter().map(|thing| thing.description.into_parts().0).collect()
}

/// A component of an Agent Spec configuration as a configuration.
fn as_root(component: &Value, document: &Value) -> Value {
    const VERSION: &str = "agentspec_version";
    let mut root = component.clone();
    if let Some(members) = root.as_object_mut() {
        members.insert(VERSION.to_owned(), document[VERSION].clone());
    }
    root
}

fn collect_texts<'v>(value: &'v Value, texts: &mut BTreeSet<&'v str>) {
    match value {
        Value::String(text) => drop(texts.insert(text)),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(members) => members.values().for_each(|member| collect_texts(member, texts)),
        _ => {}
    }
}

/// What a document says.
struct Expressed<'d> {
    things: Vec<Value>,
    texts: BTreeSet<&'d str>,
    noun: &'static str,
}

impl Expressed<'_> {
    fn compare(&self, thing: &Value, found: &mut Vec<Violation>) {
        let root = Path::ROOT;
        for name in ["title", "description", "support"] {
            self.compare_text(thing.get(name), &root.member(name), found);
        }
        let (version, at) = (thing.get("version").and_then(|version| version.get("instance")), root.member("version"));
        self.compare_text(version, &at.member("instance"), found);
        let metadata = thing.get("lmos:metadata").and_then(|metadata| metadata.get("lmos:vendor"));
        let of_lmos = root.member("lmos:metadata");
        let vendor = of_lmos.member("lmos:vendor");
        match metadata {
            Some(Value::Object(members)) => {
                members.iter().for_each(|(name, value)| self.compare_text(Some(value), &vendor.member(name), found));
            }
            text => self.compare_text(text, &vendor, found),
        }
        let links = root.member("links");
        for (index, link) in thing.get("links").and_then(Value::as_array).into_iter().flatten().enumerate() {
            self.compare_text(link.get("href"), &links.index(index).member("href"), found);
        }
        for kind in ["properties", "events"] {
            let list = root.member(kind);
            for name in affordances(thing, kind).keys() {
                let is_expressed = self.things.iter().any(|read| affordances(read, kind).contains_key(name));
                self.warn_unless(is_expressed, &list.member(name), found);
            }
        }
        let actions = root.member("actions");
        for (name, action) in affordances(thing, "actions") {
            self.compare_action(thing, name, action, &actions.member(name), found);
        }
        self.compare_security(thing, found);
    }

    fn compare_text(&self, text: Option<&Value>, at: &Path<'_>, found: &mut Vec<Violation>) {
        if let Some(text) = text.and_then(Value::as_str).filter(|text| !text.is_empty()) {
            self.warn_unless(self.texts.contains(text), at, found);
        }
    }

    fn warn_unless(&self, is_expressed: bool, at: &Path<'_>, found: &mut Vec<Violation>) {
        if !is_expressed && found.len() < MOST {
            found.push(Violation::new(
                at.to_pointer(),
                RULE,
                format!("{} leaves this out, or has a different value", self.noun),
            ));
        }
    }

    fn compare_action(&self, thing: &Value, name: &str, action: &Value, at: &Path<'_>, found: &mut Vec<Violation>) {
        let Some(said) = self.capability(name) else { return self.warn_unless(false, at, found) };
        self.compare_text(action.get("description"), &at.member("description"), found);
        for side in ["input", "output"] {
            let Some(schema) = action.get(side) else { continue };
            let said = ["", "lmos:", "agentspec:"].iter().find_map(|prefix| said.get(format!("{prefix}{side}")));
            let is_expressed = said.is_some_and(|said| shape(said) == shape(schema) || is_whole(schema, said));
            self.warn_unless(is_expressed, &at.member(side), found);
        }
        let forms = action.get("forms").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let base = thing.get("base").and_then(Value::as_str).unwrap_or_default();
        let forms = &forms[..forms.len().min(MOST_FORMS)];
        let is_reached = |form: &Value| form["href"].as_str().is_some_and(|href| self.has_address(base, href));
        let reached: Vec<bool> = forms.iter().map(is_reached).collect();
        self.warn_unless(forms.is_empty() || reached.contains(&true), &at.member("forms"), found);
        let list = at.member("forms");
        for (index, form) in forms.iter().enumerate().filter(|(index, _)| reached[*index]) {
            let form_at = list.index(index);
            let headers = form_at.member("htv:headers");
            let listed = form.get("htv:headers").and_then(Value::as_array).into_iter().flatten().enumerate();
            for (number, header) in listed {
                self.compare_text(header.get("htv:fieldValue"), &headers.index(number), found);
            }
        }
    }

    /// The action of a name, or the capability.
    fn capability(&self, name: &str) -> Option<&Value> {
        let actions = self.things.iter().find_map(|read| read.get("actions")?.get(name));
        actions.or_else(|| {
            let entries = self.things.iter().filter_map(|read| read.get("lmos:capabilities")?.as_array()).flatten();
            let is_it = |entry: &&Value| ["lmos:id", "lmos:name"].iter().any(|member| entry[*member] == name);
            entries.into_iter().find(is_it)
        })
    }

    /// True if a text of the document begins with an address. Variables in it are written otherwise.
    fn has_address(&self, base: &str, href: &str) -> bool {
        let literal = href.split('{').next().unwrap_or_default();
        let origin_end = base.find("://").map_or(0, |scheme| scheme + 3);
        let origin_end = base[origin_end..].find('/').map_or(base.len(), |length| origin_end + length);
        let address = match literal {
            whole if whole.contains("://") || base.is_empty() => whole.to_owned(),
            path if path.starts_with('/') => format!("{}{path}", &base[..origin_end]),
            path => format!("{}/{path}", base[..base.rfind('/').unwrap_or(0).max(origin_end)].trim_end_matches('/')),
        };
        let address = address.trim_end_matches(['?', '&', '/']);
        self.texts.range(address..).next().is_some_and(|text| text.starts_with(address))
    }

    fn compare_security(&self, thing: &Value, found: &mut Vec<Violation>) {
        let known: BTreeSet<[Option<&str>; 3]> = self
            .things
            .iter()
            .filter_map(|read| read.get("securityDefinitions")?.as_object())
            .flat_map(Map::values)
            .map(security)
            .collect();
        for (name, definition) in thing.get("securityDefinitions").and_then(Value::as_object).into_iter().flatten() {
            let says_nothing = matches!(definition["scheme"].as_str(), None | Some("nosec" | "auto" | "combo"));
            let at = Path::ROOT.member("securityDefinitions");
            self.warn_unless(says_nothing || known.contains(&security(definition)), &at.member(name), found);
        }
    }
}

fn affordances<'t>(thing: &'t Value, kind: &str) -> &'t Map<String, Value> {
    static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    thing.get(kind).and_then(Value::as_object).unwrap_or(&NONE)
}

/// The scheme of a definition, and where its credential goes.
fn security(definition: &Value) -> [Option<&str>; 3] {
    let text = |name: &str| definition.get(name).and_then(Value::as_str);
    let scheme = text("scheme");
    let is_in_header = matches!(scheme, Some("basic" | "bearer" | "digest"));
    let usual = if is_in_header { Some("header") } else { (scheme == Some("apikey")).then_some("query") };
    [scheme, text("in").or(usual), text("name").filter(|_| scheme == Some("apikey"))]
}

/// The members that data has, their types, and which of them are required.
#[derive(PartialEq)]
struct Shape<'s> {
    kind: Option<&'s Value>,
    properties: Vec<(&'s String, Option<&'s Value>)>,
    required: BTreeSet<&'s str>,
}

fn shape(schema: &Value) -> Shape<'_> {
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let mut properties: Vec<_> = properties.map(|(name, schema)| (name, kind_of(schema))).collect();
    properties.sort_by_key(|(name, _)| *name);
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let kind = schema.get("type").filter(|kind| properties.is_empty() || *kind != "object");
    Shape { kind, properties, required: required.collect() }
}

/// The type of a member. One that need not be given is one of a type or null to Agent Spec.
fn kind_of(schema: &Value) -> Option<&Value> {
    let alternatives = ["anyOf", "oneOf"].iter().find_map(|name| schema.get(*name)?.as_array());
    let mut others =
        alternatives.into_iter().flatten().filter_map(|one| one.get("type")).filter(|kind| *kind != "null");
    match (schema.get("default"), others.next(), others.next()) {
        (Some(Value::Null), Some(only), None) => Some(only),
        _ => schema.get("type"),
    }
}

/// True if data without members are the one member that a document has for them.
fn is_whole(schema: &Value, said: &Value) -> bool {
    let mut members = said.get("properties").and_then(Value::as_object).into_iter().flatten();
    match (members.next(), members.next()) {
        (Some((_, only)), None) => schema.get("properties").is_none() && only.get("type") == schema.get("type"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tools_of_agent_spec_express_the_actions_that_they_are_made_of() {
        let city = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
        let action = |path: &str| json!({"input": city, "forms": [{"href": format!("https://a.example/{path}")}]});
        let mut thing = json!({
            "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:x:desk", "title": "Desk",
            "description": "Tells the weather", "securityDefinitions": {"none": {"scheme": "nosec"}}, "security": "none",
            "actions": {"forecast": action("forecast"), "alerts": action("alerts")},
        });
        let warned = |thing: &Value| -> Vec<String> {
            let made = Format::AgentSpec.export().unwrap().from_thing(thing, None).unwrap();
            made.warnings.into_iter().filter(|one| one.rule == RULE).map(|one| one.pointer).collect()
        };
        assert_eq!(warned(&thing), [""; 0]);
        thing["actions"]["alerts"]["forms"] = json!([{"href": "coap://a.example/alerts"}]);
        thing["actions"]["more"] = action("more");
        assert_eq!(warned(&thing), ["/actions/alerts"]);
    }
}
