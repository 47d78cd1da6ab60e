//! The request that a form describes.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Method, Url};
use serde_json::{Map, Value};

use super::super::{
    Affordance, Call, Content, Error, Form, Request, Result,
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
    let mut outgoing = Outgoing::new(method, url);
    for (name, value) in headers(form, &call.variables)? {
        outgoing = outgoing.header(&name, &value);
    }
    let accept = match (&call.request, form.subprotocol()) {
        (Request::Subscribe { .. }, Some("sse")) => "text/event-stream",
        (Request::Invoke { stream: true, .. }, _) => "application/json, text/event-stream;q=0.9, */*;q=0.5",
        _ => "application/json, */*;q=0.5",
    };
    let expected = form.members.get("response").and_then(|response| response.get("contentType")?.as_str());
    outgoing = outgoing.header("accept", expected.unwrap_or(accept));
    with_body(outgoing, call, transport)
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
        return Method::from_bytes(name.to_ascii_uppercase().as_bytes())
            .map_err(|_| Error::Unsupported { what: format!("the method {name:?}") });
    }
    Ok(match request {
        Request::Invoke { .. } | Request::Message { .. } => Method::POST,
        Request::Write(_) => Method::PUT,
        Request::Cancel { .. } => Method::DELETE,
        _ => Method::GET,
    })
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
            _ => Ok(outgoing),
        };
    };
    let content_type = call.form.content_type();
    let media = parts.iter().find_map(|part| part.media());
    match (input, media) {
        (_, Some(media)) if !is_textual(content_type) => match &media.content {
            Content::Bytes(bytes) => {
                let media_type = media.media_type.as_deref().unwrap_or(content_type);
                Ok(outgoing.body(media_type, bytes.clone()))
            }
            Content::Url(_) => {
                Err(Error::Unsupported { what: "content by its URL, for a form that takes bytes,".into() })
            }
        },
        (_, Some(_)) => Err(Error::Unsupported { what: format!("binary content in a form of {content_type}") }),
        (Some(_), None) if matches!(outgoing.method, Method::GET | Method::HEAD) => Err(Error::Unsupported {
            what: format!("input beside the URL in a {} of {}", outgoing.method, affordance(&call.form.affordance)),
        }),
        (Some(data), None) => encoded(outgoing, &call.form, data.clone(), transport),
        (None, None) => {
            let mut body = Value::Object(Map::new());
            transport.add_to_body(&mut body);
            let has_key = body.as_object().is_some_and(|members| !members.is_empty());
            if has_key { encoded(outgoing, &call.form, body, transport) } else { Ok(outgoing) }
        }
    }
}

fn affordance(affordance: &Affordance) -> String {
    affordance.to_string()
}

fn is_textual(content_type: &str) -> bool {
    let plain = content_type.split(';').next().unwrap_or_default().trim();
    plain == "application/json"
        || plain.ends_with("+json")
        || plain.starts_with("text/")
        || plain == "application/x-www-form-urlencoded"
}

fn encoded(outgoing: Outgoing, form: &Form, mut data: Value, transport: &Transport) -> Result<Outgoing> {
    transport.add_to_body(&mut data);
    let content_type = form.content_type();
    let plain = content_type.split(';').next().unwrap_or_default().trim();
    Ok(match (plain, &data) {
        ("application/x-www-form-urlencoded", Value::Object(members)) => {
            let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
            let pairs = members.iter().map(|(name, value)| format!("{}={}", encode(name), encode(&text_of(value))));
            outgoing.body(content_type, pairs.collect::<Vec<_>>().join("&").into_bytes())
        }
        (plain, Value::String(text)) if plain != "application/json" && !plain.ends_with("+json") => {
            outgoing.body(content_type, text.clone().into_bytes())
        }
        (plain, _) if plain == "application/json" || plain.ends_with("+json") || plain.starts_with("text/") => {
            outgoing.json(content_type, &data)
        }
        _ => return Err(Error::Unsupported { what: format!("structured input in a form of {content_type}") }),
    })
}
