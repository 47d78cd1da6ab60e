//! State of an action as reported by agents: its name, and the reason for a failure.

use serde_json::Value;

use super::State;

/// Returns the reason given in an error object: title and detail of a problem document (RFC 9457), or a message.
pub(super) fn reason(error: &Value) -> Option<String> {
    let text = |name: &str| error.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    match (text("title"), text("detail").or_else(|| text("message"))) {
        (Some(title), Some(detail)) if title != detail => Some(format!("{title}: {detail}")),
        (title, detail) => detail.or(title).map(str::to_owned),
    }
}

/// Parses the state of an action (WoT Profile, section 7.2.3.1, and states used by LMOS agents). Returns `None` for
/// other words.
pub(super) fn state(status: &str) -> Option<State> {
    Some(match status.to_ascii_lowercase().replace([' ', '_'], "-").as_str() {
        "pending" | "submitted" => State::Submitted,
        "running" | "in-progress" | "working" => State::Working,
        "paused" => State::Paused,
        "completed" | "succeeded" => State::Completed,
        "failed" => State::Failed,
        "cancelled" | "canceled" => State::Cancelled,
        "input-required" => State::InputRequired,
        _ => return None,
    })
}
