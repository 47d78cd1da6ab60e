//! The request that a form describes.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Method, Url};
use serde_json::{Map, Value};

use super::super::{
    Call, Content, Error, Form, Request, Result,
    request_template::RequestTemplate,
    template::text_of,
    transport::{Outgoing, Transport},
};

/// The request of a call.
pub(super) fn of(call: &Call, transport: &Transport) -> Result<Outgoing> {
    let form = &call.form;
    let (method, url) = match &call.request {
        Request::Query { task: Some(task) } => (Method::GET, beside(form, task)?),
        Request::Cancel { task: Some(task) } => (Method::DELETE, beside(form, task)?),
        request => (method(form, request)?, form.href.clone()),
    };
    let (template, inputs) = match (RequestTemplate::of(form), &call.request) {
        (Some(template), Request::Invoke { input: Some(Value::Object(inputs)), .. }) => (Some(template), inputs),
        _ => (None, &call.variables),
    };
    let mut outgoing = Outgoing::new(method, url);
    for (name, value) in headers(form, &call.variables)? {
        outgoing = outgoing.header(&name, &value);
    }
    let mut content_type = form.content_type().to_owned();
    if let Some(template) = template {
        if let Some(name) = template.method(inputs)? {
            outgoing.method = method_of(&name)?;
        }
        for (name, value) in template.headers(inputs, &call.authorization)? {
            match name.eq_ignore_ascii_case("content-type") {
                true => content_type = value,
                false => outgoing = outgoing.header(&name, &value),
            }
        }
    }
    let accept = match (&call.request, form.subprotocol()) {
        (Request::Subscribe { .. }, Some("sse")) => "text/event-stream",
        (Request::Invoke { stream: true, .. }, _) => "application/json, text/event-stream;q=0.9, */*;q=0.5",
        _ => "application/json, */*;q=0.5",
    };
    let expected = form.members.get("response").and_then(|response| response.get("contentType")?.as_str());
    let is_named = outgoing.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("accept"));
    if !is_named {
        outgoing = outgoing.header("accept", expected.unwrap_or(accept));
    }
    match template {
        Some(template) => with_filled_body(outgoing, &content_type, template.data(inputs)?, transport),
        None => with_body(outgoing, call, transport),
    }
}

/// The body that the template of a tool gives: text as it is, everything else as a form or as JSON, whatever the media
/// type is called.
fn with_filled_body(
    outgoing: Outgoing,
    content_type: &str,
    data: Option<Value>,
    transport: &Transport,
) -> Result<Outgoing> {
    match data {
        None => with_keys_alone(outgoing, content_type, transport),
        Some(Value::String(text)) => {
            no_key_belongs_there(transport)?;
            Ok(outgoing.body(content_type, text.into_bytes()))
        }
        Some(mut data) => {
            transport.add_to_body(&mut data)?;
            Ok(match &data {
                Value::Object(members) if is_form(content_type) => outgoing.body(content_type, form_encoded(members)),
                data => outgoing.json(content_type, data),
            })
        }
    }
}

/// The place of an action under way, which is on the same server.
fn beside(form: &Form, task: &str) -> Result<String> {
    let base =
        Url::parse(&form.href).map_err(|error| Error::Refused { url: form.href.clone(), reason: error.to_string() })?;
    let url = base.join(task).ok().filter(|url| url.origin() == base.origin());
    url.map(String::from).ok_or_else(|| Error::Refused {
        url: crate::fetch::shown(task),
        reason: "the agent names a place on another server for the status of the action".into(),
    })
}

fn method(form: &Form, request: &Request) -> Result<Method> {
    if let Some(name) = form.text("htv:methodName") {
        return method_of(name);
    }
    Ok(match request {
        Request::Invoke { .. } | Request::Message { .. } => Method::POST,
        Request::Write(_) => Method::PUT,
        Request::Cancel { .. } => Method::DELETE,
        _ => Method::GET,
    })
}

fn method_of(name: &str) -> Result<Method> {
    Method::from_bytes(name.to_ascii_uppercase().as_bytes())
        .map_err(|_| Error::Unsupported { what: format!("the method {name:?}") })
}

/// The headers that the form lists, and those that are made of variables.
fn headers(form: &Form, variables: &Map<String, Value>) -> Result<Vec<(String, String)>> {
    let listed = form.members.get("htv:headers").and_then(Value::as_array).into_iter().flatten();
    let pair = |header: &Value| {
        Some((header.get("htv:fieldName")?.as_str()?.to_owned(), header.get("htv:fieldValue")?.as_str()?.to_owned()))
    };
    let mut headers: Vec<(String, String)> = listed.filter_map(pair).collect();
    let open = form.members.get("agentspec:headers").and_then(|headers| headers.get("@value")?.as_object());
    for (name, template) in open.into_iter().flatten() {
        let template = template.as_str().unwrap_or_default();
        headers.push((name.clone(), filled(template, variables)?));
    }
    Ok(headers)
}

/// A text in which `{{name}}` stands for a variable.
fn filled(template: &str, variables: &Map<String, Value>) -> Result<String> {
    let mut text = String::new();
    for (index, part) in template.split("{{").enumerate() {
        match part.split_once("}}").filter(|_| index > 0) {
            None => text.push_str(part),
            Some((name, literal)) => {
                let value = variables.get(name.trim()).ok_or_else(|| Error::Setting {
                    setting: format!("variables.{}", name.trim()),
                    reason: "it is not set, and a header of the request is made of it".into(),
                })?;
                text.push_str(&text_of(value));
                text.push_str(literal);
            }
        }
    }
    Ok(text)
}

fn with_body(outgoing: Outgoing, call: &Call, transport: &Transport) -> Result<Outgoing> {
    let Request::Invoke { input, parts, .. } = &call.request else {
        return match call.request.data() {
            Some(data) if outgoing.method != Method::GET => encoded(outgoing, &call.form, data.clone(), transport),
            _ => no_key_belongs_there(transport).map(|()| outgoing),
        };
    };
    let content_type = call.form.content_type();
    let media = parts.iter().find_map(|part| part.media());
    match (input, media) {
        (_, Some(_)) if parts.len() > 1 => {
            Err(Error::Unsupported { what: "several binary parts in one request over HTTP".into() })
        }
        (_, Some(media)) if !is_textual(content_type) => match &media.content {
            Content::Bytes(bytes) => {
                no_key_belongs_there(transport)?;
                let media_type = media.media_type.as_deref().unwrap_or(content_type);
                Ok(outgoing.body(media_type, bytes.clone()))
            }
            Content::Url(_) => {
                Err(Error::Unsupported { what: "content by its URL, for a form that takes bytes,".into() })
            }
        },
        (_, Some(_)) => Err(Error::Unsupported { what: format!("binary content in a form of {content_type}") }),
        // Unusual, so that the description has to say it (RFC 9110, section 9.3.1).
        (Some(_), None) if matches!(outgoing.method, Method::GET | Method::HEAD) && !declares_input(call) => {
            let what = format!("input beside the URL in a {} of {}", outgoing.method, call.form.affordance);
            Err(Error::Unsupported { what })
        }
        (Some(data), None) => encoded(outgoing, &call.form, data.clone(), transport),
        (None, None) => with_keys_alone(outgoing, content_type, transport),
    }
}

fn declares_input(call: &Call) -> bool {
    call.description.find(&call.form.affordance).is_some_and(|found| found.get("input").is_some())
}

/// Fails if a credential belongs into the body: only data have a place for it.
fn no_key_belongs_there(transport: &Transport) -> Result<()> {
    transport.add_to_body(&mut Value::String(String::new()))
}

/// A request without input, whose body has keys if any belong there.
fn with_keys_alone(outgoing: Outgoing, content_type: &str, transport: &Transport) -> Result<Outgoing> {
    let mut body = Value::Object(Map::new());
    transport.add_to_body(&mut body)?;
    match &body {
        Value::Object(members) if members.is_empty() => Ok(outgoing),
        _ => encoded_as(outgoing, content_type, body),
    }
}

fn is_textual(content_type: &str) -> bool {
    let plain = content_type.split(';').next().unwrap_or_default().trim();
    plain == "application/json" || plain.ends_with("+json") || plain.starts_with("text/") || is_form(plain)
}

fn encoded(outgoing: Outgoing, form: &Form, mut data: Value, transport: &Transport) -> Result<Outgoing> {
    transport.add_to_body(&mut data)?;
    encoded_as(outgoing, form.content_type(), data)
}

fn is_form(content_type: &str) -> bool {
    content_type.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

fn form_encoded(members: &Map<String, Value>) -> Vec<u8> {
    let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    let pairs = members.iter().map(|(name, value)| format!("{}={}", encode(name), encode(&text_of(value))));
    pairs.collect::<Vec<_>>().join("&").into_bytes()
}

fn encoded_as(outgoing: Outgoing, content_type: &str, data: Value) -> Result<Outgoing> {
    let plain = content_type.split(';').next().unwrap_or_default().trim();
    Ok(match (plain, &data) {
        (plain, Value::Object(members)) if is_form(plain) => outgoing.body(content_type, form_encoded(members)),
        (plain, Value::String(text)) if plain != "application/json" && !plain.ends_with("+json") => {
            outgoing.body(content_type, text.clone().into_bytes())
        }
        (plain, _) if plain == "application/json" || plain.ends_with("+json") || plain.starts_with("text/") => {
            outgoing.json(content_type, &data)
        }
        _ => return Err(Error::Unsupported { what: format!("structured input in a form of {content_type}") }),
    })
}
