//! Conversion of an agent's answers to messages and replies, based on [`read_answer`](crate::sacp::read_answer).

use serde_json::Value;

use super::{Error, Message, Part, Reply, State};
use crate::sacp::{Answer, Given, Kind, Piece, Status};

/// The texts and the data of a message.
pub(super) fn given(message: &Message) -> Given<'_> {
    let mut given = Given::default();
    collect(&message.parts, None, &mut given);
    given
}

fn collect<'m>(parts: &'m [Part], artifact: Option<&'m str>, given: &mut Given<'m>) {
    for part in parts {
        match part {
            Part::Text { text } => given.texts.push(Piece { text, artifact }),
            Part::Data { data } => given.data.push(data),
            Part::Artifact(inner) => collect(&inner.parts, Some(&inner.id), given),
            _ => {}
        }
    }
}

/// Returns an error if the answer is unusable.
pub(super) fn invalid(expected: impl Into<String>, answer: &Answer) -> Option<Error> {
    let violations = match answer.kind {
        _ if !answer.mismatches.is_empty() => answer.mismatches.clone(),
        Kind::Unreadable => answer.violations.clone(),
        Kind::Response(_) | Kind::Plain => return None,
    };
    let came = match (&answer.kind, &answer.value) {
        (Kind::Plain, Some(value)) => value.clone(),
        _ => Value::String(answer.raw.clone()),
    };
    Some(Error::InvalidAnswer { expected: expected.into(), violations, answer: Box::new(came) })
}

/// The reply as its answer was read: text, data, the agent's thought, and the state that they mean. A plain answer in which
/// nothing was coerced stays as it came.
pub(super) fn with_answer(reply: Reply, answer: &Answer) -> Reply {
    let state = match (answer.kind, answer.response.status) {
        (Kind::Plain, _) if answer.repairs.is_empty() => return reply,
        _ if reply.state.is_failure() => reply.state,
        (Kind::Response(_), Status::Failure) => State::Failed,
        (Kind::Response(_), Status::ClarificationNeeded) => State::InputRequired,
        _ => reply.state,
    };
    let Answer { response, text, value, kind, repairs, .. } = answer;
    let value = match kind {
        Kind::Plain => value.clone(),
        _ => (!response.data.is_empty()).then(|| Value::Object(response.data.clone())),
    };
    let thought = (!response.thought.is_empty() && *kind != Kind::Plain).then(|| response.thought.clone());
    let mut parts: Vec<Part> = thought.map(|text| Part::Thinking { text }).into_iter().collect();
    if !text.is_empty() || value.is_none() {
        parts.push(Part::text(text.clone()));
    }
    parts.extend(value.map(|data| Part::Data { data }));
    let mut message = reply.message;
    let others = std::mem::take(&mut message.parts);
    parts.extend(others.into_iter().flat_map(other_content));
    message.parts = parts;
    Reply { message, state, repairs: repairs.clone(), ..reply }
}

/// Content that is neither text nor data.
fn other_content(part: Part) -> Vec<Part> {
    match part {
        Part::Text { .. } | Part::Data { .. } => Vec::new(),
        Part::Artifact(artifact) => artifact.parts.into_iter().flat_map(other_content).collect(),
        part => vec![part],
    }
}
