//! What a document that was made of a Thing doesn't say of it.
//!
//! Texts and addresses are looked for in the document, data and security in the Things that importing it gives. What only
//! agentdex reads, a description in metadata or an extension of ours, is left out before.

mod schemas;

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value};

use self::schemas::{is_expressed_by, takes_nothing};
use crate::{
    Export, Format, ImportOptions, Input, Rendition, Result,
    agent_spec::{DESCRIPTION, REQUEST},
    td::{
        Violation,
        internal::{McpTransport, Path},
    },
};

/// The rule of its warnings.
const RULE: &str = "not-expressed";
/// The most warnings of one document.
const MOST: usize = 50;
/// Members whose texts a document of another format may have, such as the model of an agent.
const DETAILS: [&str; 7] = [
    "agentspec:model",
    "aos:model",
    "aos:organization",
    "aos:mcpServers",
    "lmos:supportedChannels",
    "lmos:supportedTenants",
    "mcp:packages",
];
/// The most forms of one action that are checked.
const MOST_FORMS: usize = 64;
/// The most schemes, and sets of them, of one form that are compared, and the deepest combination of them.
const MOST_SCHEMES: usize = 64;
const DEEPEST_COMBINATION: usize = 4;

impl Export {
    /// Creates a document from a Thing Description, in one of its versions. Each member of the Thing that the
    /// document lacks or changes causes a warning `not-expressed`, with a pointer into the Thing.
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
        let (actions, index) = (root.member("actions"), Index::of(&self.things));
        for (name, action) in affordances(thing, "actions") {
            self.compare_action(thing, (name, action), &index, &actions.member(name), found);
        }
        self.compare_capabilities(thing, found);
        let variables = root.member("uriVariables");
        for name in affordances(thing, "uriVariables").keys() {
            let mut actions = self.things.iter().flat_map(|read| affordances(read, "actions").values());
            self.warn_unless(actions.any(|said| takes(said, name)), &variables.member(name), found);
        }
        for name in DETAILS {
            if let Some(detail) = thing.get(name) {
                let mut texts = BTreeSet::new();
                collect_texts(detail, &mut texts);
                self.warn_unless(texts.is_subset(&self.texts), &root.member(name), found);
            }
        }
        self.compare_security(thing, &index, found);
    }

    /// Compares capabilities that aren't actions.
    fn compare_capabilities(&self, thing: &Value, found: &mut Vec<Violation>) {
        let list = Path::ROOT.member("lmos:capabilities");
        let entries = thing.get("lmos:capabilities").and_then(Value::as_array).into_iter().flatten().enumerate();
        for (number, entry) in entries {
            let names = ["lmos:id", "lmos:name"].map(|member| entry.get(member).and_then(Value::as_str));
            let names: Vec<&str> = names.into_iter().flatten().collect();
            if names.iter().any(|name| affordances(thing, "actions").contains_key(*name)) || names.is_empty() {
                continue;
            }
            let at = list.index(number);
            let Some((_, said)) = names.iter().find_map(|name| self.capability(name)) else {
                self.warn_unless(false, &at, found);
                continue;
            };
            self.compare_text(entry.get("lmos:description"), &at.member("lmos:description"), found);
            for side in ["lmos:input", "lmos:output", "agentspec:input", "agentspec:output"] {
                let Some(schema) = entry.get(side) else { continue };
                let name = side.split(':').next_back().unwrap_or(side);
                let is_expressed = schema_of(said, name).is_some_and(|said| is_expressed_by(schema, said));
                self.warn_unless(is_expressed, &at.member(side), found);
            }
        }
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

    fn compare_action(
        &self,
        thing: &Value,
        (name, action): (&str, &Value),
        index: &Index<'_>,
        at: &Path<'_>,
        found: &mut Vec<Violation>,
    ) {
        let forms = action.get("forms").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let forms = &forms[..forms.len().min(MOST_FORMS)];
        let caller = forms.iter().find_map(|form| index.callers.get(tool_of(form)?).copied());
        let Some((read, said)) = caller.or_else(|| self.capability(name)) else {
            return self.warn_unless(false, at, found);
        };
        self.compare_text(action.get("description"), &at.member("description"), found);
        for side in ["input", "output"] {
            let Some(schema) = action.get(side) else { continue };
            let said = schema_of(said, side);
            let is_expressed = said.map_or_else(|| takes_nothing(schema), |said| is_expressed_by(schema, said));
            self.warn_unless(is_expressed, &at.member(side), found);
        }
        self.compare_body(action, said, &at.member("input"), found);
        let variables = at.member("uriVariables");
        for name in affordances(action, "uriVariables").keys() {
            self.warn_unless(takes(said, name), &variables.member(name), found);
        }
        let base = thing.get("base").and_then(Value::as_str).unwrap_or_default();
        let written = said.get("forms").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let calls: Vec<(&Value, Vec<&Value>)> = forms
            .iter()
            .map(|form| (form, written.iter().filter(|other| is_same_call(base, form, other)).collect()))
            .collect();
        let has_address = |form: &Value| form["href"].as_str().is_some_and(|href| self.has_address(base, href));
        let list = at.member("forms");
        if !calls.iter().any(|(form, same)| !same.is_empty() || has_address(form)) {
            return self.warn_unless(forms.is_empty(), &list, found);
        }
        for (number, (form, same)) in calls.iter().enumerate() {
            let form_at = list.index(number);
            match same.is_empty() && (!written.is_empty() || !has_address(form)) {
                true => self.warn_unless(false, &form_at, found),
                false => self.compare_form((thing, form), (read, same), index, &form_at, found),
            }
        }
    }

    /// Compares a form with those that make the same call by what was read of the document, if there are any.
    fn compare_form(
        &self,
        (thing, form): (&Value, &Value),
        (read, same): (&Value, &[&Value]),
        index: &Index<'_>,
        at: &Path<'_>,
        found: &mut Vec<Violation>,
    ) {
        let headers = at.member("htv:headers");
        let listed = form.get("htv:headers").and_then(Value::as_array).into_iter().flatten().enumerate();
        for (number, header) in listed {
            self.compare_text(header.get("htv:fieldValue"), &headers.index(number), found);
        }
        if same.is_empty() {
            return;
        }
        let is_named = same.iter().any(|other| tool_of(other) == tool_of(form));
        self.warn_unless(is_named, &at.member("mcp:tool"), found);
        let Some(asked) = requirement(thing, form) else { return };
        // Of a definition that the document lacks there is a warning.
        if asked.iter().flatten().all(|scheme| index.schemes.contains(scheme)) {
            let is_secured = same.iter().any(|other| requirement(read, other).as_ref() == Some(&asked));
            self.warn_unless(is_secured, &at.member("security"), found);
        }
    }

    /// Warns of values that a tool of Agent Spec fills in as text, and the Thing takes as what they are.
    fn compare_body(&self, action: &Value, said: &Value, at: &Path<'_>, found: &mut Vec<Violation>) {
        let Some(input) = action.get("input").filter(|_| body_template(action).is_none()) else { return };
        let mut warn = |at: &Path<'_>| {
            if found.len() < MOST {
                found.push(Violation::new(at.to_pointer(), RULE, format!("{} sends this as text", self.noun)));
            }
        };
        match (body_template(said), input.get("properties").and_then(Value::as_object)) {
            (Some(Value::Object(_)), Some(properties)) => {
                let list = at.member("properties");
                let others = properties.iter().filter(|(_, schema)| may_be_no_text(schema));
                others.for_each(|(name, _)| warn(&list.member(name)));
            }
            // As JSON it has quotes around it.
            (Some(Value::String(_)), None) if !may_be_no_text(input) => warn(at),
            _ => {}
        }
    }

    /// The action of a name, or the capability, with its Thing.
    fn capability(&self, name: &str) -> Option<(&Value, &Value)> {
        let actions = self.things.iter().find_map(|read| Some((read, read.get("actions")?.get(name)?)));
        actions.or_else(|| {
            let is_it = |entry: &&Value| ["lmos:id", "lmos:name"].iter().any(|member| entry[*member] == name);
            self.things
                .iter()
                .find_map(|read| Some((read, read.get("lmos:capabilities")?.as_array()?.iter().find(is_it)?)))
        })
    }

    /// True if a text of the document begins with an address. Variables in it are written otherwise.
    fn has_address(&self, base: &str, href: &str) -> bool {
        let address = address(base, href);
        self.texts.range(address.as_str()..).next().is_some_and(|text| text.starts_with(&address))
    }

    fn compare_security(&self, thing: &Value, index: &Index<'_>, found: &mut Vec<Violation>) {
        for (name, definition) in thing.get("securityDefinitions").and_then(Value::as_object).into_iter().flatten() {
            let says_nothing = matches!(definition["scheme"].as_str(), None | Some("nosec" | "auto" | "combo"));
            let at = Path::ROOT.member("securityDefinitions");
            self.warn_unless(says_nothing || index.schemes.contains(&scheme(definition)), &at.member(name), found);
        }
    }
}

/// What was read of a document, by what is looked for in it.
struct Index<'d> {
    /// Things and their actions, by the tools of MCP that they call.
    callers: HashMap<&'d str, (&'d Value, &'d Value)>,
    /// The schemes of the security definitions.
    schemes: BTreeSet<Scheme<'d>>,
}

impl<'d> Index<'d> {
    fn of(things: &'d [Value]) -> Index<'d> {
        let mut callers = HashMap::new();
        for (read, action) in
            things.iter().flat_map(|read| affordances(read, "actions").values().map(move |one| (read, one)))
        {
            let forms = action.get("forms").and_then(Value::as_array).into_iter().flatten();
            for tool in forms.filter_map(tool_of) {
                callers.entry(tool).or_insert((read, action));
            }
        }
        let definitions = things.iter().filter_map(|read| read.get("securityDefinitions")?.as_object());
        Index { callers, schemes: definitions.flat_map(Map::values).map(scheme).collect() }
    }
}

/// The data of an action or a capability.
fn schema_of<'t>(said: &'t Value, side: &str) -> Option<&'t Value> {
    ["", "lmos:", "agentspec:"].iter().find_map(|prefix| said.get(format!("{prefix}{side}")))
}

/// True if an action takes a variable of its URL, or has it in its input.
fn takes(action: &Value, variable: &str) -> bool {
    let inputs = schema_of(action, "input").map(|input| affordances(input, "properties"));
    affordances(action, "uriVariables").contains_key(variable) || inputs.is_some_and(|all| all.contains_key(variable))
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

/// The body that a tool of Agent Spec fills in.
fn body_template(action: &Value) -> Option<&Value> {
    action.get("forms")?.as_array()?.iter().find_map(|form| form.get(REQUEST)?.get("@value")?.get("data"))
}

/// True if a schema names a type other than text.
fn may_be_no_text(schema: &Value) -> bool {
    let alternatives = ["anyOf", "oneOf"].iter().filter_map(|name| schema.get(*name)?.as_array()).flatten();
    match schema.get("type") {
        Some(Value::Array(names)) => names.iter().any(|name| name != "string"),
        Some(name) => name != "string",
        None => alternatives.into_iter().any(may_be_no_text),
    }
}

fn affordances<'t>(thing: &'t Value, kind: &str) -> &'t Map<String, Value> {
    static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    thing.get(kind).and_then(Value::as_object).unwrap_or(&NONE)
}

/// The name of a scheme, and where its credential goes.
type Scheme<'d> = [Option<&'d str>; 3];

fn scheme(definition: &Value) -> Scheme<'_> {
    let text = |name: &str| definition.get(name).and_then(Value::as_str);
    let scheme = text("scheme");
    let is_in_header = matches!(scheme, Some("basic" | "bearer" | "digest"));
    let usual = if is_in_header { Some("header") } else { (scheme == Some("apikey")).then_some("query") };
    [scheme, text("in").or(usual), text("name").filter(|_| scheme == Some("apikey"))]
}

/// Sets of schemes, of which one is enough; each has to be satisfied as a whole.
type Requirement<'t> = BTreeSet<BTreeSet<Scheme<'t>>>;

/// What a form requires; `None` if that is too much to be compared.
fn requirement<'t>(thing: &'t Value, form: &'t Value) -> Option<Requirement<'t>> {
    let names = form.get("security").or_else(|| thing.get("security")).unwrap_or(&Value::Null);
    all_of(thing, names, DEEPEST_COMBINATION, &mut { MOST_SCHEMES })
}

/// What takes all definitions of these names.
fn all_of<'t>(thing: &'t Value, names: &'t Value, depth: usize, left: &mut usize) -> Option<Requirement<'t>> {
    let names = names.as_array().map_or(std::slice::from_ref(names), Vec::as_slice);
    let mut all = Requirement::from([BTreeSet::new()]);
    for name in names {
        let one = one_of(thing, name, depth, left)?;
        let pairs = all.iter().flat_map(|known| one.iter().map(move |more| known.union(more).copied().collect()));
        all = pairs.take(MOST_SCHEMES + 1).collect();
        *left = left.checked_sub(all.len())?;
    }
    Some(all)
}

/// What takes the definition of a name.
fn one_of<'t>(thing: &'t Value, name: &Value, depth: usize, left: &mut usize) -> Option<Requirement<'t>> {
    *left = left.checked_sub(1)?;
    let depth = depth.checked_sub(1)?;
    let Some(definition) = name.as_str().and_then(|name| thing.get("securityDefinitions")?.get(name)) else {
        return Some(Requirement::from([BTreeSet::new()]));
    };
    match (scheme(definition)[0], definition.get("oneOf").and_then(Value::as_array), definition.get("allOf")) {
        (Some("combo"), Some(names), _) => {
            let mut any = Requirement::new();
            for name in names {
                any.extend(one_of(thing, name, depth, left)?);
            }
            Some(any)
        }
        (Some("combo"), None, Some(names)) => all_of(thing, names, depth, left),
        (None | Some("nosec" | "auto" | "combo"), ..) => Some(Requirement::from([BTreeSet::new()])),
        _ => Some(Requirement::from([BTreeSet::from([scheme(definition)])])),
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

    /// The warnings about actions in the document that is made of a Thing with these.
    fn warned(format: Format, actions: Value, security: Value) -> Vec<String> {
        let thing = json!({
            "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:agentdex:mcp:com.example/desk", "title": "Desk",
            "description": "Tells the weather", "security": "none",
            "securityDefinitions": security, "actions": actions,
        });
        let made = format.export().unwrap().from_thing(&thing, None).unwrap();
        let found = made.warnings.into_iter().filter(|one| one.rule == RULE).map(|one| one.pointer);
        found.filter(|pointer| pointer.starts_with("/actions")).collect()
    }

    fn open() -> Value {
        json!({"none": {"scheme": "nosec"}})
    }

    #[test]
    fn tools_of_mcp_are_those_that_forms_name() {
        let form = |tool: &str| json!({"href": "https://a.example/mcp", "subprotocol": "mcp", "mcp:tool": tool});
        let nothing = json!({"type": "object", "additionalProperties": false});
        let action = |tool: &str, input: &Value| json!({"input": input, "forms": [form(tool)]});
        let exported = |actions: Value| warned(Format::AgentSpec, actions, open());
        assert_eq!(exported(json!({"weather": action("get_weather", &nothing)})), [""; 0]);
        // Whatever it takes, no input of the tool is for it.
        let any = json!({"type": "object"});
        assert_eq!(exported(json!({"weather": action("get_weather", &any)})), ["/actions/weather/input"]);
        let nameless = json!({"forms": [{"href": "https://a.example/mcp", "subprotocol": "mcp"}]});
        let both = json!({"any": nameless, "weather": action("get_weather", &nothing)});
        assert_eq!(exported(both), ["/actions/any"]);
        assert_eq!(exported(json!({"any": nameless})), [""; 0]);
    }

    #[test]
    fn data_of_capabilities_models_and_variables_are_said() {
        let warned = |format: Format, further: Value| -> Vec<String> {
            let mut thing = json!({
                "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:x:desk", "title": "Desk", "description": "Desk",
                "version": {"instance": "1.0.0"}, "securityDefinitions": open(), "security": "none",
            });
            thing.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
            let made = format.export().unwrap().from_thing(&thing, None).unwrap();
            let found = made.warnings.into_iter().filter(|one| one.rule == RULE).map(|one| one.pointer);
            found
                .filter(|pointer| !["/title", "/description", "/version/instance"].contains(&pointer.as_str()))
                .collect()
        };
        let text = json!({"type": "object", "properties": {"to": {"type": "string"}}});
        let capability = json!({"lmos:id": "find", "lmos:name": "find", "lmos:input": text, "lmos:output": text});
        let further = json!({"lmos:capabilities": [capability], "aos:model": {"aos:name": "Large"}});
        let lost = ["/lmos:capabilities/0/lmos:input", "/lmos:capabilities/0/lmos:output", "/aos:model"];
        assert_eq!(warned(Format::LmosCapabilities, further), lost);
        let form = json!({"href": "https://a.example/find{?room,units}", "htv:methodName": "GET"});
        let further = json!({
            "uriVariables": {"room": {"type": "string"}},
            "actions": {"find": {"uriVariables": {"units": {"type": "string"}}, "forms": [form]}},
        });
        let lost = warned(Format::LmosCapabilities, further.clone());
        assert!(
            ["/uriVariables/room", "/actions/find/uriVariables/units"].iter().all(|one| lost.iter().any(|l| l == one)),
            "{lost:?}"
        );
        assert_eq!(warned(Format::AgentSpec, further), [""; 0]);
    }

    #[test]
    fn every_form_and_what_it_requires_is_said() {
        let http =
            |path: &str, method: &str| json!({"href": format!("https://a.example/{path}"), "htv:methodName": method});
        let actions = json!({"set": {"forms": [http("set", "POST"), http("alt", "PUT"), http("set", "PUT")]}});
        let missing = ["/actions/set/forms/1", "/actions/set/forms/2"];
        assert_eq!(warned(Format::AgentSpec, actions, open()), missing);
        let mcp = |transport: &str, security: Value| json!({"href": "https://a.example/mcp", "subprotocol": "mcp", "mcp:tool": "set", "mcp:transport": transport, "security": security});
        let none = || json!("none");
        let actions = json!({"set": {"forms": [mcp("streamable-http", none()), mcp("sse", none())]}});
        assert_eq!(warned(Format::AgentSpec, actions.clone(), open()), ["/actions/set/forms/1"]);
        assert_eq!(warned(Format::McpServer, actions, open()), [""; 0]);
        let security = json!({
            "none": {"scheme": "nosec"}, "token": {"scheme": "bearer"}, "key": {"scheme": "apikey", "in": "header", "name": "X-A"},
            "any": {"scheme": "combo", "oneOf": ["key", "token"]}, "all": {"scheme": "combo", "allOf": ["key", "token"]},
        });
        let required = |name: &str| {
            let forms = [mcp("streamable-http", json!(name)), mcp("sse", json!("token")), mcp("sse", json!("all"))];
            warned(Format::McpServer, json!({"set": {"forms": forms}}), security.clone())
        };
        assert_eq!(required("any"), ["/actions/set/forms/0/security"]);
        assert_eq!(required("all"), [""; 0]);
        assert_eq!(required("token"), [""; 0]);
    }
}
