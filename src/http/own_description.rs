//! `/.well-known/wot`: the directory as a Thing (WoT Discovery, sections 6.1 and 7.3.2.1), so that WoT
//! clients find their way by what they know already.

use std::hash::{DefaultHasher, Hash, Hasher};

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{ETAG, HeaderName, LINK, VARY},
    web::Data,
};
use serde_json::{Value, json};

use super::{
    Context,
    address::base_url,
    body,
    conditions::{Conditions, Verdict},
    negotiation::negotiate,
    parameters::Parameters,
    problem::Problem,
};
use crate::ChangeKind;

/// `GET /.well-known/wot`
#[utoipa::path(
    get,
    path = "/.well-known/wot",
    tag = "about",
    summary = "Describe the directory itself as a Thing",
    responses(
        (status = 200, description = "A `ThingDirectory`", body = super::schemas::ThingDescription, content_type = "application/td+json"),
        (status = 304, description = "Not modified"),
        super::schemas::Refusals,
    )
)]
pub(super) async fn page(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let base = base_url(&request, &context.options, "/.well-known/wot");
    let id = format!("urn:agentdex:registry:{}", context.registry.registry_id());
    let document = description(&base, &id).to_string();
    let mut hasher = DefaultHasher::new();
    document.hash(&mut hasher);
    let tag = format!("{:016x}", hasher.finish());
    let etag = (ETAG, format!("\"{tag}\""));
    match Conditions::of(&request).verdict(&tag) {
        Verdict::Proceed => {}
        Verdict::NotModified => {
            return Ok(HttpResponse::NotModified().insert_header(etag).insert_header(VARY_BY).finish());
        }
        Verdict::Failed => return Err(Problem::precondition_failed(&etag.1)),
    }
    let link = format!("<{base}/.well-known/wot>; rel=\"describedby\"; type=\"application/td+json\"");
    let mut response = HttpResponse::Ok();
    response.insert_header(etag).insert_header((LINK, link)).insert_header(VARY_BY);
    Ok(response.content_type(negotiate(&request, &body::DESCRIPTIONS)).body(document))
}

/// Which headers of a request the description depends on.
const VARY_BY: (HeaderName, &str) = (VARY, "accept, host");

/// The TD; `base` is the URL of the API's root without a slash at the end.
fn description(base: &str, id: &str) -> Value {
    json!({
        "@context": [
            "https://www.w3.org/2022/wot/td/v1.1",
            "https://www.w3.org/2022/wot/discovery",
            {"htv": "http://www.w3.org/2011/http#"},
        ],
        "@type": "ThingDirectory",
        "id": id,
        "title": "agentdex",
        "description": "A directory of software agents that describe themselves as Thing Descriptions",
        "version": {"instance": env!("CARGO_PKG_VERSION")},
        "base": format!("{base}/"),
        "links": [{"rel": "service-doc", "href": "openapi.json", "type": "application/json"}],
        "securityDefinitions": {"nosec_sc": {"scheme": "nosec"}},
        "security": "nosec_sc",
        "schemaDefinitions": {
            "problem": {"type": "object", "properties": {"title": {"type": "string"}, "status": {"type": "integer"}}},
        },
        "properties": {"things": things()},
        "actions": actions(),
        "events": events(),
    })
}

fn things() -> Value {
    json!({
        "title": "All Things",
        "type": "array",
        "items": {"type": "object"},
        "readOnly": true,
        "uriVariables": {
            "offset": {"type": "integer", "minimum": 0},
            "limit": {"type": "integer", "minimum": 1},
            "format": {"type": "string", "enum": ["array", "collection"]},
            "sort_by": {"type": "string", "enum": ["id", "title", "created", "modified"]},
            "sort_order": {"type": "string", "enum": ["asc", "desc"]},
        },
        "forms": [form("things{?offset,limit,format,sort_by,sort_order}", "GET", "readproperty", "application/ld+json")],
    })
}

fn actions() -> Value {
    let id = json!({"id": {"type": "string", "format": "uri-reference"}});
    let td = json!({"type": "object"});
    let action = |title: &str, is_safe: bool, uri_variables: &Value, form: Value| json!({"title": title, "safe": is_safe, "uriVariables": uri_variables, "forms": [form]});
    let with_input = |mut action: Value, content_type: &str| {
        action["input"] = td.clone();
        action["forms"][0]["contentType"] = content_type.into();
        action
    };
    let td_json = "application/td+json";
    let search = json!({"q": {"type": "string"}, "limit": {"type": "integer"}, "offset": {"type": "integer"}});
    json!({
        "createAnonymousThing": with_input(
            action("Register a Thing that gets its id", false, &json!({}),
                form("things", "POST", "invokeaction", "application/json")),
            td_json,
        ),
        "createThing": with_input(
            action("Register a Thing", false, &id, form("things/{id}", "PUT", "invokeaction", "application/json")),
            td_json,
        ),
        "updateThing": with_input(
            action("Replace a Thing", false, &id, form("things/{id}", "PUT", "invokeaction", EMPTY)),
            td_json,
        ),
        "partiallyUpdateThing": with_input(
            action("Change a Thing", false, &id, form("things/{id}", "PATCH", "invokeaction", EMPTY)),
            "application/merge-patch+json",
        ),
        "retrieveThing": action("Read a Thing", true, &id, form("things/{id}", "GET", "invokeaction", td_json)),
        "deleteThing": action("Remove a Thing", false, &id, form("things/{id}", "DELETE", "invokeaction", EMPTY)),
        "search": action(
            "Find Things by what they can do", true, &search,
            form("search{?q,limit,offset}", "GET", "invokeaction", "application/json"),
        ),
    })
}

fn events() -> Value {
    let event = |title: &str, kind: ChangeKind| {
        let mut form =
            form(&format!("events/{}{{?diff}}", kind.as_str()), "GET", "subscribeevent", "text/event-stream");
        form["subprotocol"] = "sse".into();
        form["contentType"] = "text/event-stream".into();
        json!({
            "title": title,
            "data": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
            "uriVariables": {"diff": {"type": "boolean"}},
            "forms": [form],
        })
    };
    json!({
        "thingCreated": event("A Thing was registered", ChangeKind::Created),
        "thingUpdated": event("A Thing has changed", ChangeKind::Updated),
        "thingDeleted": event("A Thing was removed or has expired", ChangeKind::Deleted),
    })
}

/// What TD 1.1, which asks for a content type of every response, calls that of an empty one.
const EMPTY: &str = "application/x-empty";

fn form(href: &str, method: &str, op: &str, answer: &str) -> Value {
    json!({
        "href": href,
        "htv:methodName": method,
        "op": [op],
        "response": {"contentType": answer},
        "additionalResponses": [
            {"success": false, "contentType": "application/problem+json", "schema": "problem"},
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::td::{Document, Layers, validate};

    #[test]
    fn it_is_a_valid_thing_description() -> crate::Result<()> {
        let document = description("https://example.org/registry", "urn:agentdex:registry:x").to_string();
        let report = validate(&Document::parse(document.as_bytes())?, Layers::All);
        assert!(report.is_valid(), "{report:?}");
        assert!(report.warnings.is_empty(), "{report:?}");
        assert_eq!(report.version, Some(crate::td::Version::V1_1));
        Ok(())
    }
}
