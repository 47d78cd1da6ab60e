//! Approximate size of a value as JSON text, for enforcing size limits.

use serde_json::Value;

/// About how many bytes of JSON a value takes; no more than a little over `most`.
pub(super) fn size(value: &Value, most: usize) -> usize {
    let mut total = 4;
    match value {
        Value::String(text) => total += text.len(),
        Value::Array(elements) => {
            for element in elements {
                total += if total > most { break } else { size(element, most - total) };
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                total += name.len();
                total += if total > most { break } else { size(member, most - total) };
            }
        }
        _ => {}
    }
    total
}
