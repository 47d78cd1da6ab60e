//! Conversion of a card's security schemes and requirements to security definitions of a TD.
//!
//! Each scheme becomes a definition with the same name. A scheme with several OAuth 2.0 flows becomes a `combo` of a
//! definition for each flow. Schemes that are required together become a `combo` with `allOf`, alternatives a `combo`
//! with `oneOf`, and an alternative without schemes `nosec`.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::{
    Card,
    definition::{Defined, define},
    requirements::{self, Alternative, Requirements},
};
use crate::{mcp_server::authentication_requirement, shape::Findings, td::internal::Path};

type Object = Map<String, Value>;

/// Maximum number of scopes that a form requires.
const MAX_SCOPES: usize = 100;

/// Security of a Thing or a form.
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
    /// The definitions of the schemes of a card; `base` is where it is from.
    pub(super) fn of(card: &'f Card, base: Option<&str>, findings: &'f mut Findings) -> Definitions<'f> {
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
            let Some(scheme) = scheme.as_object() else { continue };
            match define(scheme, base, &list.member(name), own.findings) {
                Defined::One(definition) => drop(own.definitions.insert(name.clone(), definition.into())),
                Defined::Flows(flows) => own.offer(name, flows),
            }
        }
        own
    }

    /// A scheme with several flows offers a definition for each.
    fn offer(&mut self, name: &str, flows: Vec<(&'static str, Object)>) {
        let mut names = Vec::new();
        for (flow, mut definition) in flows {
            definition.insert("a2a:scheme".into(), name.into());
            let own = self.free_name(format!("{name}_{flow}"));
            self.definitions.insert(own.clone(), definition.into());
            names.push(own);
        }
        self.definitions.insert(name.to_owned(), json!({"scheme": "combo", "oneOf": names}));
    }

    /// Returns the security of the Thing itself, made of the card's requirements: `nosec` if the card declares nothing,
    /// or says that callers need no credentials, and `auto` if it doesn't tell what it requires.
    pub(super) fn of_card(&mut self, card: &Card) -> Security {
        let path = Path::ROOT.member(requirements::member(card.generation()));
        let Requirements { alternatives, unread, .. } = requirements::of(card.members());
        self.count_unread(unread, &path);
        if !alternatives.is_empty() {
            return self.require(&alternatives, &path);
        }
        if unread > 0 {
            return self.open();
        }
        // Cards before version 0.2, and private ones, have it in a member of its own.
        let declared = authentication_requirement(card.members());
        let (place, message) = match declared {
            Some((_, false)) => return self.nothing(),
            _ if !self.definitions.is_empty() => ("securitySchemes", "security schemes are declared, but not required"),
            Some((member, true)) => {
                (member, "A2A versions since 0.2 don't define this member, so the required credentials are unknown")
            }
            None => return self.nothing(),
        };
        self.findings.add(&Path::ROOT.member(place), "security-open", || {
            format!("{message}; the Thing Description uses the scheme `auto`")
        });
        self.open()
    }

    /// Returns the security of an agent that asks for nothing: `nosec`.
    fn nothing(&mut self) -> Security {
        Security { names: self.named("nosec_sc", json!({"scheme": "nosec"})).into(), scopes: Vec::new() }
    }

    /// Returns the security of an agent whose requirements are unknown: `auto`.
    fn open(&mut self) -> Security {
        Security { names: self.named("auto_sc", json!({"scheme": "auto"})).into(), scopes: Vec::new() }
    }

    /// Returns the security of a skill, if it has readable requirements of its own.
    pub(super) fn of_skill(&mut self, card: &Card, skill: &Object, path: &Path<'_>) -> Option<Security> {
        let Requirements { alternatives, unread, .. } = requirements::of(skill);
        let path = path.member(requirements::member(card.generation()));
        self.count_unread(unread, &path);
        (!alternatives.is_empty()).then(|| self.require(&alternatives, &path))
    }

    pub(super) fn findings(&mut self) -> &mut Findings {
        self.findings
    }

    pub(super) fn finish(self) -> Object {
        self.definitions
    }

    fn count_unread(&mut self, unread: usize, path: &Path<'_>) {
        if unread > 0 {
            self.findings.add(path, "requirement", || {
                format!("unreadable security requirements are ignored (number: {unread})")
            });
        }
    }

    fn require(&mut self, alternatives: &[Alternative], path: &Path<'_>) -> Security {
        let mut known = HashSet::new();
        let scopes = alternatives.iter().flatten().flat_map(|(_, scopes)| scopes);
        let mut scopes: Vec<String> = scopes.filter(|scope| known.insert(*scope)).cloned().collect();
        if scopes.len() > MAX_SCOPES {
            let unread = scopes.split_off(MAX_SCOPES).len();
            self.findings.add(path, "requirement", || {
                format!("only the first {MAX_SCOPES} scopes are used; {unread} are left out")
            });
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
        self.findings.add(path, "security-undefined", || format!("{name:?} is not declared in `securitySchemes`"));
        let own = self.free_name(name.to_owned());
        let description = "required, but not declared by the agent card";
        let mut definition = json!({"scheme": "auto", "description": description, "a2a:undeclared": true});
        if own != name {
            definition["a2a:scheme"] = name.into();
        }
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
}
