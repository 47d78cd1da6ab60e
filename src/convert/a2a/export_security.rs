//! What a Thing requires as the requirements of an agent card and its skills.
//!
//! A form says what it requires, or the Thing does for it. What all say is the card's, what an action
//! says differently its skill's. That something is required and it isn't known what (`auto`) is passed
//! over beside what is known; a card must never be more open than its Thing.

use std::{
    cell::Cell,
    collections::{BTreeMap, HashSet},
};

use serde_json::{Map, Value};

use super::{
    Generation, MOST_ALTERNATIVES,
    export_forms::{Reach, forms_of},
    export_schemes::{card_name, declared},
    requirements::{self, Alternative},
};
use crate::td::{Path, Violation};

type Object = Map<String, Value>;

/// The most schemes of an alternative.
const MOST_TOGETHER: usize = 100;
/// The most scopes of an action.
const MOST_SCOPES: usize = 100;
/// How deep combinations may be nested.
const DEEPEST_COMBINATION: usize = 16;
/// The most names that are looked up.
const MOST_STEPS: usize = 10_000;

/// Alternatives of definitions that are needed together, or why that can't be said.
type Alternatives = Result<Vec<Vec<String>>, String>;

/// What is required of who calls.
#[derive(Debug, Clone, PartialEq)]
struct Needs {
    alternatives: Alternatives,
    scopes: Vec<String>,
}

impl Needs {
    fn is_nothing(&self) -> bool {
        self.alternatives.as_ref().is_ok_and(|alternatives| alternatives.iter().all(Vec::is_empty))
    }
}

/// What a Thing requires.
pub(super) struct Security<'t> {
    definitions: Option<&'t Object>,
    of_thing: Needs,
    of_actions: BTreeMap<&'t str, Needs>,
    /// Where forms of one action differ.
    violations: Vec<Violation>,
}

impl<'t> Security<'t> {
    /// What those forms require that a card can stand for.
    pub(super) fn of(thing: &'t Object, reach: Reach) -> Security<'t> {
        let definitions = thing.get("securityDefinitions").and_then(Value::as_object);
        let mut resolver = Resolver { definitions, steps: Cell::new(0), known: BTreeMap::new() };
        let of_root = thing.get("security").map_or_else(|| Ok(vec![Vec::new()]), |names| resolver.resolve(names));
        let mut security = Security {
            definitions,
            of_thing: Needs { alternatives: of_root.clone(), scopes: Vec::new() },
            of_actions: BTreeMap::new(),
            violations: Vec::new(),
        };
        for kind in ["actions", "events"] {
            let affordances = thing.get(kind).and_then(Value::as_object).into_iter().flatten();
            for (name, affordance) in affordances.filter_map(|(name, one)| Some((name, one.as_object()?))) {
                let mut needs: Option<Needs> = None;
                for form in forms_of(affordance).filter(|form| reach.includes(form)) {
                    let alternatives = match form.get("security") {
                        Some(names) => resolver.resolve(names),
                        None => of_root.clone(),
                    };
                    let own = Needs { alternatives, scopes: scopes(form) };
                    if *needs.get_or_insert_with(|| own.clone()) != own {
                        let message = "its forms require different things, and a card says that of a whole skill";
                        security.refuse(kind, name, message);
                        break;
                    }
                }
                match (needs, kind) {
                    (Some(needs), "actions") => drop(security.of_actions.insert(name, needs)),
                    (Some(needs), _) if needs.alternatives != of_root => {
                        security.refuse(kind, name, "an event of a card requires what the card does");
                    }
                    _ => {}
                }
            }
        }
        let shared = security.of_actions.values().filter(|needs| needs.alternatives == of_root);
        let mut seen = HashSet::new();
        let scopes = shared.flat_map(|needs| &needs.scopes).filter(|scope| seen.insert(scope.as_str()));
        security.of_thing.scopes = scopes.take(MOST_SCOPES).cloned().collect();
        security
    }

    fn refuse(&mut self, kind: &str, name: &str, message: &str) {
        let list = Path::ROOT.member(kind);
        self.violations.push(Violation::new(list.member(name).to_pointer(), "no-security-form", message));
    }

    /// The definitions that are used.
    pub(super) fn used(&self) -> HashSet<&str> {
        let all = std::iter::once(&self.of_thing).chain(self.of_actions.values());
        all.filter_map(|needs| needs.alternatives.as_ref().ok()).flatten().flatten().map(String::as_str).collect()
    }

    /// Adds the requirements to the members of a card. Those that it has already stay where the Thing of
    /// `kept`, which is the card as it was, requires the same.
    pub(super) fn add(
        mut self,
        kept: Option<&Security<'_>>,
        action_of: impl Fn(&Object) -> Option<String>,
        shape: Generation,
        members: &mut Object,
    ) -> Vec<Violation> {
        let is_kept = kept.is_some_and(|kept| kept.of_thing == self.of_thing);
        if !is_kept {
            forget(members);
        }
        // That nothing is needed goes without saying.
        if !is_kept && !self.of_thing.is_nothing() {
            let needs = self.of_thing.clone();
            self.require(&needs, &Path::ROOT.member("security"), shape, members);
        }
        let Some(Value::Array(mut skills)) = members.remove("skills") else { return self.violations };
        for skill in skills.iter_mut().filter_map(Value::as_object_mut) {
            let needs =
                action_of(skill).and_then(|action| Some((self.of_actions.get(action.as_str())?.clone(), action)));
            let Some((needs, action)) = needs else { continue };
            let was = kept.and_then(|kept| kept.of_actions.get(action.as_str()));
            let has_own = requirements::of(skill, shape).is_some();
            if was == Some(&needs) && (is_kept || has_own) {
                continue;
            }
            if needs == self.of_thing {
                forget(skill);
                continue;
            }
            let list = Path::ROOT.member("actions");
            self.require(&needs, &list.member(&action), shape, skill);
        }
        members.insert("skills".into(), skills.into());
        self.violations
    }

    /// Writes what is needed into a card or skill.
    fn require(&mut self, needs: &Needs, path: &Path<'_>, shape: Generation, owner: &mut Object) {
        forget(owner);
        match self.alternatives(needs) {
            Ok(alternatives) => {
                owner.insert(requirements::member(shape).into(), requirements::write(&alternatives, shape));
            }
            Err(message) => self.violations.push(Violation::new(path.to_pointer(), "no-security-form", message)),
        }
    }

    /// The alternatives by the names that schemes have in a card.
    fn alternatives(&self, needs: &Needs) -> Result<Vec<Alternative>, String> {
        let resolved = needs.alternatives.as_ref().map_err(String::clone)?;
        let mut alternatives: Vec<Alternative> = Vec::new();
        for names in resolved {
            let known: Alternative = names.iter().filter_map(|name| self.requirement(name, &needs.scopes)).collect();
            if (names.is_empty() || !known.is_empty()) && !alternatives.contains(&known) {
                alternatives.push(known);
            }
        }
        if alternatives.is_empty() && !resolved.is_empty() {
            return Err("something is required, but not said what (`auto`), and a card names it".into());
        }
        Ok(alternatives)
    }

    /// A scheme with the scopes that are asked for; none if it isn't known what it is.
    fn requirement(&self, name: &str, scopes: &[String]) -> Option<(String, Vec<String>)> {
        let definition = self.definitions?.get(name)?.as_object()?;
        let scheme = definition.get("scheme").and_then(Value::as_str);
        if scheme == Some("auto") && declared(definition).is_none() {
            return None;
        }
        let scopes = if matches!(scheme, Some("oauth2" | "a2a:openIdConnect")) { scopes.to_vec() } else { Vec::new() };
        Some((card_name(name, definition), scopes))
    }
}

fn forget(owner: &mut Object) {
    owner.remove("security");
    owner.remove("securityRequirements");
}

/// The scopes that a form asks for.
fn scopes(form: &Object) -> Vec<String> {
    let Some(scopes) = form.get("scopes") else { return Vec::new() };
    let several = scopes.as_array().map_or(std::slice::from_ref(scopes), Vec::as_slice);
    several.iter().filter_map(Value::as_str).take(MOST_SCOPES).map(str::to_owned).collect()
}

/// Names of definitions as alternatives of schemes that are needed together.
struct Resolver<'t> {
    definitions: Option<&'t Object>,
    /// How many names were looked up.
    steps: Cell<usize>,
    /// What was resolved already, by its JSON text.
    known: BTreeMap<String, Alternatives>,
}

impl Resolver<'_> {
    fn resolve(&mut self, names: &Value) -> Alternatives {
        let text = names.to_string();
        if let Some(known) = self.known.get(&text) {
            return known.clone();
        }
        let resolved = self.all_of(names, 0);
        self.known.insert(text, resolved.clone());
        resolved
    }

    /// What one name or all of several stand for.
    fn all_of(&self, names: &Value, depth: usize) -> Alternatives {
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

    fn one_of(&self, names: &Value, depth: usize) -> Alternatives {
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

    fn one(&self, name: &str, depth: usize) -> Alternatives {
        self.steps.set(self.steps.get() + 1);
        if depth > DEEPEST_COMBINATION || self.steps.get() > MOST_STEPS {
            return Err("combinations of schemes are nested too deep, or contain themselves".into());
        }
        let Some(Value::Object(definition)) = self.definitions.and_then(|definitions| definitions.get(name)) else {
            return Err(format!("{name:?} isn't defined in `securityDefinitions`"));
        };
        match definition.get("scheme").and_then(Value::as_str) {
            Some("nosec") => Ok(vec![Vec::new()]),
            Some("combo") => match (definition.get("oneOf"), definition.get("allOf")) {
                (Some(names), _) => self.one_of(names, depth + 1),
                (None, Some(names)) => self.all_of(names, depth + 1),
                (None, None) => Err(format!("{name:?} combines nothing")),
            },
            _ => Ok(vec![vec![name.to_owned()]]),
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
