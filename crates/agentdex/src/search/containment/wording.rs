//! Wording of values and types in doubts.

use serde_json::Value;

/// A value in few letters.
pub(super) fn shown(value: &Value) -> String {
    cut(&value.to_string())
}

/// A few of several values.
pub(super) fn listed(values: &[Value]) -> String {
    const SHOWN: usize = 4;
    let mut all: Vec<String> = values.iter().take(SHOWN).map(shown).collect();
    if values.len() > SHOWN {
        all.push(format!("{} others", values.len() - SHOWN));
    }
    all.join(" or ")
}

/// The beginning of a long text.
pub(super) fn cut(text: &str) -> String {
    const LENGTH: usize = 40;
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A type with its article.
pub(super) fn article(name: &str) -> String {
    match name {
        "null" | "any type" => name.to_owned(),
        _ if name.starts_with(['a', 'i', 'o']) => format!("an {name}"),
        _ => format!("a {name}"),
    }
}
