//! Conversion of a Thing's forms to interfaces of a card.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value, json};

use super::{FORMS_BINDING, Generation, interface::Binding, reference::interface_url, rest::Resources};
use crate::agent_spec::REQUIRES_CONFIRMATION;

type Object = Map<String, Value>;

/// The most interfaces that a card gets.
const MOST_INTERFACES: usize = 100;
/// The member of a form with the URL of the agent's own card, which alone tells its interfaces.
const CARD: &str = "a2a:agentCard";
/// The members of a form that tell which interface it is of.
const INTERFACE_OF_FORM: [&str; 5] = ["href", "contentType", "a2a:binding", "a2a:protocolVersion", "a2a:tenant"];
/// Members of an action that the extension for plain HTTP requests lists beside its forms.
pub(super) const LISTED: [&str; 4] = ["input", "output", "uriVariables", REQUIRES_CONFIRMATION];

/// The interfaces made of a Thing's forms, by protocol.
pub(super) enum Reached {
    /// By A2A.
    A2a { interfaces: Vec<Value>, is_complete: bool, is_streaming: bool },
    /// By HTTP requests of its own.
    Http { interfaces: Vec<Value>, is_complete: bool, extension: Value, content_type: String },
    /// By other protocols, or not at all.
    Nowhere { protocols: Vec<String> },
}

impl Reached {
    /// True if both are the same place, called the same way.
    pub(super) fn is_like(&self, other: &Reached) -> bool {
        match (self, other) {
            (Reached::A2a { interfaces: own, .. }, Reached::A2a { interfaces: others, .. }) => own == others,
            (Reached::Http { extension: own, .. }, Reached::Http { extension: others, .. }) => own == others,
            (Reached::Nowhere { .. }, Reached::Nowhere { .. }) => true,
            _ => false,
        }
    }

    /// True if all places that the forms lead to are interfaces.
    pub(super) fn is_complete(&self) -> bool {
        !matches!(self, Reached::A2a { is_complete: false, .. } | Reached::Http { is_complete: false, .. })
    }

    /// The forms that a card can stand for.
    pub(super) fn reach(&self) -> Reach {
        match self {
            Reached::A2a { .. } => Reach::A2a,
            Reached::Http { .. } => Reach::Http,
            Reached::Nowhere { .. } => Reach::Nothing,
        }
    }
}

/// The kind of forms that a card can represent.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reach {
    A2a,
    Http,
    Nothing,
}

impl Reach {
    pub(super) fn includes(self, form: &Object) -> bool {
        match self {
            Reach::A2a => is_a2a(form),
            Reach::Http => is_http(form, text(form, "href").unwrap_or_default()),
            Reach::Nothing => false,
        }
    }

    /// True if a card can say how something is called.
    pub(super) fn includes_any_of(self, affordance: &Value) -> bool {
        affordance.as_object().is_some_and(|affordance| forms_of(affordance).any(|form| self.includes(form)))
    }
}

/// The forms of actions; A2A first. Skills may have other names than their actions.
pub(super) fn reached<'t>(thing: &'t Object, skill_of: impl Fn(&'t str) -> &'t str) -> Reached {
    let base = thing.get("base").and_then(Value::as_str);
    let (mut interfaces, mut is_complete) = (Vec::new(), true);
    let (mut seen, mut known) = (HashSet::new(), HashSet::new());
    for form in forms(thing, "actions").chain(forms(thing, "events")).filter(|form| is_a2a(form)) {
        // Most forms are of an interface that another form is of too.
        if !seen.insert(INTERFACE_OF_FORM.map(|name| text(form, name))) {
            continue;
        }
        if interfaces.len() == MOST_INTERFACES {
            is_complete = false;
            break;
        }
        if let Some(interface) = interface(form, base)
            && known.insert(interface.to_string())
        {
            interfaces.push(interface);
        }
    }
    if !interfaces.is_empty() {
        return Reached::A2a { interfaces, is_complete, is_streaming: forms(thing, "events").any(is_a2a) };
    }
    reached_by_http(thing, base, skill_of)
}

fn affordances<'t>(thing: &'t Object, kind: &str) -> impl Iterator<Item = (&'t String, &'t Object)> {
    let affordances = thing.get(kind).and_then(Value::as_object).into_iter().flatten();
    affordances.filter_map(|(name, affordance)| Some((name, affordance.as_object()?)))
}

pub(super) fn forms_of(affordance: &Object) -> impl Iterator<Item = &Object> {
    affordance.get("forms").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}

fn forms<'t>(thing: &'t Object, kind: &str) -> impl Iterator<Item = &'t Object> {
    affordances(thing, kind).flat_map(|(_, affordance)| forms_of(affordance))
}

fn text<'t>(form: &'t Object, name: &str) -> Option<&'t str> {
    form.get(name).and_then(Value::as_str)
}

fn is_a2a(form: &Object) -> bool {
    text(form, "subprotocol").is_some_and(|subprotocol| subprotocol.eq_ignore_ascii_case("a2a"))
        && !form.contains_key(CARD)
}

/// True if a form is a plain HTTP request; what is relative may be one.
fn is_http(form: &Object, href: &str) -> bool {
    let scheme = href.split_once(':').map_or("http", |(scheme, _)| scheme);
    let is_other = |scheme: &str| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let is_web = ["http", "https"].iter().any(|web| web.eq_ignore_ascii_case(scheme));
    !form.contains_key("subprotocol") && (is_web || !is_other(scheme))
}

/// The interface that an A2A form is of.
fn interface(form: &Object, base: Option<&str>) -> Option<Value> {
    let href = interface_url(text(form, "href")?, base).ok()?;
    let binding = Binding::read(text(form, "a2a:binding").unwrap_or_else(|| usual_binding(form, &href)));
    let tenant = text(form, "a2a:tenant");
    let version = text(form, "a2a:protocolVersion").unwrap_or("0.3");
    let generation = Generation::of_version(version).unwrap_or(Generation::V1);
    let url = match binding {
        Binding::HttpJson => Resources { generation, tenant }.url(&href),
        _ => href.as_str().into(),
    };
    let mut interface = json!({"url": url, "protocolBinding": binding.name(), "protocolVersion": version});
    if let Some(tenant) = tenant {
        interface["tenant"] = tenant.into();
    }
    Some(interface)
}

/// Returns the binding of a form that doesn't state one, guessed from its content type and URL.
fn usual_binding(form: &Object, href: &str) -> &'static str {
    let content_type = text(form, "contentType").unwrap_or_default();
    if content_type.starts_with("application/grpc") || href.starts_with("grpc") {
        "GRPC"
    } else if href.contains("/message:send") || href.contains("/message:stream") {
        "HTTP+JSON"
    } else {
        "JSONRPC"
    }
}

fn reached_by_http<'t>(thing: &'t Object, base: Option<&str>, skill_of: impl Fn(&'t str) -> &'t str) -> Reached {
    let (mut actions, mut protocols) = (Object::new(), BTreeSet::new());
    let (mut urls, mut known) = (Vec::new(), HashSet::new());
    let mut content_type = None;
    for (name, action) in affordances(thing, "actions") {
        let mut requests = Vec::new();
        for form in forms_of(action) {
            if let Some(subprotocol) = text(form, "subprotocol") {
                protocols.insert(match text(form, CARD) {
                    Some(url) => format!("forms of an A2A agent with its own card at {url}"),
                    None => subprotocol.to_owned(),
                });
                continue;
            }
            let written = text(form, "href").unwrap_or_default();
            let Some(href) = resolved(written, base) else {
                let is_whole = written.contains("://");
                protocols.insert(if is_whole { "URLs without a fixed host" } else { "relative URLs" }.to_owned());
                continue;
            };
            if !is_http(form, &href) {
                protocols.insert(href.split(':').next().unwrap_or_default().to_ascii_lowercase());
                continue;
            }
            content_type = content_type.or_else(|| text(form, "contentType").map(str::to_owned));
            let url = without_template(&href);
            if known.insert(url.to_owned()) && known.len() <= MOST_INTERFACES {
                urls.push(url.to_owned());
            }
            let mut form = form.clone();
            form.insert("href".into(), href.into());
            // The card says by itself what is required, and has other names for it.
            form.retain(|name, _| !["security", "scopes"].contains(&name.as_str()));
            requests.push(Value::Object(form));
        }
        if !requests.is_empty() {
            let mut listed: Object = LISTED
                .into_iter()
                .filter_map(|member| Some((member.to_owned(), action.get(member)?.clone())))
                .collect();
            add_variables(&mut listed, thing, &requests);
            listed.insert("forms".into(), requests.into());
            actions.insert(skill_of(name).to_owned(), listed.into());
        }
    }
    if actions.is_empty() {
        return Reached::Nowhere { protocols: protocols.into_iter().take(10).collect() };
    }
    let interface = |url: String| json!({"url": url, "protocolBinding": FORMS_BINDING, "protocolVersion": "1.0"});
    let extension = json!({
        "uri": FORMS_BINDING,
        "description": "Skills are invoked by plain HTTP requests, as described by the Thing Description forms listed here.",
        "required": true,
        "params": {"actions": actions},
    });
    Reached::Http {
        interfaces: urls.into_iter().map(interface).collect(),
        is_complete: known.len() <= MOST_INTERFACES,
        extension,
        content_type: content_type.unwrap_or_else(|| "application/json".into()),
    }
}

/// Adds the variables of the Thing that requests of an action have, and the action doesn't declare.
fn add_variables(listed: &mut Object, thing: &Object, requests: &[Value]) {
    let known = thing.get("uriVariables").and_then(Value::as_object).into_iter().flatten();
    let mut expressions = BTreeSet::new();
    requests.iter().for_each(|request| collect_expressions(request, &mut expressions));
    for (name, schema) in known.filter(|(name, _)| expressions.contains(name.as_str())) {
        let variables = listed.entry("uriVariables").or_insert_with(|| json!({}));
        if let Some(variables) = variables.as_object_mut() {
            variables.entry(name).or_insert_with(|| schema.clone());
        }
    }
}

/// The names of variables in the templates of a form: `{a}`, and `{?a,b*}` (RFC 6570).
fn collect_expressions<'f>(value: &'f Value, names: &mut BTreeSet<&'f str>) {
    match value {
        Value::String(text) => {
            let expressions = text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0));
            let listed =
                expressions.flat_map(|one| one.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']).split(','));
            names.extend(listed.filter_map(|name| name.split([':', '*']).next()));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_expressions(item, names)),
        Value::Object(members) => members.values().for_each(|member| collect_expressions(member, names)),
        _ => {}
    }
}

/// The href with its base, templates in it left as they are.
fn resolved(href: &str, base: Option<&str>) -> Option<String> {
    let (plain, template) = href.split_at(href.find('{').unwrap_or(href.len()));
    let start = match plain {
        "" => base?.to_owned(),
        plain => interface_url(plain, base).ok()?,
    };
    Some(format!("{start}{template}"))
}

fn without_template(href: &str) -> &str {
    href.split('{').next().unwrap_or(href)
}
