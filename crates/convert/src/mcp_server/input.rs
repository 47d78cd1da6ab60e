//! Inputs: headers, arguments, environment variables, and the variables in their values.

use std::collections::{BTreeMap, BTreeSet, HashMap};

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

/// The URI variables of a server. Its remotes and their headers may have different ones of one name.
#[derive(Debug, Default)]
pub(super) struct Variables {
    schemas: BTreeMap<String, Value>,
    /// Names here, by the name that a document has and what it says of the values.
    names: HashMap<(String, String), String>,
    /// The next number for a name that is taken.
    numbers: HashMap<String, usize>,
}

impl Variables {
    /// Adds the variables of a template with what the first of `owners` to have one of the name declares, but for those that
    /// `is_left_out`. Returns the template with the names that they have here.
    pub(super) fn add(
        &mut self,
        template: &str,
        owners: &[Option<&Object>],
        is_left_out: impl Fn(&str) -> bool,
        names: &mut BTreeSet<String>,
    ) -> String {
        let mut parts = template.split('{');
        let mut renamed = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            renamed.push('{');
            match part.split_once('}') {
                Some((name, literal)) if !name.is_empty() && !is_left_out(name) => {
                    let declared = owners.iter().flatten().find_map(|declared| declared.get(name)?.as_object());
                    let own = self.define(name, declared.map_or_else(|| json!({"type": "string"}), schema));
                    renamed.push_str(&format!("{own}}}{literal}"));
                    names.insert(own);
                }
                _ => renamed.push_str(part),
            }
        }
        renamed
    }

    /// The name of a variable: its own, unless another one has it.
    fn define(&mut self, name: &str, schema: Value) -> String {
        let values = json!(["type", "const", "enum", "default"].map(|member| schema.get(member)));
        let written = (name.to_owned(), values.to_string());
        if let Some(own) = self.names.get(&written) {
            return own.clone();
        }
        let mut own = name.to_owned();
        while self.schemas.contains_key(&own) {
            let number = self.numbers.entry(name.to_owned()).and_modify(|number| *number += 1).or_insert(2);
            own = format!("{name}_{number}");
        }
        self.schemas.insert(own.clone(), schema);
        self.names.insert(written, own.clone());
        own
    }

    /// The schemas of variables, by name.
    pub(super) fn schemas(&self, names: BTreeSet<String>) -> BTreeMap<String, Value> {
        names.into_iter().filter_map(|name| Some((name.clone(), self.schemas.get(&name)?.clone()))).collect()
    }
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
    if let Some(value) = text(input, "value") {
        schema["const"] = typed(&value.into());
    }
    if let Some(Value::Array(choices)) = input.get("choices").filter(|choices| **choices != json!([])) {
        schema["enum"] = choices.iter().map(typed).collect();
    }
    schema
}
