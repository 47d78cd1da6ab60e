//! Detection of content of a Thing that is missing from a document generated from it.
//!
//! The document is imported again. Data, security, and calls of the Thing are compared with those of the resulting
//! Things. Every other member is compared value by value: it must occur in one of these Things, or its texts must occur
//! in the document. Content that only agentdex interprets, such as a description in metadata, is removed from the
//! document before the comparison.

mod losses;
mod requests;
mod requirements;
mod schemas;
mod values;

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::{Map, Value};

use self::{
    losses::Losses,
    requirements::{Scheme, requirement, scheme},
    schemas::{is_expressed_by, takes_nothing},
    values::{Scope, Texts, affordances},
};
use crate::{
    Export, Format, ImportOptions, Input, Rendition, Result,
    agent_spec::{DESCRIPTION, REQUIRES_CONFIRMATION},
    rounded_integers,
    td::{
        Violation,
        internal::{McpTransport, Path},
    },
};

/// Members of a Thing that identify it or its source, or that say again what actions and security definitions do.
const APART: [&str; 25] = [
    "@context",
    "@type",
    "id",
    "base",
    "registration",
    "actions",
    "properties",
    "events",
    "links",
    "uriVariables",
    "security",
    "securityDefinitions",
    "lmos:capabilities",
    "a2a:additionalInterfaces",
    "a2a:preferredTransport",
    "a2a:protocolVersion",
    "a2a:securityRequirements",
    "a2a:securitySchemes",
    "a2a:supportedInterfaces",
    "agentspec:id",
    "agentspec:specVersion",
    "aos:id",
    "mcp:$schema",
    "mcp:name",
    "mcp:remotes",
];
/// Members whose texts may be anywhere in a document: formats have other names for them.
const RENAMED: [&str; 6] = ["title", "titles", "description", "descriptions", "support", "lmos:metadata"];
/// Members with texts about the Thing as a whole.
const OF_WHOLE: [&str; 4] = ["title", "titles", "description", "descriptions"];
/// Members of a form that its address, its protocol, and its tool imply, or that are compared by themselves.
const OF_CALL: [&str; 15] = [
    "href",
    "op",
    "security",
    "subprotocol",
    "htv:headers",
    "htv:methodName",
    "contentType",
    "mcp:method",
    "mcp:tool",
    "mcp:transport",
    "agentspec:transport",
    "a2a:agentCard",
    "a2a:binding",
    "a2a:method",
    "a2a:protocolVersion",
];
/// Members of a form that tell one request from another, whatever is called by it.
const OF_REQUEST: [&str; 6] =
    ["href", "subprotocol", "mcp:transport", "agentspec:transport", "htv:headers", "security"];
/// The members of a form that have defaults.
const DEFAULTS: [(&str, &str); 3] =
    [("op", "invokeaction"), ("htv:methodName", "POST"), ("contentType", "application/json")];
/// Prefixes of the types that a Thing has by its format.
const TYPES_OF_FORMATS: [&str; 6] = ["lmos:", "a2a:", "agentspec:", "aos:", "mcp:", "tm:"];
/// Members of a tool of MCP that its action has.
const OF_TOOL: [&str; 5] = ["mcp:name", "mcp:title", "mcp:description", "mcp:inputSchema", "mcp:outputSchema"];
/// The most forms of one action that are checked.
const MOST_FORMS: usize = 64;

impl Export {
    /// Converts a Thing Description to a document, in one of the versions of the format. Each member of the Thing that
    /// is missing or changed in the document causes a warning `not-expressed`, with a pointer into the Thing.
    ///
    /// # Errors
    /// [`Error::NotExpressible`](crate::Error::NotExpressible) if the document can't express required content of the
    /// Thing.
    pub fn from_thing(&self, thing: &Value, version: Option<&str>) -> Result<Rendition> {
        let mut made = (self.from_thing)(thing, version)?;
        made.warnings.extend(rounded_integers::warnings_of_value(thing));
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
    let things = things_of(format, thing, &document);
    let expressed = Expressed {
        index: Index::of(&things),
        texts: Texts::of(&document),
        things: &things,
        requests: requests_of(thing),
    };
    let mut losses = Losses::of(format.descriptor().noun);
    expressed.compare(thing, &mut losses);
    losses.finish()
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
    if let Some(Value::Object(metas)) = document.get_mut("_meta") {
        metas.values_mut().filter_map(|noted| noted.get_mut("tools")).for_each(without_own_of_tools);
    }
    document.get_mut("tools").into_iter().for_each(without_own_of_tools);
}

fn without_own_of_tools(tools: &mut Value) {
    let metas = tools.as_array_mut().into_iter().flatten().filter_map(|tool| tool.get_mut("_meta")?.as_object_mut());
    metas.for_each(|meta| meta.retain(|name, _| !name.starts_with("agentdex/")));
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

/// What a document says.
struct Expressed<'d> {
    things: &'d [Value],
    index: Index<'d>,
    texts: Texts<'d>,
    /// Forms of the Thing, one for each different request.
    requests: Vec<&'d Value>,
}

/// The forms of actions, one for each different request.
fn requests_of(thing: &Value) -> Vec<&Value> {
    let forms = affordances(thing, "actions").values().filter_map(|action| action.get("forms")?.as_array()).flatten();
    let mut seen = HashSet::new();
    let is_new = |form: &&Value| seen.insert(OF_REQUEST.map(|name| form.get(name).map(Value::to_string)));
    forms.filter(is_new).take(MOST_FORMS).collect()
}

impl<'d> Expressed<'d> {
    fn compare(&self, thing: &Value, losses: &mut Losses) {
        let root = Path::ROOT;
        for (name, value) in thing.as_object().into_iter().flatten() {
            if APART.contains(&name.as_str()) || name.starts_with("agentdex:") {
                continue;
            }
            let counterparts = self.index.members.get(name.as_str()).map(Vec::as_slice).unwrap_or_default();
            let scope = match RENAMED.contains(&name.as_str()) {
                // A part may have the same text.
                true if OF_WHOLE.contains(&name.as_str()) => Scope::Whole,
                true => Scope::Document,
                false => Scope::of_member(name),
            };
            let at = root.member(name);
            match name.as_str() {
                "mcp:tools" | "mcp:_meta" => {
                    let others: Vec<Value> = counterparts.iter().map(|other| without_actions(name, other)).collect();
                    let others: Vec<&Value> = others.iter().collect();
                    self.compare_value(&without_actions(name, value), &others, scope, &at, losses);
                }
                _ => self.compare_value(value, counterparts, scope, &at, losses),
            }
        }
        self.compare_types(thing, self.things, &root, losses);
        self.compare_links(thing, losses);
        for kind in ["properties", "events"] {
            let list = root.member(kind);
            for (name, affordance) in affordances(thing, kind) {
                let read: Vec<&Value> =
                    self.things.iter().filter_map(|read| affordances(read, kind).get(name)).collect();
                match read.is_empty() {
                    true => losses.add(&list.member(name)),
                    false => self.compare_members(affordance, &read, &["forms"], &list.member(name), losses),
                }
            }
        }
        let actions = root.member("actions");
        for (name, action) in affordances(thing, "actions") {
            self.compare_action(thing, (name, action), &actions.member(name), losses);
        }
        if self.things.iter().any(has_card) && !has_card(thing) {
            losses
                .add_change(&actions, "treats the agent's address as the URL under which its agent card is published");
        }
        self.compare_capabilities(thing, losses);
        let variables = root.member("uriVariables");
        for (name, schema) in affordances(thing, "uriVariables") {
            let mut actions = self.things.iter().flat_map(|read| affordances(read, "actions").values());
            losses.add_unless(actions.any(|said| takes(said, name, schema)), &variables.member(name));
        }
        self.compare_security(thing, losses);
    }

    fn compare_value(
        &self,
        value: &Value,
        counterparts: &[&Value],
        scope: Scope<'_>,
        at: &Path<'_>,
        losses: &mut Losses,
    ) {
        let missing = self.texts.find_missing(value, counterparts, scope, at);
        losses.add_missing(missing);
    }

    /// Compares the members of an object with those of objects that were read. Members that are compared otherwise are
    /// left out.
    fn compare_members(&self, object: &Value, read: &[&Value], except: &[&str], at: &Path<'_>, losses: &mut Losses) {
        let members = object.as_object().into_iter().flatten();
        for (name, value) in members.filter(|(name, _)| *name != "@type" && !except.contains(&name.as_str())) {
            let counterparts: Vec<&Value> = read.iter().filter_map(|read| read.get(name)).collect();
            let scope = match ["title", "titles", "description", "descriptions"].contains(&name.as_str()) {
                true => Scope::Document,
                false => Scope::of_member(name),
            };
            self.compare_value(value, &counterparts, scope, &at.member(name), losses);
        }
        self.compare_types(object, read.iter().copied(), at, losses);
    }

    /// Compares the types that no format implies.
    fn compare_types<'t>(
        &self,
        object: &Value,
        read: impl IntoIterator<Item = &'t Value>,
        at: &Path<'_>,
        losses: &mut Losses,
    ) {
        let types = |object: &'_ Value| -> BTreeSet<String> {
            let named = object
                .get("@type")
                .map_or(&[][..], |one| one.as_array().map_or(std::slice::from_ref(one), Vec::as_slice));
            named.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let mut own = types(object);
        own.retain(|name| name != "Thing" && !TYPES_OF_FORMATS.iter().any(|prefix| name.starts_with(prefix)));
        if !own.is_empty() {
            for read in read {
                own = &own - &types(read);
            }
            losses.add_unless(own.is_empty(), &at.member("@type"));
        }
    }

    fn compare_links(&self, thing: &Value, losses: &mut Losses) {
        let list = Path::ROOT.member("links");
        for (index, link) in thing.get("links").and_then(Value::as_array).into_iter().flatten().enumerate() {
            let (at, href) = (list.index(index), link["href"].as_str().unwrap_or_default());
            let read = self.index.links.get(href).map(Vec::as_slice).unwrap_or_default();
            match read.is_empty() && !self.texts.contains(href) {
                true => losses.add(&at.member("href")),
                false => self.compare_members(link, read, &["href"], &at, losses),
            }
        }
    }

    /// Compares capabilities. Of those that are actions, their actions have the texts and the data.
    fn compare_capabilities(&self, thing: &Value, losses: &mut Losses) {
        const OF_ACTION: [&str; 8] = [
            "lmos:id",
            "lmos:name",
            "lmos:description",
            "lmos:input",
            "lmos:output",
            "agentspec:input",
            "agentspec:output",
            REQUIRES_CONFIRMATION,
        ];
        let list = Path::ROOT.member("lmos:capabilities");
        let entries = thing.get("lmos:capabilities").and_then(Value::as_array).into_iter().flatten().enumerate();
        for (number, entry) in entries {
            let names = ["lmos:id", "lmos:name"].map(|member| entry.get(member).and_then(Value::as_str));
            let names: Vec<&str> = names.into_iter().flatten().collect();
            let at = list.index(number);
            let read: Vec<&Value> =
                names.iter().find_map(|name| self.index.capabilities.get(name)).into_iter().copied().collect();
            let said = read.first().copied().or_else(|| names.iter().find_map(|name| Some(self.index.named(name)?.1)));
            if names.iter().any(|name| affordances(thing, "actions").contains_key(*name)) {
                self.compare_members(entry, &read, &OF_ACTION, &at, losses);
                continue;
            }
            let Some(said) = said else {
                losses.add_unless(names.is_empty(), &at);
                continue;
            };
            self.compare_text(entry.get("lmos:description"), &at.member("lmos:description"), losses);
            for side in ["lmos:input", "lmos:output", "agentspec:input", "agentspec:output"] {
                let Some(schema) = entry.get(side) else { continue };
                let name = side.split(':').next_back().unwrap_or(side);
                let is_expressed = schema_of(said, name).is_some_and(|said| is_expressed_by(schema, said));
                losses.add_unless(is_expressed, &at.member(side));
            }
            self.compare_members(entry, &[said], &OF_ACTION[..OF_ACTION.len() - 1], &at, losses);
        }
    }

    fn compare_text(&self, text: Option<&Value>, at: &Path<'_>, losses: &mut Losses) {
        if let Some(text) = text.and_then(Value::as_str).filter(|text| !text.is_empty()) {
            losses.add_unless(self.texts.contains(text), at);
        }
    }

    fn compare_action(&self, thing: &Value, (name, action): (&str, &Value), at: &Path<'_>, losses: &mut Losses) {
        let forms = action.get("forms").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let forms = &forms[..forms.len().min(MOST_FORMS)];
        let caller = forms.iter().find_map(|form| self.index.callers.get(tool_of(form)?).copied());
        let Some((read, said)) = caller.or_else(|| self.index.named(name)) else {
            return losses.add(at);
        };
        for side in ["input", "output"] {
            let Some(schema) = action.get(side) else { continue };
            let said = schema_of(said, side);
            let is_expressed = said.map_or_else(|| takes_nothing(schema), |said| is_expressed_by(schema, said));
            losses.add_unless(is_expressed, &at.member(side));
        }
        self.compare_metadata((name, action), said, at, losses);
        requests::compare_body(action, said, &at.member("input"), losses);
        let variables = at.member("uriVariables");
        for (name, schema) in affordances(action, "uriVariables") {
            losses.add_unless(takes(said, name, schema), &variables.member(name));
        }
        let base = thing.get("base").and_then(Value::as_str).unwrap_or_default();
        let written = said.get("forms").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let calls: Vec<(&Value, Vec<&Value>)> = forms
            .iter()
            .map(|form| (form, written.iter().filter(|other| is_same_call(base, form, other)).collect()))
            .collect();
        let has_address = |form: &Value| form["href"].as_str().is_some_and(|href| self.has_address(base, href));
        let list = at.member("forms");
        if written.iter().take(MOST_FORMS).any(|other| self.is_of_another(forms, (thing, read), other)) {
            let change = "also allows calls of this action with the address, headers, or security of another action";
            losses.add_change(&list, change);
        }
        if !calls.iter().any(|(form, same)| !same.is_empty() || has_address(form)) {
            return losses.add_unless(forms.is_empty(), &list);
        }
        for (number, (form, same)) in calls.iter().enumerate() {
            let form_at = list.index(number);
            if same.is_empty() && (!written.is_empty() || !has_address(form)) {
                losses.add(&form_at);
                continue;
            }
            self.compare_form((thing, form), (read, same), &form_at, losses);
            if same.iter().any(|other| requests::has_template(other)) && !requests::has_template(form) {
                requests::compare_url((thing, action, form), (at, &form_at), losses);
            }
        }
    }

    /// True if a form that was read for an action makes the request of another action of the Thing.
    fn is_of_another(&self, forms: &[Value], (thing, read): (&Value, &Value), written: &Value) -> bool {
        let base = thing.get("base").and_then(Value::as_str).unwrap_or_default();
        let is_request = |form: &Value| is_same_request((thing, form), (read, written));
        if forms.iter().any(is_request) {
            return false;
        }
        let is_own_call = forms.iter().any(|form| is_same_call(base, form, written));
        self.requests.iter().any(|form| is_request(form) || !is_own_call && is_same_call(base, form, written))
    }

    /// Compares what an action has beside its data and its forms.
    fn compare_metadata(&self, (name, action): (&str, &Value), said: &Value, at: &Path<'_>, losses: &mut Losses) {
        let mut except = vec!["input", "output", "uriVariables", "forms"];
        // What isn't said is false.
        let flags = ["safe", "idempotent", REQUIRES_CONFIRMATION];
        except.extend(flags.into_iter().filter(|flag| action.get(*flag) == Some(&Value::Bool(false))));
        except.extend((action.get("title").is_some_and(|title| title == name)).then_some("title"));
        self.compare_members(action, &[said], &except, at, losses);
    }

    /// Compares a form with those that make the same call by what was read of the document, if there are any.
    fn compare_form(
        &self,
        (thing, form): (&Value, &Value),
        (read, same): (&Value, &[&Value]),
        at: &Path<'_>,
        losses: &mut Losses,
    ) {
        let headers = at.member("htv:headers");
        let listed = form.get("htv:headers").and_then(Value::as_array).into_iter().flatten().enumerate();
        // Where a request is made from a template, the headers are in that.
        let is_read = !same.is_empty() && !same.iter().any(|other| requests::has_template(other));
        for (number, header) in listed {
            match is_read {
                true => losses.add_unless(same.iter().any(|other| has_header(other, header)), &headers.index(number)),
                false => self.compare_text(header.get("htv:fieldValue"), &headers.index(number), losses),
            }
        }
        // A protocol has a method and a media type of its own.
        let defaults = if form.get("subprotocol").is_some() { &DEFAULTS[..1] } else { &DEFAULTS[..] };
        for (name, default) in defaults {
            let default = Value::from(*default);
            let own = form.get(*name).unwrap_or(&default);
            let is_same = |other: &Value| is_one_of(other, own) || is_one_of(own, other);
            let is_expressed = match same {
                [] => is_same(&default),
                same => same.iter().any(|other| is_same(other.get(*name).unwrap_or(&default))),
            };
            losses.add_unless(is_expressed, &at.member(name));
        }
        self.compare_members(form, same, &OF_CALL, at, losses);
        if same.is_empty() {
            return;
        }
        let is_named = same.iter().any(|other| tool_of(other) == tool_of(form));
        losses.add_unless(is_named, &at.member("mcp:tool"));
        let Some(asked) = requirement(thing, form) else { return };
        // Of a definition that the document lacks there is a warning.
        if asked.iter().flatten().all(|scheme| self.index.schemes.contains_key(scheme)) {
            let is_secured = same.iter().any(|other| requirement(read, other).as_ref() == Some(&asked));
            losses.add_unless(is_secured, &at.member("security"));
        }
    }

    /// True if a text of the document begins with an address. Variables in it are written otherwise.
    fn has_address(&self, base: &str, href: &str) -> bool {
        self.texts.has_prefix(&address(base, href))
    }

    fn compare_security(&self, thing: &Value, losses: &mut Losses) {
        let list = Path::ROOT.member("securityDefinitions");
        for (name, definition) in affordances(thing, "securityDefinitions") {
            let says_nothing = matches!(definition["scheme"].as_str(), None | Some("nosec" | "auto" | "combo"));
            if says_nothing {
                continue;
            }
            match self.index.schemes.get(&scheme(definition)) {
                Some(read) => {
                    self.compare_members(definition, read, &["scheme", "in", "name"], &list.member(name), losses)
                }
                None => losses.add(&list.member(name)),
            }
        }
    }
}

/// The tools of an MCP server, or its `_meta`, in which they may be, without what the actions of the Thing have.
fn without_actions(name: &str, value: &Value) -> Value {
    let mut value = value.clone();
    let noted = value.as_object_mut().into_iter().flat_map(Map::values_mut);
    match name {
        "mcp:_meta" => noted.filter_map(|noted| noted.get_mut("mcp:tools")).for_each(retain_further_members),
        _ => retain_further_members(&mut value),
    }
    value
}

fn retain_further_members(tools: &mut Value) {
    for tool in tools.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        tool.retain(|name, _| !OF_TOOL.contains(&name.as_str()));
        if let Some(Value::Object(hints)) = tool.get_mut("mcp:annotations") {
            hints.retain(|name, _| !["mcp:readOnlyHint", "mcp:idempotentHint"].contains(&name.as_str()));
        }
    }
}

/// True if a value is equal to another, or to the only one of a list.
fn is_one_of(value: &Value, list: &Value) -> bool {
    value == list || list.as_array().is_some_and(|list| list.as_slice() == std::slice::from_ref(value))
}

/// What was read of a document, by what is looked for in it.
struct Index<'d> {
    /// Things and their actions, by the tools of MCP that they call.
    callers: HashMap<&'d str, (&'d Value, &'d Value)>,
    /// Things and their actions, by name.
    actions: HashMap<&'d str, (&'d Value, &'d Value)>,
    /// Capabilities by id and by name, with their Things.
    capabilities: HashMap<&'d str, &'d Value>,
    /// Definitions by their schemes.
    schemes: HashMap<Scheme<'d>, Vec<&'d Value>>,
    /// Links by their addresses.
    links: HashMap<&'d str, Vec<&'d Value>>,
    /// Members of the Things by name.
    members: HashMap<&'d str, Vec<&'d Value>>,
    first: Option<&'d Value>,
}

impl<'d> Index<'d> {
    fn of(things: &'d [Value]) -> Index<'d> {
        let mut index = Index {
            callers: HashMap::new(),
            actions: HashMap::new(),
            capabilities: HashMap::new(),
            schemes: HashMap::new(),
            links: HashMap::new(),
            members: HashMap::new(),
            first: things.first(),
        };
        things.iter().for_each(|read| index.add(read));
        index
    }

    fn add(&mut self, read: &'d Value) {
        let list = |name: &str| read.get(name).and_then(Value::as_array).into_iter().flatten();
        for (name, action) in affordances(read, "actions") {
            self.actions.entry(name).or_insert((read, action));
            let forms = action.get("forms").and_then(Value::as_array).into_iter().flatten();
            for tool in forms.filter_map(tool_of) {
                self.callers.entry(tool).or_insert((read, action));
            }
        }
        for member in ["lmos:id", "lmos:name"] {
            for entry in list("lmos:capabilities") {
                if let Some(name) = entry.get(member).and_then(Value::as_str) {
                    self.capabilities.entry(name).or_insert(entry);
                }
            }
        }
        for definition in affordances(read, "securityDefinitions").values() {
            self.schemes.entry(scheme(definition)).or_default().push(definition);
        }
        for link in list("links") {
            self.links.entry(link["href"].as_str().unwrap_or_default()).or_default().push(link);
        }
        for (name, member) in read.as_object().into_iter().flatten() {
            self.members.entry(name).or_default().push(member);
        }
    }

    /// The action of a name, or the capability, with its Thing.
    fn named(&self, name: &str) -> Option<(&'d Value, &'d Value)> {
        let capability = || Some((self.first?, *self.capabilities.get(name)?));
        self.actions.get(name).copied().or_else(capability)
    }
}

/// The data of an action or a capability.
fn schema_of<'t>(said: &'t Value, side: &str) -> Option<&'t Value> {
    ["", "lmos:", "agentspec:"].iter().find_map(|prefix| said.get(format!("{prefix}{side}")))
}

/// True if an action takes a variable of its URL, or has it in its input.
fn takes(action: &Value, variable: &str, schema: &Value) -> bool {
    let inputs = schema_of(action, "input").map(|input| affordances(input, "properties"));
    let said = affordances(action, "uriVariables").get(variable).or_else(|| inputs?.get(variable));
    said.is_some_and(|said| is_expressed_by(schema, said))
}

/// The tool of MCP that a form calls.
fn tool_of(form: &Value) -> Option<&str> {
    form.get("mcp:tool")?.as_str()
}

/// The part of a form's address that has no variables.
fn address(base: &str, href: &str) -> String {
    let literal = href.split('{').next().unwrap_or_default();
    let origin_end = base.find("://").map_or(0, |scheme| scheme + 3);
    let origin_end = base[origin_end..].find('/').map_or(base.len(), |length| origin_end + length);
    let address = match literal {
        whole if whole.contains("://") || base.is_empty() => whole.to_owned(),
        path if path.starts_with('/') => format!("{}{path}", &base[..origin_end]),
        path => format!("{}/{path}", base[..base.rfind('/').unwrap_or(0).max(origin_end)].trim_end_matches('/')),
    };
    address.trim_end_matches(['?', '&', '/']).to_owned()
}

/// True if an action names the URL of an agent card in place of an interface.
fn has_card(thing: &Value) -> bool {
    let mut forms =
        affordances(thing, "actions").values().filter_map(|action| action.get("forms")?.as_array()).flatten();
    forms.any(|form| form.get("a2a:agentCard").is_some())
}

/// True if a form that a document gives makes the call that a form of the Thing makes.
fn is_same_call(base: &str, form: &Value, written: &Value) -> bool {
    let text = |form: &'_ Value, name: &str| form.get(name).and_then(Value::as_str).map(str::to_ascii_lowercase);
    let subprotocol = text(written, "subprotocol");
    let is_same = |name: &str| text(form, name).is_none_or(|own| text(written, name).is_none_or(|other| own == other));
    let is_same_protocol = match subprotocol.as_deref() {
        Some("mcp") => {
            let transport = |form: &Value| form.as_object().and_then(McpTransport::of_form);
            text(form, "subprotocol") == subprotocol && transport(form) == transport(written)
        }
        Some(_) => true,
        None => is_same("htv:methodName"),
    };
    let (Some(href), Some(other)) = (form["href"].as_str(), written["href"].as_str()) else { return false };
    let rest = other.strip_prefix(address(base, href).as_str());
    let is_end = |rest: &str| rest.is_empty() || rest == "/" || rest.starts_with(['?', '&', '#']);
    is_same_protocol && rest.is_some_and(|rest| href.contains('{') || is_end(rest))
}

/// The headers of a form: their names, and their values.
fn headers(form: &Value) -> BTreeSet<(String, &str)> {
    form.get("htv:headers").and_then(Value::as_array).into_iter().flatten().map(header).collect()
}

fn header(header: &Value) -> (String, &str) {
    let text = |name: &str| header[name].as_str().unwrap_or_default();
    (text("htv:fieldName").to_ascii_lowercase(), text("htv:fieldValue"))
}

fn has_header(form: &Value, wanted: &Value) -> bool {
    headers(form).contains(&header(wanted))
}

/// True if a form that a document gives makes the call that a form of the Thing makes, with the same headers and access.
fn is_same_request((thing, form): (&Value, &Value), (read, written): (&Value, &Value)) -> bool {
    let base = thing.get("base").and_then(Value::as_str).unwrap_or_default();
    is_same_call(base, form, written)
        && headers(form) == headers(written)
        && requirement(thing, form) == requirement(read, written)
}

#[cfg(test)]
mod tests;
