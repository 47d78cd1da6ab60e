//! Questions of servers (`elicitation`), and the answers of users to them.
//!
//! A question has a message and requests either an object that satisfies a schema (form mode), or the user's consent to
//! open a URL (URL mode). The schema or the URL is passed on as data: `{"requestedSchema": …}` or `{"url": …}`.

use reqwest::Url;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::super::{Error, Form, Message, Part, Result, input::summary};
use crate::{
    sacp::coerced,
    td::{Violation, internal::DataSchema},
};

/// Method of questions.
pub(super) const METHOD: &str = "elicitation/create";
/// Why a question can't be passed on.
pub(super) const UNREADABLE: &str = "the question is neither a URL nor a form with single values";
/// Maximum size of a question in bytes of JSON.
const MAX_BYTES: usize = 64 * 1024;
const MAX_VIOLATIONS: usize = 20;

/// A question of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Question {
    /// Key of the question in a result with questions (protocol of 2026).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<String>,
    pub(super) message: String,
    #[serde(flatten)]
    wanted: Wanted,
}

/// Kind of answer requested by a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Wanted {
    /// An object matching a schema.
    RequestedSchema(Value),
    /// Consent to open a URL.
    Url(String),
}

impl Question {
    /// A question as a server asks it, or the reason why it can't be passed on.
    pub(super) fn new(key: Option<String>, params: ElicitRequestParams) -> std::result::Result<Question, String> {
        let (message, wanted) = match params {
            ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
                let schema = serde_json::to_value(requested_schema).map_err(|error| error.to_string())?;
                DataSchema::compile(&schema)
                    .map_err(|reason| format!("the schema of the question can't be used: {reason}"))?;
                (message, Wanted::RequestedSchema(schema))
            }
            ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
                let is_web = Url::parse(&url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
                if !is_web {
                    return Err("the URL of the question is not an http or https URL".to_owned());
                }
                (message, Wanted::Url(url))
            }
            _ => return Err(UNREADABLE.to_owned()),
        };
        let question = Question { key, message, wanted };
        match json!(question).to_string().len() <= MAX_BYTES {
            true => Ok(question),
            false => Err(format!("the question is larger than {MAX_BYTES} bytes")),
        }
    }

    /// The question as a message of the agent.
    pub(super) fn to_message(&self) -> Message {
        let text = match &self.wanted {
            Wanted::Url(url) if !self.message.contains(url.as_str()) => format!("{}\n{url}", self.message),
            _ => self.message.clone(),
        };
        Message::agent([Part::text(text), Part::data(json!(self.wanted))])
    }

    /// Converts the user's answer to a result: data or a text, or an answer that names its action (`{"action":
    /// "decline"}`).
    ///
    /// # Errors
    /// [`Error::InvalidInput`]
    pub(super) fn result_of(&self, answer: Option<&Value>, form: &Form) -> Result<ElicitResult> {
        let parsed = answer.and_then(Value::as_str).and_then(|text| serde_json::from_str(text).ok());
        let parsed = parsed.filter(Value::is_object);
        let members = parsed.as_ref().or(answer).and_then(Value::as_object);
        let result = match members.and_then(|members| self.named_action(members)) {
            Some((ElicitationAction::Accept, content)) => self.accept(content),
            Some((action, _)) => Ok(ElicitResult::new(action)),
            None => match &self.wanted {
                Wanted::RequestedSchema(schema) if has_properties(schema) => {
                    content(schema, answer, parsed).and_then(|content| self.accept(Some(&content)))
                }
                _ => match answer.and_then(consent) {
                    Some(ElicitationAction::Accept) => self.accept(None),
                    Some(action) => Ok(ElicitResult::new(action)),
                    None => Err(misplaced("answer with yes, no, or cancel".to_owned())),
                },
            },
        };
        result.map_err(|violations| Error::InvalidInput { affordance: form.affordance.to_string(), violations })
    }

    /// Returns the action named by an answer, with its content. Not possible if the question itself asks for an
    /// `action`.
    fn named_action<'a>(&self, members: &'a Map<String, Value>) -> Option<(ElicitationAction, Option<&'a Value>)> {
        let is_wanted =
            matches!(&self.wanted, Wanted::RequestedSchema(schema) if schema["properties"].get("action").is_some());
        let is_result = !is_wanted && members.keys().all(|name| matches!(name.as_str(), "action" | "content"));
        let action = action_of(members.get("action")?.as_str()?).filter(|_| is_result)?;
        Some((action, members.get("content")))
    }

    fn accept(&self, content: Option<&Value>) -> std::result::Result<ElicitResult, Vec<Violation>> {
        let accepted = ElicitResult::new(ElicitationAction::Accept);
        let Wanted::RequestedSchema(schema) = &self.wanted else { return Ok(accepted) };
        let content = content.cloned().unwrap_or_else(|| json!({}));
        let violations = violations(schema, &content);
        if violations.is_empty() { Ok(accepted.with_content(content)) } else { Err(violations) }
    }
}

fn has_properties(schema: &Value) -> bool {
    schema["properties"].as_object().is_some_and(|properties| !properties.is_empty())
}

fn violations(schema: &Value, content: &Value) -> Vec<Violation> {
    match DataSchema::compile(schema) {
        Ok(compiled) => compiled.violations(content, MAX_VIOLATIONS),
        Err(reason) => {
            vec![Violation::new("", "input-schema", format!("the schema of the question can't be used: {reason}"))]
        }
    }
}

fn misplaced(message: String) -> Vec<Violation> {
    vec![Violation::new("", "input-text", message)]
}

/// The content of an answer: data as they are, a text that is a JSON object, or the value of the only property.
fn content(
    schema: &Value,
    answer: Option<&Value>,
    parsed: Option<Value>,
) -> std::result::Result<Value, Vec<Violation>> {
    let answer = answer.filter(|answer| !answer.is_null());
    let answer = answer.ok_or_else(|| misplaced(format!("no answer given; expected {}", summary(schema))))?;
    if answer.is_object() {
        return Ok(answer.clone());
    }
    let parsed = parsed.map(|parsed| coerced(&parsed, schema).0);
    if let Some(content) = parsed.as_ref().filter(|content| violations(schema, content).is_empty()) {
        return Ok(content.clone());
    }
    let Some((name, property)) = only_property(schema) else {
        return parsed.ok_or_else(|| misplaced(format!("answer with JSON: {}", summary(schema))));
    };
    let value = titled(property, answer).unwrap_or_else(|| answer.clone());
    Ok(coerced(&Value::Object(Map::from_iter([(name.to_owned(), value)])), schema).0)
}

/// Returns the property for a single value: the only property, or the only required property.
fn only_property(schema: &Value) -> Option<(&str, &Value)> {
    let properties = schema["properties"].as_object()?;
    let name = match (properties.len(), schema["required"].as_array().map(Vec::as_slice)) {
        (1, _) => properties.keys().next()?.as_str(),
        (_, Some([name])) => name.as_str()?,
        _ => return None,
    };
    Some((name, properties.get(name)?))
}

/// The choice with a title, or with a value in other letters.
fn titled(schema: &Value, answer: &Value) -> Option<Value> {
    let text = answer.as_str()?.trim().to_lowercase();
    let is_meant = |name: Option<&Value>| name.and_then(Value::as_str).is_some_and(|name| name.to_lowercase() == text);
    let choices = ["oneOf", "anyOf"].iter().find_map(|name| schema.get(name).or_else(|| schema["items"].get(name)));
    let by_choice = choices.and_then(Value::as_array).into_iter().flatten();
    let by_choice = by_choice.filter(|choice| is_meant(choice.get("title")) || is_meant(choice.get("const")));
    let by_choice = by_choice.filter_map(|choice| choice.get("const"));
    let values = schema["enum"].as_array().into_iter().flatten();
    let by_name = values.zip(schema["enumNames"].as_array().into_iter().flatten());
    let by_name = by_name.filter(|(_, name)| is_meant(Some(*name))).map(|(value, _)| value);
    let mut found = by_choice.chain(by_name);
    match (found.next(), found.next()) {
        (Some(value), None) if schema["type"] == "array" => Some(json!([value])),
        (Some(value), None) => Some(value.clone()),
        _ => None,
    }
}

fn action_of(name: &str) -> Option<ElicitationAction> {
    match name {
        "accept" => Some(ElicitationAction::Accept),
        "decline" => Some(ElicitationAction::Decline),
        "cancel" => Some(ElicitationAction::Cancel),
        _ => None,
    }
}

/// Returns the action for an answer to a question without anything to fill in.
fn consent(answer: &Value) -> Option<ElicitationAction> {
    let text = match answer {
        Value::Bool(is_granted) => is_granted.to_string(),
        answer => answer.as_str()?.trim().to_lowercase(),
    };
    match text.as_str() {
        "yes" | "y" | "ok" | "true" => Some(ElicitationAction::Accept),
        "no" | "n" | "false" => Some(ElicitationAction::Decline),
        name => action_of(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Affordance;

    fn question(params: Value) -> std::result::Result<Question, String> {
        Question::new(None, serde_json::from_value(params).unwrap())
    }

    fn of_schema(properties: Value, required: Value) -> Question {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        question(json!({"mode": "form", "message": "Which?", "requestedSchema": schema})).unwrap()
    }

    fn result(question: &Question, answer: Value) -> Value {
        let affordance = Affordance::Action("ask".into());
        let form = Form { affordance, href: String::new(), members: Map::new() };
        match question.result_of(Some(&answer), &form) {
            Ok(result) => serde_json::to_value(result).unwrap(),
            Err(Error::InvalidInput { violations, .. }) => violations[0].message.clone().into(),
            Err(error) => panic!("{error:?}"),
        }
    }

    #[test]
    fn text_is_the_value_of_the_only_property() {
        let level =
            json!({"type": "string", "oneOf": [{"const": "lo", "title": "Low"}, {"const": "hi", "title": "High"}]});
        let colors = json!({"type": "array", "items": {"type": "string", "enum": ["red", "blue"]}});
        let named = json!({"type": "string", "enum": ["r", "b"], "enumNames": ["Red", "Blue"]});
        for (property, answer, expected) in [
            (json!({"type": "string"}), "Bonn", json!("Bonn")),
            (json!({"type": "string"}), "{\"a\": 1}", json!("{\"a\": 1}")),
            (json!({"type": "integer"}), "3", json!(3)),
            (json!({"type": "number"}), "0.5", json!(0.5)),
            (json!({"type": "boolean"}), "Yes", json!(true)),
            (json!({"type": "string", "enum": ["red", "blue"]}), "Blue", json!("blue")),
            (named, "blue", json!("b")),
            (level.clone(), "high", json!("hi")),
            (level, "lo", json!("lo")),
            (colors.clone(), "red", json!(["red"])),
            (colors, "[\"red\", \"blue\"]", json!(["red", "blue"])),
        ] {
            let asked = of_schema(json!({"it": property}), json!(["it"]));
            let expected = json!({"action": "accept", "content": {"it": expected}});
            assert_eq!(result(&asked, json!(answer)), expected, "{asked:?}");
        }
        let several = json!({"city": {"type": "string"}, "days": {"type": "integer"}});
        let one_required = of_schema(several, json!(["city"]));
        assert_eq!(result(&one_required, json!("Bonn")), json!({"action": "accept", "content": {"city": "Bonn"}}));
    }

    #[test]
    fn several_properties_are_answered_by_an_object() {
        let properties = json!({"city": {"type": "string"}, "days": {"type": "integer"}});
        let asked = of_schema(properties, json!(["city", "days"]));
        let accepted = json!({"action": "accept", "content": {"city": "Bonn", "days": 2}});
        for answer in [
            json!({"city": "Bonn", "days": 2}),
            json!("{\"city\": \"Bonn\", \"days\": \"2\"}"),
            json!({"action": "accept", "content": {"city": "Bonn", "days": 2}}),
        ] {
            assert_eq!(result(&asked, answer), accepted);
        }
        for (answer, expected) in [
            (json!("Bonn"), "answer with JSON: an object with city (string), days (integer)"),
            (json!({"city": "Bonn", "days": "2"}), "is not of type"),
            (json!({"city": "Bonn"}), "required property"),
            (json!({"action": "accept"}), "required property"),
            (Value::Null, "no answer given"),
        ] {
            let said = result(&asked, answer);
            assert!(said.as_str().unwrap().contains(expected), "{said}");
        }
    }

    #[test]
    fn questions_are_declined_and_cancelled_by_an_action() {
        let asked = of_schema(json!({"city": {"type": "string"}}), json!(["city"]));
        assert_eq!(result(&asked, json!({"action": "decline"})), json!({"action": "decline"}));
        assert_eq!(result(&asked, json!("{\"action\": \"cancel\"}")), json!({"action": "cancel"}));
        // One that asks for an action.
        let asked = of_schema(json!({"action": {"type": "string"}}), json!(["action"]));
        let accepted = json!({"action": "accept", "content": {"action": "decline"}});
        assert_eq!(result(&asked, json!({"action": "decline"})), accepted);
        let confirmed = of_schema(json!({}), json!([]));
        assert_eq!(result(&confirmed, json!("yes")), json!({"action": "accept", "content": {}}));
        assert_eq!(result(&confirmed, json!("No")), json!({"action": "decline"}));
    }

    #[test]
    fn a_url_is_shown_and_consented_to() {
        let params = |url: &str| json!({"mode": "url", "message": "Sign in.", "url": url, "elicitationId": "1"});
        let asked = question(params("https://a.example/in")).unwrap();
        let message = asked.to_message();
        assert_eq!(message.text(), "Sign in.\nhttps://a.example/in");
        assert_eq!(message.data(), Some(&json!({"url": "https://a.example/in"})));
        assert_eq!(result(&asked, json!("yes")), json!({"action": "accept"}));
        assert_eq!(result(&asked, json!({"action": "decline"})), json!({"action": "decline"}));
        assert_eq!(result(&asked, json!("Bonn")), "answer with yes, no, or cancel");
        for url in ["javascript:alert(1)", "file:///etc/passwd", "/in"] {
            assert!(question(params(url)).is_err(), "{url}");
        }
    }

    #[test]
    fn large_questions_are_refused() {
        let schema = json!({"type": "object", "properties": {"it": {"type": "string"}}});
        let params = json!({"mode": "form", "message": "x".repeat(MAX_BYTES), "requestedSchema": schema});
        assert!(question(params).unwrap_err().contains("larger"));
    }
}
