//! Security schemes for API keys that were hidden in the URLs of forms (TD 1.1, section 5.3.3.5).

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use crate::redaction::is_stand_in;

type Object = Map<String, Value>;

/// Takes the parameters of queries whose values were hidden out of the URLs of forms. A form requires a key for each, beside what
/// it requires already.
pub(super) fn require_hidden_keys(thing: &mut Object) {
    let mut definitions = match thing.remove("securityDefinitions") {
        Some(Value::Object(definitions)) => definitions,
        _ => Object::new(),
    };
    let of_thing = thing.get("security").cloned();
    for kind in ["properties", "actions", "events"] {
        let affordances = thing.get_mut(kind).and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut);
        let forms = affordances.filter_map(|affordance| affordance.get_mut("forms")?.as_array_mut()).flatten();
        for form in forms.filter_map(Value::as_object_mut) {
            let taken = form.get("href").and_then(Value::as_str).and_then(without_hidden_keys);
            let Some((href, keys)) = taken else { continue };
            let required = form.get("security").or(of_thing.as_ref());
            let mut required = match required {
                Some(Value::Array(names)) => names.clone(),
                Some(name) => vec![name.clone()],
                None => Vec::new(),
            };
            required.retain(|name| !is_open(&definitions, name));
            required.extend(keys.iter().map(|key| Value::from(define(&mut definitions, key))));
            form.insert("href".to_owned(), href.into());
            form.insert("security".to_owned(), required.into());
        }
    }
    thing.insert("securityDefinitions".to_owned(), definitions.into());
}

/// A URL without the parameters of its query whose values were hidden, and their names; `None` if there are none.
fn without_hidden_keys(url: &str) -> Option<(String, Vec<String>)> {
    let (address, rest) = url.split_once('?')?;
    let (query, fragment) = rest.split_at(rest.find('#').unwrap_or(rest.len()));
    let is_hidden = |parameter: &&str| parameter.split_once('=').is_some_and(|(_, value)| is_stand_in(value));
    let (hidden, shown): (Vec<&str>, Vec<&str>) = query.split('&').partition(is_hidden);
    if hidden.is_empty() {
        return None;
    }
    let names = hidden.into_iter().filter_map(|parameter| parameter.split_once('='));
    let names = names.map(|(name, _)| percent_decode_str(name).decode_utf8_lossy().into_owned()).collect();
    let mark = if shown.is_empty() { "" } else { "?" };
    Some((format!("{address}{mark}{}{fragment}", shown.join("&")), names))
}

fn is_open(definitions: &Object, name: &Value) -> bool {
    let definition = name.as_str().and_then(|name| definitions.get(name));
    definition.is_some_and(|definition| definition["scheme"] == "nosec")
}

/// The name of the definition of a key, put there if it isn't yet.
fn define(definitions: &mut Object, key: &str) -> String {
    let definition = json!({"scheme": "apikey", "in": "query", "name": key});
    let mut name = format!("{key}_sc");
    while definitions.get(&name).is_some_and(|known| *known != definition) {
        name.push('_');
    }
    definitions.insert(name.clone(), definition);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_key_is_required_by_its_form_alone() {
        let mut thing = json!({
            "securityDefinitions": {"open": {"scheme": "nosec"}, "b": {"scheme": "bearer"}, "token_sc": {"scheme": "basic"}},
            "security": "open",
            "actions": {"a": {"forms": [
                {"href": "https://a.example/x?token=redacted&q=1#f"}, {"href": "https://a.example/?q=1"},
                {"href": "https://a.example/?api%20key=redacted&token=redacted", "security": ["b"]},
            ]}},
        });
        require_hidden_keys(thing.as_object_mut().unwrap());
        assert_eq!(
            thing["actions"]["a"]["forms"],
            json!([
                {"href": "https://a.example/x?q=1#f", "security": ["token_sc_"]}, {"href": "https://a.example/?q=1"},
                {"href": "https://a.example/", "security": ["b", "api key_sc", "token_sc_"]},
            ])
        );
        assert_eq!(
            thing["securityDefinitions"]["api key_sc"],
            json!({"scheme": "apikey", "in": "query", "name": "api key"})
        );
        assert_eq!(
            (&thing["security"], &thing["securityDefinitions"]["token_sc"]["scheme"]),
            (&json!("open"), &json!("basic"))
        );
    }
}
