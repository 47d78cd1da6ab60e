//! Rules for inputs and outputs: for each property, and for all of them compared with the parts of the component.

use std::collections::HashSet;

use serde_json::Value;

use super::{
    super::{
        faults::{Role, find_faults},
        inference::{Further, Generated, List},
        references::as_reference,
        types::Io,
    },
    Demand, Key, Profile, Rules, Side, listed, quoted,
};
use crate::casting::describe;

impl<'d> Rules<'_, 'd> {
    pub(super) fn properties(&mut self, key: Key) {
        for side in Side::BOTH {
            let port = self.inference.port(key, side);
            if let Some(declared) = &port.declared {
                self.declared(key, side, declared);
            }
            if let (Some(declared), Some(generated)) = (&port.declared, &port.generated) {
                self.expected(key, side, declared, generated);
            }
            let is_told = self.profile() == Profile::Spec || matches!(self.io(key), Io::Parallel);
            if port.declared.is_none() && !is_told {
                // What the text says of such conflicts depends on the component.
                port.effective().into_iter().for_each(|list| self.repeated_titles(key, side, list));
            }
        }
        if self.graph.is_a(key, "Datastore") {
            self.entities(key);
        }
    }

    fn declared(&mut self, key: Key, side: Side, list: &List<'d>) {
        self.repeated_titles(key, side, list);
        let field = side.field();
        let hands_on = self.graph.is_a(key, "Node") || self.graph.is_a(key, "Flow");
        let role = if hands_on { Role::NodePort } else { Role::Port };
        let Some(Value::Array(entries)) = self.graph.field(key, field) else { return };
        let is_elsewhere =
            self.graph.component(key).members.get(field).is_some_and(|value| as_reference(value).is_some());
        if is_elsewhere && !self.affords(entries.len()) {
            return;
        }
        for (position, entry) in entries.iter().enumerate() {
            let Some(property) = self.graph.resolve(entry) else { continue };
            let spot = || self.graph.at(key).member(field).index(position);
            self.faults(property, role, spot);
        }
    }

    fn faults(&mut self, property: &'d Value, role: Role, spot: impl Fn() -> super::Spot) {
        for fault in find_faults(property, role, self.profile(), self.effort) {
            let spot = || {
                let mut spot = spot();
                spot.pointer.push_str(&fault.pointer);
                spot
            };
            match fault.is_warning {
                true => self.findings.warning(spot, fault.rule, || fault.message),
                false => self.findings.error(spot, fault.rule, || fault.message),
            }
        }
    }

    fn repeated_titles(&mut self, key: Key, side: Side, list: &List<'d>) {
        if !self.affords(list.as_slice().len()) {
            return;
        }
        let mut known = HashSet::with_capacity(list.as_slice().len());
        for (position, property) in list.as_slice().iter().enumerate() {
            if !known.insert(&*property.title) {
                let spot = || self.inference.spot(self.graph, key, side, position);
                let message = || {
                    format!(
                        "there are two {} with the title {}; titles must be unique",
                        side.field(),
                        quoted(&property.title)
                    )
                };
                self.report(Demand::Both, "duplicate-title", spot, message);
            }
        }
    }

    /// Declared properties have the names of those that follow from the configuration, and types that
    /// those can be cast to.
    fn expected(&mut self, key: Key, side: Side, declared: &List<'d>, generated: &Generated<'d>) {
        if !self.affords(generated.list.as_slice().len()) {
            return;
        }
        for wanted in generated.list.as_slice() {
            match declared.position(&wanted.title) {
                Some(position) => self.retyped(key, side, position, generated.is_retypable),
                None => {
                    let spot = || self.graph.at(key).member(side.field());
                    let (name, field) = (quoted(&wanted.title), side.field());
                    let origin = self.io(key).origin();
                    self.report(Demand::Both, "missing-property", spot, || {
                        format!("`{field}` must include {name} from {origin}")
                    });
                }
            }
        }
        for (position, property) in declared.as_slice().iter().enumerate() {
            let is_unnamed = self.profile() == Profile::Spec && !property.has_title();
            let is_known = is_unnamed
                || generated.list.find(&property.title).is_some()
                || match &generated.further {
                    Further::Nothing => false,
                    Further::Some(list) => list.find(&property.title).is_some(),
                    Further::Anything => true,
                };
            if !is_known {
                let spot = || self.inference.spot(self.graph, key, side, position);
                let origin = self.io(key).origin();
                let titles = || listed(generated.list.as_slice().iter().map(|property| &*property.title));
                self.report(Demand::Both, "surplus-property", spot, || {
                    format!(
                        "{} is not expected; the {} that follow from {origin} are: {}",
                        quoted(&property.title),
                        side.field(),
                        titles()
                    )
                });
            }
        }
    }

    fn retyped(&mut self, key: Key, side: Side, position: usize, is_retypable: bool) {
        if self.profile() == Profile::Sdk {
            return;
        }
        let port = self.inference.port(key, side);
        let (Some(declared), Some(generated)) = (&port.declared, &port.generated) else { return };
        let property = &declared.as_slice()[position];
        let Some(wanted) = generated.list.find(&property.title) else { return };
        let spot = || self.inference.spot(self.graph, key, side, position);
        if is_retypable {
            let kind = property.as_given().and_then(|schema| schema.get("type")?.as_str());
            if let Some(kind @ ("array" | "object")) = kind {
                self.report(Demand::Nobody, "placeholder-type", spot, || {
                    format!("a placeholder is replaced with text, so runtimes may not accept an {kind} for it")
                });
            }
        } else if !self.casts(wanted, property, spot)
            && !wanted.choices().iter().any(|choice| self.casts(choice, property, spot))
        {
            self.report(
                Demand::Text,
                "property-not-castable",
                || self.inference.spot(self.graph, key, side, position),
                || {
                    let (from, to) = (describe(&wanted.schema()), describe(&property.schema()));
                    format!("{} has the type {from}, which can't be cast to {to}", quoted(&wanted.title))
                },
            );
        }
    }

    fn io(&self, key: Key) -> Io {
        self.graph.known(key).map_or(Io::Declared, |known| known.io)
    }

    fn entities(&mut self, key: Key) {
        let field = "datastore_schema";
        let Some(Value::Object(collections)) = self.graph.field(key, field) else { return };
        for (name, entity) in collections {
            let Some(entity) = self.graph.resolve(entity) else { continue };
            self.faults(entity, Role::Entity, || self.graph.at(key).member(field).member(name));
        }
    }
}
