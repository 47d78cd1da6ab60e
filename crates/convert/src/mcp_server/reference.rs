//! References to variables in configurations of clients: `${KEY}`, `${KEY:-default}`, `${env:KEY}`, and `${input:KEY}`.

use serde_json::{Map, Value, json};

use crate::redaction::{REDACTED, is_stand_in, secrecy_of};

type Object = Map<String, Value>;

/// A value of a configuration as an input of `server.json`, without its name. A value that was hidden or is one reference is a
/// secret that the user supplies; text around references makes a template.
pub(super) fn input(name: &str, value: &str) -> Object {
    let (template, mut variables) = template(value);
    let is_whole = variables.keys().next().is_some_and(|variable| template == format!("{{{variable}}}"));
    let is_given = variables.values().all(|variable| variable.get("default").is_some());
    if is_stand_in(value) || is_whole && !is_given {
        return Object::from_iter([("isRequired".to_owned(), true.into()), ("isSecret".to_owned(), true.into())]);
    }
    if template.contains(REDACTED) && variables.is_empty() {
        let secret = json!({"token": {"isRequired": true, "isSecret": true}});
        return Object::from_iter([
            ("value".to_owned(), template.replace(REDACTED, "{token}").into()),
            ("isRequired".to_owned(), true.into()),
            ("variables".to_owned(), secret),
        ]);
    }
    let mut input = Object::from_iter([("value".to_owned(), template.into())]);
    if !variables.is_empty() {
        if secrecy_of(name).is_some() {
            variables.values_mut().for_each(|variable| variable["isSecret"] = true.into());
        }
        input.insert("isRequired".to_owned(), true.into());
        input.insert("variables".to_owned(), variables.into());
    }
    input
}

/// A text as a template of `server.json`, with its variables.
pub(super) fn template(text: &str) -> (String, Object) {
    let (mut template, mut variables) = (String::with_capacity(text.len()), Object::new());
    let mut parts = text.split("${");
    template.extend(parts.next());
    for part in parts {
        let Some((reference, literal)) = part.split_once('}') else {
            template.push_str("${");
            template.push_str(part);
            continue;
        };
        let (name, default) =
            reference.split_once(":-").map_or((reference, None), |(name, default)| (name, Some(default)));
        let name = name.rsplit(':').next().unwrap_or(name);
        let mut variable = Object::from_iter([("isRequired".to_owned(), default.is_none().into())]);
        variable.extend(default.map(|default| ("default".to_owned(), default.into())));
        if secrecy_of(name).is_some() {
            variable.insert("isSecret".to_owned(), true.into());
        }
        template.push_str(&format!("{{{name}}}{literal}"));
        variables.insert(name.to_owned(), variable.into());
    }
    (template, variables)
}
