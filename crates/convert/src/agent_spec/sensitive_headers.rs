//! Names of sensitive headers, which are kept in the metadata when the values are hidden, since callers need to know
//! which headers a call requires.
//!
//! The value of `{"sensitive_headers": {"Authorization": "Bearer …"}}` becomes a reference, and the metadata of the
//! component gets `{"sensitiveHeaders": {"Authorization": "bearer"}}`.

use std::ops::Range;

use serde_json::{Map, Value, json};

use super::references::REFERENCE;
use crate::redaction::{Node, Place, without_credentials};

/// The field of a component.
pub(super) const FIELD: &str = "sensitive_headers";
/// The member of the metadata with the names, each with its security scheme.
pub(super) const KEPT: &str = "sensitiveHeaders";

/// Returns the security scheme of TD 1.1 that the value of an `Authorization` header begins with.
pub(super) fn authorization_scheme(value: &str) -> Option<&'static str> {
    let scheme = value.trim_start().split(' ').next()?;
    ["bearer", "basic", "digest"].into_iter().find(|known| scheme.eq_ignore_ascii_case(known))
}

/// Returns the edit of a document that keeps the names of hidden headers: a range of its text, and the replacement.
pub(super) fn kept_names(hidden: &Place<'_, '_>) -> Option<(Range<usize>, String)> {
    let component = hidden.around().filter(|_| hidden.name == Some(FIELD))?;
    let scheme = |name: &str, value: &Node<'_>| {
        let authorization = value.text().filter(|_| name.eq_ignore_ascii_case("authorization"));
        authorization.and_then(authorization_scheme).unwrap_or("apikey")
    };
    let headers = hidden.value.members().filter(|(name, _)| *name != REFERENCE);
    let names: Map<String, Value> =
        headers.map(|(name, value)| (without_credentials(name).into_owned(), scheme(name, value).into())).collect();
    if names.is_empty() {
        return None;
    }
    let Some(metadata) = component.get("metadata") else {
        let end = hidden.value.span().end;
        return Some((end..end, format!(", \"metadata\": {}", json!({KEPT: names}))));
    };
    if !metadata.is_object() {
        return Some((metadata.span(), json!({KEPT: names}).to_string()));
    }
    if let Some(earlier) = metadata.get(KEPT) {
        return Some((earlier.span(), Value::from(names).to_string()));
    }
    let start = metadata.span().start + 1;
    let separator = if metadata.members().next().is_some() { ", " } else { "" };
    let is_reference = metadata.get(REFERENCE).is_some();
    (!is_reference).then(|| (start..start, format!("\"{KEPT}\": {}{separator}", Value::from(names))))
}
