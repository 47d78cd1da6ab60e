//! Inputs of affordances: data and messages, checked against the schemas before anything is sent.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    Affordance, Description, Error, Form, Message, Part, Result,
    request_template::{RequestTemplate, input_name},
    schema,
    template::text_of,
};
use crate::{sacp::coerced, td::Violation};

/// Names of members that a message's text is put into, the likeliest first.
const TEXT_MEMBERS: [&str; 10] =
    ["message", "question", "query", "text", "prompt", "input", "content", "utterance", "request", "ask"];

/// Minimum length limit, in characters, of a text member that may contain a whole conversation.
const MIN_TRANSCRIPT: u64 = 1000;

/// The checked input of an affordance: data, binary content and URI variables.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Input {
    pub(super) data: Option<Value>,
    /// Content of a message that has no place in the data.
    pub(super) parts: Vec<Part>,
    pub(super) variables: Map<String, Value>,
}

/// Creates an input from data. Members that are URI variables rather than input are moved into the URL. Constants and
/// defaults of required members are filled in from the schema. Everything is checked.
pub(super) fn of_data(
    description: &Description,
    form: &Form,
    data: Option<Value>,
    mut variables: Map<String, Value>,
) -> Result<Input> {
    let affordance = &form.affordance;
    let schemas = variable_schemas(description, affordance);
    let schema = description.find(affordance).and_then(|found| input_schema(affordance, found));
    let mut data = data.filter(|data| !data.is_null() || schema.is_some_and(|schema| schema["type"] == "null"));
    if RequestTemplate::of(form).is_some() {
        return of_inputs(description, affordance, &schemas, data, variables);
    }
    if let Some(Value::Object(members)) = &mut data {
        let is_input = |name: &str| schema.is_some_and(|schema| schema["properties"].get(name).is_some());
        let names: Vec<String> =
            members.keys().filter(|name| schemas.contains_key(name.as_str()) && !is_input(name)).cloned().collect();
        for name in names {
            if let Some(value) = members.remove(&name) {
                variables.insert(name, value);
            }
        }
        if members.is_empty() && schema.is_none() {
            data = None;
        }
    }
    let data = with_known(schema, data);
    let mut violations = check_variables(description, &schemas, &mut variables)?;
    violations.extend(check_input(description, schema, data.as_ref())?);
    match violations.is_empty() {
        true => Ok(Input { data, parts: Vec::new(), variables }),
        false => Err(Error::InvalidInput { affordance: affordance.to_string(), violations }),
    }
}

/// Returns the URI variables of a request without input.
pub(super) fn of_variables(
    description: &Description,
    affordance: &Affordance,
    mut variables: Map<String, Value>,
) -> Result<Map<String, Value>> {
    let schemas = variable_schemas(description, affordance);
    let violations = check_variables(description, &schemas, &mut variables)?;
    match violations.is_empty() {
        true => Ok(variables),
        false => Err(Error::InvalidInput { affordance: affordance.to_string(), violations }),
    }
}

/// Creates the input of a tool whose request is a template. An input used in the URL is also a variable.
fn of_inputs(
    description: &Description,
    affordance: &Affordance,
    schemas: &Schemas<'_>,
    data: Option<Value>,
    variables: Map<String, Value>,
) -> Result<Input> {
    let schema = description.find(affordance).and_then(|found| input_schema(affordance, found));
    let mut inputs = match data {
        Some(Value::Object(members)) => members,
        None => Map::new(),
        Some(other) => {
            let violations = check_input(description, schema.or(Some(&json!({"type": "object"}))), Some(&other))?;
            return Err(Error::InvalidInput { affordance: affordance.to_string(), violations });
        }
    };
    for (name, value) in variables {
        inputs.entry(input_name(&name)).or_insert(value);
    }
    for (name, schema) in schema.and_then(|schema| schema["properties"].as_object()).into_iter().flatten() {
        if let Some(value) = schema.get("const").or_else(|| schema.get("default")) {
            inputs.entry(name).or_insert_with(|| value.clone());
        }
    }
    let inputs = Value::Object(inputs);
    let violations = check_input(description, schema, Some(&inputs))?;
    if !violations.is_empty() {
        return Err(Error::InvalidInput { affordance: affordance.to_string(), violations });
    }
    let in_url = schemas.keys().map(|name| input_name(name));
    let variables = in_url.filter_map(|name| Some((name.to_string(), text_of(inputs.get(&*name)?).into())));
    Ok(Input { variables: variables.collect(), data: Some(inputs), parts: Vec::new() })
}

/// The schemas of URI variables, by name.
type Schemas<'d> = BTreeMap<&'d str, &'d Value>;

/// Returns the schemas of the URI variables: those of the Thing, which apply to all of its forms, and those of the
/// affordance (TD 1.1, section 5.3.1.1), which take precedence.
fn variable_schemas<'d>(description: &'d Description, affordance: &Affordance) -> Schemas<'d> {
    let owners = [description.find(&Affordance::Thing), description.find(affordance)];
    let schemas = owners.into_iter().flatten().filter_map(|owner| owner.get("uriVariables")?.as_object());
    schemas.flatten().map(|(name, schema)| (name.as_str(), schema)).collect()
}

/// Sets variables that have a default, and checks all.
fn check_variables(
    description: &Description,
    schemas: &Schemas<'_>,
    variables: &mut Map<String, Value>,
) -> Result<Vec<Violation>> {
    let mut violations = Vec::new();
    for (name, schema) in schemas {
        if !variables.contains_key(*name)
            && let Some(known) = schema.get("const").or_else(|| schema.get("default"))
        {
            variables.insert((*name).to_owned(), known.clone());
        }
        if let Some(value) = variables.get(*name) {
            let found = schema::check_data(schema, value, description.id())?.into_iter();
            violations.extend(
                found.map(|violation| Violation { pointer: format!("/{name}{}", violation.pointer), ..violation }),
            );
        }
    }
    Ok(violations)
}

fn check_input(description: &Description, schema: Option<&Value>, data: Option<&Value>) -> Result<Vec<Violation>> {
    let Some(schema) = schema else { return Ok(Vec::new()) };
    match data {
        Some(data) => schema::check_data(schema, data, description.id()),
        None if needs_value(schema) => {
            let message = format!("no input given; expected {}", summary(schema));
            Ok(vec![Violation::new("", "input-missing", message)])
        }
        None => Ok(Vec::new()),
    }
}

/// Data with the required members that its schema knows: those with a `const` or a `default`.
fn with_known(schema: Option<&Value>, data: Option<Value>) -> Option<Value> {
    let Some(schema) = schema else { return data };
    match data {
        Some(Value::Object(mut members)) => {
            add_known(schema, &mut members);
            Some(Value::Object(members))
        }
        None if schema.get("const").is_some() => schema.get("const").cloned(),
        None => {
            let mut members = Map::new();
            add_known(schema, &mut members);
            (!members.is_empty()).then_some(Value::Object(members))
        }
        data => data,
    }
}

fn add_known(schema: &Value, members: &mut Map<String, Value>) {
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let Some(schema) = schema["properties"].get(name) else { continue };
        if let Some(Value::Object(inner)) = members.get_mut(name) {
            add_known(schema, inner);
        } else if !members.contains_key(name)
            && let Some(known) = schema.get("const").or_else(|| schema.get("default")).cloned().or_else(|| {
                let mut inner = Map::new();
                add_known(schema, &mut inner);
                (!inner.is_empty()).then_some(Value::Object(inner))
            })
        {
            members.insert(name.to_owned(), known);
        }
    }
}

/// Creates an input from a message that answers a question of a running action: its data, or its text. It is checked
/// by the question rather than by the schema of the action.
pub(super) fn of_answer(form: &Form, message: &Message) -> Result<Input> {
    let text = Some(spoken_text(message)).filter(|text| !text.is_empty()).map(Value::from);
    let mut values = message.all_data().cloned().chain(text);
    let data = values.next();
    if values.next().is_some() {
        let violation =
            Violation::new("", "input-data", "the answer has several values, but a question accepts only one");
        return Err(Error::InvalidInput { affordance: form.affordance.to_string(), violations: vec![violation] });
    }
    let parts = message.parts.iter().filter(|part| part.media().is_some()).cloned().collect();
    Ok(Input { data, parts, variables: Map::new() })
}

/// True if an action declares that its input is an object, or variables of its URL.
pub(super) fn is_object(description: &Description, form: &Form) -> bool {
    let schema = description.find(&form.affordance).and_then(|found| input_schema(&form.affordance, found));
    let is_object = |schema: &Value| schema["type"] == "object" || schema.get("properties").is_some();
    schema.map_or_else(|| !variable_schemas(description, &form.affordance).is_empty(), is_object)
}

/// True if an action accepts the text of a whole conversation: anything, a text, or an object with a text member
/// whose name indicates messages. A text limited to a few words is for something else.
pub(super) fn takes_transcript(description: &Description, form: &Form) -> bool {
    let Some(found) = description.find(&form.affordance) else { return false };
    let is_long = |schema: &Value| schema["maxLength"].as_u64().is_none_or(|length| length >= MIN_TRANSCRIPT);
    match input_schema(&form.affordance, found) {
        None => variable_schemas(description, &form.affordance).is_empty(),
        Some(schema) => match schema["properties"].as_object() {
            Some(properties) => TEXT_MEMBERS.iter().any(|known| {
                let mut named = properties.iter().filter(|(name, _)| name.eq_ignore_ascii_case(known));
                named.any(|(_, schema)| is_free_text(schema) && is_long(schema))
            }),
            None => is_free_text(schema) && is_long(schema),
        },
    }
}

/// Refuses a message of which something would be lost, since the input of an action has no place for it: data beside other
/// data, and text beside data.
pub(super) fn check_places(description: &Description, form: &Form, message: &Message) -> Result<()> {
    let affordance = &form.affordance;
    let Some(data) = message.data() else { return Ok(()) };
    if message.all_data().count() > 1 {
        let violation =
            Violation::new("", "input-data", "the message has several data parts, but the input is a single value");
        return Err(Error::InvalidInput { affordance: affordance.to_string(), violations: vec![violation] });
    }
    let schema = description.find(affordance).and_then(|found| input_schema(affordance, found));
    let open = schema.and_then(|schema| schema["properties"].as_object()).cloned().unwrap_or_default();
    let place = text_member(&open, &schema.map(required_names).unwrap_or_default());
    let is_open = place.is_some_and(|name| data.get(name).is_none());
    match message.text().is_empty() || is_open {
        true => Ok(()),
        false => Err(no_place(affordance, "text", schema)),
    }
}

/// Creates an input from a message: its data unchanged, and its text assigned to a suitable member of the schema.
pub(super) fn of_message(
    description: &Description,
    form: &Form,
    message: &Message,
    variables: Map<String, Value>,
) -> Result<Input> {
    let affordance = &form.affordance;
    let found = description.find(affordance);
    let schema = found.and_then(|found| input_schema(affordance, found));
    let text = spoken_text(message);
    let data = message.data();
    let has_prompt = message.parts.iter().any(|part| matches!(part, Part::SystemPrompt { .. }));
    // The caller gives the text for the agent as a member, which the prompt stands before.
    let given =
        data.filter(|_| has_prompt && message.text().is_empty()).and_then(|data| with_prompt(schema?, data, &text));
    let data = given.as_ref().or(data);
    let (text, has_prompt) = if given.is_some() { (String::new(), false) } else { (text, has_prompt) };
    let media: Vec<Part> = message.parts.iter().filter(|part| part.media().is_some()).cloned().collect();
    let input = match schema {
        Some(schema) if is_object(description, form) => Some(object(affordance, schema, &text, data, has_prompt)?),
        Some(schema) if schema["type"] == "array" && data.is_none() => Some(Value::Array(vec![text.clone().into()])),
        _ if has_prompt && data.is_some() => return Err(no_place(affordance, "system prompt", schema)),
        _ => data.cloned().or_else(|| (!text.is_empty()).then(|| text.clone().into())),
    };
    // Of an action that takes only URI variables, the text is the only one that is a string.
    let variable = found.and_then(|found| found.get("uriVariables")).and_then(Value::as_object);
    let mut variables = variables;
    let input = match (schema, variable.map(|schemas| text_member(schemas, &[]))) {
        (None, Some(Some(name))) if data.is_none() && !text.is_empty() => {
            variables.entry(name).or_insert_with(|| text.into());
            None
        }
        _ => input,
    };
    let checked = of_data(description, form, input, variables)?;
    Ok(Input { parts: media, ..checked })
}

/// Puts a prompt before the message to the agent, which is one of the members. Returns `None` if no member has a name
/// that indicates a message.
fn with_prompt(schema: &Value, data: &Value, prompt: &str) -> Option<Value> {
    let members = data.as_object()?;
    let is_given = |name: &str| members.get(name).is_some_and(Value::is_string);
    let properties = schema["properties"].as_object()?;
    let (name, _) = TEXT_MEMBERS.iter().find_map(|known| {
        let is_known = |name: &str| name.eq_ignore_ascii_case(known) && is_given(name);
        properties.iter().find(|(name, schema)| is_known(name) && is_free_text(schema))
    })?;
    let mut members = members.clone();
    let text = members[name].as_str().unwrap_or_default();
    members.insert(name.clone(), format!("{prompt}\n\n{text}").into());
    Some(members.into())
}

/// Adds the instruction of a later agent to the input of an action: as its member `instruction`, as another member for free
/// text, or behind the text that is there. An action that declares no input is sent both as an object.
pub(super) fn with_instruction(
    description: &Description,
    affordance: &Affordance,
    input: &Value,
    instruction: &str,
) -> Result<Value> {
    let schema = description.find(affordance).and_then(|found| input_schema(affordance, found));
    let variables = variable_schemas(description, affordance);
    let append = |text: &str| Value::from(format!("{text}\n\n{instruction}"));
    let members = match (schema, input) {
        (None, _) if variables.is_empty() => return Ok(json!({"input": input, "instruction": instruction})),
        (_, Value::String(text)) => return Ok(append(text)),
        (_, Value::Object(members)) => members,
        _ => &Map::new(),
    };
    let declared = schema.and_then(|schema| schema["properties"].as_object()).into_iter().flatten();
    let declared = declared.map(|(name, schema)| (name.as_str(), schema)).chain(variables);
    let is_free = |name: &str, schema: &Value| match members.get(name) {
        Some(given) => given.is_string() && is_free_text(schema),
        None => is_free_text(schema),
    };
    let free: Vec<&str> = declared.filter(|(name, schema)| is_free(name, schema)).map(|(name, _)| name).collect();
    let places = ["instruction"].into_iter().chain(TEXT_MEMBERS);
    let places: Vec<&str> =
        places.filter_map(|known| free.iter().find(|name| name.eq_ignore_ascii_case(known)).copied()).collect();
    let is_open = |name: &&&str| !members.contains_key(**name);
    let Some(name) = places.iter().find(is_open).or(places.first()) else {
        return Err(no_place(
            affordance,
            &format!("retry instruction of a later agent in the chain ({instruction:?})"),
            schema,
        ));
    };
    let mut members = members.clone();
    let text = match members.get(*name).and_then(Value::as_str) {
        Some(text) => append(text),
        None => instruction.into(),
    };
    members.insert((*name).to_owned(), text);
    Ok(Value::Object(members))
}

/// Input to which a question refers, with the answer filled in.
#[derive(Debug, PartialEq)]
pub(super) struct Answered {
    pub(super) members: Map<String, Value>,
    /// Text for the member that accepts a conversation, which is not among the members.
    pub(super) text: Option<String>,
}

/// Adds the answer to the input to which a question refers. Members of an object replace previous members. A text
/// becomes the value of the member named in the question, or else of the text member; if that accepts a conversation,
/// it receives the whole conversation. Returns `None` if there is no suitable member.
pub(super) fn with_answer(
    description: &Description,
    form: &Form,
    before: &Map<String, Value>,
    question: &str,
    answer: &Message,
) -> Option<Answered> {
    let found = description.find(&form.affordance);
    let schema = found.and_then(|found| input_schema(&form.affordance, found));
    let declared: Map<String, Value> = variable_schemas(description, &form.affordance)
        .into_iter()
        .chain(
            schema
                .and_then(|schema| schema["properties"].as_object())
                .into_iter()
                .flatten()
                .map(|(name, schema)| (name.as_str(), schema)),
        )
        .map(|(name, schema)| (name.to_owned(), schema.clone()))
        .collect();
    let text = spoken_text(answer);
    let mut members = before.clone();
    if let Some(Value::Object(given)) = answer.data() {
        members.extend(given.clone());
        if text.is_empty() {
            return Some(Answered { members, text: None });
        }
    }
    if let Ok(given) = serde_json::from_str::<Map<String, Value>>(&text)
        && given.keys().all(|name| declared.contains_key(name))
    {
        members.extend(given);
        return Some(Answered { members, text: None });
    }
    let required: Vec<&str> = schema.map(required_names).unwrap_or_default();
    let is_for_messages = |name: &str| TEXT_MEMBERS.iter().any(|known| known.eq_ignore_ascii_case(name));
    let named = named_in(question, declared.keys()).filter(|name| !is_for_messages(name)).map(str::to_owned);
    let name = named.or_else(|| text_member(&declared, &required)).filter(|_| !text.is_empty())?;
    if is_for_messages(&name) && takes_transcript(description, form) {
        members.remove(&name);
        return Some(Answered { members, text: Some(text) });
    }
    let value = coerced(&text.into(), &declared[&name]).0;
    members.insert(name, value);
    Some(Answered { members, text: None })
}

/// Returns the only name that occurs as a word in the text.
fn named_in<'n>(text: &str, names: impl Iterator<Item = &'n String>) -> Option<&'n str> {
    let words: Vec<String> = text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_lowercase).collect();
    let mut named = names.filter(|name| words.contains(&name.to_lowercase()));
    named.next().filter(|_| named.next().is_none()).map(String::as_str)
}

/// The text of a message, service messages before it.
fn spoken_text(message: &Message) -> String {
    let own = message.text();
    let service = message.parts.iter().filter_map(|part| match part {
        Part::SystemPrompt { text } => Some(text.clone()),
        Part::ToolResult(result) => {
            Some(format!("Result of {}: {}", result.name.as_deref().unwrap_or(&result.id), result.result))
        }
        _ => None,
    });
    let texts: Vec<String> = service.chain((!own.is_empty()).then_some(own)).collect();
    texts.join("\n\n")
}

/// `has_prompt`: the text begins with a system prompt, which must not be left out.
fn object(
    affordance: &Affordance,
    schema: &Value,
    text: &str,
    data: Option<&Value>,
    has_prompt: bool,
) -> Result<Value> {
    let mut members = match data {
        Some(Value::Object(members)) => members.clone(),
        _ => Map::new(),
    };
    let empty = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    let required = required_names(schema);
    if !text.is_empty() {
        match text_member(properties, &required).filter(|name| !members.contains_key(name)) {
            Some(name) => drop(members.insert(name, text.into())),
            None if has_prompt => return Err(no_place(affordance, "system prompt", Some(schema))),
            None if members.is_empty() => {
                let message =
                    format!("the input has no member for text (expected {}); send data instead", summary(schema));
                let violations = vec![Violation::new("", "input-text", message)];
                return Err(Error::InvalidInput { affordance: affordance.to_string(), violations });
            }
            None => {}
        }
    }
    for name in required {
        let Some(schema) = properties.get(name).filter(|_| !members.contains_key(name)) else { continue };
        let is_allowed =
            |value: &str| schema["enum"].as_array().is_some_and(|values| values.iter().any(|known| known == value));
        let known = schema.get("default").or_else(|| schema.get("const")).cloned();
        // How it is talked: LMOS agents have it as `interactionMode`.
        if let Some(value) = known.or_else(|| is_allowed("text").then(|| "text".into())) {
            members.insert(name.to_owned(), value);
        }
    }
    Ok(Value::Object(members))
}

fn required_names(schema: &Value) -> Vec<&str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Returns the member for text: a member with a suitable name, or else the only required or only existing free text.
fn text_member(properties: &Map<String, Value>, required: &[&str]) -> Option<String> {
    let free: Vec<&String> =
        properties.iter().filter(|(_, schema)| is_free_text(schema)).map(|(name, _)| name).collect();
    let named = TEXT_MEMBERS.iter().find_map(|known| free.iter().find(|name| name.eq_ignore_ascii_case(known)));
    let needed: Vec<&&String> = free.iter().filter(|name| required.contains(&name.as_str())).collect();
    let only = match (needed.as_slice(), free.as_slice()) {
        ([one], _) => Some(**one),
        ([], [one]) if properties.len() == 1 => Some(*one),
        _ => None,
    };
    named.copied().or(only).cloned()
}

/// Creates the error for a text alongside data if the input has no member for text.
fn no_place(affordance: &Affordance, what: &str, schema: Option<&Value>) -> Error {
    let expected = schema.map(|schema| format!(" (expected {})", summary(schema))).unwrap_or_default();
    let message = format!("the input{expected} has no free-text member for the {what}");
    Error::InvalidInput {
        affordance: affordance.to_string(),
        violations: vec![Violation::new("", "input-text", message)],
    }
}

fn is_free_text(schema: &Value) -> bool {
    schema.get("type").is_none_or(|name| name == "string")
        && schema.get("enum").is_none()
        && schema.get("const").is_none()
        && schema.get("format").is_none()
        && schema.get("properties").is_none()
}

/// Returns the input schema of an affordance.
fn input_schema<'d>(affordance: &Affordance, found: &'d Value) -> Option<&'d Value> {
    match affordance {
        Affordance::Action(_) => found.get("input"),
        Affordance::Event(_) => found.get("subscription"),
        Affordance::Property(_) | Affordance::Thing => None,
    }
}

fn needs_value(schema: &Value) -> bool {
    schema["required"].as_array().is_some_and(|required| !required.is_empty())
        || schema.get("type").is_some_and(|name| name != "object" && name != "null")
}

/// Summarizes in a few words the value that a schema expects.
pub(super) fn summary(schema: &Value) -> String {
    let names: Vec<String> = schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, schema)| {
            let values: Vec<String> = schema["enum"].as_array().into_iter().flatten().take(6).map(text_of).collect();
            match (schema["type"].as_str(), values.is_empty()) {
                (_, false) => format!("{name} ({})", values.join(" | ")),
                (Some(kind), true) => format!("{name} ({kind})"),
                (None, true) => name.clone(),
            }
        })
        .collect();
    match schema["type"].as_str() {
        _ if !names.is_empty() => format!("an object with {}", names.join(", ")),
        Some(kind) => kind.to_owned(),
        None => "JSON".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn description(action: Value) -> Description {
        Description::parse(&json!({"id": "urn:a", "actions": {"ask": action}}).to_string()).unwrap()
    }

    fn form() -> Form {
        Form { affordance: Affordance::Action("ask".into()), href: "http://a.example".into(), members: Map::new() }
    }

    fn input_of(action: Value, message: impl Into<Message>) -> Result<Input> {
        of_message(&description(action), &form(), &message.into(), Map::new())
    }

    #[test]
    fn text_is_put_where_the_schema_has_a_place_for_it() {
        let mode = json!({"type": "string", "enum": ["text", "voice"]});
        let question = json!({"type": "object", "properties": {"question": {"type": "string"}, "interactionMode": mode}, "required": ["question", "interactionMode"]});
        for (schema, expected) in [
            (json!({"type": "string"}), json!("Rain?")),
            (question, json!({"question": "Rain?", "interactionMode": "text"})),
            (
                json!({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 2}}, "required": ["city", "days"]}),
                json!({"city": "Rain?", "days": 2}),
            ),
        ] {
            assert_eq!(input_of(json!({"input": schema}), "Rain?").unwrap().data, Some(expected));
        }
        assert_eq!(input_of(json!({}), "Rain?").unwrap().data, Some(json!("Rain?")));
        let variable = input_of(json!({"uriVariables": {"q": {"type": "string"}}}), "Rain?").unwrap();
        assert_eq!((variable.data, &variable.variables["q"]), (None, &json!("Rain?")));
    }

    #[test]
    fn answer_takes_its_place_in_the_input_that_the_question_is_about() {
        let text = json!({"type": "string"});
        let city_and_day = json!({"city": text, "day": {"type": "integer"}});
        let ports = json!({"origin": text, "target": text, "day": {"type": "integer"}});
        let asking = json!({"question": text, "city": text});
        let before = json!({"city": "Bonn", "day": 3});
        let route = json!({"origin": "Bonn", "target": "Ulm", "day": 3});
        let asked = json!({"question": "Rain?", "city": "Bonn"});
        let members = |value: Value| Some((value, None));
        for (properties, before, question, answer, expected) in [
            (&city_and_day, &before, "Which?", Message::from("Cologne"), members(json!({"city": "Cologne", "day": 3}))),
            (&city_and_day, &before, "Which day?", Message::from("4"), members(json!({"city": "Bonn", "day": 4}))),
            (
                &city_and_day,
                &before,
                "Which day?",
                Message::from("soon"),
                members(json!({"city": "Bonn", "day": "soon"})),
            ),
            (
                &city_and_day,
                &before,
                "Which?",
                Message::from(json!({"day": 4})),
                members(json!({"city": "Bonn", "day": 4})),
            ),
            (
                &city_and_day,
                &before,
                "Which?",
                Message::from(("Cologne", json!({"day": 4}))),
                members(json!({"city": "Cologne", "day": 4})),
            ),
            (
                &city_and_day,
                &before,
                "Which?",
                Message::from("{\"day\": 4}"),
                members(json!({"city": "Bonn", "day": 4})),
            ),
            (
                &ports,
                &route,
                "Which origin?",
                Message::from("Köln"),
                members(json!({"origin": "Köln", "target": "Ulm", "day": 3})),
            ),
            (&ports, &route, "Which?", Message::from("Köln"), None),
            (&ports, &route, "Is the origin or the target wrong?", Message::from("Köln"), None),
            (
                &asking,
                &asked,
                "Which city?",
                Message::from("Ulm"),
                members(json!({"question": "Rain?", "city": "Ulm"})),
            ),
            (
                &asking,
                &asked,
                "Is the question about today?",
                Message::from("No"),
                Some((json!({"city": "Bonn"}), Some("No".to_owned()))),
            ),
        ] {
            let schema = json!({"type": "object", "properties": properties, "required": ["city"]});
            let description = description(json!({"input": schema}));
            let before = before.as_object().unwrap();
            let answered = with_answer(&description, &form(), before, question, &answer);
            let answered = answered.map(|Answered { members, text }| (Value::Object(members), text));
            assert_eq!(answered, expected, "{question} {answer}");
        }
        let in_url = description(json!({"uriVariables": city_and_day}));
        let answered = |question: &str| {
            with_answer(&in_url, &form(), before.as_object().unwrap(), question, &Message::from("Ulm"))
                .map(|answered| Value::Object(answered.members))
        };
        assert_eq!(answered("Which city?"), Some(json!({"city": "Ulm", "day": 3})));
        assert_eq!(answered("Which?"), None, "an optional member beside others isn't filled in by a guess");
    }

    #[test]
    fn answer_to_an_action_that_goes_on_is_one_value() {
        let data = |message: Message| of_answer(&form(), &message).map(|input| input.data);
        assert_eq!(data(Message::from("Bonn")).unwrap(), Some(json!("Bonn")));
        assert_eq!(data(Message::from(json!({"a": 1}))).unwrap(), Some(json!({"a": 1})));
        assert!(matches!(data(Message::from(("Bonn", json!(1)))), Err(Error::InvalidInput { .. })));
    }

    #[test]
    fn prompt_stands_before_the_text_that_is_given_as_a_member() {
        let text = json!({"type": "string"});
        let both =
            json!({"type": "object", "properties": {"question": text, "message": text}, "required": ["question"]});
        let lone = json!({"type": "object", "properties": {"question": text}, "required": ["question"]});
        let city = json!({"type": "object", "properties": {"city": text}});
        let said = |data: Value| Message::user([Part::system("Be brief."), Part::data(data)]);
        for (schema, data, expected) in [
            (&lone, json!({"question": "Rain?"}), json!({"question": "Be brief.\n\nRain?"})),
            (&both, json!({"question": "Rain?"}), json!({"question": "Be brief.\n\nRain?"})),
        ] {
            assert_eq!(input_of(json!({"input": schema}), said(data)).unwrap().data, Some(expected));
        }
        let error = input_of(json!({"input": city}), said(json!({"city": "Bonn"}))).unwrap_err();
        assert!(error.to_string().contains("has no free-text member for the system prompt"), "{error}");
    }

    #[test]
    fn input_without_a_place_or_a_value_is_refused() {
        let numbers = json!({"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]});
        for (schema, message, expected) in [
            (numbers.clone(), Message::from("Rain?"), "no member for text"),
            (numbers.clone(), Message::from(json!({"a": "x"})), "/a"),
            (numbers, Message::from(json!({})), "required property"),
            (json!({"type": "string", "maxLength": 2}), Message::from("Rain?"), "longer than 2"),
        ] {
            let error = input_of(json!({"input": schema}), message).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn message_of_which_something_would_be_lost_is_refused() {
        let city = json!({"type": "object", "properties": {"city": {"type": "string"}}});
        let with = |name: &str| json!({"type": "object", "properties": {"city": {"type": "string"}, name: {"type": "string"}}});
        let (question, key) = (with("question"), with("apiKey"));
        let (data, text) = (json!({"city": "Bonn"}), "Rain?");
        let check = |schema: &Value, message: Message| {
            check_places(&description(json!({"input": schema})), &form(), &message).map_err(|error| error.to_string())
        };
        for (schema, message, expected) in [
            (&city, Message::from((data.clone(), data.clone())), "several data"),
            (&city, Message::from((text, data.clone())), "no free-text member for the text"),
            (&key, Message::from((text, data.clone())), "no free-text member for the text"),
            (&json!({}), Message::from((text, data.clone())), "no free-text member for the text"),
            (&json!({"type": "integer"}), Message::from((text, json!(3))), "no free-text member for the text"),
        ] {
            let error = check(schema, message).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        for (schema, message) in [
            (&question, Message::from((text, data.clone()))),
            (&city, Message::from(data.clone())),
            (&city, Message::from(text)),
        ] {
            check(schema, message).unwrap();
        }
    }

    #[test]
    fn members_of_the_url_are_taken_out_of_the_data() {
        let action = json!({"uriVariables": {"city": {"type": "string"}, "days": {"type": "integer", "default": 1}}, "input": {"type": "object", "properties": {"note": {"type": "string"}}}});
        let input =
            of_data(&description(action.clone()), &form(), Some(json!({"city": "Bonn", "note": "x"})), Map::new())
                .unwrap();
        assert_eq!(
            (input.data, Value::Object(input.variables)),
            (Some(json!({"note": "x"})), json!({"city": "Bonn", "days": 1}))
        );
        let error = of_data(&description(action), &form(), Some(json!({"city": 3})), Map::new()).unwrap_err();
        assert!(error.to_string().contains("/city"), "{error}");
    }
}
