//! Checks of the form of A2A messages, which depends on their method: of requests before they are sent, of responses
//! after they were received.

use serde_json::{Map, Value};

use super::description::shown;

type Object = Map<String, Value>;

/// Returns the faults in the form of a message of this method; none if it is well formed.
pub(super) fn faults(method: &str, message: &Object) -> Vec<String> {
    let mut faults = Vec::new();
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        faults.push("/jsonrpc: write \"2.0\"".to_owned());
    }
    if !message.get("id").is_some_and(|id| id.is_string() || id.is_number() || id.is_null()) {
        faults.push("/id: an A2A message needs an id: a string or an integer".to_owned());
    }
    if let Some(named) = message.get("method") {
        match named.as_str() {
            Some(named) if named == method => request(method, message.get("params"), &mut faults),
            Some(named) => faults.push(format!("/method: found {:?}; expected {method}", shown(named))),
            None => faults.push("/method: write the name of a method".to_owned()),
        }
        return faults;
    }
    match (message.get("result"), message.get("error")) {
        (Some(_), Some(_)) => {
            faults.push("both /result and /error are present; a response has only one of them".to_owned())
        }
        (None, None) => faults.push("neither /method (request) nor /result or /error (response) is present".to_owned()),
        (Some(result), None) => response(method, result, &mut faults),
        (None, Some(error)) => {
            let is_error =
                error.get("code").is_some_and(Value::is_i64) && error.get("message").is_some_and(Value::is_string);
            if !is_error {
                faults.push("/error: an error needs an integer `code` and a `message`".to_owned());
            }
        }
    }
    faults
}

fn request(method: &str, params: Option<&Value>, faults: &mut Vec<String>) {
    let Some(params) = params.and_then(Value::as_object) else {
        faults.push(format!("/params: the parameters of {method} must be an object"));
        return;
    };
    match method {
        "message/send" | "message/stream" => match params.get("message").and_then(Value::as_object) {
            Some(inner) => self::message(inner, "/params/message", faults),
            None => faults.push(format!("/params/message: {method} needs a message")),
        },
        "tasks/pushNotificationConfig/set" => {
            text(params, "taskId", "/params", faults);
            let url = params.get("pushNotificationConfig").and_then(|config| config.get("url"));
            if !url.is_some_and(Value::is_string) {
                faults.push("/params/pushNotificationConfig/url: missing, or not a string".to_owned());
            }
        }
        _ => text(params, "id", "/params", faults),
    }
}

fn response(method: &str, result: &Value, faults: &mut Vec<String>) {
    let Some(result) = result.as_object() else {
        // A config that isn't there is null.
        if !(result.is_null() && method.starts_with("tasks/pushNotificationConfig/")) {
            faults.push(format!("/result: the result of {method} must be an object"));
        }
        return;
    };
    match method {
        "tasks/pushNotificationConfig/set" | "tasks/pushNotificationConfig/get" => {
            text(result, "taskId", "/result", faults);
        }
        "tasks/get" | "tasks/cancel" => task(result, faults),
        // A task, a message, or an event of a stream.
        _ => match result.get("kind").and_then(Value::as_str) {
            Some("message") => self::message(result, "/result", faults),
            Some("status-update" | "artifact-update") => text(result, "taskId", "/result", faults),
            _ if result.contains_key("parts") => self::message(result, "/result", faults),
            _ => task(result, faults),
        },
    }
}

fn task(task: &Object, faults: &mut Vec<String>) {
    text(task, "id", "/result", faults);
    if !task.get("status").is_some_and(|status| status.get("state").is_some_and(Value::is_string)) {
        faults.push("/result/status/state: a task needs a state".to_owned());
    }
}

fn message(message: &Object, at: &str, faults: &mut Vec<String>) {
    text(message, "messageId", at, faults);
    if message.get("role").and_then(Value::as_str).is_none_or(str::is_empty) {
        faults.push(format!("{at}/role: expected \"user\" or \"agent\""));
    }
    match message.get("parts").and_then(Value::as_array) {
        Some(parts) if !parts.is_empty() && parts.iter().all(Value::is_object) => {}
        _ => faults.push(format!("{at}/parts: expected a list of one or more objects")),
    }
}

fn text(object: &Object, name: &str, at: &str, faults: &mut Vec<String>) {
    if object.get(name).and_then(Value::as_str).is_none_or(str::is_empty) {
        faults.push(format!("{at}/{name}: missing, empty, or not a string"));
    }
}
