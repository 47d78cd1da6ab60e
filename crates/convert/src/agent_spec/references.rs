//! References: the members that form a reference, and their targets.

use serde_json::{Map, Value};

/// The member that makes an object a reference.
pub(super) const REFERENCE: &str = "$component_ref";
/// The member that holds what references lead to.
pub(super) const DEFINITIONS: &str = "$referenced_components";

/// The object that is a reference, if the value is one.
pub(super) fn as_reference(value: &Value) -> Option<&Map<String, Value>> {
    value.as_object().filter(|members| members.contains_key(REFERENCE))
}

/// A member that is a string.
pub(super) fn text_member<'d>(members: &'d Map<String, Value>, name: &str) -> Option<&'d str> {
    members.get(name)?.as_str()
}
