//! Detection of agent cards by their members.

use serde_json::{Map, Value};

use crate::{
    Format,
    looks::look_of,
    shape::snake_case,
    signs::{has_named_capabilities, member},
};

type Object = Map<String, Value>;

/// True if something has the interfaces of an agent card.
pub(super) fn has_interface(object: &Object) -> bool {
    let supported = member(object, "supportedInterfaces");
    supported.is_some_and(|supported| supported.is_array() || supported.is_object())
        || object.get("url").is_some_and(Value::is_string)
        || member(object, "additionalInterfaces").is_some_and(Value::is_array)
}

/// True if something has skills as agent cards do, which are objects.
pub(super) fn has_skills(object: &Object) -> bool {
    let skills = object.get("skills").and_then(Value::as_array);
    skills.is_some_and(|skills| skills.is_empty() || skills.iter().any(Value::is_object))
}

/// True if a document has what hardly anything but an agent card has.
pub(super) fn has_both(object: &Object) -> bool {
    has_interface(object) && has_skills(object)
}

/// True if something is an agent card, if nothing speaks for another document.
fn is_plain_card(object: &Object) -> bool {
    if has_interface(object) {
        let is_typical = typical_members(object) >= 2 || has_capabilities_for_skills(object);
        return has_skills(object) || member(object, "supportedInterfaces").is_some() || is_typical;
    }
    let is_typical = object.contains_key("capabilities") || typical_members(object) > 0;
    has_skills(object) && object.contains_key("name") && is_typical
}

/// True for a card that describes its skills as `capabilities`, as some did before they had the shape of A2A.
pub(super) fn has_capabilities_for_skills(object: &Object) -> bool {
    let has_no_skills = object.get("skills").is_none_or(|skills| skills.as_array().is_some_and(Vec::is_empty));
    has_no_skills && object.contains_key("name") && has_named_capabilities(object)
}

/// True if something is an agent card.
pub(crate) fn is_card(object: &Object) -> bool {
    let look = look_of(object).and_then(|look| look.format);
    look == Some(Format::A2a) && (has_both(object) || is_plain_card(object))
}

/// True if something is meant as an agent card, even if it is none.
pub(super) fn is_like_card(object: &Object) -> bool {
    let beside = ["url", "capabilities", "protocolVersion", "defaultInputModes", "securitySchemes"];
    is_plain_card(object)
        || member(object, "supportedInterfaces").is_some()
        || (has_skills(object) && beside.iter().any(|name| member(object, name).is_some()))
}

/// Counts the features that hardly anything but an agent card has, up to four.
fn typical_members(object: &Object) -> usize {
    let has = |name: &str| member(object, name).is_some();
    let of_a2a = ["streaming", "pushNotifications", "stateTransitionHistory", "extensions", "extendedAgentCard"];
    let is_named = |name: &str| of_a2a.iter().any(|known| *known == name || snake_case(known) == name);
    let has_flags = match object.get("capabilities") {
        Some(Value::Object(flags)) => flags.keys().any(|name| is_named(name)),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(is_named),
        _ => false,
    };
    let has_modes = has("defaultInputModes") || has("defaultOutputModes");
    [has("protocolVersion"), has("preferredTransport"), has_modes, has_flags].into_iter().filter(|&one| one).count()
}
