//! Responses in SACP that steps carry: in what an agent says, what a tool gave, and what another agent answers over A2A.

use serde::{Deserialize, Serialize};
#[cfg(feature = "sacp")]
use serde_json::{Map, Value};

/// The longest text that is read for a response: decisions don't wait for more.
#[cfg(feature = "sacp")]
const LONGEST_TEXT: usize = 256 * 1024;
/// The most of them that are read.
#[cfg(feature = "sacp")]
const MOST_TEXTS: usize = 16;

/// A response in the Standard Agent Communication Protocol, as the trail shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SacpResponse {
    /// How the task went, such as `success`.
    pub status: String,
    /// What the agent suggests to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step_hint: Option<String>,
    /// What is wrong with the response, as places and messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
    /// Why the agent decided so, where contents are stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought: Option<String>,
}

/// The response that a request carries, if there is one.
#[cfg(feature = "sacp")]
pub(super) fn response_in(request: &Map<String, Value>, with_thought: bool) -> Option<SacpResponse> {
    let mut texts = Vec::new();
    let params = request.get("params");
    if let Some(message) = params.and_then(|params| params.get("message")) {
        if message.get("role").is_some_and(|role| role == "agent") {
            collect_parts(message.get("content"), &mut texts);
        }
    } else if let Some(result) = params.and_then(|params| params.get("result")) {
        collect_parts(result.get("outputs"), &mut texts);
    }
    let payload = request.get("payload").or_else(|| params?.get("payload"));
    if let Some(result) = payload.and_then(|payload| payload.get("result")) {
        collect_parts(result.get("parts"), &mut texts);
        collect_parts(result.pointer("/status/message/parts"), &mut texts);
        for artifact in result.get("artifacts").and_then(Value::as_array).into_iter().flatten().take(MOST_TEXTS) {
            collect_parts(artifact.get("parts"), &mut texts);
        }
    }
    texts.into_iter().take(MOST_TEXTS).find_map(|part| read(part, with_thought))
}

#[cfg(feature = "sacp")]
fn collect_parts<'r>(parts: Option<&'r Value>, texts: &mut Vec<&'r Value>) {
    let parts = parts.and_then(Value::as_array).into_iter().flatten();
    texts.extend(parts.filter_map(|part| part.get("text").or_else(|| part.get("data"))).take(MOST_TEXTS));
}

/// A text, or data that is the response itself.
#[cfg(feature = "sacp")]
fn read(part: &Value, with_thought: bool) -> Option<SacpResponse> {
    use crate::sacp;

    let (response, violations) = match part {
        Value::String(text) => {
            let may_be = text.len() <= LONGEST_TEXT && memchr::memmem::find(text.as_bytes(), b"status").is_some();
            let reading = may_be.then(|| sacp::read(text)).filter(|reading| reading.found != sacp::Found::Nowhere)?;
            (reading.response, reading.violations)
        }
        Value::Object(data) if data.contains_key("status") => sacp::Response::from_object(data.clone()).ok()?,
        _ => return None,
    };
    // Much else has a status; a response has at least two of its other three members, too.
    if violations.iter().filter(|violation| violation.rule == "sacp/required").count() > 1 {
        return None;
    }
    Some(SacpResponse {
        status: response.status.as_str().to_owned(),
        next_step_hint: response.next_step_hint.filter(|_| with_thought),
        violations: violations.iter().map(|one| format!("{}: {}", one.pointer, one.message)).collect(),
        thought: with_thought.then_some(response.thought),
    })
}
