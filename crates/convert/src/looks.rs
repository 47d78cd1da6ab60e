//! Recognition of documents found in place of an agent's description: documents of a supported format, and others.

use serde_json::{Map, Value};

use super::{
    Format,
    descriptor::{Certainty, Sign},
    signs::*,
};

type Object = Map<String, Value>;

/// A kind of document that a document resembles.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    name: &'static str,
    /// The format that it is in, if that is one of ours.
    pub(super) format: Option<Format>,
    certainty: Certainty,
}

impl Look {
    /// True if it is nothing else.
    pub(super) fn is_certain(&self) -> bool {
        self.certainty == Certainty::Certain
    }

    /// Returns the name of the kind; for a description of schema.org with its type.
    pub(super) fn words(&self, object: &Object) -> String {
        let type_ = object.get("@type").and_then(Value::as_str).filter(|_| self.name == SCHEMA_ORG);
        let Some(type_) = type_ else { return self.name.to_owned() };
        let name = type_.rsplit(['/', ':']).next().unwrap_or(type_);
        format!("a schema.org {}", name.chars().take(80).collect::<String>())
    }

    /// The same, with the name of the format if it is one of ours.
    pub(super) fn words_with_format(&self, object: &Object) -> String {
        match self.format {
            Some(format) => format!("{} (format {format})", self.words(object)),
            None => self.words(object),
        }
    }
}

const SCHEMA_ORG: &str = "a schema.org description";

type Other = (&'static str, fn(&Object) -> bool);

const CERTAIN_OTHERS: &[Other] = &[
    ("an OpenAPI document", is_openapi),
    ("an AsyncAPI document", |o| is_version(o, "asyncapi") && has_any(o, &["info", "channels", "operations"])),
    ("an OpenRPC document", |o| is_version(o, "openrpc") && has_any(o, &["info", "methods"])),
    ("an Arazzo document", |o| is_version(o, "arazzo") && has_any(o, &["info", "workflows", "sourceDescriptions"])),
    ("a Postman collection", is_postman_collection),
    ("an index of Agent Skills, which are not callable agents", is_skills_index),
    ("a catalog of agents (ARD manifest); register its entries one by one by their `url`", is_catalog),
];

/// Documents around one of ours.
const AROUND: &[Other] = &[
    ("a list of agent cards; import them one by one", is_list_of_cards),
    ("a list of MCP servers; import them one by one", |o| is_array(o, "servers")),
    ("a response to `tools/list`, which doesn't name its server; register the URL of the server", is_tools_answer),
    ("a response with an agent card in `result`; register that card", |o| has_card_in(o, "result")),
    ("a JSON-RPC message", |o| o.contains_key("jsonrpc")),
    ("an object with an agent card in `agentCard`; register that card", |o| has_card_in(o, "agentCard")),
    ("an object with an agent card in `card`; register that card", |o| has_card_in(o, "card")),
    ("an object with an agent card in `data`; register that card", |o| has_card_in(o, "data")),
];

const OTHERS: &[Other] = &[
    ("a plugin manifest", |o| has_any(o, &["name_for_model", "name_for_human", "description_for_model"])),
    ("metadata of an OAuth server", is_oauth_metadata),
    ("a set of keys (JWKS)", |o| is_array(o, "keys")),
    ("a manifest of a web application", is_web_manifest),
    ("a JSON Schema", is_json_schema),
    ("a package.json", is_package),
    (SCHEMA_ORG, has_schema_org),
    ("an error message", is_error),
];

/// Finds the kinds of documents that a document resembles, the strongest evidence first.
fn looks(object: &Object) -> impl Iterator<Item = Look> {
    let of_formats = |wanted: Certainty| {
        Format::ALL.iter().filter_map(move |&format| {
            let is_seen = |sign: &Sign| sign.certainty == wanted && (sign.is_seen)(object);
            let descriptor = format.descriptor();
            let seen = descriptor.signs.iter().any(is_seen);
            seen.then_some(Look { name: descriptor.noun, format: Some(format), certainty: wanted })
        })
    };
    let others = |others: &'static [Other], certainty: Certainty| {
        let seen = others.iter().filter(|(_, is_seen)| is_seen(object));
        seen.map(move |&(name, _)| Look { name, format: None, certainty })
    };
    of_formats(Certainty::Certain)
        .chain(others(CERTAIN_OTHERS, Certainty::Certain))
        .chain(of_formats(Certainty::Strong))
        .chain(others(AROUND, Certainty::Likely))
        .chain(of_formats(Certainty::Likely))
        .chain(others(OTHERS, Certainty::Likely))
        .chain(of_formats(Certainty::Weak))
}

/// Finds the kind of document that a document resembles most.
pub(super) fn look_of(object: &Object) -> Option<Look> {
    looks(object).next()
}

/// Finds the kinds of documents that a document certainly is; several if it contradicts itself.
pub(super) fn certain_looks(object: &Object) -> impl Iterator<Item = Look> {
    looks(object).take_while(Look::is_certain)
}
