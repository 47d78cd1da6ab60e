//! Security schemes and requirements of a card as the security definitions of a TD.
//!
//! Each scheme is a definition of its own name; one with several OAuth 2.0 flows is the `combo` that
//! offers a definition for each. Schemes that are needed together are a `combo` with `allOf`,
//! alternatives one with `oneOf`, an alternative without schemes is `nosec`.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::{
    Card,
    reference::web_url,
    requirements::{self, Alternative},
    schemes::{Scheme, SchemeKind},
};
use crate::{convert::shape::Findings, td::Path};

type Object = Map<String, Value>;

/// What a Thing or form says of security.
#[derive(Debug, Clone)]
pub(super) struct Security {
    /// The value of `security`.
    pub(super) names: Value,
    /// The scopes that are asked for.
    pub(super) scopes: Vec<String>,
}

/// The definitions, while requirements are turned into names.
pub(super) struct Definitions<'f> {
    definitions: Object,
    /// Combinations that are there already, by their members.
    combinations: HashMap<(&'static str, Vec<String>), String>,
    /// The schemes of the card, whose definitions have their names.
    declared: Option<&'f Object>,
    /// The names of schemes that are required, but not declared, and those of their definitions.
    undeclared: HashMap<String, String>,
    findings: &'f mut Findings,
}

impl<'f> Definitions<'f> {
    /// The definitions of the schemes of a card.
    pub(super) fn of(card: &'f Card, findings: &'f mut Findings) -> Definitions<'f> {
        let declared = card.members().get("securitySchemes").and_then(Value::as_object);
        let mut own = Definitions {
            definitions: Object::new(),
            combinations: HashMap::new(),
            declared,
            undeclared: HashMap::new(),
            findings,
        };
        for (name, scheme) in declared.into_iter().flatten() {
            let list = Path::ROOT.member("securitySchemes");
            let path = list.member(name);
            match scheme.as_object().and_then(Scheme::read) {
                Some(scheme) => own.define(name, &scheme, &path),
                None => {
                    let message = "the scheme is of no known kind; the definition leaves it open";
                    own.findings.add(&path, "scheme-unknown", || message.into());
                    own.definitions.insert(name.clone(), json!({"scheme": "auto"}));
                }
            }
        }
        own
    }

    /// What the Thing itself requires.
    pub(super) fn of_card(&mut self, card: &Card) -> Security {
        if let Some(found) = requirements::of(card.members(), card.generation()) {
            let place = requirements::member(card.generation());
            let (alternatives, unread) = requirements::read(found);
            self.count_unread(unread, &Path::ROOT.member(place));
            if !alternatives.is_empty() {
                return self.require(&alternatives, &Path::ROOT.member(place));
            }
            if unread > 0 {
                return self.open();
            }
        }
        let (rule, place, message) = if !self.definitions.is_empty() {
            ("security-open", "securitySchemes", "there are schemes, but nothing says that they are required")
        } else if card.members().contains_key("authentication") {
            ("security-open", "authentication", "schemes are declared as they were before 0.2, by name only")
        } else {
            return Security { names: self.named("nosec_sc", json!({"scheme": "nosec"})).into(), scopes: Vec::new() };
        };
        self.findings.add(&Path::ROOT.member(place), rule, || format!("{message}; the description leaves it open"));
        self.open()
    }

    /// What is required is not known.
    fn open(&mut self) -> Security {
        Security { names: self.named("auto_sc", json!({"scheme": "auto"})).into(), scopes: Vec::new() }
    }

    /// What a skill requires, if it says so.
    pub(super) fn of_skill(&mut self, card: &Card, skill: &Object, path: &Path<'_>) -> Option<Security> {
        let (alternatives, unread) = requirements::read(requirements::of(skill, card.generation())?);
        let path = path.member(requirements::member(card.generation()));
        self.count_unread(unread, &path);
        (!alternatives.is_empty()).then(|| self.require(&alternatives, &path))
    }

    pub(super) fn finish(self) -> Object {
        self.definitions
    }

    fn count_unread(&mut self, unread: usize, path: &Path<'_>) {
        if unread > 0 {
            self.findings
                .add(path, "requirement", || format!("{unread} requirements are no objects and are passed over"));
        }
    }

    fn require(&mut self, alternatives: &[Alternative], path: &Path<'_>) -> Security {
        let mut scopes: Vec<String> = Vec::new();
        for scope in alternatives.iter().flatten().flat_map(|(_, scopes)| scopes).take(100) {
            if !scopes.contains(scope) {
                scopes.push(scope.clone());
            }
        }
        let alternatives: Vec<Vec<String>> = alternatives
            .iter()
            .map(|alternative| alternative.iter().map(|(name, _)| self.definition_of(name, path)).collect())
            .collect();
        let names = match alternatives.as_slice() {
            [one] if one.len() > 1 => one.iter().map(String::as_str).collect(),
            several => {
                let mut seen = HashSet::new();
                let options = several.iter().map(|names| self.all_of(names));
                let options = options.filter(|name| seen.insert(name.clone())).collect();
                self.one_of(options).into()
            }
        };
        Security { names, scopes }
    }

    /// The name of the definition of a scheme that is required.
    fn definition_of(&mut self, name: &str, path: &Path<'_>) -> String {
        if self.is_declared(name) {
            return name.to_owned();
        }
        if let Some(known) = self.undeclared.get(name) {
            return known.clone();
        }
        self.findings.add(path, "security-undefined", || format!("{name:?} isn't among `securitySchemes`"));
        let own = self.free_name(name.to_owned());
        let definition = json!({"scheme": "auto", "description": "required, but not declared by the agent card"});
        self.definitions.insert(own.clone(), definition);
        self.undeclared.insert(name.to_owned(), own.clone());
        own
    }

    fn is_declared(&self, name: &str) -> bool {
        self.declared.is_some_and(|declared| declared.contains_key(name))
    }

    fn all_of(&mut self, names: &[String]) -> String {
        match names {
            [] => self.named("nosec_sc", json!({"scheme": "nosec"})),
            [name] => name.clone(),
            several => self.combine("allOf", several.to_vec()),
        }
    }

    fn one_of(&mut self, mut names: Vec<String>) -> String {
        match names.len() {
            1 => names.remove(0),
            _ => self.combine("oneOf", names),
        }
    }

    fn combine(&mut self, kind: &'static str, names: Vec<String>) -> String {
        let key = (kind, names);
        if let Some(known) = self.combinations.get(&key) {
            return known.clone();
        }
        let prefix = if kind == "allOf" { "all_of" } else { "one_of" };
        let number = self.combinations.len() + 1;
        let name = self.free_name(format!("{prefix}_{number}"));
        self.definitions.insert(name.clone(), json!({"scheme": "combo", kind: key.1}));
        self.combinations.insert(key, name.clone());
        name
    }

    /// The name under which this definition is, put there if need be.
    fn named(&mut self, name: &str, definition: Value) -> String {
        if self.definitions.get(name) == Some(&definition) {
            return name.to_owned();
        }
        let name = self.free_name(name.to_owned());
        self.definitions.insert(name.clone(), definition);
        name
    }

    fn free_name(&self, mut name: String) -> String {
        while self.definitions.contains_key(&name) || self.is_declared(&name) {
            name.push('_');
        }
        name
    }

    fn define(&mut self, name: &str, scheme: &Scheme, path: &Path<'_>) {
        let mut definition = Object::new();
        if let Some(description) = scheme.text("description") {
            definition.insert("description".into(), description.into());
        }
        match scheme.kind {
            SchemeKind::ApiKey => self.define_api_key(&mut definition, scheme, path),
            SchemeKind::Http => define_http(&mut definition, scheme),
            SchemeKind::OAuth2 => return self.define_oauth2(name, definition, scheme, path),
            SchemeKind::OpenIdConnect => {
                definition.insert("scheme".into(), "a2a:openIdConnect".into());
                let member = "openIdConnectUrl";
                self.put_url(&mut definition, "a2a:openIdConnectUrl", scheme.text(member), &path.member(member));
            }
            SchemeKind::MutualTls => {
                definition.insert("scheme".into(), "a2a:mutualTLS".into());
            }
        }
        const PLACED: [&str; 8] =
            ["description", "in", "name", "scheme", "bearerFormat", "flows", "openIdConnectUrl", "oauth2MetadataUrl"];
        keep_rest(&mut definition, &scheme.members, &PLACED);
        self.definitions.insert(name.to_owned(), definition.into());
    }

    fn define_api_key(&mut self, definition: &mut Object, scheme: &Scheme, path: &Path<'_>) {
        definition.insert("scheme".into(), "apikey".into());
        let place = match scheme.text("in").map(str::to_ascii_lowercase).as_deref() {
            Some("header") => "header",
            Some("query") => "query",
            Some("cookie") => "cookie",
            _ => {
                let message = "an API key is in header, query or cookie; the definition leaves it open";
                self.findings.add(path, "scheme-location", || message.into());
                "auto"
            }
        };
        definition.insert("in".into(), place.into());
        if let Some(name) = scheme.text("name") {
            definition.insert("name".into(), name.into());
        } else {
            let message = "an API key is sent under a name; the definition leaves it open";
            self.findings.add(path, "scheme-name", || message.into());
        }
    }

    fn define_oauth2(&mut self, name: &str, mut definition: Object, scheme: &Scheme, path: &Path<'_>) {
        definition.insert("scheme".into(), "oauth2".into());
        let metadata = "oauth2MetadataUrl";
        self.put_url(&mut definition, "a2a:oauth2MetadataUrl", scheme.text(metadata), &path.member(metadata));
        keep_rest(&mut definition, &scheme.members, &["description", "flows", metadata]);
        let flows: Vec<_> = scheme.flows().collect();
        let path = path.member("flows");
        let names: Vec<String> = match flows.as_slice() {
            [] => {
                self.findings.add(&path, "scheme-flows", || "OAuth 2.0 without any flow that is known".into());
                self.definitions.insert(name.to_owned(), definition.into());
                return;
            }
            [(flow, members)] => {
                self.put_flow(&mut definition, flow, members, &path);
                self.definitions.insert(name.to_owned(), definition.into());
                return;
            }
            several => several
                .iter()
                .map(|(flow, members)| {
                    let mut definition = definition.clone();
                    definition.insert("a2a:scheme".into(), name.into());
                    self.put_flow(&mut definition, flow, members, &path);
                    let name = self.free_name(format!("{name}_{flow}"));
                    self.definitions.insert(name.clone(), definition.into());
                    name
                })
                .collect(),
        };
        self.definitions.insert(name.to_owned(), json!({"scheme": "combo", "oneOf": names}));
    }

    fn put_flow(&mut self, definition: &mut Object, flow: &'static str, members: &Object, path: &Path<'_>) {
        let path = path.member(flow);
        definition.insert("flow".into(), td_flow(flow).into());
        let authorization = if flow == "deviceCode" { "deviceAuthorizationUrl" } else { "authorizationUrl" };
        for (term, member) in [("authorization", authorization), ("token", "tokenUrl"), ("refresh", "refreshUrl")] {
            let url = members.get(member).and_then(Value::as_str);
            self.put_url(definition, term, url, &path.member(member));
        }
        if let Some(scopes @ Value::Object(described)) = members.get("scopes") {
            definition.insert("scopes".into(), described.keys().map(String::as_str).collect());
            definition.insert("a2a:scopes".into(), scopes.clone());
        }
        keep_rest(definition, members, &[authorization, "tokenUrl", "refreshUrl", "scopes"]);
    }

    /// An endpoint that a client may send a person or secrets to.
    fn put_url(&mut self, definition: &mut Object, term: &str, url: Option<&str>, path: &Path<'_>) {
        let Some(url) = url else { return };
        match web_url(url, None) {
            Ok(url) => {
                definition.insert(term.into(), url.into());
            }
            Err(unusable) => {
                let warning = unusable.warning(path, url, "the definition leaves it out");
                self.findings.add(path, unusable.rule(), || warning.message);
            }
        }
    }
}

fn define_http(definition: &mut Object, scheme: &Scheme) {
    let name = scheme.text("scheme").unwrap_or("bearer");
    match name.to_ascii_lowercase().as_str() {
        known @ ("basic" | "bearer" | "digest") => {
            definition.insert("scheme".into(), known.into());
            definition.insert("in".into(), "header".into());
            if known != name {
                definition.insert("a2a:scheme".into(), name.into());
            }
        }
        _ => {
            definition.insert("scheme".into(), "a2a:http".into());
            definition.insert("a2a:scheme".into(), name.into());
        }
    }
    if let Some(format) = scheme.text("bearerFormat") {
        definition.insert("format".into(), format.into());
    }
}

/// The name of a flow in a TD.
pub(super) fn td_flow(flow: &'static str) -> &'static str {
    match flow {
        "authorizationCode" => "code",
        "clientCredentials" => "client",
        "deviceCode" => "device",
        "implicit" => "a2a:implicit",
        "password" => "a2a:password",
        other => other,
    }
}

/// Members that have no place in a TD, with our prefix.
fn keep_rest(definition: &mut Object, members: &Object, placed: &[&str]) {
    for (name, value) in members.iter().filter(|(name, _)| !placed.contains(&name.as_str())) {
        definition.entry(format!("a2a:{name}")).or_insert_with(|| value.clone());
    }
}
