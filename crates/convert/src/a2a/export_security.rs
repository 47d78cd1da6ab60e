//! Conversion of a Thing's security to the requirements of an agent card and its skills.
//!
//! Each form has its own security requirements, or else those of the Thing. Requirements shared by all forms become the
//! requirements of the card, and different requirements of an action become those of its skill. The scheme `auto` (some
//! security, but it is unknown which) is omitted if there are other schemes. A card must never be less restrictive than
//! its Thing.
//!
//! Any caller can request a card, and combinations of combinations grow quickly. Therefore the requirements are
//! expanded only once for all forms that share them, and only up to [`MOST_WORK`].

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    rc::Rc,
};

use serde_json::{Map, Value};

use super::{
    Generation, MOST_ALTERNATIVES,
    export_forms::{Reach, forms_of},
    export_schemes::{card_name, declared},
    requirements::{self, Alternative},
};
use crate::td::{Violation, internal::Path};

type Object = Map<String, Value>;

/// The most schemes of an alternative.
const MOST_TOGETHER: usize = 100;
/// The most scopes of an action.
const MOST_SCOPES: usize = 100;
/// Maximum nesting depth of combinations.
const DEEPEST_COMBINATION: usize = 16;
/// The most names of schemes that are joined or compared while combinations are expanded.
const MOST_WORK: usize = 100_000;
/// The most names of schemes and scopes that the requirements of a card and its skills have together.
const MOST_WRITTEN: usize = 20_000;

/// Definitions that are needed together, by their numbers, as alternatives.
type Names = Vec<Vec<u32>>;
/// The alternatives, or why they can't be said.
type Alternatives = Result<Rc<Names>, String>;

/// Security requirements of a Thing or an affordance.
#[derive(Debug, Clone, PartialEq)]
struct Needs<'t> {
    /// Index into `Resolver::distinct`.
    alternatives: usize,
    scopes: Vec<&'t str>,
}

/// Security requirements of a Thing and its actions.
pub(super) struct ThingSecurity<'t> {
    resolver: Resolver<'t>,
    of_thing: Needs<'t>,
    of_actions: BTreeMap<&'t str, Needs<'t>>,
    /// Number of names in the requirements written so far; the limit is [`MOST_WRITTEN`].
    written: usize,
    /// Requirements that a card can't express: forms of one affordance that differ, events that differ from the Thing,
    /// combinations beyond a limit, and unknown schemes.
    violations: Vec<Violation>,
}

impl<'t> ThingSecurity<'t> {
    /// Collects the requirements of those forms that a card can represent.
    pub(super) fn of(thing: &'t Object, reach: Reach) -> ThingSecurity<'t> {
        let mut resolver = Resolver::of(thing.get("securityDefinitions").and_then(Value::as_object));
        let of_root = match thing.get("security") {
            Some(names) => resolver.resolve(names),
            None => resolver.index(Ok(Rc::new(vec![Vec::new()]))),
        };
        let of_thing = Needs { alternatives: of_root, scopes: Vec::new() };
        let mut security =
            ThingSecurity { resolver, of_thing, of_actions: BTreeMap::new(), written: 0, violations: Vec::new() };
        for kind in ["actions", "events"] {
            let affordances = thing.get(kind).and_then(Value::as_object).into_iter().flatten();
            for (name, affordance) in affordances.filter_map(|(name, one)| Some((name, one.as_object()?))) {
                let mut needs: Option<Needs<'_>> = None;
                for form in forms_of(affordance).filter(|form| reach.includes(form)) {
                    let names = form.get("security");
                    let alternatives = names.map_or(of_root, |names| security.resolver.resolve(names));
                    let own = Needs { alternatives, scopes: scopes(form) };
                    if *needs.get_or_insert_with(|| own.clone()) != own {
                        let message = "its forms have different security requirements, but a card can \
                            only declare requirements for a whole skill";
                        security.refuse(kind, name, message);
                        break;
                    }
                }
                match (needs, kind) {
                    (Some(needs), "actions") => drop(security.of_actions.insert(name, needs)),
                    (Some(needs), _) if needs.alternatives != of_root => {
                        security.refuse(
                            kind,
                            name,
                            "its security requirements differ from the card's, but a card \
                            can't declare requirements for an event",
                        );
                    }
                    _ => {}
                }
            }
        }
        let shared = security.of_actions.values().filter(|needs| needs.alternatives == of_root);
        let mut seen = HashSet::new();
        let scopes = shared.flat_map(|needs| &needs.scopes).copied().filter(|scope| seen.insert(*scope));
        security.of_thing.scopes = scopes.take(MOST_SCOPES).collect();
        security
    }

    fn refuse(&mut self, kind: &str, name: &str, message: &str) {
        let list = Path::ROOT.member(kind);
        self.violations.push(Violation::new(list.member(name).to_pointer(), "no-security-form", message));
    }

    /// The definitions that are used.
    pub(super) fn used(&self) -> HashSet<&'t str> {
        let known = self.resolver.distinct.iter().filter_map(|alternatives| alternatives.as_ref().ok());
        known.flat_map(|alternatives| alternatives.iter().flatten()).map(|number| self.resolver.name(*number)).collect()
    }

    /// Writes the requirements into the members of a card, but for what it `states` already: itself, and skills
    /// of these actions.
    pub(super) fn add(
        mut self,
        states: Option<&Object>,
        action_of: impl Fn(&Object) -> Option<String>,
        card: &mut Object,
    ) -> Vec<Violation> {
        let needs = self.of_thing.clone();
        if states.is_none() {
            forget(card);
            // That nothing is needed goes without saying.
            if !self.resolver.is_nothing(needs.alternatives) {
                self.require(&needs, &Path::ROOT.member("security"), card);
            }
        }
        let skills = card.get_mut("skills").and_then(Value::as_array_mut).into_iter().flatten();
        for skill in skills.filter_map(Value::as_object_mut) {
            let Some(action) = action_of(skill) else { continue };
            let Some(needs) = self.of_actions.get(action.as_str()).cloned() else { continue };
            if states.is_some_and(|actions| actions.contains_key(&action)) {
                continue;
            }
            forget(skill);
            if needs != self.of_thing || states.is_some() {
                let list = Path::ROOT.member("actions");
                self.require(&needs, &list.member(&action), skill);
            }
        }
        self.violations
    }

    /// Writes what is needed into a card or skill.
    fn require(&mut self, needs: &Needs<'_>, path: &Path<'_>, owner: &mut Object) {
        match self.alternatives(needs) {
            Ok(alternatives) => {
                let written = requirements::write(&alternatives, Generation::V1);
                owner.insert(requirements::member(Generation::V1).into(), written);
            }
            Err(message) => self.violations.push(Violation::new(path.to_pointer(), "no-security-form", message)),
        }
    }

    /// The alternatives by the names that schemes have in a card.
    fn alternatives(&mut self, needs: &Needs<'_>) -> Result<Vec<Alternative>, String> {
        let resolved = self.resolver.distinct.get(needs.alternatives).cloned().unwrap_or_else(|| Ok(Rc::default()))?;
        self.written += resolved.iter().map(|names| 1 + names.len() * (1 + needs.scopes.len())).sum::<usize>();
        if self.written > MOST_WRITTEN {
            return Err(format!(
                "the security requirements of all skills together contain more than {MOST_WRITTEN} names"
            ));
        }
        let mut alternatives = Vec::new();
        let mut seen = HashSet::new();
        for names in resolved.iter() {
            let known = names.iter().filter_map(|number| self.resolver.requirement(self.resolver.name(*number)));
            let known: Vec<(&str, bool)> = known.collect();
            if (names.is_empty() || !known.is_empty()) && seen.insert(known.clone()) {
                let scopes = || needs.scopes.iter().map(|&scope| scope.to_owned()).collect();
                let with_scopes = |(name, has_scopes): (&str, bool)| {
                    (name.to_owned(), if has_scopes { scopes() } else { Vec::new() })
                };
                alternatives.push(known.into_iter().map(with_scopes).collect());
            }
        }
        if alternatives.is_empty() && !resolved.is_empty() {
            return Err(
                "the scheme is `auto`, but a card must name the actual scheme; replace `auto` in `securityDefinitions`"
                    .into(),
            );
        }
        Ok(alternatives)
    }
}

fn forget(owner: &mut Object) {
    owner.remove("security");
    owner.remove("securityRequirements");
}

/// The scopes that a form asks for.
fn scopes(form: &Object) -> Vec<&str> {
    let Some(scopes) = form.get("scopes") else { return Vec::new() };
    let several = scopes.as_array().map_or(std::slice::from_ref(scopes), Vec::as_slice);
    several.iter().filter_map(Value::as_str).take(MOST_SCOPES).collect()
}

/// Names of definitions as alternatives of schemes that are needed together, each expanded once.
struct Resolver<'t> {
    definitions: Option<&'t Object>,
    /// Number of names joined or compared so far; the limit is [`MOST_WORK`].
    work: usize,
    /// Index into `distinct` of each value of `security`, keyed by its JSON text.
    by_names: HashMap<String, usize>,
    of_combinations: HashMap<&'t str, Alternatives>,
    distinct: Vec<Alternatives>,
    indexes: HashMap<Alternatives, usize>,
    /// The names of definitions that are no combinations, and their numbers.
    names: Vec<&'t str>,
    numbers: HashMap<&'t str, u32>,
}

impl<'t> Resolver<'t> {
    fn of(definitions: Option<&'t Object>) -> Resolver<'t> {
        Resolver {
            definitions,
            work: 0,
            by_names: HashMap::new(),
            of_combinations: HashMap::new(),
            distinct: Vec::new(),
            indexes: HashMap::new(),
            names: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    fn number(&mut self, name: &'t str) -> u32 {
        let next = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry(name).or_insert(next);
        if number == next {
            self.names.push(name);
        }
        number
    }

    fn name(&self, number: u32) -> &'t str {
        self.names.get(number as usize).copied().unwrap_or_default()
    }

    fn resolve(&mut self, names: &'t Value) -> usize {
        let text = names.to_string();
        if let Some(&known) = self.by_names.get(&text) {
            return known;
        }
        let resolved = self.all_of(names, 0);
        let index = self.index(resolved);
        self.by_names.insert(text, index);
        index
    }

    fn index(&mut self, alternatives: Alternatives) -> usize {
        if let Some(&known) = self.indexes.get(&alternatives) {
            return known;
        }
        let index = self.distinct.len();
        self.distinct.push(alternatives.clone());
        self.indexes.insert(alternatives, index);
        index
    }

    fn is_nothing(&self, index: usize) -> bool {
        let known = self.distinct.get(index).and_then(|alternatives| alternatives.as_ref().ok());
        known.is_some_and(|alternatives| alternatives.iter().all(Vec::is_empty))
    }

    /// The name of a scheme in a card, and whether scopes are asked for; none if it isn't known what it is.
    fn requirement(&self, name: &'t str) -> Option<(&'t str, bool)> {
        let definition = self.definitions?.get(name)?.as_object()?;
        let scheme = definition.get("scheme").and_then(Value::as_str);
        let is_named = || declared(definition).is_some() || definition.contains_key("a2a:undeclared");
        if scheme == Some("auto") && !is_named() {
            return None;
        }
        Some((card_name(name, definition), matches!(scheme, Some("oauth2" | "a2a:openIdConnect"))))
    }

    fn charge(&mut self, work: usize) -> Result<(), String> {
        self.work += work;
        match self.work > MOST_WORK {
            true => Err("there are too many combinations of schemes".into()),
            false => Ok(()),
        }
    }

    /// Expands a name, or a list of names that are needed together, to its alternatives.
    fn all_of(&mut self, names: &'t Value, depth: usize) -> Alternatives {
        let names = names.as_array().map_or(std::slice::from_ref(names), Vec::as_slice);
        if let [Value::String(name)] = names {
            return self.one(name, depth);
        }
        let mut product: Names = vec![Vec::new()];
        for name in names.iter().filter_map(Value::as_str) {
            let alternatives = self.one(name, depth)?;
            if product.len() * alternatives.len() > MOST_ALTERNATIVES.max(alternatives.len()) {
                return Err(format!("there are more than {MOST_ALTERNATIVES} combinations of schemes"));
            }
            let copied = if alternatives.len() > 1 { product.iter().map(Vec::len).sum::<usize>() } else { 0 };
            let joined = alternatives.iter().map(|right| 1 + right.len()).sum::<usize>();
            self.charge(alternatives.len() * copied + product.len() * joined)?;
            product = match alternatives.as_slice() {
                [one] => {
                    product.iter_mut().for_each(|left| join(left, one));
                    product
                }
                several => {
                    let pairs = product.iter().flat_map(|left| several.iter().map(move |right| (left, right)));
                    pairs.map(|(left, right)| joined_names(left, right)).collect()
                }
            };
            if product.iter().any(|names| names.len() > MOST_TOGETHER) {
                return Err(format!("more than {MOST_TOGETHER} schemes are required together"));
            }
        }
        Ok(Rc::new(product))
    }

    fn one_of(&mut self, names: &'t Value, depth: usize) -> Alternatives {
        let mut seen = HashSet::new();
        let mut union: Names = Vec::new();
        for name in names.as_array().into_iter().flatten().filter_map(Value::as_str) {
            let alternatives = self.one(name, depth)?;
            self.charge(alternatives.iter().map(|names| 1 + names.len()).sum())?;
            union.extend(alternatives.iter().filter(|&names| seen.insert(names.clone())).cloned());
        }
        Ok(Rc::new(union))
    }

    fn one(&mut self, name: &'t str, depth: usize) -> Alternatives {
        self.charge(1)?;
        if depth > DEEPEST_COMBINATION {
            return Err("combinations of schemes are nested too deeply, or contain themselves".into());
        }
        if let Some(known) = self.of_combinations.get(name) {
            return known.clone();
        }
        let Some(Value::Object(definition)) = self.definitions.and_then(|definitions| definitions.get(name)) else {
            return Err(format!("{name:?} isn't defined in `securityDefinitions`"));
        };
        match definition.get("scheme").and_then(Value::as_str) {
            Some("nosec") => Ok(Rc::new(vec![Vec::new()])),
            Some("combo") => {
                let resolved = match (definition.get("oneOf"), definition.get("allOf")) {
                    (Some(names), _) => self.one_of(names, depth + 1),
                    (None, Some(names)) => self.all_of(names, depth + 1),
                    (None, None) => Err(format!("{name:?} needs `oneOf` or `allOf`")),
                };
                self.of_combinations.insert(name, resolved.clone());
                resolved
            }
            _ => Ok(Rc::new(vec![vec![self.number(name)]])),
        }
    }
}

fn join(names: &mut Vec<u32>, more: &[u32]) {
    for name in more {
        if !names.contains(name) {
            names.push(*name);
        }
    }
}

fn joined_names(left: &[u32], right: &[u32]) -> Vec<u32> {
    let mut names = left.to_vec();
    join(&mut names, right);
    names
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A Thing whose `security` stands for 64 alternatives of 100 schemes each, with this number of forms.
    fn thing(forms: usize, form: impl Fn(usize) -> Value) -> Object {
        let mut definitions: Object =
            (0..100).map(|n| (format!("k{n}"), json!({"scheme": "apikey", "name": format!("K{n}")}))).collect();
        let all: Vec<String> = (0..100).map(|n| format!("k{n}")).collect();
        for n in 0..64 {
            let mut names = all.clone();
            names.rotate_left(n);
            definitions.insert(format!("all{n}"), json!({"scheme": "combo", "allOf": names}));
        }
        let any: Vec<String> = (0..64).map(|n| format!("all{n}")).collect();
        definitions.insert("any".into(), json!({"scheme": "combo", "oneOf": any}));
        definitions.insert("same".into(), json!({"scheme": "combo", "oneOf": ["any"]}));
        let forms: Vec<Value> = (0..forms).map(form).collect();
        let thing = json!({"securityDefinitions": definitions, "security": "any", "actions": {"a": {"forms": forms}}});
        thing.as_object().cloned().unwrap_or_default()
    }

    fn form(security: &str) -> Value {
        json!({"href": "https://x.example", "subprotocol": "a2a", "security": security})
    }

    #[test]
    fn forms_that_require_the_same_are_expanded_once() {
        let few = ThingSecurity::of(&thing(1, |_| form("any")), Reach::A2a).resolver.work;
        let thing = thing(12_000, |number| form(if number % 2 == 0 { "any" } else { "same" }));
        let security = ThingSecurity::of(&thing, Reach::A2a);
        assert!(security.violations.is_empty(), "{:?}", security.violations);
        assert!(few < 40_000 && security.resolver.work < few + 10_000, "{few}, {}", security.resolver.work);
        assert_eq!(security.resolver.distinct.len(), 1);
    }

    #[test]
    fn combinations_that_are_too_many_end_the_work() {
        let mut thing = thing(12_000, |number| form(&format!("c{number}")));
        if let Some(Value::Object(definitions)) = thing.get_mut("securityDefinitions") {
            definitions.extend(
                (0..12_000).map(|n| (format!("c{n}"), json!({"scheme": "combo", "allOf": ["any", format!("k{n}")]}))),
            );
        }
        let security = ThingSecurity::of(&thing, Reach::A2a);
        assert!(security.resolver.work <= 2 * MOST_WORK, "{}", security.resolver.work);
        assert!(!security.violations.is_empty());
    }

    #[test]
    fn requirements_of_all_skills_are_bounded_together() {
        let mut thing = thing(0, |_| form("any"));
        let action = |n: usize| {
            let mut form = form("same");
            form["scopes"] = json!([format!("s{n}")]);
            (format!("a{n}"), json!({"forms": [form]}))
        };
        thing.insert("actions".into(), (0..500).map(action).collect::<Object>().into());
        thing.insert("security".into(), "k0".into());
        let skills: Vec<Value> = (0..500).map(|n| json!({"id": format!("a{n}")})).collect();
        let mut card = Object::from_iter([("skills".to_owned(), skills.into())]);
        let id = |skill: &Object| skill.get("id").and_then(Value::as_str).map(str::to_owned);
        let violations = ThingSecurity::of(&thing, Reach::A2a).add(None, id, &mut card);
        assert_eq!(violations.len(), 499);
        assert!(Value::Object(card).to_string().len() < 1 << 20);
    }
}
