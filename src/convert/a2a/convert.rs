//! Cards from one generation to the other.
//!
//! Members that both know are spelled anew, members that no table knows go along. What only one of
//! them can say is left out or, where a reader of the other passes it over, kept; each is a warning.
//! Two things are kept that a plain renaming would lose: of several OAuth 2.0 flows in one scheme each
//! becomes a scheme in 1.0, and the requirements name them as alternatives; an agent that speaks 0.3
//! still does after its card was converted, so its interfaces keep their version.
//!
//! A signature is of the card as it was signed, so that a converted card has none.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::{
    Card, Generation,
    interface::{Interface, Place},
    requirements::{self, Alternative},
    schemes::Scheme,
};
use crate::{
    convert::shape::Findings,
    td::{Path, Violation},
};

type Object = Map<String, Value>;

/// The most alternatives that requirements with schemes of several flows become.
const MOST_ALTERNATIVES: usize = 64;

/// A card in the shape that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendition {
    /// The card as JSON text.
    pub json: Vec<u8>,
    /// What could not be said; pointers are into the card that was converted.
    pub warnings: Vec<Violation>,
}

/// Converts a card to the other generation.
pub(super) fn convert(card: &Card) -> Rendition {
    let target = match card.generation() {
        Generation::V0 => Generation::V1,
        Generation::V1 => Generation::V0,
    };
    let mut conversion = Conversion { card, target, members: card.members().clone(), findings: Findings::default() };
    conversion.convert_interfaces();
    conversion.convert_extended_card();
    let flows = conversion.convert_schemes();
    conversion.convert_requirements(&flows);
    conversion.drop_signatures();
    conversion.add_required();
    Rendition {
        json: serde_json::to_vec(&conversion.members).unwrap_or_default(),
        warnings: conversion.findings.into_list(),
    }
}

struct Conversion<'c> {
    card: &'c Card,
    target: Generation,
    members: Object,
    findings: Findings,
}

/// The schemes that one of several flows became, by its name.
type Flows = HashMap<String, Vec<String>>;

impl Conversion<'_> {
    fn warn(&mut self, path: &Path<'_>, rule: &'static str, message: impl Into<String>) {
        self.findings.add(path, rule, || message.into());
    }

    fn convert_interfaces(&mut self) {
        let own = ["url", "preferredTransport", "additionalInterfaces", "protocolVersion", "supportedInterfaces"];
        for name in own {
            self.members.remove(name);
        }
        let interfaces = self.card.interfaces();
        match self.target {
            Generation::V1 => self.write_supported(&interfaces),
            Generation::V0 => self.write_main(interfaces),
        }
    }

    fn write_supported(&mut self, interfaces: &[Interface<'_>]) {
        let card = self.card;
        let additional: Vec<_> = card.objects("additionalInterfaces").collect();
        let write = |interface: &Interface<'_>| {
            let mut written = match interface.place {
                Place::Additional(index) => additional.get(index).map(|&one| one.clone()),
                _ => None,
            }
            .unwrap_or_default();
            written.remove("transport");
            written.insert("url".into(), interface.url.into());
            written.insert("protocolBinding".into(), interface.binding.name().into());
            written.insert("protocolVersion".into(), interface.version().into());
            Value::Object(written)
        };
        let written: Vec<Value> = interfaces.iter().map(write).collect();
        self.members.insert("supportedInterfaces".into(), written.into());
    }

    /// Interfaces of the old protocol if there are any: a card of 0.x says one version for all.
    fn write_main(&mut self, interfaces: Vec<Interface<'_>>) {
        let list = Path::ROOT.member("supportedInterfaces");
        let is_old = |interface: &Interface<'_>| interface.generation() == Generation::V0;
        let spoken = if interfaces.iter().any(is_old) { Generation::V0 } else { Generation::V1 };
        let (kept, left): (Vec<_>, Vec<_>) = interfaces.into_iter().partition(|one| one.generation() == spoken);
        for interface in left {
            interface.place.with_paths(|path, _, _| {
                self.warn(path, "interface-left-out", "a card of 0.3 has interfaces of one protocol version only");
            });
        }
        if spoken == Generation::V1 && !kept.is_empty() {
            let message = "no interface speaks 0.3; the card has its shape, but says the version that they speak";
            self.warn(&list, "version-kept", message);
        }
        let mut kept = kept.into_iter();
        let Some(main) = kept.next() else {
            self.warn(&list, "no-interface", "a card of 0.3 has a URL, and no interface has one: it is empty");
            self.members.insert("url".into(), "".into());
            return;
        };
        let version = match spoken {
            Generation::V0 => format!("{}.0", main.version()),
            Generation::V1 => main.version(),
        };
        self.members.insert("url".into(), main.url.into());
        self.members.insert("preferredTransport".into(), main.binding.name().into());
        self.members.insert("protocolVersion".into(), version.into());
        self.write_additional(&main, kept.collect());
    }

    /// All but the first interface, which is the card itself and can't keep members of its own.
    fn write_additional(&mut self, main: &Interface<'_>, rest: Vec<Interface<'_>>) {
        let card = self.card;
        let supported: Vec<_> = card.objects("supportedInterfaces").collect();
        let kept = |interface: &Interface<'_>| {
            let mut written = match interface.place {
                Place::Supported(index) => supported.get(index).map(|&one| one.clone()),
                _ => None,
            }
            .unwrap_or_default();
            written.retain(|name, _| !["protocolBinding", "protocolVersion", "tenant"].contains(&name.as_str()));
            written
        };
        self.warn_of_tenant(main);
        for name in kept(main).keys().filter(|name| *name != "url") {
            main.place.with_paths(|path, _, _| {
                let message = "the first interface of a card of 0.3 has no members of its own";
                self.warn(&path.member(name), "member-left-out", message);
            });
        }
        let mut additional = Vec::new();
        for interface in rest {
            self.warn_of_tenant(&interface);
            let mut written = kept(&interface);
            written.insert("transport".into(), interface.binding.name().into());
            additional.push(Value::Object(written));
        }
        if !additional.is_empty() {
            self.members.insert("additionalInterfaces".into(), additional.into());
        }
    }

    fn warn_of_tenant(&mut self, interface: &Interface<'_>) {
        if interface.tenant.is_some() {
            interface.place.with_paths(|path, _, _| {
                self.warn(&path.member("tenant"), "tenant-left-out", "an interface of 0.3 has no tenant");
            });
        }
    }

    fn convert_extended_card(&mut self) {
        const OLD: &str = "supportsAuthenticatedExtendedCard";
        const NEW: &str = "extendedAgentCard";
        let old = self.members.remove(OLD);
        let Some(Value::Object(capabilities)) = self.members.get_mut("capabilities") else {
            if let (Some(flag), Generation::V1) = (old, self.target) {
                self.members.insert("capabilities".into(), json!({NEW: flag}));
            }
            return;
        };
        match self.target {
            Generation::V1 => {
                let history = capabilities.remove("stateTransitionHistory");
                if let Some(flag) = old {
                    capabilities.insert(NEW.into(), flag);
                }
                if history == Some(Value::Bool(true)) {
                    let place = Path::ROOT.member("capabilities");
                    let message = "1.0 has no history of state transitions";
                    self.warn(&place.member("stateTransitionHistory"), "member-left-out", message);
                }
            }
            Generation::V0 => {
                if let Some(flag) = capabilities.remove(NEW).or(old) {
                    self.members.insert(OLD.into(), flag);
                }
            }
        }
    }

    fn convert_schemes(&mut self) -> Flows {
        let Some(Value::Object(schemes)) = self.members.remove("securitySchemes") else {
            return Flows::new();
        };
        let (mut written, mut split) = (Object::new(), Flows::new());
        let list = Path::ROOT.member("securitySchemes");
        for (name, scheme) in &schemes {
            let path = list.member(name);
            let Some(scheme) = scheme.as_object().and_then(Scheme::read) else {
                self.warn(&path, "scheme-unknown", "the scheme is of no known kind and is left out");
                continue;
            };
            self.warn_of_flows(&scheme, &path);
            let flows: Vec<&'static str> = scheme.flows().map(|(flow, _)| flow).collect();
            if self.target == Generation::V0 || flows.len() < 2 {
                written.insert(name.clone(), scheme.write(self.target));
                continue;
            }
            let mut names = Vec::new();
            for (index, flow) in flows.iter().enumerate() {
                let mut own = if index == 0 { name.clone() } else { format!("{name}_{flow}") };
                while index > 0 && (schemes.contains_key(&own) || written.contains_key(&own)) {
                    own.push('_');
                }
                written.insert(own.clone(), with_flow(&scheme, flow).write(self.target));
                names.push(own);
            }
            split.insert(name.clone(), names);
        }
        self.members.insert("securitySchemes".into(), written.into());
        split
    }

    fn warn_of_flows(&mut self, scheme: &Scheme, path: &Path<'_>) {
        if self.target == Generation::V1 {
            return;
        }
        let path = path.member("flows");
        for (flow, members) in scheme.flows() {
            let path = path.member(flow);
            if flow == "deviceCode" {
                self.warn(&path, "flow-unknown", "0.3 has no such flow; its readers pass it over");
            } else if members.get("pkceRequired") == Some(&Value::Bool(true)) {
                self.warn(
                    &path.member("pkceRequired"),
                    "flow-unknown",
                    "readers of 0.3 don't know that PKCE is required",
                );
            }
        }
    }

    fn convert_requirements(&mut self, flows: &Flows) {
        let own = std::mem::take(&mut self.members);
        let root = Path::ROOT;
        self.members = self.with_requirements(own, flows, &root);
        let Some(Value::Array(skills)) = self.members.remove("skills") else { return };
        let list = root.member("skills");
        let skills: Vec<Value> = skills
            .into_iter()
            .enumerate()
            .map(|(index, skill)| match skill {
                Value::Object(skill) => Value::Object(self.with_requirements(skill, flows, &list.index(index))),
                other => other,
            })
            .collect();
        self.members.insert("skills".into(), skills.into());
    }

    fn with_requirements(&mut self, mut owner: Object, flows: &Flows, path: &Path<'_>) -> Object {
        let found = requirements::of(&owner, self.card.generation()).map(requirements::read);
        owner.remove("security");
        owner.remove("securityRequirements");
        let Some((alternatives, _)) = found else { return owner };
        let (alternatives, is_complete) = with_flows(alternatives, flows);
        if !is_complete {
            self.warn(path, "too-many-alternatives", "not all combinations of flows are among the requirements");
        }
        owner.insert(requirements::member(self.target).into(), requirements::write(&alternatives, self.target));
        owner
    }

    fn drop_signatures(&mut self) {
        if self.members.remove("signatures").is_some() {
            let message = "the signatures are of the card as it was and are left out";
            self.warn(&Path::ROOT.member("signatures"), "signatures-left-out", message);
        }
    }

    /// What a card must have even if it is empty.
    fn add_required(&mut self) {
        for name in ["name", "description", "version"] {
            self.members.entry(name).or_insert_with(|| "".into());
        }
        for name in ["defaultInputModes", "defaultOutputModes", "skills"] {
            self.members.entry(name).or_insert_with(|| json!([]));
        }
        self.members.entry("capabilities").or_insert_with(|| json!({}));
    }
}

/// The scheme with one of its flows alone.
fn with_flow(scheme: &Scheme, flow: &str) -> Scheme {
    let mut one = scheme.clone();
    if let Some(Value::Object(flows)) = one.members.get_mut("flows") {
        flows.retain(|name, _| name == flow);
    }
    one
}

/// The alternatives in which a scheme that was split is named by each of its parts; and whether all are there.
fn with_flows(alternatives: Vec<Alternative>, flows: &Flows) -> (Vec<Alternative>, bool) {
    if flows.is_empty() {
        return (alternatives, true);
    }
    let mut is_complete = true;
    let mut expanded = Vec::new();
    for alternative in alternatives {
        let mut variants: Vec<Alternative> = vec![Vec::new()];
        for (name, scopes) in alternative {
            let names = flows.get(&name).map_or(std::slice::from_ref(&name), Vec::as_slice);
            let is_fitting = names.len() == 1 || expanded.len() + variants.len() * names.len() <= MOST_ALTERNATIVES;
            is_complete &= is_fitting;
            if let ([name], _) | ([name, ..], false) = (names, is_fitting) {
                variants.iter_mut().for_each(|variant| variant.push((name.clone(), scopes.clone())));
                continue;
            }
            let with = |name: &String, variant: &Alternative| -> Alternative {
                variant.iter().cloned().chain([(name.clone(), scopes.clone())]).collect()
            };
            variants = names.iter().flat_map(|name| variants.iter().map(move |variant| with(name, variant))).collect();
        }
        expanded.extend(variants);
    }
    (expanded, is_complete)
}
