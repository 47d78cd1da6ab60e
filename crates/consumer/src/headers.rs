//! Headers of requests: headers declared by the form, headers set by the caller, and headers with credentials.
//!
//! A header that can't be sent ends the call, since the agent may need it for granting access or for distinguishing
//! its callers.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::{Affordance, Authorization, Call, Error, Place, Result, Trace, credential::parts, template::text_of};

/// Adds a header.
///
/// # Errors
/// [`Error::Setting`] for a name or value that no header can have.
pub(super) fn add(headers: &mut HeaderMap, name: &str, value: &str) -> Result<()> {
    let (name, value) = checked(name, value).map_err(|reason| setting(format!("headers.{name}"), reason))?;
    headers.append(name, value);
    Ok(())
}

/// Adds the headers of a trace.
pub(super) fn add_trace(headers: &mut HeaderMap, trace: &Trace) -> Result<()> {
    add(headers, "traceparent", &trace.parent)?;
    trace.state.iter().try_for_each(|state| add(headers, "tracestate", state))
}

/// Adds the headers and cookies that credentials are sent in.
pub(super) fn add_credentials(headers: &mut HeaderMap, authorization: &[Authorization]) -> Result<()> {
    let mut cookies = Vec::new();
    for Authorization { scheme, grant } in authorization {
        let (secret, place) = parts(grant);
        let (name, value) = match place {
            Place::Header(name) => (name.as_str(), secret),
            // A secret may have any character.
            Place::Cookie(name) => ("cookie", format!("{name}={}", utf8_percent_encode(&secret, NON_ALPHANUMERIC))),
            _ => continue,
        };
        let (name, value) = checked(name, &value).map_err(|reason| setting(format!("credentials.{scheme}"), reason))?;
        match place {
            Place::Cookie(_) => cookies.push(value),
            _ => add_secret(headers, name, value),
        }
    }
    // A request has one such header (RFC 6265, section 5.4).
    let cookies = cookies.iter().map(HeaderValue::as_bytes).collect::<Vec<_>>().join(&b"; "[..]);
    if let (false, Ok(value)) = (cookies.is_empty(), HeaderValue::from_bytes(&cookies)) {
        add_secret(headers, reqwest::header::COOKIE, value);
    }
    Ok(())
}

/// Adds a header that nothing logs.
fn add_secret(headers: &mut HeaderMap, name: HeaderName, mut value: HeaderValue) {
    value.set_sensitive(true);
    headers.append(name, value);
}

/// Fails for a credential in the body if the body is defined by the protocol.
pub(super) fn check_no_body(authorization: &[Authorization], protocol: &str) -> Result<()> {
    let in_body = authorization.iter().find(|one| matches!(parts(&one.grant).1, Place::Body(_)));
    in_body.map_or(Ok(()), |one| {
        let reason = format!("it belongs in the request body, but {protocol} does not support credentials in the body");
        Err(setting(format!("credentials.{}", one.scheme), reason))
    })
}

fn setting(setting: String, reason: String) -> Error {
    Error::Setting { setting, reason }
}

/// Creates a header. The error describes the problem without showing the value, which may be a secret.
fn checked(name: &str, value: &str) -> std::result::Result<(HeaderName, HeaderValue), String> {
    let own = HeaderName::try_from(name)
        .map_err(|_| format!("{name:?} is not a valid header name; use only ASCII letters, digits, and hyphens"))?;
    let is_forbidden = |character: &char| character.is_ascii_control() && *character != '\t';
    let what = match value.chars().find(is_forbidden) {
        Some('\n' | '\r') if !value.trim_end().contains(['\n', '\r']) => "a line break at its end",
        Some('\n' | '\r') => "a line break",
        _ => "a control character",
    };
    let value = HeaderValue::try_from(value)
        .map_err(|_| format!("the value of header {name:?} contains {what}, which is not allowed"))?;
    Ok((own, value))
}

/// Returns the headers declared by the form (`htv:headers`), with the values of their variables. Omits headers set by
/// the protocol itself and optional headers (`mcp:isRequired`) whose variables have no value.
///
/// # Errors
/// [`Error::Setting`] for a required variable without a value.
pub(super) fn declared_headers(call: &Call) -> Result<Vec<(String, String)>> {
    let declared = call.form.members.get("htv:headers").and_then(Value::as_array).into_iter().flatten();
    let mut headers = Vec::new();
    for declared in declared {
        let text = |member: &str| declared.get(member).and_then(Value::as_str);
        let (Some(name), Some(template)) = (text("htv:fieldName"), text("htv:fieldValue")) else { continue };
        if is_of_protocol(name) {
            continue;
        }
        match filled(template, call) {
            Ok(value) => headers.push((name.to_owned(), value)),
            Err(_) if declared.get("mcp:isRequired") == Some(&Value::Bool(false)) => {}
            Err(variable) => {
                let reason = format!(
                    "a value is required, because the header {name:?} of {} contains this variable",
                    call.form.affordance
                );
                return Err(setting(format!("variables.{variable}"), reason));
            }
        }
    }
    Ok(headers)
}

/// A value with its variables filled in, or the name of a variable that has no value. Braces around anything but the name of
/// a variable are text.
fn filled(template: &str, call: &Call) -> std::result::Result<String, String> {
    let owners = [&Affordance::Thing, &call.form.affordance].map(|owner| call.description.find(owner));
    let declared: Vec<&Value> = owners.into_iter().flatten().filter_map(|owner| owner.get("uriVariables")).collect();
    // Values are filled in once: what looks like a variable in one is none.
    let mut parts = template.split('{');
    let mut value = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let expression = part.split_once('}');
        match expression.map(|(name, literal)| (name, call.variables.get(name), literal)) {
            Some((_, Some(known), literal)) => value.extend([&text_of(known), literal]),
            Some((name, None, _)) if declared.iter().any(|variables| variables.get(name).is_some()) => {
                return Err(name.to_owned());
            }
            _ => value.extend(["{", part]),
        }
    }
    Ok(value)
}

/// True for headers that a protocol on top of HTTP sets itself.
fn is_of_protocol(header: &str) -> bool {
    let name = header.to_ascii_lowercase();
    name.starts_with("mcp-param-")
        || matches!(
            name.as_str(),
            "a2a-version"
                | "accept"
                | "content-type"
                | "content-length"
                | "host"
                | "last-event-id"
                | "mcp-method"
                | "mcp-name"
                | "mcp-protocol-version"
                | "mcp-session-id"
        )
}
