//! Cards from one generation to the other.
//!
//! Members that both know are spelled for it, members that no table knows go along. What only one of
//! them can say is left out or, where a reader of the other ignores it, stays; each is a warning.
//! An agent that speaks 0.3 still does after its card was converted, so its interfaces keep their
//! version. A card that is written for readers of both has its other half already.
//!
//! A signature is of the card as it was signed, so that a converted card has none.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    Card, FORMS_BINDING, Generation, generation_security,
    interface::{Binding, Interface, Listed},
    members,
};
use crate::{
    convert::{
        Rendition,
        shape::{self, Findings},
    },
    td::Path,
};

type Object = Map<String, Value>;

impl Card {
    /// The card in the shape of a generation: the card itself, byte for byte, if it has that shape.
    pub fn as_version(&self, generation: Generation) -> Rendition {
        if generation == self.generation() {
            return Rendition { bytes: self.bytes().to_vec(), warnings: Vec::new() };
        }
        translate(self)
    }
}

/// Converts a card to the other generation.
fn translate(card: &Card) -> Rendition {
    let target = match card.generation() {
        Generation::V0 => Generation::V1,
        Generation::V1 => Generation::V0,
    };
    let mut translation = Translation { card, target, members: card.members().clone(), findings: Findings::default() };
    translation.translate_interfaces();
    translation.translate_extended_card();
    generation_security::translate(&mut translation.members, target, &mut translation.findings);
    translation.drop_signatures();
    let Translation { mut members, findings, .. } = translation;
    members::of_card(target).into_iter().for_each(|table| shape::complete(&mut members, table));
    Rendition { bytes: serde_json::to_vec(&members).unwrap_or_default(), warnings: findings.into_list() }
}

struct Translation<'c> {
    card: &'c Card,
    target: Generation,
    members: Object,
    findings: Findings,
}

impl Translation<'_> {
    fn warn(&mut self, path: &Path<'_>, rule: &'static str, message: impl Into<String>) {
        self.findings.add(path, rule, || message.into());
    }

    fn translate_interfaces(&mut self) {
        let is_for_both = self.card.text("url").is_some_and(|url| !url.trim().is_empty());
        self.members.remove("supportedInterfaces");
        if self.target == Generation::V0 && is_for_both {
            let version = self.card.text("protocolVersion");
            if version.and_then(Generation::of_version) != Some(Generation::V0) {
                self.members.insert("protocolVersion".into(), "0.3.0".into());
            }
            return;
        }
        for name in ["url", "preferredTransport", "additionalInterfaces", "protocolVersion"] {
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
            let listed = match interface.listed {
                Listed::Additional(index) => additional.get(index),
                // The main interface may be listed again, with members of its own.
                _ => additional.iter().find(|one| one.get("url").is_some_and(|url| url == interface.url)),
            };
            let is_same = |listed: &&&Object| {
                let transport = listed.get("transport").and_then(Value::as_str);
                Binding::read(transport.unwrap_or("JSONRPC")) == interface.binding
            };
            let mut written = listed.filter(is_same).map(|&one| one.clone()).unwrap_or_default();
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
            interface.listed.with_paths(|path, _, _| {
                self.warn(path, "interface-left-out", "a card of 0.3 has interfaces of one protocol version only");
            });
        }
        if spoken == Generation::V1 && !kept.is_empty() {
            let message = if kept.iter().any(|one| one.binding == Binding::Custom(FORMS_BINDING)) {
                "skills are called by HTTP requests of their own, which no reader of 0.3 knows"
            } else {
                "no interface speaks 0.3; the card has its shape, but says the version that they speak"
            };
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
            let mut written = match interface.listed {
                Listed::Supported(index) => supported.get(index).map(|&one| one.clone()),
                _ => None,
            }
            .unwrap_or_default();
            written.retain(|name, _| !["protocolBinding", "protocolVersion", "tenant"].contains(&name.as_str()));
            written
        };
        self.warn_of_tenant(main);
        for name in kept(main).keys().filter(|name| *name != "url") {
            main.listed.with_paths(|path, _, _| {
                let message = "the first interface of a card of 0.3 has no members of its own";
                self.warn(&path.member(name), "member-left-out", message);
            });
        }
        let mut additional = Vec::new();
        let what = |interface: &Interface<'_>| (interface.url.to_owned(), interface.binding.name().to_owned());
        let mut seen = HashSet::new();
        for interface in rest {
            self.warn_of_tenant(&interface);
            // The first needn't be said again, nor what only a tenant made another.
            let is_new = seen.insert(what(&interface));
            if what(&interface) == what(main) || (interface.tenant != main.tenant && !is_new) {
                continue;
            }
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
            interface.listed.with_paths(|path, _, _| {
                self.warn(&path.member("tenant"), "tenant-left-out", "an interface of 0.3 has no tenant");
            });
        }
    }

    fn translate_extended_card(&mut self) {
        const OLD: &str = "supportsAuthenticatedExtendedCard";
        const NEW: &str = "extendedAgentCard";
        let old = self.members.remove(OLD);
        let mut nothing = Object::new();
        let capabilities = match self.members.get_mut("capabilities") {
            Some(Value::Object(capabilities)) => capabilities,
            _ => &mut nothing,
        };
        let new = capabilities.remove(NEW);
        match self.target {
            Generation::V1 => {
                let history = capabilities.remove("stateTransitionHistory");
                if let Some(flag) = old.or(new) {
                    capabilities.insert(NEW.into(), flag);
                }
                if !nothing.is_empty() {
                    self.members.insert("capabilities".into(), nothing.into());
                }
                if history == Some(Value::Bool(true)) {
                    let place = Path::ROOT.member("capabilities");
                    let message = "1.0 has no history of state transitions";
                    self.warn(&place.member("stateTransitionHistory"), "member-left-out", message);
                }
            }
            Generation::V0 => self.members.extend(new.or(old).map(|flag| (OLD.to_owned(), flag))),
        }
    }

    fn drop_signatures(&mut self) {
        if self.members.remove("signatures").is_some() {
            let message = "the signatures are of the card as it was and are left out";
            self.warn(&Path::ROOT.member("signatures"), "signatures-left-out", message);
        }
    }
}
