//! Parsing of components: their type, their fields according to the table, and their parts.

use serde_json::{Map, Value};

use super::{
    super::{
        Profile,
        graph::{Class, Component, Key, Resolved},
        places::At,
        references::{DEFINITIONS, REFERENCE, as_reference, text_member},
        types::{ComponentType, Field, Kind, MAX_FIELDS},
        version::{VERSION_MEMBERS, Version},
    },
    reader::{MAX_DEPTH, Part, Reader, kind_of},
};

/// Members of a component that are no fields.
const STRUCTURE: [&str; 6] = [
    "component_type",
    DEFINITIONS,
    "component_plugin_name",
    "component_plugin_version",
    // The SDK writes them into whatever it has read, and reads them as fields.
    "min_agentspec_version",
    "max_agentspec_version",
];

/// Members of a property that the SDK takes from an object that isn't said to be one.
const PLAIN_PROPERTY: [&str; 4] = ["title", "description", "default", "type"];

impl<'d> Reader<'d, '_> {
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
                self.error(at, "nested-too-deep", || format!("a chain of references exceeds {MAX_DEPTH} steps"));
                return Resolved::Nothing;
            }
            self.depth += 1;
            let resolved = self.follow(value, members, at);
            self.depth -= 1;
            return resolved;
        }
        self.read_component(members, at).map_or(Resolved::Nothing, Resolved::Component)
    }

    fn read_component(&mut self, members: &'d Map<String, Value>, at: &At<'_, 'd>) -> Option<Key> {
        let class = self.class(members, at)?;
        self.read_as(class, members, at)
    }

    /// Reads a component whose type follows from where it is.
    fn read_as(&mut self, class: Class, members: &'d Map<String, Value>, at: &At<'_, 'd>) -> Option<Key> {
        if self.depth >= MAX_DEPTH {
            self.error(at, "nested-too-deep", || format!("components are nested more than {MAX_DEPTH} levels deep"));
            return None;
        }
        self.depth += 1;
        let (first_part, first_held_back) = (self.parts.len(), self.held_back.len());
        match class {
            Class::Known(known) => self.read_fields(known, members, at),
            Class::Plugin => self.warning(at, "plugin-component", || {
                let name = text_member(members, "component_plugin_name").unwrap_or_default();
                format!("the component belongs to the plugin `{name}`, and is not checked")
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
                format!("a component must declare its type in `component_type`{hint}")
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
                    format!("`{name}` is an abstract type; name a concrete type")
                });
                None
            }
            Some(known) => Some(Class::Known(known)),
            None if text_member(members, "component_plugin_name").is_some() => {
                Some(self.plugin_class(name, members, &at))
            }
            None => {
                self.error(&at, "unknown-component-type", || match ComponentType::find_alike(name) {
                    Some(alike) => format!("unknown component type `{name}`; did you mean `{}`?", alike.name),
                    None => format!(
                        "unknown component type `{name}`; a component of a plugin needs a `component_plugin_name`"
                    ),
                });
                None
            }
        }
    }

    /// The class of a plugin's component: that of the agent, flow, or tool that it extends by its name.
    fn plugin_class(&mut self, name: &str, members: &'d Map<String, Value>, at: &At<'_, 'd>) -> Class {
        let Some(extended) = ComponentType::extended_by(name) else { return Class::Plugin };
        self.warning(at, "plugin-component", || {
            let plugin = text_member(members, "component_plugin_name").unwrap_or_default();
            format!("`{name}` belongs to the plugin `{plugin}`, and is read as the `{}` that it extends", extended.name)
        });
        Class::Known(extended)
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
                None => self.check_further_member(known, name, at),
            }
        }
        for (field, value) in known.fields().iter().zip(values) {
            match value {
                Some((name, value)) => {
                    let at = at.member(name);
                    self.read_field(field, value, &at);
                    self.check_field_version(known.name, field, value, &at);
                }
                None if field.is_required(self.profile) => {
                    self.error(at, "missing-field", || format!("{} needs `{}`", known.name, field.name));
                }
                None => {}
            }
        }
        let since = self.own_bounds(known, members, at).unwrap_or(known.since);
        self.check_version(since, at, || format!("{} came", known.name));
    }

    /// The version that a component says it needs, which the SDK goes by; it may say a last one too.
    fn own_bounds(
        &mut self,
        known: &'static ComponentType,
        members: &'d Map<String, Value>,
        at: &At<'_, 'd>,
    ) -> Option<Version> {
        if self.profile == Profile::Spec {
            return None;
        }
        let version = |name| text_member(members, name).and_then(Version::parse);
        let (first, last) = (version("min_agentspec_version"), version("max_agentspec_version"));
        let needed = self.graph.version.max(first.unwrap_or(known.since));
        if let Some(last) = last.filter(|last| *last < needed) {
            self.error(&at.member("max_agentspec_version"), "version-too-high", || {
                format!(
                    "{} declares {last} as its highest version of Open Agent Spec, but version {needed} is needed",
                    known.name
                )
            });
        }
        first
    }

    fn reads(&self, field: &Field, name: &str) -> bool {
        field.is_known(self.profile) && (name == field.name || self.profile == Profile::Spec)
    }

    fn check_further_member(&mut self, known: &'static ComponentType, name: &'d str, at: &At<'_, 'd>) {
        if VERSION_MEMBERS.contains(&name) {
            if !self.is_document(at) {
                self.warning(&at.member(name), "nested-version", || {
                    format!("ignored: `{name}` is only meaningful at the top level of the configuration")
                });
            }
        } else if !STRUCTURE.contains(&name) {
            self.warning(&at.member(name), "unknown-field", || {
                format!("{} has no field `{name}`; the member is kept unchanged", known.name)
            });
        }
    }

    fn read_field(&mut self, field: &'static Field, value: &'d Value, at: &At<'_, 'd>) {
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
            self.error(at, "wrong-type", || format!("`{}` must contain pairs (lists of two components)", field.name));
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
                format!("`{}` must be a component ({family}), not {}", field.name, kind_of(value))
            });
            return;
        };
        let resolved = match as_reference(value) {
            Some(reference) => self.follow(value, reference, at),
            None if self.profile == Profile::Sdk && is_untyped(field, members) => {
                self.read_untyped(family, members, at)
            }
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
                self.error(at, "wrong-component-type", || {
                    format!("`{}`: expected a component of the type {family}, found {found}", field.name)
                });
            }
            Resolved::Plain(Value::String(_)) if matches!(field.kind(self.profile), Kind::PartsOrTexts(_)) => {}
            Resolved::Plain(plain) => {
                self.error(at, "wrong-component-type", || {
                    format!(
                        "`{}`: expected a component of the type {family}, but the target of the reference is {}",
                        field.name,
                        kind_of(plain)
                    )
                });
            }
            Resolved::Withheld => self.hold_back(field),
            Resolved::Nothing => {}
        }
    }

    /// Reads an object without a `component_type` as a component of `family`, as the SDK does where a string would do
    /// too. Reports an error unless all of its members are fields of the component, and those of its properties in
    /// `PLAIN_PROPERTY`.
    fn read_untyped(&mut self, family: &'static str, members: &'d Map<String, Value>, at: &At<'_, 'd>) -> Resolved<'d> {
        let Some(known) = ComponentType::find(family) else { return Resolved::Nothing };
        let lists = ["inputs", "outputs"].into_iter().filter_map(|name| members.get(name)?.as_array());
        let mut property_members = lists.flatten().filter_map(Value::as_object).flat_map(Map::keys);
        let is_plain = members.keys().all(|name| known.position(name).is_some())
            && property_members.all(|name| PLAIN_PROPERTY.contains(&name.as_str()));
        if !is_plain {
            self.error(at, "missing-component-type", || "a component must declare its type in `component_type`");
        }
        self.read_as(Class::Known(known), members, at).map_or(Resolved::Nothing, Resolved::Component)
    }

    /// The SDK counts the version of what was handed over as what its users need.
    fn check_part_version(&mut self, key: Key, at: &At<'_, 'd>) {
        let version = self.graph.component(key).version;
        if self.profile == Profile::Sdk && self.graph.version < version {
            let name = self.graph.type_name(key);
            self.check_version(version, at, || format!("the supplied {name} uses a feature that was introduced"));
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
                    format!("`{}` must be a plain value, not a component ({found})", field.name)
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
                format!(
                    "the component at {first:?} already has the id {id:?}; define it once under `{DEFINITIONS}`, and \
                     refer to it"
                )
            });
        }
    }
}

fn is_untyped(field: &Field, members: &Map<String, Value>) -> bool {
    matches!(field.kind(Profile::Sdk), Kind::PartsOrTexts(_)) && !members.contains_key("component_type")
}
