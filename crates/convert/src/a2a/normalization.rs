//! Conversion of cards of any generation to the structure of version 1.0, on which all other code is based.
//!
//! The result may contain more than version 1.0 allows: several flows in a scheme, and members that only version 0.x
//! defines. A version 1.0 card that also addresses clients of version 0.3 keeps the members for them (`url`,
//! `security`, …).

use serde_json::{Map, Value};

use super::{
    Generation,
    interface::{Binding, Interface, Listed, written_interfaces},
    requirements,
    schemes::Scheme,
};

type Object = Map<String, Value>;

/// Members in which a card of 0.x lists its interfaces.
pub(super) const REACHED_IN_0: [&str; 4] = ["url", "preferredTransport", "additionalInterfaces", "protocolVersion"];
/// Names of the flag for an extended card, which only authenticated clients get, in 0.x and in 1.0.
pub(super) const EXTENDED_CARD: [&str; 2] = ["supportsAuthenticatedExtendedCard", "extendedAgentCard"];

/// Normalizes a card whose members are of the kinds that they should be. Returns where each of its
/// interfaces was listed.
pub(super) fn normalize(card: &mut Object, generation: Generation) -> Vec<Listed> {
    let listed = normalize_interfaces(card, generation);
    let [old, new] = EXTENDED_CARD;
    if let Some(flag) = card.remove(old)
        && let Value::Object(capabilities) = card.entry("capabilities").or_insert_with(|| Object::new().into())
    {
        capabilities.entry(new).or_insert(flag);
    }
    if let Some(Value::Object(schemes)) = card.get_mut("securitySchemes") {
        for declared in schemes.values_mut() {
            if let Value::Object(members) = declared {
                *declared = Scheme::read(std::mem::take(members))
                    .map_or_else(Value::Object, |scheme| scheme.write(Generation::V1));
            }
        }
    }
    requirements::normalize(card, generation);
    let skills = card.get_mut("skills").and_then(Value::as_array_mut).into_iter().flatten();
    skills.filter_map(Value::as_object_mut).for_each(|skill| requirements::normalize(skill, generation));
    listed
}

fn normalize_interfaces(card: &mut Object, generation: Generation) -> Vec<Listed> {
    let interfaces = written_interfaces(card, generation);
    let normalized = interfaces.iter().map(|interface| (interface.listed, normal(interface, card)));
    let (listed, normalized): (Vec<Listed>, Vec<Value>) = normalized.unzip();
    if generation == Generation::V0 {
        REACHED_IN_0.into_iter().for_each(|name| drop(card.remove(name)));
    }
    card.insert("supportedInterfaces".to_owned(), normalized.into());
    listed
}

fn normal(interface: &Interface<'_>, card: &Object) -> Value {
    let element = |list: &str, index: usize| card.get(list)?.get(index)?.as_object();
    let is_main = |listed: &&Object| {
        let transport = listed.get("transport").and_then(Value::as_str).unwrap_or("JSONRPC");
        listed.get("url").is_some_and(|url| url == interface.url) && Binding::read(transport) == interface.binding
    };
    let own = match interface.listed {
        Listed::Supported(index) => element("supportedInterfaces", index),
        Listed::Additional(index) => element("additionalInterfaces", index),
        // The main interface may be listed again, with members of its own.
        Listed::Main => {
            let listed = card.get("additionalInterfaces").and_then(Value::as_array).into_iter().flatten();
            listed.filter_map(Value::as_object).find(is_main)
        }
    };
    let mut members = own.cloned().unwrap_or_default();
    if !matches!(interface.listed, Listed::Supported(_)) {
        members.remove("transport");
    }
    let binding = interface.binding.name();
    let version = interface.version();
    for (name, value) in [("url", interface.url), ("protocolBinding", binding), ("protocolVersion", &version)] {
        members.insert(name.to_owned(), value.into());
    }
    members.into()
}
