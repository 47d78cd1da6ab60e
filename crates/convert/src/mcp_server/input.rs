//! Inputs: headers, arguments, environment variables and variables in them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

/// True if a flag of an input is set.
pub(super) fn is(input: &Object, flag: &str) -> bool {
    input.get(flag) == Some(&Value::Bool(true))
}

/// True if an input is a secret, or has one in it.
pub(super) fn is_secret(header: &Object) -> bool {
    let variables = header.get("variables").and_then(Value::as_object);
    let has_secret =
        variables.is_some_and(|all| all.values().filter_map(Value::as_object).any(|one| is(one, "isSecret")));
    is(header, "isSecret") || has_secret
}

/// A text of an input.
pub(super) fn text<'i>(input: &'i Object, name: &str) -> Option<&'i str> {
    input.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// The objects in a list.
pub(super) fn objects<'o>(owner: &'o Object, name: &str) -> impl Iterator<Item = &'o Object> {
    owner.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}

/// The names in braces of a template, in order.
pub(super) fn variables_in(template: &str) -> impl Iterator<Item = &str> {
    template.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0)).filter(|name| !name.is_empty())
}

/// The variables of templates as `uriVariables`, with what is declared of them.
pub(super) fn uri_variables<'t>(
    templates: impl Iterator<Item = (&'t str, Option<&'t Object>)>,
) -> BTreeMap<String, Value> {
    let mut variables = BTreeMap::new();
    for (template, declared) in templates {
        for name in variables_in(template) {
            let declared = declared.and_then(|declared| declared.get(name)?.as_object());
            variables.insert(name.to_owned(), declared.map_or_else(|| json!({"type": "string"}), schema));
        }
    }
    variables
}

/// An input as a data schema.
pub(super) fn schema(input: &Object) -> Value {
    let type_ = match text(input, "format") {
        Some("number") => "number",
        Some("boolean") => "boolean",
        _ => "string",
    };
    let typed = |text: &Value| match (type_, text.as_str()) {
        ("string", _) | (_, None) => text.clone(),
        (_, Some(written)) => serde_json::from_str(written).unwrap_or_else(|_| text.clone()),
    };
    let mut schema = json!({"type": type_});
    if let Some(description) = text(input, "description") {
        schema["description"] = description.into();
    }
    if let Some(default) = input.get("default") {
        schema["default"] = typed(default);
    }
    if let Some(Value::Array(choices)) = input.get("choices").filter(|choices| **choices != json!([])) {
        schema["enum"] = choices.iter().map(typed).collect();
    }
    schema
}
