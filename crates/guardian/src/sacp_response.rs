//! Responses in SACP that steps carry: in what an agent says, what a tool gave, and what another agent answers over A2A.

use serde_json::{Map, Value};

use agentdex_api::guardian::SacpResponse;
use agentdex_td::Violation;

use crate::sacp;

/// The longest text that is read for a response: decisions don't wait for more.
const LONGEST_TEXT: usize = 256 * 1024;
/// The most of them that are read.
const MOST_TEXTS: usize = 16;

/// A response in a request, and where it is.
struct Found {
    pointer: String,
    response: sacp::Response,
    violations: Vec<Violation>,
}

/// Returns the SACP response that a request carries, if there is one, as the trail shows it; without its reasoning and
/// hint unless `with_thought`.
pub(super) fn response_in(request: &Map<String, Value>, with_thought: bool) -> Option<SacpResponse> {
    let Found { response, violations, .. } = find(request)?;
    Some(SacpResponse {
        status: response.status.as_str().to_owned(),
        next_step_hint: response.next_step_hint.filter(|_| with_thought),
        violations: violations.iter().map(|one| format!("{}: {}", one.pointer, one.message)).collect(),
        thought: with_thought.then_some(response.thought),
    })
}

/// The response that a request carries, as own rules read it.
pub(super) fn fact_of(request: &Map<String, Value>) -> Option<Value> {
    find(request).map(|found| found.response.to_value())
}

/// The request with the response that it carries made a failure (SACP, section 9.1); none where it carries none.
pub(super) fn with_failure(request: &Map<String, Value>) -> Option<Value> {
    let Found { pointer, mut response, .. } = find(request)?;
    response.force_failure();
    let mut request = Value::Object(request.clone());
    let part = request.pointer_mut(&pointer)?;
    let failure = response.to_value();
    *part = if part.is_string() { failure.to_string().into() } else { failure };
    Some(request)
}

fn find(request: &Map<String, Value>) -> Option<Found> {
    let mut parts = Parts::default();
    let params = request.get("params");
    if let Some(message) = params.and_then(|params| params.get("message")) {
        if message.get("role").is_some_and(|role| role == "agent") {
            parts.collect("/params/message/content", message.get("content"));
        }
    } else if let Some(result) = params.and_then(|params| params.get("result")) {
        parts.collect("/params/result/outputs", result.get("outputs"));
    }
    let nested = || Some(("/params/payload", params?.get("payload")?));
    if let Some((pointer, payload)) = request.get("payload").map(|payload| ("/payload", payload)).or_else(nested)
        && let Some(result) = payload.get("result")
    {
        parts.collect(&format!("{pointer}/result/parts"), result.get("parts"));
        parts.collect(&format!("{pointer}/result/status/message/parts"), result.pointer("/status/message/parts"));
        let artifacts = result.get("artifacts").and_then(Value::as_array).into_iter().flatten();
        for (index, artifact) in artifacts.take(MOST_TEXTS).enumerate() {
            parts.collect(&format!("{pointer}/result/artifacts/{index}/parts"), artifact.get("parts"));
        }
    }
    parts.0.into_iter().find_map(|(pointer, part)| {
        let (response, violations) = read(part)?;
        Some(Found { pointer, response, violations })
    })
}

/// Texts and data of a request that may be a response, each with its JSON Pointer.
#[derive(Default)]
struct Parts<'r>(Vec<(String, &'r Value)>);

impl<'r> Parts<'r> {
    fn collect(&mut self, pointer: &str, parts: Option<&'r Value>) {
        let parts = parts.and_then(Value::as_array).into_iter().flatten().enumerate();
        let content = |part: &'r Value| {
            let of = |name: &'static str| Some((name, part.get(name)?));
            of("text").or_else(|| of("data"))
        };
        let found = parts.filter_map(|(index, part)| {
            let (name, value) = content(part)?;
            Some((format!("{pointer}/{index}/{name}"), value))
        });
        self.0.extend(found.take(MOST_TEXTS.saturating_sub(self.0.len())));
    }
}

/// A text, or data that is the response itself.
fn read(part: &Value) -> Option<(sacp::Response, Vec<Violation>)> {
    let given = match part {
        Value::String(text) if text.len() <= LONGEST_TEXT => {
            // Most texts are no responses, and decisions don't wait for more than this.
            memchr::memmem::find(text.to_ascii_lowercase().as_bytes(), b"status")?;
            sacp::Given::text(text)
        }
        Value::Object(_) => sacp::Given::data(part),
        _ => return None,
    };
    // A part that an agent further down may read as a response is judged as one.
    let answer = sacp::read_answer(&given, &sacp::Expected::response(None));
    let sacp::Kind::Response(_) = answer.kind else { return None };
    // Much else has a status; a response has at least two of its other three members, too.
    let missing = answer.violations.iter().filter(|violation| violation.rule == "sacp/required").count();
    (missing <= 1).then_some((answer.response, answer.violations))
}
