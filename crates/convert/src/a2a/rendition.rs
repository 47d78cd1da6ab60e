//! Conversion of cards to another generation.
//!
//! Members known to both generations are converted, and unknown members are kept. Members specific to one generation
//! are omitted or, if clients of the other generation ignore them, kept; each case causes a warning. The agent itself
//! doesn't change, so interfaces keep their protocol version. A card that addresses clients of both generations already
//! contains the members of both.
//!
//! A signature applies only to the original card, so a converted card has no signatures.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{
    Card, FORMS_BINDING, Generation, Options,
    interface::{Binding, Interface},
    members,
    normalization::{EXTENDED_CARD, REACHED_IN_0},
    rendition_security, thing,
};
use crate::{
    Rendition,
    shape::{self, Findings},
    td::internal::Path,
};

type Object = Map<String, Value>;

impl Card {
    /// Converts the card to a generation. If the card already has that generation, returns it byte for byte.
    pub fn as_version(&self, generation: Generation) -> Rendition {
        if generation == self.generation() {
            return Rendition { bytes: self.bytes().to_vec(), warnings: Vec::new() };
        }
        self.render(generation)
    }

    /// The card as it is understood, written for readers of a generation.
    pub(super) fn render(&self, generation: Generation) -> Rendition {
        let mut rendering = Rendering { card: self, members: self.members().clone(), findings: Findings::default() };
        if generation == Generation::V0 {
            rendering.write_interfaces();
        }
        rendering.write_capabilities(generation);
        rendition_security::write(&mut rendering.members, generation, &mut rendering.findings);
        rendering.drop_signatures();
        let Rendering { mut members, findings, .. } = rendering;
        members::of_card(generation).into_iter().for_each(|table| shape::complete(&mut members, table));
        self.keep_id(&mut members);
        Rendition { bytes: serde_json::to_vec(&members).unwrap_or_default(), warnings: findings.into_list() }
    }

    /// Adds the id that the card gives to one that would give another: without a tenant, or with another first interface.
    fn keep_id(&self, rendered: &mut Object) {
        let id_of = |card: &Card| thing::id_of(card, &Options::default()).ok();
        let id_of_rendered =
            Card::parse(&serde_json::to_vec(rendered).unwrap_or_default()).ok().as_ref().and_then(id_of);
        let Some(id) =
            id_of(self).filter(|_| id_of_rendered.is_some()).filter(|id| Some(id) != id_of_rendered.as_ref())
        else {
            return;
        };
        let capabilities = rendered.entry("capabilities").or_insert_with(|| json!({}));
        if let Some(extensions) = capabilities.as_object_mut().map(|all| all.entry("extensions").or_insert(json!([])))
            && let Some(extensions) = extensions.as_array_mut()
        {
            extensions.push(thing::id_extension(&id));
        }
    }
}

struct Rendering<'c> {
    card: &'c Card,
    members: Object,
    findings: Findings,
}

impl Rendering<'_> {
    fn warn(&mut self, path: &Path<'_>, rule: &'static str, message: impl Into<String>) {
        self.findings.add(path, rule, || message.into());
    }

    /// Interfaces of the old protocol if there are any: a card of 0.x says one version for all.
    fn write_interfaces(&mut self) {
        self.members.remove("supportedInterfaces");
        if self.card.text("url").is_some_and(|url| !url.trim().is_empty()) {
            let version = self.card.text("protocolVersion");
            if version.and_then(Generation::of_version) != Some(Generation::V0) {
                self.members.insert("protocolVersion".into(), "0.3.0".into());
            }
            return;
        }
        REACHED_IN_0.into_iter().for_each(|name| drop(self.members.remove(name)));
        let list = Path::ROOT.member("supportedInterfaces");
        let interfaces: Vec<_> = self.card.interfaces().zip(self.card.objects("supportedInterfaces")).collect();
        let is_old = |interface: &Interface<'_>| interface.generation() == Generation::V0;
        let spoken = if interfaces.iter().any(|(one, _)| is_old(one)) { Generation::V0 } else { Generation::V1 };
        let (kept, left): (Vec<_>, Vec<_>) = interfaces.into_iter().partition(|(one, _)| one.generation() == spoken);
        for (interface, _) in left {
            interface.listed.with_paths(|path, _, _| {
                self.warn(
                    path,
                    "interface-left-out",
                    "a version 0.3 card can only have interfaces of one protocol version; this interface is left out",
                );
            });
        }
        if spoken == Generation::V1 && !kept.is_empty() {
            let message = if kept.iter().any(|(one, _)| one.binding == Binding::Custom(FORMS_BINDING)) {
                "skills are called by plain HTTP requests, which clients of version 0.3 don't support"
            } else {
                "no interface supports version 0.3; the card has the 0.3 structure, but declares the version of its \
                 interfaces"
            };
            self.warn(&list, "version-kept", message);
        }
        let Some((main, additional)) = kept.split_first() else {
            self.warn(
                &list,
                "no-interface",
                "a version 0.3 card needs a URL, but no interface has a URL; `url` is left empty",
            );
            self.members.insert("url".into(), "".into());
            return;
        };
        let version = match spoken {
            Generation::V0 => format!("{}.0", main.0.version()),
            Generation::V1 => main.0.version(),
        };
        self.members.insert("url".into(), main.0.url.into());
        self.members.insert("preferredTransport".into(), main.0.binding.name().into());
        self.members.insert("protocolVersion".into(), version.into());
        self.write_additional(main, additional);
    }

    /// All but the first interface, which is the card itself and can't keep members of its own.
    fn write_additional(&mut self, main: &(Interface<'_>, &Object), rest: &[(Interface<'_>, &Object)]) {
        let own = |members: &Object| {
            let mut own = members.clone();
            own.retain(|name, _| !["protocolBinding", "protocolVersion", "tenant"].contains(&name.as_str()));
            own
        };
        let (main, members) = main;
        self.warn_of_tenant(main);
        for name in own(members).keys().filter(|name| *name != "url") {
            main.listed.with_paths(|path, _, _| {
                let message =
                    "the first interface of a version 0.3 card can't have members of its own; this member is left out";
                self.warn(&path.member(name), "member-left-out", message);
            });
        }
        let mut additional = Vec::new();
        let what = |interface: &Interface<'_>| (interface.url.to_owned(), interface.binding.name().to_owned());
        let mut seen = HashSet::new();
        for (interface, members) in rest {
            self.warn_of_tenant(interface);
            // The first needn't be said again, nor what only a tenant made another.
            let is_new = seen.insert(what(interface));
            if what(interface) == what(main) || (interface.tenant != main.tenant && !is_new) {
                continue;
            }
            let mut written = own(members);
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
                self.warn(
                    &path.member("tenant"),
                    "tenant-left-out",
                    "an interface of version 0.3 can't have a tenant; the tenant is left out",
                );
            });
        }
    }

    fn write_capabilities(&mut self, generation: Generation) {
        let Some(Value::Object(capabilities)) = self.members.get_mut("capabilities") else { return };
        match generation {
            Generation::V0 => {
                let [old, new] = EXTENDED_CARD;
                let flag = capabilities.remove(new);
                self.members.extend(flag.map(|flag| (old.to_owned(), flag)));
            }
            Generation::V1 => {
                if capabilities.remove("stateTransitionHistory") == Some(Value::Bool(true)) {
                    let place = Path::ROOT.member("capabilities");
                    let message =
                        "a version 1.0 card can't declare a history of state transitions; the flag is left out";
                    self.warn(&place.member("stateTransitionHistory"), "member-left-out", message);
                }
            }
        }
    }

    fn drop_signatures(&mut self) {
        if self.members.remove("signatures").is_some() {
            let message = "the signatures don't cover this changed card, and are left out";
            self.warn(&Path::ROOT.member("signatures"), "signatures-left-out", message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn card_of_another_version_is_of_the_same_agent() {
        let interface =
            |url: &str, version: &str| json!({"url": url, "protocolBinding": "JSONRPC", "protocolVersion": version});
        let mut with_tenant = interface("https://a.example/a2a", "1.0");
        with_tenant["tenant"] = "t1".into();
        for interfaces in [
            json!([with_tenant]),
            json!([interface("https://a.example/new", "1.0"), interface("https://a.example/old", "0.3")]),
            json!([interface("https://a.example/a2a", "1.0")]),
        ] {
            let card = json!({
                "name": "Desk", "description": "d", "version": "1.0.0", "supportedInterfaces": interfaces,
                "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
                "skills": [{"id": "a", "name": "a", "description": "a", "tags": []}],
            });
            let card = Card::parse(card.to_string().as_bytes()).unwrap();
            let old = Card::parse(&card.as_version(Generation::V0).bytes).unwrap();
            let new = Card::parse(&old.as_version(Generation::V1).bytes).unwrap();
            let ids = [&card, &old, &new].map(|card| thing::id_of(card, &Options::default()).unwrap());
            assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?} {interfaces}");
        }
    }
}
