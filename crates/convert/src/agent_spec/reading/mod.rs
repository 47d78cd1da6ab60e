//! Conversion of documents to a graph, component by component, with each field parsed according to its kind in the
//! table.

mod components;
mod definitions;
mod fields;
mod reader;
mod scan;
mod versions;

use std::mem;

use serde_json::{Map, Value};

use self::reader::Reader;
use super::{
    Profile,
    findings::Findings,
    graph::{Graph, Resolved, State},
    places::At,
    references::DEFINITIONS,
    source::{Source, version_of},
    version::Version,
};

/// Reads a configuration: the main document first, then those of components beside it.
pub(super) fn read<'d>(main: &'d Source, beside: &'d [Source], profile: Profile, findings: &mut Findings) -> Graph<'d> {
    let mut reader = Reader::new(profile, findings);
    reader.read(main, beside);
    reader.graph
}

impl<'d> Reader<'d, '_> {
    fn read(&mut self, main: &'d Source, beside: &'d [Source]) {
        let at_main = At::Place(self.graph.places.document(0));
        let numbered = beside.iter().zip(1..);
        let beside: Vec<_> =
            numbered.map(|(source, number)| (source, At::Place(self.graph.places.document(number)))).collect();
        self.check_duplicates(main, &at_main);
        self.check_integers(main, &at_main);
        for (source, at) in &beside {
            self.check_duplicates(source, at);
            self.check_integers(source, at);
        }
        self.is_beside = true;
        for (source, at) in &beside {
            self.read_beside(&source.value, at);
        }
        self.is_beside = false;
        self.known_ids.clear();
        self.scan(&main.value, &at_main);
        self.check_uses();
        self.read_main(&main.value, &at_main);
        if self.profile == Profile::Spec {
            self.read_unused();
        }
    }

    fn check_duplicates(&mut self, source: &'d Source, at: &At<'_, 'd>) {
        for pointer in &source.duplicates {
            let spot = || {
                let mut spot = self.graph.spot(at);
                spot.pointer.push_str(pointer);
                spot
            };
            let message = || "the member name is repeated; keep one of the members";
            match self.profile {
                Profile::Spec => self.findings.error(spot, "duplicate-member", message),
                Profile::Sdk => self.findings.warning(spot, "duplicate-member", message),
            }
        }
    }

    fn check_integers(&mut self, source: &'d Source, at: &At<'_, 'd>) {
        for pointer in &source.rounded_integers {
            let spot = || {
                let mut spot = self.graph.spot(at);
                spot.pointer.push_str(pointer);
                spot
            };
            let message =
                || "the integer has more than 64 bits, and is rounded; write it as a string to keep its digits";
            self.findings.warning(spot, "rounded-integer", message);
        }
    }

    fn read_main(&mut self, document: &'d Value, at: &At<'_, 'd>) {
        let Value::Object(members) = document else {
            self.error(at, "no-root", || "a configuration must be an object with a `component_type`");
            return;
        };
        self.graph.version = self.document_version(members, at);
        if members.keys().all(|name| name == DEFINITIONS) {
            self.error(at, "no-root", || {
                format!(
                    "the document only contains `{DEFINITIONS}`; pass it as a component document, together with \
                    the main document"
                )
            });
            return;
        }
        self.graph.root = match self.read_object(document, members, at) {
            Resolved::Component(key) => Some(key),
            Resolved::Nothing => None,
            Resolved::Plain(_) | Resolved::Withheld => {
                self.error(
                    at,
                    "no-root",
                    || "the configuration is a reference to a plain value instead of a component",
                );
                None
            }
        };
    }

    /// Reads a document of components beside the main one.
    fn read_beside(&mut self, document: &'d Value, at: &At<'_, 'd>) {
        let definitions = document.get(DEFINITIONS).and_then(Value::as_object);
        let Some((document, definitions)) = document.as_object().zip(definitions) else {
            self.error(at, "no-definitions", || {
                format!("a component document must be an object that contains only `{DEFINITIONS}`")
            });
            return;
        };
        for name in document.keys().filter(|name| *name != DEFINITIONS) {
            let at = at.member(name);
            let message = || format!("a component document can contain only `{DEFINITIONS}`");
            if self.profile == Profile::Sdk || name == "component_type" {
                self.error(&at, "more-than-definitions", message);
            } else {
                self.warning(&at, "more-than-definitions", message);
            }
        }
        let at = at.member(DEFINITIONS);
        match self.profile {
            Profile::Spec => {
                for (id, value) in definitions {
                    let at = at.member(id);
                    self.define(id, value, &at);
                    self.scan(value, &at);
                }
            }
            Profile::Sdk => self.read_handed_over(definitions, &at),
        }
    }

    /// Reads components as the SDK does before it reads the main document: each on its own, with the
    /// earlier documents at hand.
    fn read_handed_over(&mut self, definitions: &'d Map<String, Value>, at: &At<'_, 'd>) {
        self.known_ids = definitions.keys().map(String::as_str).collect();
        for (id, value) in definitions {
            self.scan(value, &at.member(id));
        }
        self.check_uses();
        let mut read = Vec::new();
        for (id, value) in definitions {
            self.graph.version = version_of(value).and_then(Version::parse).unwrap_or(Version::NEWEST);
            self.defined.clear();
            let at = at.member(id);
            let resolved = match value {
                Value::Object(members) => {
                    self.graph.version = self.document_version(members, &at);
                    self.read_object(value, members, &at)
                }
                _ => {
                    self.error(&at, "plain-reference", || "the SDK accepts only components here, not plain values");
                    Resolved::Nothing
                }
            };
            for inner in mem::take(&mut self.defined) {
                self.graph.definitions.remove(inner);
            }
            read.push((id, value, resolved));
        }
        for (id, value, resolved) in read {
            self.define(id, value, &at.member(id));
            if let Some(definition) = self.graph.definitions.get_mut(id.as_str()) {
                definition.state = State::Read(resolved);
            }
        }
        self.defined.clear();
    }

    /// Checks what is defined and never used: it is part of the configuration all the same.
    fn read_unused(&mut self) {
        for id in mem::take(&mut self.defined) {
            let Some(definition) = self.graph.definitions.get(id) else { continue };
            let (at, state) = (At::Place(definition.place), definition.state);
            if !definition.is_used {
                self.warning(&at, "unused-component", || format!("nothing refers to `{id}`"));
            }
            if matches!(state, State::Unread) {
                self.read_definition(id);
            }
        }
    }

    /// Takes what a component defines as defined from here on, as the SDK does.
    pub(super) fn define_all(&mut self, members: &'d Map<String, Value>, at: &At<'_, 'd>) {
        let Some(Value::Object(definitions)) = members.get(DEFINITIONS) else { return };
        let at = at.member(DEFINITIONS);
        for (id, value) in definitions {
            self.define(id, value, &at.member(id));
        }
    }
}
