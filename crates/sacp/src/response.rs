//! `Response`: what an agent answers (SACP, section 2), and what a guardrail may do to it (section 9.1).

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::td::Violation;

/// The JSON Schema of a response (SACP, section 2.1), with the extension status of section 11.
pub const SCHEMA: &str = include_str!("../schemas/sacp-response.json");

/// The result of a task, by which edges of a chain are chosen (SACP, section 2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The task is done; the chain continues.
    Success,
    /// The task failed.
    Failure,
    /// The agent needs an answer from the user first.
    ClarificationNeeded,
    /// The task is done, and the chain with it.
    Completed,
    /// The agent asks the previous agent to try again (section 11, an extension).
    RetryWithInstruction,
}

impl Status {
    /// All values, in the order of the schema.
    pub const ALL: [Status; 5] = [
        Status::Success,
        Status::Failure,
        Status::ClarificationNeeded,
        Status::Completed,
        Status::RetryWithInstruction,
    ];

    /// Its name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Success => "success",
            Status::Failure => "failure",
            Status::ClarificationNeeded => "clarification_needed",
            Status::Completed => "completed",
            Status::RetryWithInstruction => "retry_with_instruction",
        }
    }

    /// The status of that name.
    pub fn from_name(name: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.as_str() == name)
    }

    /// The status of a name in other letters, or of `needs_input`, as section 1 of the specification and other protocols
    /// call `clarification_needed`.
    pub(super) fn from_any_name(name: &str) -> Option<Status> {
        // `Clarification Needed`, `clarificationNeeded`, `Status.CLARIFICATION_NEEDED`
        let letters = |name: &str| {
            let letters = name.chars().filter(char::is_ascii_alphabetic);
            letters.map(|letter| letter.to_ascii_lowercase()).collect::<String>()
        };
        let name = name.trim_end_matches(['.', '!', ' ']).rsplit('.').next().unwrap_or_default();
        match letters(name).as_str() {
            "needsinput" | "inputrequired" | "needsclarification" => Some(Status::ClarificationNeeded),
            name => Status::ALL.into_iter().find(|status| letters(status.as_str()) == name),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The response of an agent.
///
/// ```
/// let reading = agentdex_sacp::read(
///     r#"Here you are: {"thought": "5+5 is 10.", "status": "success", "data": {"result": 10}, "message": "10"}"#,
/// );
/// assert_eq!(reading.response.status, agentdex_sacp::Status::Success);
/// assert_eq!(reading.response.data["result"], 10);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Response {
    /// The agent's reasoning: for people and audits, never for the next agent.
    pub thought: String,
    /// The result of the task.
    pub status: Status,
    /// Data for the next agent, or for the caller.
    pub data: Map<String, Value>,
    /// Message to the user.
    pub message: String,
    /// The agent's suggestion for the next step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step_hint: Option<String>,
    /// Members that the specification doesn't name.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Response {
    /// Reads an object. Returns the response and its violations, such as missing members that were
    /// read as empty.
    ///
    /// # Errors
    /// All that is wrong, if the object can't be read as a response.
    pub fn from_object(mut object: Map<String, Value>) -> Result<(Response, Vec<Violation>), Vec<Violation>> {
        let mut findings = Findings::default();
        let status = findings.status(object.remove("status"));
        let response = Response {
            thought: findings.text("thought", object.remove("thought")),
            data: findings.data(object.remove("data")),
            message: findings.text("message", object.remove("message")),
            next_step_hint: match object.remove("next_step_hint") {
                None | Some(Value::Null) => None,
                hint => Some(findings.text("next_step_hint", hint)),
            },
            status: status.unwrap_or(Status::Failure),
            other: object,
        };
        if findings.is_unreadable { Err(findings.violations) } else { Ok((response, findings.violations)) }
    }

    /// A success with a message and data.
    pub fn success(message: impl Into<String>, data: Map<String, Value>) -> Response {
        Response {
            thought: String::new(),
            status: Status::Success,
            data,
            message: message.into(),
            next_step_hint: None,
            other: Map::new(),
        }
    }

    /// A failure for this reason.
    pub fn failure(reason: impl Into<String>) -> Response {
        Response { status: Status::Failure, ..Response::success(reason, Map::new()) }
    }

    /// The next branch of a [`Chain`](super::Chain), according to its member `branch`.
    pub fn branch(&self) -> Option<&str> {
        self.other.get("branch").and_then(Value::as_str)
    }

    /// Returns the fallback for an answer that can't be read (SACP, section 7.2), with its original text.
    pub fn unreadable(raw_output: &str) -> Response {
        Response {
            thought: "System Note: LLM failed to provide structured JSON output.".into(),
            status: Status::Failure,
            data: Map::from_iter([("raw_output".to_owned(), Value::from(raw_output))]),
            message: "The LLM returned an invalid response format.".into(),
            next_step_hint: None,
            other: Map::new(),
        }
    }

    /// The response as JSON.
    pub fn to_value(&self) -> Value {
        let mut object = Map::from_iter([
            ("thought".to_owned(), json!(self.thought)),
            ("status".to_owned(), json!(self.status)),
            ("data".to_owned(), Value::Object(self.data.clone())),
            ("message".to_owned(), json!(self.message)),
        ]);
        object.extend(self.next_step_hint.as_ref().map(|hint| ("next_step_hint".to_owned(), json!(hint))));
        object.extend(self.other.clone());
        Value::Object(object)
    }

    /// Replaces the message of a failure with `notice` if its data is sensitive; the data remains for
    /// the orchestrator (section 9.1). Returns whether it was replaced.
    pub fn withhold_message(&mut self, notice: &str, is_sensitive: impl Fn(&str) -> bool) -> bool {
        let withhold = self.status == Status::Failure && self.data.values().any(|value| any_text(value, &is_sensitive));
        if withhold {
            notice.clone_into(&mut self.message);
        }
        withhold
    }

    /// Turns it into a failure before the next agent receives it, as a guardrail may do (section
    /// 9.1).
    pub fn force_failure(&mut self) {
        self.status = Status::Failure;
    }
}

/// True if any text in a value passes the test.
fn any_text(value: &Value, test: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => test(text),
        Value::Array(items) => items.iter().any(|item| any_text(item, test)),
        Value::Object(members) => members.iter().any(|(name, member)| test(name) || any_text(member, test)),
        _ => false,
    }
}

#[derive(Default)]
struct Findings {
    violations: Vec<Violation>,
    is_unreadable: bool,
}

impl Findings {
    fn missing(&mut self, member: &str) {
        let message = format!("`{member}` is missing; it is required (SACP, section 2.1)");
        self.violations.push(Violation::new(format!("/{member}"), "sacp/required", message));
    }

    fn wrong_type(&mut self, member: &str, expected: &str, found: &Value) {
        self.is_unreadable = true;
        let message = format!("`{member}` is {}; it must be {expected}", kind(found));
        self.violations.push(Violation::new(format!("/{member}"), "sacp/type", message));
    }

    fn text(&mut self, member: &str, value: Option<Value>) -> String {
        match value {
            Some(Value::String(text)) => return text,
            None => self.missing(member),
            Some(found) => self.wrong_type(member, "a string", &found),
        }
        String::new()
    }

    fn data(&mut self, value: Option<Value>) -> Map<String, Value> {
        match value {
            Some(Value::Object(data)) => return data,
            None => self.missing("data"),
            Some(found) => self.wrong_type("data", "an object", &found),
        }
        Map::new()
    }

    fn status(&mut self, value: Option<Value>) -> Option<Status> {
        let name = match value {
            Some(Value::String(name)) => name,
            None => {
                self.missing("status");
                self.is_unreadable = true;
                return None;
            }
            Some(found) => {
                self.wrong_type("status", "a string", &found);
                return None;
            }
        };
        let status = Status::from_name(&name);
        let lenient = status.or_else(|| Status::from_any_name(&name));
        if status.is_none() {
            let names = Status::ALL.map(Status::as_str).join(", ");
            let shown: String = name.chars().take(40).collect();
            let message = format!("{shown:?} is not a status; expected one of {names}");
            self.violations.push(Violation::new("/status", "sacp/status", message));
            self.is_unreadable |= lenient.is_none();
        }
        lenient
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
