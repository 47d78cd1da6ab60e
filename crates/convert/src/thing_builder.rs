//! Builder for Thing Descriptions created from documents in other formats. It defines the terms used by all of them,
//! and orders members as in the specifications.

use std::io::Write;

use serde_json::{Map, Value, json};

use super::ConvertedThing;
use crate::{
    Result, Source,
    hidden_keys::require_hidden_keys,
    td::{CONTEXT_1_1, Document, LMOS_NAMESPACE, LmosKind, MAX_DOCUMENT_BYTES},
};

type Object = Map<String, Value>;

/// The namespace of what forms say of HTTP (HTTP Vocabulary in RDF 1.0).
pub(super) const HTTP_NAMESPACE: &str = "http://www.w3.org/2011/http#";

/// A Thing Description that is being made. Without `security` it leaves open what is required (`auto`).
#[derive(Debug)]
pub(super) struct ThingBuilder {
    members: Object,
    prefixes: Object,
    id: String,
}

impl ThingBuilder {
    /// An agent or tool; `prefixes` are namespaces of its terms beside `lmos`, `types` those of `@type`.
    pub(super) fn new(kind: LmosKind, id: String, title: &str) -> ThingBuilder {
        let type_ = match kind {
            LmosKind::Agent => "lmos:Agent",
            LmosKind::Tool => "lmos:Tool",
        };
        let mut builder = ThingBuilder { members: Object::new(), prefixes: Object::new(), id };
        builder.prefix("lmos", LMOS_NAMESPACE);
        builder.set("@type", json!([type_]));
        builder.set("title", title.into());
        builder
    }

    /// Declares a prefix.
    pub(super) fn prefix(&mut self, prefix: &str, namespace: &str) {
        self.prefixes.insert(prefix.to_owned(), namespace.into());
    }

    /// Adds a type.
    pub(super) fn type_(&mut self, name: &str) {
        if let Some(Value::Array(types)) = self.members.get_mut("@type") {
            types.push(name.into());
        }
    }

    /// Sets a member.
    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.members.insert(name.to_owned(), value);
    }

    /// Sets several members.
    pub(super) fn set_all(&mut self, members: Object) {
        self.members.extend(members);
    }

    /// Sets a member to a text that isn't empty.
    pub(super) fn set_text(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.set(name, text.into());
        }
    }

    /// Sets a member to a list that isn't empty.
    pub(super) fn set_list(&mut self, name: &str, list: Vec<Value>) {
        if !list.is_empty() {
            self.set(name, list.into());
        }
    }

    /// Adds a link.
    pub(super) fn link(&mut self, relation: &str, href: &str, media_type: Option<&str>) {
        let mut link = json!({"rel": relation, "href": href});
        if let Some(media_type) = media_type {
            link["type"] = media_type.into();
        }
        if let Some(links) = self.members.entry("links").or_insert_with(|| json!([])).as_array_mut() {
            links.push(link);
        }
    }

    /// The Thing, which was made of this document.
    ///
    /// # Errors
    /// [`Error::DocumentTooLarge`](crate::Error::DocumentTooLarge) and
    /// [`Error::LimitExceeded`](crate::Error::LimitExceeded) where it would be more than a registry takes.
    pub(super) fn finish(mut self, source: Source) -> Result<ConvertedThing> {
        self.members.insert("@context".to_owned(), vec![CONTEXT_1_1.into(), Value::Object(self.prefixes)].into());
        self.members.insert("id".to_owned(), self.id.as_str().into());
        if !self.members.contains_key("security") {
            self.members.insert("securityDefinitions".to_owned(), json!({"auto_sc": {"scheme": "auto"}}));
            self.members.insert("security".to_owned(), "auto_sc".into());
        }
        require_hidden_keys(&mut self.members);
        let description = described(Value::Object(self.members))?;
        Ok(ConvertedThing { id: self.id, description, source })
    }
}

/// A Thing Description as a document, in the order of the specification.
///
/// # Errors
/// [`Error::DocumentTooLarge`](crate::Error::DocumentTooLarge) and [`Error::LimitExceeded`](crate::Error::LimitExceeded)
/// where it would be more than a registry takes.
pub(super) fn described(thing: Value) -> Result<Document> {
    let text = text(&thing);
    Ok(Document::of_parts(thing, text)?)
}

/// The members that entries of `lmos:capabilities` have in any format. JSON-LD takes those without a
/// prefix for others (`id` for that of the node), so that they are written with it, and read without too.
const CAPABILITY: [&str; 6] = ["id", "name", "version", "description", "tags", "examples"];

/// An entry of `lmos:capabilities`; other members get the prefix of their format.
pub(super) fn capability<'m>(members: impl IntoIterator<Item = (&'m String, &'m Value)>, prefix: &str) -> Value {
    let named = |name: &str| match CAPABILITY.contains(&name) {
        true => format!("lmos:{name}"),
        false => format!("{prefix}:{name}"),
    };
    members.into_iter().map(|(name, value)| (named(name), value.clone())).collect::<Object>().into()
}

/// The members that an entry of `lmos:capabilities` was made of in a format with this prefix.
pub(super) fn capability_members(entry: &Object, prefix: &str) -> Object {
    let own = |name: &str| {
        let shared = name.strip_prefix("lmos:").unwrap_or(name);
        let of_format = || name.strip_prefix(prefix)?.strip_prefix(':');
        if CAPABILITY.contains(&shared) { Some(shared.to_owned()) } else { of_format().map(str::to_owned) }
    };
    entry.iter().filter_map(|(name, value)| Some((own(name)?, value.clone()))).collect()
}

/// A form for one operation, which is a word and no list.
pub(super) fn form(operation: &str, href: &str) -> Object {
    Object::from_iter([("op".to_owned(), operation.into()), ("href".to_owned(), href.into())])
}

/// A part of a Thing Description, by which the order of its members is found.
#[derive(Clone, Copy)]
enum Part {
    Thing,
    /// Affordances or definitions by their names.
    Named(&'static Part),
    Listed(&'static Part),
    Affordance,
    Form,
    Definition,
    Capability,
    /// A data schema.
    Schema,
    Other,
}

/// The most members that come first in an order.
const MOST_IN_ORDER: usize = 14;

impl Part {
    /// The members that come first.
    fn order(self) -> &'static [(&'static str, Part)] {
        match self {
            Part::Thing => &[
                ("@context", Part::Other),
                ("@type", Part::Other),
                ("id", Part::Other),
                ("title", Part::Other),
                ("description", Part::Other),
                ("version", Part::Other),
                ("securityDefinitions", Part::Named(&Part::Definition)),
                ("security", Part::Other),
                ("lmos:metadata", Part::Other),
                ("lmos:capabilities", Part::Listed(&Part::Capability)),
                ("properties", Part::Named(&Part::Affordance)),
                ("actions", Part::Named(&Part::Affordance)),
                ("events", Part::Named(&Part::Affordance)),
                ("links", Part::Other),
            ],
            Part::Affordance => &[
                ("title", Part::Other),
                ("description", Part::Other),
                ("safe", Part::Other),
                ("idempotent", Part::Other),
                ("uriVariables", Part::Named(&Part::Schema)),
                ("input", Part::Schema),
                ("output", Part::Schema),
                ("subscription", Part::Schema),
                ("data", Part::Schema),
                ("forms", Part::Listed(&Part::Form)),
            ],
            Part::Form => &[
                ("op", Part::Other),
                ("href", Part::Other),
                ("contentType", Part::Other),
                ("subprotocol", Part::Other),
                ("security", Part::Other),
                ("scopes", Part::Other),
            ],
            Part::Definition => &[("scheme", Part::Other), ("description", Part::Other)],
            Part::Schema => &[
                ("title", Part::Other),
                ("description", Part::Other),
                ("type", Part::Other),
                ("oneOf", Part::Listed(&Part::Schema)),
                ("anyOf", Part::Listed(&Part::Schema)),
                ("allOf", Part::Listed(&Part::Schema)),
                ("properties", Part::Named(&Part::Schema)),
                ("items", Part::Schema),
                ("required", Part::Other),
            ],
            Part::Capability => &[
                ("lmos:id", Part::Other),
                ("lmos:name", Part::Other),
                ("lmos:version", Part::Other),
                ("lmos:description", Part::Other),
                ("lmos:tags", Part::Other),
                ("lmos:examples", Part::Other),
            ],
            Part::Named(_) | Part::Listed(_) | Part::Other => &[],
        }
    }
}

/// A Thing Description as text.
fn text(thing: &Value) -> String {
    let mut text = Vec::with_capacity(4096);
    write(&mut text, thing, Part::Thing);
    String::from_utf8(text).unwrap_or_default()
}

/// Writes a value; nothing is added to what is more than a registry takes.
fn write(text: &mut Vec<u8>, value: &Value, part: Part) {
    if text.len() > MAX_DOCUMENT_BYTES {
        return;
    }
    match (value, part) {
        (Value::Object(members), Part::Named(inner)) => {
            write_members(text, members.iter().map(|(name, member)| (name.as_str(), member, *inner)));
        }
        (Value::Array(elements), Part::Listed(inner)) => {
            text.push(b'[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    text.push(b',');
                }
                write(text, element, *inner);
            }
            text.push(b']');
        }
        (
            Value::Object(members),
            Part::Thing | Part::Affordance | Part::Form | Part::Definition | Part::Capability | Part::Schema,
        ) => {
            let order = part.order();
            let mut first: [Option<&Value>; MOST_IN_ORDER] = [None; MOST_IN_ORDER];
            let mut others = Vec::new();
            for (name, member) in members {
                let position = order.iter().position(|(known, _)| known == name);
                match position.and_then(|position| first.get_mut(position)) {
                    Some(place) => *place = Some(member),
                    None => others.push((name.as_str(), member, Part::Other)),
                }
            }
            let first = order.iter().zip(first).filter_map(|(&(name, part), member)| Some((name, member?, part)));
            write_members(text, first.chain(others));
        }
        (value, _) => drop(serde_json::to_writer(text, value)),
    }
}

fn write_members<'v>(text: &mut Vec<u8>, members: impl Iterator<Item = (&'v str, &'v Value, Part)>) {
    let _ = text.write_all(b"{");
    for (index, (name, member, part)) in members.enumerate() {
        if index > 0 {
            text.push(b',');
        }
        drop(serde_json::to_writer(&mut *text, name));
        text.push(b':');
        write(text, member, part);
    }
    text.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;

    fn source() -> Source {
        Source { format: Format::A2a, media_type: "application/json".to_owned(), bytes: Vec::new() }
    }

    #[test]
    fn members_are_in_the_order_of_the_specification() {
        let mut builder = ThingBuilder::new(LmosKind::Agent, "urn:x:a".to_owned(), "A");
        builder.prefix("x", "urn:x:");
        builder.set("x:own", json!(1));
        let mut say = form("invokeaction", "https://a.example");
        say.insert("a:first".to_owned(), true.into());
        builder.set("actions", json!({"say": {"forms": [say], "title": "Say"}}));
        let skill = Object::from_iter(
            [("last", json!(1)), ("tags", json!(["t"])), ("id", json!("say"))]
                .map(|(name, value)| (name.to_owned(), value)),
        );
        let entry = capability(&skill, "a");
        assert_eq!(entry.as_object().map(|entry| capability_members(entry, "a")), Some(skill));
        builder.set("lmos:capabilities", json!([entry]));
        let thing = builder.finish(source()).unwrap_or_else(|error| panic!("{error}"));
        let rest = r#""@type":["lmos:Agent"],"id":"urn:x:a","title":"A","securityDefinitions":{"auto_sc":{"scheme":"auto"}},"security":"auto_sc","lmos:capabilities":[{"lmos:id":"say","lmos:tags":["t"],"a:last":1}],"actions":{"say":{"title":"Say","forms":[{"op":"invokeaction","href":"https://a.example","a:first":true}]}},"x:own":1}"#;
        assert!(thing.description.text().ends_with(rest), "{}", thing.description.text());
        let again: Value = serde_json::from_str(thing.description.text()).unwrap_or_default();
        assert_eq!(&again, thing.description.value());
    }

    #[test]
    fn what_no_registry_takes_is_refused() {
        let builder = |value: Value| {
            let mut builder = ThingBuilder::new(LmosKind::Tool, "urn:x:a".to_owned(), "A");
            builder.set("x:own", value);
            builder.finish(source())
        };
        assert!(builder(json!("x".repeat(MAX_DOCUMENT_BYTES))).is_err());
        let deep = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        assert!(builder(deep(63)).is_ok() && builder(deep(64)).is_err());
    }
}
