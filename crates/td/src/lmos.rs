//! Recognition of LMOS agents and tools.
//!
//! Since the namespace doesn't end in `/` or `#`, JSON-LD doesn't expand `lmos:Agent` as intended. Therefore, all
//! spellings in use are recognized literally.

use serde_json::{Map, Value};

/// Members that contain tags. The TD specification doesn't define any.
pub const TAG_MEMBERS: [&str; 5] = ["tags", "keywords", "lmos:tags", "schema:keywords", "lmos:keywords"];

/// Namespace of the LMOS vocabulary.
pub const LMOS_NAMESPACE: &str = "https://eclipse.dev/lmos/protocol/v1";

/// Kind of a Thing in the LMOS vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LmosKind {
    /// `lmos:Agent`
    Agent,
    /// `lmos:Tool`
    Tool,
}

impl LmosKind {
    /// Returns the kind named by the `@type` of `thing`. For an agent, this is `lmos:Agent`, `Agent` if the namespace
    /// is in the `@context`, or an IRI that joins the namespace and `Agent` with `/`, `#`, or nothing. The types of
    /// tools are spelled in the same ways.
    ///
    /// ```
    /// use agentdex_td::LmosKind;
    ///
    /// let thing = serde_json::json!({"@type": ["Thing", "lmos:Tool"]});
    /// assert_eq!(LmosKind::of(&thing), Some(LmosKind::Tool));
    /// ```
    pub fn of(thing: &Value) -> Option<LmosKind> {
        Self::of_members(thing.as_object()?)
    }

    pub(super) fn of_members(thing: &Map<String, Value>) -> Option<LmosKind> {
        let types = match thing.get("@type")? {
            Value::Array(types) => types.as_slice(),
            one => std::slice::from_ref(one),
        };
        types.iter().filter_map(Value::as_str).find_map(|name| LmosKind::of_type(name, thing))
    }

    fn of_type(name: &str, thing: &Map<String, Value>) -> Option<LmosKind> {
        let local = if let Some(local) = name.strip_prefix("lmos:") {
            local
        } else if let Some(local) = name.strip_prefix(LMOS_NAMESPACE) {
            local.strip_prefix(['/', '#']).unwrap_or(local)
        } else if matches!(name, "Agent" | "Tool") && names_vocabulary(thing) {
            name
        } else {
            return None;
        };
        match local {
            "Agent" => Some(LmosKind::Agent),
            "Tool" => Some(LmosKind::Tool),
            _ => None,
        }
    }
}

/// True if the `@context` of a Thing has the LMOS vocabulary, with or without a prefix.
pub(super) fn names_vocabulary(thing: &Map<String, Value>) -> bool {
    thing.get("@context").is_some_and(names_lmos)
}

fn names_lmos(context: &Value) -> bool {
    match context {
        Value::String(uri) => uri.trim_end_matches(['/', '#']) == LMOS_NAMESPACE,
        Value::Array(entries) => entries.iter().any(names_lmos),
        Value::Object(terms) => terms.values().any(|term| match term {
            Value::Object(definition) => definition.get("@id").is_some_and(names_lmos),
            _ => names_lmos(term),
        }),
        _ => false,
    }
}
