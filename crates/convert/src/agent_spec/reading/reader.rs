//! `Reader`: the state of a parse, with the findings so far.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::super::{
    Profile,
    findings::Findings,
    graph::{Graph, Key},
    places::{At, PlaceId},
};

/// The longest chain of components within components, references followed.
pub(super) const MAX_DEPTH: usize = 128;

/// A reading that is under way.
pub(super) struct Reader<'d, 'f> {
    pub(super) profile: Profile,
    pub(super) findings: &'f mut Findings,
    pub(super) graph: Graph<'d>,
    /// References that were seen, to be checked.
    pub(super) uses: Vec<Use<'d>>,
    /// Ids that the SDK knows of before it reads what they stand for.
    pub(super) known_ids: HashSet<&'d str>,
    /// References that lead nowhere, and are meant so.
    pub(super) withheld: HashSet<*const Value>,
    /// Ids in the order of their definition.
    pub(super) defined: Vec<&'d str>,
    /// True if the document being read is one beside the main one.
    pub(super) is_beside: bool,
    pub(super) repeated_values: usize,
    pub(super) is_exhausted: bool,
    /// Components by their ids.
    pub(super) ids: HashMap<&'d str, Key>,
    /// Parts of the components that are being read, those of the innermost last.
    pub(super) parts: Vec<Part>,
    /// Fields of theirs that were held back.
    pub(super) held_back: Vec<&'static str>,
    pub(super) depth: usize,
}

/// A reference that was seen while a document was scanned.
pub(super) struct Use<'d> {
    pub(super) id: &'d Value,
    pub(super) place: PlaceId,
    /// The reference itself.
    pub(super) value: &'d Value,
    pub(super) may_be_withheld: bool,
}

/// A component in a field of one that is being read.
pub(super) struct Part {
    pub(super) field: &'static str,
    pub(super) position: u32,
    pub(super) key: Key,
}

impl<'d, 'f> Reader<'d, 'f> {
    /// The beginning of a reading.
    pub(super) fn new(profile: Profile, findings: &'f mut Findings) -> Reader<'d, 'f> {
        Reader {
            profile,
            findings,
            graph: Graph::empty(profile),
            uses: Vec::new(),
            known_ids: HashSet::new(),
            withheld: HashSet::new(),
            defined: Vec::new(),
            is_beside: false,
            repeated_values: 0,
            is_exhausted: false,
            ids: HashMap::new(),
            parts: Vec::new(),
            held_back: Vec::new(),
            depth: 0,
        }
    }

    /// True if a walk is at the whole of a document.
    pub(super) fn is_document(&self, at: &At<'_, 'd>) -> bool {
        matches!(at, At::Place(place) if self.graph.places.is_document(*place))
    }

    pub(super) fn error<M: Into<String>>(&mut self, at: &At<'_, 'd>, rule: &'static str, message: impl FnOnce() -> M) {
        self.findings.error(|| self.graph.spot(at), rule, message);
    }

    pub(super) fn warning<M: Into<String>>(
        &mut self,
        at: &At<'_, 'd>,
        rule: &'static str,
        message: impl FnOnce() -> M,
    ) {
        self.findings.warning(|| self.graph.spot(at), rule, message);
    }
}

/// Names the JSON type of a value, as messages do.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
