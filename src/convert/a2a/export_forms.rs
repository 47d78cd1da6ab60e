//! Where a Thing that never was an agent card is reached: its forms as interfaces of a card.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value, json};

use super::{FORMS_BINDING, interface::Binding, reference::interface_url};

type Object = Map<String, Value>;

/// How a Thing is reached.
pub(super) enum Reached {
    /// By A2A.
    A2a { interfaces: Vec<Value>, is_streaming: bool },
    /// By HTTP requests of its own.
    Http { interfaces: Vec<Value>, extension: Value, content_type: String },
    /// By other protocols, or not at all.
    Nowhere { protocols: Vec<String> },
}

/// The forms of actions; A2A first.
pub(super) fn reached(thing: &Object) -> Reached {
    let base = thing.get("base").and_then(Value::as_str);
    let (mut interfaces, mut seen) = (Vec::new(), HashSet::new());
    for form in forms(thing, "actions").chain(forms(thing, "events")).filter(|form| is_a2a(form)) {
        if let Some(interface) = interface(form, base)
            && seen.insert(interface.to_string())
        {
            interfaces.push(interface);
        }
    }
    if !interfaces.is_empty() {
        return Reached::A2a { interfaces, is_streaming: forms(thing, "events").any(is_a2a) };
    }
    reached_by_http(thing, base)
}

fn affordances<'t>(thing: &'t Object, kind: &str) -> impl Iterator<Item = (&'t String, &'t Object)> {
    let affordances = thing.get(kind).and_then(Value::as_object).into_iter().flatten();
    affordances.filter_map(|(name, affordance)| Some((name, affordance.as_object()?)))
}

fn forms_of(affordance: &Object) -> impl Iterator<Item = &Object> {
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
}

/// The interface that an A2A form is of.
fn interface(form: &Object, base: Option<&str>) -> Option<Value> {
    let href = interface_url(text(form, "href")?, base).ok()?;
    let binding = Binding::read(text(form, "a2a:binding").unwrap_or_else(|| usual_binding(form, &href)));
    let tenant = text(form, "a2a:tenant");
    let url = match binding {
        Binding::HttpJson => without_method(&href, tenant),
        _ => href.as_str(),
    };
    let version = text(form, "a2a:protocolVersion").unwrap_or("0.3");
    let mut interface = json!({"url": url, "protocolBinding": binding.name(), "protocolVersion": version});
    if let Some(tenant) = tenant {
        interface["tenant"] = tenant.into();
    }
    Some(interface)
}

/// What binding a form has that doesn't say so.
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

/// The URL that resources of HTTP+JSON are below.
fn without_method<'h>(href: &'h str, tenant: Option<&str>) -> &'h str {
    let bare = ["/message:send", "/message:stream"].iter().find_map(|method| href.strip_suffix(method));
    let Some(bare) = bare else { return href };
    let bare = tenant.and_then(|tenant| bare.strip_suffix(tenant)?.strip_suffix('/')).unwrap_or(bare);
    bare.strip_suffix("/v1").unwrap_or(bare)
}

fn reached_by_http(thing: &Object, base: Option<&str>) -> Reached {
    let (mut actions, mut urls, mut protocols) = (Object::new(), Vec::new(), BTreeSet::new());
    let mut content_type = None;
    for (name, action) in affordances(thing, "actions") {
        let mut kept = Vec::new();
        for form in forms_of(action) {
            let Some(href) = text(form, "href").and_then(|href| resolved(href, base)) else {
                protocols.insert("relative URLs".to_owned());
                continue;
            };
            let scheme = href.split(':').next().unwrap_or_default().to_ascii_lowercase();
            if !matches!(scheme.as_str(), "http" | "https") || form.contains_key("subprotocol") {
                protocols.insert(text(form, "subprotocol").map_or(scheme, str::to_owned));
                continue;
            }
            content_type = content_type.or_else(|| text(form, "contentType").map(str::to_owned));
            let url = without_template(&href).to_owned();
            if !urls.contains(&url) && urls.len() < 100 {
                urls.push(url);
            }
            let mut form = form.clone();
            form.insert("href".into(), href.into());
            kept.push(Value::Object(form));
        }
        if !kept.is_empty() {
            let mut listed: Object = ["input", "output", "uriVariables"]
                .into_iter()
                .filter_map(|member| Some((member.to_owned(), action.get(member)?.clone())))
                .collect();
            listed.insert("forms".into(), kept.into());
            actions.insert(name.clone(), listed.into());
        }
    }
    if actions.is_empty() {
        return Reached::Nowhere { protocols: protocols.into_iter().take(10).collect() };
    }
    let interface = |url: String| json!({"url": url, "protocolBinding": FORMS_BINDING, "protocolVersion": "1.0"});
    let extension = json!({
        "uri": FORMS_BINDING,
        "description": "Skills are invoked by plain HTTP requests: those of the Thing Description forms listed here.",
        "required": true,
        "params": {"actions": actions},
    });
    Reached::Http {
        interfaces: urls.into_iter().map(interface).collect(),
        extension,
        content_type: content_type.unwrap_or_else(|| "application/json".into()),
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
