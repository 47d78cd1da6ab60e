//! Reading: from documents to a graph, component by component, each field by its kind in the table.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::{
    Profile,
    findings::Findings,
    graph::{Class, Component, Graph, Key, Links, text_member},
    places::{At, Places},
    references::{DEFINITIONS, KnownIds, MAX_DEPTH, REFERENCE, Resolved, State, Use, as_reference, own_version},
    source::Source,
    types::{ComponentType, Field, Kind, MAX_FIELDS},
    version::Version,
};

/// Members of a component that are no fields.
const STRUCTURE: [&str; 6] = [
    "component_type",
    DEFINITIONS,
    "component_plugin_name",
    "component_plugin_version",
    "agentspec_version",
    "air_version",
];

/// A reading that is under way.
pub(super) struct Reader<'d, 'f> {
    pub(super) profile: Profile,
    pub(super) findings: &'f mut Findings,
    pub(super) graph: Graph<'d>,
    /// References that were seen, to be checked.
    pub(super) uses: Vec<Use<'d>>,
    /// Ids that the SDK knows of before it reads what they stand for.
    pub(super) known_ids: KnownIds<'d>,
    /// References that lead nowhere, and are meant so.
    pub(super) withheld: HashSet<*const Value>,
    /// Ids in the order of their definition.
    pub(super) defined: Vec<&'d str>,
    /// What is read comes from a document beside the main one.
    pub(super) is_beside: bool,
    pub(super) repeated_values: usize,
    pub(super) is_exhausted: bool,
    /// Which component has an id.
    ids: HashMap<&'d str, Key>,
    /// Parts of the components that are being read, those of the innermost last.
    parts: Vec<Part>,
    /// Fields of theirs that were held back.
    held_back: Vec<&'static str>,
    depth: usize,
}

/// A component in a field of one that is being read.
struct Part {
    field: &'static str,
    position: u32,
    key: Key,
}

impl<'d> Graph<'d> {
    /// Reads a configuration: the main document first, then those of components beside it.
    pub(super) fn read(sources: &'d [Source], profile: Profile, findings: &mut Findings) -> Graph<'d> {
        let graph = Graph {
            profile,
            version: Version::NEWEST,
            root: None,
            components: Vec::new(),
            links: Links::default(),
            definitions: HashMap::new(),
            places: Places::default(),
        };
        let mut reader = Reader {
            profile,
            findings,
            graph,
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
        };
        reader.read(sources);
        reader.graph
    }
}

impl<'d> Reader<'d, '_> {
    fn read(&mut self, sources: &'d [Source]) {
        let places: Vec<_> = (0..sources.len()).map(|number| At::Place(self.graph.places.document(number))).collect();
        for (source, at) in sources.iter().zip(&places) {
            self.check_duplicates(source, at);
        }
        let Some((main, beside)) = sources.split_first() else { return };
        self.is_beside = true;
        for (source, at) in beside.iter().zip(&places[1..]) {
            self.read_beside(&source.value, at);
        }
        self.is_beside = false;
        self.known_ids.clear();
        self.scan(&main.value, &places[0]);
        self.check_uses();
        self.read_main(&main.value, &places[0]);
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
            let message = || "the name is there more than once in its object; keep one of the members";
            match self.profile {
                Profile::Spec => self.findings.error(spot, "duplicate-member", message),
                Profile::Sdk => self.findings.warning(spot, "duplicate-member", message),
            }
        }
    }

    fn read_main(&mut self, document: &'d Value, at: &At<'_, 'd>) {
        let Value::Object(members) = document else {
            self.error(at, "no-root", || "a configuration is an object with a `component_type`");
            return;
        };
        self.graph.version = self.document_version(members, at);
        if members.keys().all(|name| name == DEFINITIONS) {
            self.error(at, "no-root", || {
                format!("there is only `{DEFINITIONS}`: give this as a document of components beside the main one")
            });
            return;
        }
        self.graph.root = match self.read_object(document, members, at) {
            Resolved::Component(key) => Some(key),
            Resolved::Nothing => None,
            Resolved::Plain(_) | Resolved::Withheld => {
                self.error(at, "no-root", || "the configuration refers to a plain value instead of a component");
                None
            }
        };
    }

    /// Reads a document of components beside the main one.
    fn read_beside(&mut self, document: &'d Value, at: &At<'_, 'd>) {
        let definitions = document.get(DEFINITIONS).and_then(Value::as_object);
        let Some((document, definitions)) = document.as_object().zip(definitions) else {
            self.error(at, "no-definitions", || {
                format!("a document of components is an object with `{DEFINITIONS}` and nothing else")
            });
            return;
        };
        for name in document.keys().filter(|name| *name != DEFINITIONS) {
            let at = at.member(name);
            let message = || format!("a document of components has `{DEFINITIONS}` and nothing else");
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
            self.graph.version = own_version(value).unwrap_or(Version::NEWEST);
            self.defined.clear();
            let at = at.member(id);
            let resolved = match value {
                Value::Object(members) => {
                    self.graph.version = self.document_version(members, &at);
                    self.read_object(value, members, &at)
                }
                _ => {
                    self.error(&at, "plain-reference", || "the SDK reads components only from here, no plain values");
                    Resolved::Nothing
                }
            };
            for inner in std::mem::take(&mut self.defined) {
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
        for id in std::mem::take(&mut self.defined) {
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

    /// Reads an object that stands for a component, itself or by reference.
    pub(super) fn read_object(
        &mut self,
        value: &'d Value,
        members: &'d Map<String, Value>,
        at: &At<'_, 'd>,
    ) -> Resolved<'d> {
        if self.profile == Profile::Sdk {
            self.define_all(members, at);
        }
        if members.contains_key(REFERENCE) {
            if self.depth >= MAX_DEPTH {
                self.error(at, "nested-too-deep", || {
                    format!("references follow each other over more than {MAX_DEPTH} steps")
                });
                return Resolved::Nothing;
            }
            self.depth += 1;
            let resolved = self.follow(value, members, at);
            self.depth -= 1;
            return resolved;
        }
        self.read_component(members, at).map_or(Resolved::Nothing, Resolved::Component)
    }

    /// Takes what a component defines as defined from here on, as the SDK does.
    fn define_all(&mut self, members: &'d Map<String, Value>, at: &At<'_, 'd>) {
        let Some(Value::Object(definitions)) = members.get(DEFINITIONS) else { return };
        let at = at.member(DEFINITIONS);
        for (id, value) in definitions {
            self.define(id, value, &at.member(id));
        }
    }

    fn read_component(&mut self, members: &'d Map<String, Value>, at: &At<'_, 'd>) -> Option<Key> {
        let class = self.class(members, at)?;
        if self.depth >= MAX_DEPTH {
            self.error(at, "nested-too-deep", || {
                format!("components are within each other over more than {MAX_DEPTH} steps")
            });
            return None;
        }
        self.depth += 1;
        let (first_part, first_held_back) = (self.parts.len(), self.held_back.len());
        match class {
            Class::Known(known) => self.read_fields(known, members, at),
            Class::Plugin => self.warning(at, "plugin-component", || {
                let name = text_member(members, "component_plugin_name").unwrap_or_default();
                format!("the component comes from the plugin `{name}` and isn't checked")
            }),
        }
        self.depth -= 1;
        let groups = self.link(first_part);
        let withheld = self.held_back.split_off(first_held_back);
        let place = self.graph.places.remember(at);
        let key = Key(u32::try_from(self.graph.components.len()).unwrap_or(u32::MAX));
        let version = self.graph.version;
        self.graph.components.push(Component { class, members, place, version, groups, withheld });
        self.check_id(key, members, at);
        Some(key)
    }

    fn class(&mut self, members: &'d Map<String, Value>, at: &At<'_, 'd>) -> Option<Class> {
        let Some(name) = members.get("component_type") else {
            self.error(at, "missing-component-type", || {
                let hint = if members.get("type").is_some_and(Value::is_string) { ", not `type`" } else { "" };
                format!("a component says what it is in `component_type`{hint}")
            });
            return None;
        };
        let at = at.member("component_type");
        let Value::String(name) = name else {
            self.error(&at, "wrong-type", || format!("`component_type` must be a string, not {}", kind_of(name)));
            return None;
        };
        match ComponentType::find(name) {
            Some(known) if known.is_abstract => {
                self.error(&at, "abstract-component-type", || {
                    format!("`{name}` is a family of components; name the type of this one")
                });
                None
            }
            Some(known) => Some(Class::Known(known)),
            None if text_member(members, "component_plugin_name").is_some() => Some(Class::Plugin),
            None => {
                self.error(&at, "unknown-component-type", || match ComponentType::find_alike(name) {
                    Some(alike) => format!("there is no component type `{name}`, but there is `{}`", alike.name),
                    None => format!(
                        "there is no component type `{name}`; a plugin's component has a `component_plugin_name`"
                    ),
                });
                None
            }
        }
    }

    fn read_fields(&mut self, known: &'static ComponentType, members: &'d Map<String, Value>, at: &At<'_, 'd>) {
        let mut values: [Option<(&'d str, &'d Value)>; MAX_FIELDS] = [None; MAX_FIELDS];
        for (name, value) in members {
            match known.position(name).filter(|position| self.reads(known.fields()[*position], name)) {
                // The name that the language writes goes before another that it is read by.
                Some(position) if values[position].is_none() || known.fields()[position].name == name => {
                    values[position] = Some((name, value));
                }
                Some(_) => {}
                None => self.check_further_member(known, name, value, at),
            }
        }
        for (field, value) in known.fields().iter().zip(values) {
            match value {
                Some((name, value)) => self.read_field(known, field, value, &at.member(name)),
                None if field.is_required(self.profile) => {
                    self.error(at, "missing-field", || format!("{} needs `{}`", known.name, field.name));
                }
                None => {}
            }
        }
        self.check_version(known.since, at, || format!("{} came", known.name));
    }

    fn reads(&self, field: &Field, name: &str) -> bool {
        field.is_known(self.profile) && (name == field.name || self.profile == Profile::Spec)
    }

    fn check_further_member(
        &mut self,
        known: &'static ComponentType,
        name: &'d str,
        value: &'d Value,
        at: &At<'_, 'd>,
    ) {
        if name == "agentspec_version" || name == "air_version" {
            if !self.is_document(at) {
                self.warning(&at.member(name), "nested-version", || {
                    format!("only `{name}` of the whole configuration counts: here it says {value}")
                });
            }
        } else if !STRUCTURE.contains(&name) {
            self.warning(&at.member(name), "unknown-field", || {
                format!("{} has no field `{name}`; it is kept as it is", known.name)
            });
        }
    }

    fn read_field(&mut self, known: &'static ComponentType, field: &'static Field, value: &'d Value, at: &At<'_, 'd>) {
        self.check_field_version(known.name, field, value, at);
        if value.is_null() && !matches!(field.kind(self.profile), Kind::Any) {
            if !field.takes_null(self.profile) {
                self.error(at, "wrong-type", || format!("`{}` can't be null", field.name));
            }
            return;
        }
        match field.kind(self.profile) {
            Kind::Part(family) => self.read_part(field, family, value, 0, at),
            Kind::Parts(family) => self.read_parts(field, value, at, |reader, position, item, at| {
                reader.read_part(field, family, item, position, at);
            }),
            Kind::Pairs(family) => self.read_parts(field, value, at, |reader, position, item, at| {
                reader.read_pair(field, family, item, position, at);
            }),
            Kind::PartsOrTexts(family) => self.read_parts(field, value, at, |reader, position, item, at| {
                if !item.is_string() {
                    reader.read_part(field, family, item, position, at);
                }
            }),
            kind => self.read_value(field, kind, value, at),
        }
    }

    fn read_parts(
        &mut self,
        field: &'static Field,
        value: &'d Value,
        at: &At<'_, 'd>,
        read: impl Fn(&mut Self, usize, &'d Value, &At<'_, 'd>),
    ) {
        let Some(value) = self.plain(field, value, at) else { return };
        let Value::Array(items) = value else {
            self.error(at, "wrong-type", || format!("`{}` must be a list, not {}", field.name, kind_of(value)));
            return;
        };
        for (position, item) in items.iter().enumerate() {
            read(self, position, item, &at.index(position));
        }
    }

    fn read_pair(
        &mut self,
        field: &'static Field,
        family: &'static str,
        item: &'d Value,
        position: usize,
        at: &At<'_, 'd>,
    ) {
        let Some(pair) = item.as_array().filter(|pair| pair.len() == 2) else {
            self.error(at, "wrong-type", || format!("`{}` lists pairs: each is a list of two components", field.name));
            return;
        };
        let before = self.parts.len();
        for (index, item) in pair.iter().enumerate() {
            self.read_part(field, family, item, position, &at.index(index));
        }
        // Half a pair is none.
        if self.parts.len() < before + 2 {
            self.parts.truncate(before);
        }
    }

    fn read_part(
        &mut self,
        field: &'static Field,
        family: &'static str,
        value: &'d Value,
        position: usize,
        at: &At<'_, 'd>,
    ) {
        let Value::Object(members) = value else {
            self.error(at, "wrong-type", || {
                format!("`{}` takes a component ({family}), not {}", field.name, kind_of(value))
            });
            return;
        };
        let resolved = match as_reference(value) {
            Some(reference) => self.follow(value, reference, at),
            None => self.read_object(value, members, at),
        };
        match resolved {
            Resolved::Component(key) if self.graph.is_a(key, family) || self.graph.is_plugin(key) => {
                self.check_part_version(key, at);
                let position = u32::try_from(position).unwrap_or(u32::MAX);
                self.parts.push(Part { field: field.name, position, key });
            }
            Resolved::Component(key) => {
                let found = self.graph.type_name(key);
                self.error(at, "wrong-component-type", || format!("`{}` takes a {family}, no {found}", field.name));
            }
            Resolved::Plain(plain) => {
                self.error(at, "wrong-component-type", || {
                    format!("`{}` takes a {family}, but this refers to {}", field.name, kind_of(plain))
                });
            }
            Resolved::Withheld => self.hold_back(field),
            Resolved::Nothing => {}
        }
    }

    /// The SDK counts the version of what was handed over as what its users need.
    fn check_part_version(&mut self, key: Key, at: &At<'_, 'd>) {
        let version = self.graph.component(key).version;
        if self.profile == Profile::Sdk && self.graph.version < version {
            let name = self.graph.type_name(key);
            self.check_version(version, at, || {
                format!("the {name} that was handed over is read as something that came")
            });
        }
    }

    /// The value itself, of a reference the plain value that it leads to.
    pub(super) fn plain(&mut self, field: &'static Field, value: &'d Value, at: &At<'_, 'd>) -> Option<&'d Value> {
        let Some(reference) = as_reference(value) else { return Some(value) };
        match self.follow(value, reference, at) {
            Resolved::Plain(plain) => self.may_repeat(plain, at).then_some(plain),
            Resolved::Component(key) => {
                let found = self.graph.type_name(key);
                self.error(at, "wrong-component-type", || {
                    format!("`{}` takes a plain value, no component ({found})", field.name)
                });
                None
            }
            Resolved::Withheld => {
                self.hold_back(field);
                None
            }
            Resolved::Nothing => None,
        }
    }

    /// Notes that a value in the field isn't there to be seen.
    pub(super) fn hold_back(&mut self, field: &'static Field) {
        self.held_back.push(field.name);
    }

    /// Makes the parts of the innermost component its groups.
    fn link(&mut self, first: usize) -> std::ops::Range<u32> {
        let links = &mut self.graph.links;
        let length = |list: usize| u32::try_from(list).unwrap_or(u32::MAX);
        let start = length(links.groups.len());
        for part in self.parts.drain(first..) {
            let target = length(links.targets.len());
            let is_first = length(links.groups.len()) == start;
            match links.groups.last_mut() {
                Some((field, range)) if !is_first && *field == part.field => range.end = target + 1,
                _ => links.groups.push((part.field, target..target + 1)),
            }
            links.targets.push(part.key);
            links.positions.push(part.position);
        }
        start..length(self.graph.links.groups.len())
    }

    fn check_id(&mut self, key: Key, members: &'d Map<String, Value>, at: &At<'_, 'd>) {
        if self.profile == Profile::Sdk {
            return;
        }
        let Some(id) = text_member(members, "id") else { return };
        if let Some(first) = self.ids.insert(id, key) {
            let first = self.graph.pointer(first);
            self.error(&at.member("id"), "duplicate-id", || {
                format!("the component at {first:?} has the id {id:?} already; define it once under `{DEFINITIONS}` and refer to it")
            });
        }
    }

    /// Whether a walk is at the whole of a document.
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

/// What kind of JSON a value is.
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
