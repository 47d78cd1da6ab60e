//! Conversion of a Thing's security definitions to security schemes of an agent card.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};

use super::{
    Generation,
    definition::td_flow,
    schemes::{self, FLOWS, PLACES, Scheme, SchemeKind},
};
use crate::td::{Violation, internal::Path};

type Object = Map<String, Value>;

/// The schemes as 1.0 has them. A definition that no card can declare is a violation where it is used, else it
/// is left out.
pub(super) fn schemes(definitions: &Object, used: &HashSet<&str>, violations: &mut Vec<Violation>) -> Object {
    let mut schemes: BTreeMap<String, Scheme> = BTreeMap::new();
    let mut written = Object::new();
    for (name, definition) in definitions {
        let Some(definition) = definition.as_object() else { continue };
        if let Some(declared) = declared(definition) {
            written.insert(name.clone(), declared.clone());
            continue;
        }
        match scheme_of(definition) {
            Ok(None) => {}
            Ok(Some(scheme)) => merge(&mut schemes, card_name(name, definition).to_owned(), scheme),
            Err(message) if used.contains(name.as_str()) => {
                let list = Path::ROOT.member("securityDefinitions");
                violations.push(Violation::new(list.member(name).to_pointer(), "no-security-form", message));
            }
            Err(_) => {}
        }
    }
    written.extend(schemes.into_iter().map(|(name, scheme)| (name, scheme.write(Generation::V1))));
    written
}

/// The scheme as a card declared it, of a definition that couldn't say it.
pub(super) fn declared(definition: &Object) -> Option<&Value> {
    let is_open = definition.get("scheme").and_then(Value::as_str) == Some("auto");
    definition.get("a2a:declared").filter(|declared| is_open && declared.is_object())
}

/// The card's name of a definition: several flows were one scheme, and the name of a scheme that isn't declared
/// may have been taken.
pub(super) fn card_name<'d>(name: &'d str, definition: &'d Object) -> &'d str {
    let is_flow = definition.get("scheme").and_then(Value::as_str) == Some("oauth2");
    let is_named = is_flow || definition.contains_key("a2a:undeclared");
    definition.get("a2a:scheme").and_then(Value::as_str).filter(|_| is_named).unwrap_or(name)
}

/// Adds a scheme, or its flow to the scheme of that name.
fn merge(schemes: &mut BTreeMap<String, Scheme>, name: String, mut scheme: Scheme) {
    let Some(known) = schemes.get_mut(&name) else {
        schemes.insert(name, scheme);
        return;
    };
    if let (Some(Value::Object(flows)), Some(Value::Object(more))) =
        (known.members.get_mut("flows"), scheme.members.get_mut("flows"))
    {
        flows.append(more);
    }
}

/// The scheme of a definition; none for `nosec`, `auto` and `combo`, which no card declares.
fn scheme_of(definition: &Object) -> Result<Option<Scheme>, String> {
    let text = |name: &str| definition.get(name).and_then(Value::as_str);
    let scheme = text("scheme").unwrap_or_default();
    let mut members = kept_members(definition, scheme == "oauth2");
    let mut put = |name: &str, value: Option<&str>| members.extend(value.map(|value| (name.to_owned(), value.into())));
    let kind = match scheme {
        "nosec" | "auto" | "combo" => return Ok(None),
        "apikey" => {
            let place = text("in").unwrap_or("query");
            if text("name").is_none() {
                return Err("an API key scheme of an agent card needs a name".into());
            }
            if !PLACES.contains(&place) {
                return Err(format!("an agent card can declare API keys in header, query, or cookie, not in {place}"));
            }
            put("location", Some(place));
            put("name", text("name"));
            SchemeKind::ApiKey
        }
        "basic" | "bearer" | "digest" => {
            if text("in").is_some_and(|place| place != "header") {
                return Err(format!("A2A sends credentials of the scheme {scheme} only in a header"));
            }
            put("scheme", Some(text("a2a:scheme").unwrap_or(scheme)));
            put("bearerFormat", text("format").filter(|_| scheme == "bearer"));
            SchemeKind::Http
        }
        "oauth2" => {
            add_flow(definition, &mut members)?;
            SchemeKind::OAuth2
        }
        "a2a:http" => SchemeKind::Http,
        "a2a:openIdConnect" => SchemeKind::OpenIdConnect,
        "a2a:mutualTLS" => SchemeKind::MutualTls,
        other => return Err(format!("an agent card can't declare the scheme {other:?}")),
    };
    let siblings = definition.get("a2a:siblings").and_then(Value::as_object).cloned().unwrap_or_default();
    Ok(Some(Scheme { kind, members, siblings }))
}

/// The members that a definition keeps for a scheme.
fn kept_members(definition: &Object, is_oauth: bool) -> Object {
    let is_of_scheme = |name: &str| match name {
        "siblings" => false,
        "scheme" | "scopes" | "pkceRequired" | "flow" | "flows" => !is_oauth,
        _ => true,
    };
    let kept = definition.iter().filter_map(|(name, value)| match name.as_str() {
        "description" => Some(("description", value)),
        name => Some((name.strip_prefix("a2a:").filter(|name| is_of_scheme(name))?, value)),
    });
    kept.map(|(name, value)| (name.to_owned(), value.clone())).collect()
}

/// Adds `flows` with the flow of the definition, beside those that a TD has no words for.
fn add_flow(definition: &Object, members: &mut Object) -> Result<(), String> {
    let text = |name: &str| definition.get(name).and_then(Value::as_str);
    let object = |name: &str| definition.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
    let Some(written) = text("flow") else { return Err("the OAuth 2.0 definition has no flow".into()) };
    let Some(flow) = FLOWS.into_iter().find(|flow| td_flow(flow) == written || *flow == written) else {
        return Err(format!("an agent card can't declare the flow {written:?}"));
    };
    let mut own = object("a2a:flow");
    for (term, member) in schemes::endpoints(flow) {
        own.extend(text(term).map(|url| (member.to_owned(), url.into())));
    }
    own.extend(definition.get("a2a:pkceRequired").map(|required| ("pkceRequired".to_owned(), required.clone())));
    own.insert("scopes".into(), scopes(definition).into());
    let mut flows = object("a2a:flows");
    flows.insert(flow.into(), own.into());
    members.insert("flows".into(), flows.into());
    Ok(())
}

/// The scopes with their descriptions, as far as there are any.
fn scopes(definition: &Object) -> Object {
    let described = definition.get("a2a:scopes").and_then(Value::as_object);
    let of = |scope: &str| {
        let description = described.and_then(|described| described.get(scope)).cloned();
        (scope.to_owned(), description.unwrap_or_else(|| "".into()))
    };
    match definition.get("scopes") {
        Some(Value::String(scope)) => Object::from_iter([of(scope)]),
        Some(Value::Array(scopes)) => scopes.iter().filter_map(Value::as_str).map(of).collect(),
        _ => described.cloned().unwrap_or_default(),
    }
}
