//! The security of a Thing as schemes and requirements of an agent card.

use std::{
    cell::Cell,
    collections::{BTreeMap, HashSet},
};

use serde_json::{Map, Value, json};

use super::{
    Generation,
    requirements::{self, Alternative},
    schemes::{FLOWS, Scheme, SchemeKind},
    security::td_flow,
};
use crate::td::{Path, Violation};

type Object = Map<String, Value>;

/// The most alternatives that combinations may become.
const MOST_ALTERNATIVES: usize = 64;
/// The most schemes of an alternative.
const MOST_TOGETHER: usize = 100;
/// How deep combinations may be nested.
const DEEPEST_COMBINATION: usize = 16;
/// The most names that are looked up.
const MOST_STEPS: usize = 10_000;

/// Adds `securitySchemes` and the requirements to the members of a card.
pub(super) fn add(thing: &Object, shape: Generation, members: &mut Object, violations: &mut Vec<Violation>) {
    let nothing = Object::new();
    let definitions = thing.get("securityDefinitions").and_then(Value::as_object).unwrap_or(&nothing);
    let resolver = Resolver { definitions, steps: Cell::new(0) };
    let alternatives = match thing.get("security").map_or_else(|| Ok(Vec::new()), |names| resolver.all_of(names, 0)) {
        Ok(alternatives) => alternatives,
        Err(message) => {
            violations.push(Violation::new("/security", "no-security-form", message));
            return;
        }
    };
    let used: HashSet<&str> = alternatives.iter().flatten().map(String::as_str).collect();
    let mut schemes: BTreeMap<String, Scheme> = BTreeMap::new();
    for (name, definition) in definitions {
        let Some(definition) = definition.as_object() else { continue };
        match scheme_of(definition) {
            Ok(None) => {}
            Ok(Some(scheme)) => merge(&mut schemes, card_name(name, definition), scheme),
            // What nobody needs is left out.
            Err(message) if used.contains(name.as_str()) => {
                let list = Path::ROOT.member("securityDefinitions");
                violations.push(Violation::new(list.member(name).to_pointer(), "no-security-form", message));
            }
            Err(_) => {}
        }
    }
    if !schemes.is_empty() {
        let written: Object = schemes.into_iter().map(|(name, scheme)| (name, scheme.write(shape))).collect();
        members.insert("securitySchemes".into(), written.into());
    }
    add_requirements(thing, shape, &alternatives, members);
}

/// The requirements of the card that was, if its schemes are still there; else those of the TD.
fn add_requirements(thing: &Object, shape: Generation, alternatives: &[Vec<String>], members: &mut Object) {
    let names = members.get("securitySchemes").and_then(Value::as_object);
    let definitions = thing.get("securityDefinitions").and_then(Value::as_object);
    let is_defined = |name: &str| [names, definitions].into_iter().flatten().any(|names| names.contains_key(name));
    if let Some(kept) = requirements::of(members, shape)
        && requirements::read(kept).0.iter().flatten().all(|(name, _)| is_defined(name))
    {
        return;
    }
    members.remove("security");
    members.remove("securityRequirements");
    if alternatives.iter().all(Vec::is_empty) {
        return;
    }
    let scopes = scopes(thing);
    let of_name = |name: &String| {
        let definition = thing.get("securityDefinitions").and_then(|definitions| definitions.get(name));
        let is_oauth = definition.and_then(|definition| definition.get("scheme")) == Some(&"oauth2".into());
        (name.clone(), if is_oauth { scopes.clone() } else { Vec::new() })
    };
    let alternatives: Vec<Alternative> = alternatives.iter().map(|names| names.iter().map(of_name).collect()).collect();
    members.insert(requirements::member(shape).into(), requirements::write(&alternatives, shape));
}

/// The scopes that forms of actions ask for.
fn scopes(thing: &Object) -> Vec<String> {
    let actions = thing.get("actions").and_then(Value::as_object).into_iter().flat_map(Map::values);
    let forms = actions.filter_map(|action| action.get("forms")?.as_array()).flatten();
    let mut scopes: Vec<String> = Vec::new();
    for scope in forms.filter_map(|form| form.get("scopes")).take(1000) {
        let several = scope.as_array().map_or(std::slice::from_ref(scope), Vec::as_slice);
        for scope in several.iter().filter_map(Value::as_str).take(100) {
            if !scopes.iter().any(|known| known == scope) && scopes.len() < 100 {
                scopes.push(scope.to_owned());
            }
        }
    }
    scopes
}

/// The card's name of a definition: several flows were one scheme.
fn card_name(name: &str, definition: &Object) -> String {
    let is_flow = definition.get("scheme").and_then(Value::as_str) == Some("oauth2");
    let whole = definition.get("a2a:scheme").and_then(Value::as_str).filter(|_| is_flow);
    whole.unwrap_or(name).to_owned()
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
    let place = text("in");
    let (kind, mut members) = match scheme {
        "nosec" | "auto" | "combo" => return Ok(None),
        "apikey" => match (place.unwrap_or("query"), text("name")) {
            (place @ ("header" | "query" | "cookie"), Some(name)) => {
                (SchemeKind::ApiKey, json!({"in": place, "name": name}))
            }
            (_, None) => return Err("an API key of an agent card has a name".into()),
            (place, _) => {
                return Err(format!("an API key of an agent card is in header, query or cookie, not {place}"));
            }
        },
        "basic" | "bearer" | "digest" if place.is_none_or(|place| place == "header") => {
            let mut http = json!({"scheme": text("a2a:scheme").unwrap_or(scheme)});
            if let Some(format) = text("format") {
                http["bearerFormat"] = format.into();
            }
            (SchemeKind::Http, http)
        }
        "basic" | "bearer" | "digest" => {
            return Err(format!("credentials of the scheme {scheme} go into the header in A2A"));
        }
        "oauth2" => (SchemeKind::OAuth2, json!({"flows": flows_of(definition)?})),
        "a2a:http" => (SchemeKind::Http, json!({"scheme": text("a2a:scheme").unwrap_or_default()})),
        "a2a:openIdConnect" => (SchemeKind::OpenIdConnect, json!({})),
        "a2a:mutualTLS" => (SchemeKind::MutualTls, json!({})),
        other => return Err(format!("an agent card has no scheme {other:?}")),
    };
    if let Value::Object(members) = &mut members {
        let of_flow = kind == SchemeKind::OAuth2;
        let is_own = |name: &str| match name {
            "scheme" | "scopes" => false,
            "pkceRequired" => !of_flow,
            _ => true,
        };
        let own = definition.iter().filter_map(|(name, value)| Some((name.strip_prefix("a2a:")?, value)));
        members.extend(own.filter(|(name, _)| is_own(name)).map(|(name, value)| (name.to_owned(), value.clone())));
        if let Some(description) = definition.get("description") {
            members.insert("description".into(), description.clone());
        }
        return Ok(Some(Scheme { kind, members: std::mem::take(members) }));
    }
    Ok(None)
}

fn flows_of(definition: &Object) -> Result<Value, String> {
    let text = |name: &str| definition.get(name).and_then(Value::as_str);
    let Some(written) = text("flow") else { return Err("OAuth 2.0 without a flow".into()) };
    let Some(flow) = FLOWS.into_iter().find(|flow| td_flow(flow) == written || *flow == written) else {
        return Err(format!("an agent card has no flow {written:?}"));
    };
    let authorization = if flow == "deviceCode" { "deviceAuthorizationUrl" } else { "authorizationUrl" };
    let mut members = Object::new();
    for (term, member) in [("authorization", authorization), ("token", "tokenUrl"), ("refresh", "refreshUrl")] {
        if let Some(url) = text(term) {
            members.insert(member.into(), url.into());
        }
    }
    if let Some(required) = definition.get("a2a:pkceRequired") {
        members.insert("pkceRequired".into(), required.clone());
    }
    let scopes = match (definition.get("a2a:scopes"), definition.get("scopes")) {
        (Some(described @ Value::Object(_)), _) => described.clone(),
        (_, Some(Value::String(scope))) => json!({scope: ""}),
        (_, Some(Value::Array(scopes))) => {
            let scopes = scopes.iter().filter_map(Value::as_str);
            scopes.map(|scope| (scope.to_owned(), "".into())).collect::<Object>().into()
        }
        _ => json!({}),
    };
    members.insert("scopes".into(), scopes);
    Ok(json!({flow: members}))
}

/// Names of definitions as alternatives of schemes that are needed together.
struct Resolver<'t> {
    definitions: &'t Object,
    /// How many names were looked up.
    steps: Cell<usize>,
}

impl Resolver<'_> {
    /// What one name or all of several stand for.
    fn all_of(&self, names: &Value, depth: usize) -> Result<Vec<Vec<String>>, String> {
        let names = names.as_array().map_or(std::slice::from_ref(names), Vec::as_slice);
        let mut product: Vec<Vec<String>> = vec![Vec::new()];
        for name in names.iter().filter_map(Value::as_str) {
            let alternatives = self.one(name, depth)?;
            if product.len() * alternatives.len() > MOST_ALTERNATIVES {
                return Err(format!("more than {MOST_ALTERNATIVES} combinations of schemes"));
            }
            if product.iter().any(|names| names.len() >= MOST_TOGETHER) {
                return Err(format!("more than {MOST_TOGETHER} schemes that are needed together"));
            }
            let joined = product.iter().flat_map(|left| alternatives.iter().map(move |right| (left, right)));
            product = joined.map(|(left, right)| joined_names(left, right)).collect();
        }
        Ok(product)
    }

    fn one_of(&self, names: &Value, depth: usize) -> Result<Vec<Vec<String>>, String> {
        let mut union: Vec<Vec<String>> = Vec::new();
        for name in names.as_array().into_iter().flatten().filter_map(Value::as_str) {
            for alternative in self.one(name, depth)? {
                if !union.contains(&alternative) {
                    union.push(alternative);
                }
            }
            if union.len() > MOST_ALTERNATIVES {
                return Err(format!("more than {MOST_ALTERNATIVES} alternatives"));
            }
        }
        Ok(union)
    }

    fn one(&self, name: &str, depth: usize) -> Result<Vec<Vec<String>>, String> {
        self.steps.set(self.steps.get() + 1);
        if depth > DEEPEST_COMBINATION || self.steps.get() > MOST_STEPS {
            return Err("combinations of schemes are nested too deep, or contain themselves".into());
        }
        let Some(Value::Object(definition)) = self.definitions.get(name) else {
            return Err(format!("{name:?} isn't defined in `securityDefinitions`"));
        };
        match definition.get("scheme").and_then(Value::as_str) {
            Some("nosec" | "auto") => Ok(vec![Vec::new()]),
            Some("combo") => match (definition.get("oneOf"), definition.get("allOf")) {
                (Some(names), _) => self.one_of(names, depth + 1),
                (None, Some(names)) => self.all_of(names, depth + 1),
                (None, None) => Err(format!("{name:?} combines nothing")),
            },
            _ => Ok(vec![vec![card_name(name, definition)]]),
        }
    }
}

fn joined_names(left: &[String], right: &[String]) -> Vec<String> {
    let mut names = left.to_vec();
    for name in right {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}
