//! `/.well-known/wot`: the directory as a Thing (WoT Discovery, sections 6.1 and 7.3.2.1), whose properties,
//! actions and events WoT consumers such as node-wot can use as they are.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{ETAG, HeaderName, LINK, VARY},
    web::Data,
};
use serde_json::{Value, json};

use super::{
    address::base_url,
    body,
    conditions::{Conditions, Verdict, tag_of},
    context::Context,
    negotiation::negotiate,
    parameters::Parameters,
    problem::Problem,
};
use crate::ChangeKind;

/// Describe the directory itself as a Thing
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/.well-known/wot",
    operation_id = "describe_registry",
    tag = "about",
    responses(
        (status = 200, description = "A `ThingDirectory`", body = super::schemas::ThingDescription, content_type = "application/td+json"),
        (status = 304, description = "Not modified"),
        super::schemas::Refusals,
        super::schemas::TypeRefusals,
    )
))]
pub(super) async fn page(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let base = base_url(&request, &context.options, "/.well-known/wot");
    let id = format!("urn:agentdex:registry:{}", context.registry_id());
    let document = description(&base, &id, offers_sparql(&context), security(&context)).to_string();
    let tag = tag_of(&document);
    let etag = (ETAG, format!("\"{tag}\""));
    match Conditions::of(&request).verdict(&tag) {
        Verdict::Proceed => {}
        Verdict::NotModified => {
            return Ok(HttpResponse::NotModified().insert_header(etag).insert_header(VARY_BY).finish());
        }
        Verdict::Failed => return Err(Problem::precondition_failed(&etag.1)),
    }
    let media_type = negotiate(&request, &body::DESCRIPTIONS)?;
    let link = format!("<{base}/.well-known/wot>; rel=\"describedby\"; type=\"application/td+json\"");
    let mut response = HttpResponse::Ok();
    response.insert_header(etag).insert_header((LINK, link)).insert_header(VARY_BY);
    Ok(response.content_type(media_type).body(document))
}

/// The `Vary` header of the description: the headers of a request that it depends on.
const VARY_BY: (HeaderName, &str) = (VARY, "accept, host");

/// The security scheme of the API.
fn security(context: &Context) -> Value {
    match context.options.access.authentication {
        true => json!({"scheme": "bearer", "in": "header", "name": "Authorization", "format": "opaque"}),
        false => json!({"scheme": "nosec"}),
    }
}

/// The TD; `base` is the URL of the API's root without a slash at the end.
fn description(base: &str, id: &str, with_sparql: bool, security: Value) -> Value {
    json!({
        "@context": [
            "https://www.w3.org/2022/wot/td/v1.1",
            "https://www.w3.org/2022/wot/discovery",
            {"htv": "http://www.w3.org/2011/http#"},
        ],
        "@type": "ThingDirectory",
        "id": id,
        "title": "agentdex",
        "description": "A directory of software agents, described by Thing Descriptions",
        "version": {"instance": env!("CARGO_PKG_VERSION")},
        "base": format!("{base}/"),
        "links": [{"rel": "service-doc", "href": "openapi.json", "type": "application/json"}],
        "securityDefinitions": {"registry_sc": security},
        "security": "registry_sc",
        "schemaDefinitions": {"problem": object(json!({
            "type": {"type": "string"}, "title": {"type": "string"}, "status": {"type": "integer"},
            "code": {"type": "string"}, "detail": {"type": "string"},
        }))},
        "properties": properties(),
        "actions": actions(with_sparql),
        "events": events(),
    })
}

fn properties() -> Value {
    let page = json!({
        "offset": {"type": "integer", "minimum": 0},
        "limit": {"type": "integer", "minimum": 1},
        "sort_by": {"type": "string", "enum": ["id", "title", "created", "modified"]},
        "sort_order": {"type": "string", "enum": ["asc", "desc"]},
    });
    let property = |title: &str, schema: Value, href: &str| {
        let mut property = schema;
        property["title"] = title.into();
        property["readOnly"] = true.into();
        property["uriVariables"] = page.clone();
        property["forms"] = json!([form(href, "GET", &["readproperty"], "application/ld+json")]);
        property
    };
    let list = json!({"type": "array", "items": {"type": "object"}});
    let collection = object(json!({
        "total": {"type": "integer"}, "members": list, "@id": {"type": "string"}, "next": {"type": "string"},
    }));
    json!({
        "things": property("All Things", list, "things{?offset,limit,sort_by,sort_order}"),
        "thingCollection": property(
            "A page of Things, with the total number and a link to the next page", collection,
            "things?format=collection{&offset,limit,sort_by,sort_order}",
        ),
    })
}

/// True if SPARQL queries are answered.
fn offers_sparql(context: &Context) -> bool {
    context.answers_sparql()
}

fn actions(with_sparql: bool) -> Value {
    let id = json!({"id": {"type": "string", "format": "uri-reference"}});
    let thing = || json!({"type": "object"});
    let created = || object(json!({"id": {"type": "string"}, "warnings": {"type": "array"}}));
    let mut actions = json!({
        "createAnonymousThing": Action::new("Register a Thing; the directory assigns its id", "POST", "things", TD_JSON)
            .input(thing()).output(created(), JSON),
        "createThing": Action::new("Register a Thing under its id", "PUT", "things/{id}", TD_JSON)
            .uri_variables(&id).input(thing()).output(created(), JSON),
        "updateThing": Action::new("Replace a Thing", "PUT", "things/{id}", TD_JSON).uri_variables(&id).input(thing()),
        "partiallyUpdateThing": Action::new("Change a Thing with a merge patch", "PATCH", "things/{id}", JSON)
            .or_content_type("application/merge-patch+json").uri_variables(&id).input(thing()),
        "retrieveThing": Action::new("Read a Thing", "GET", "things/{id}", TD_JSON)
            .uri_variables(&id).output(thing(), TD_JSON).safe(),
        "deleteThing": Action::new("Remove a Thing", "DELETE", "things/{id}", JSON).uri_variables(&id),
        "search": Action::new("Find Things by what they can do", "GET", "search{?q,capability,limit,offset}", JSON)
            .uri_variables(&json!({
                "q": {"type": "string"}, "capability": {"type": "string"},
                "limit": {"type": "integer", "minimum": 1}, "offset": {"type": "integer", "minimum": 0},
            }))
            .output(object(json!({"total": {"type": "integer"}, "hits": {"type": "array", "items": {"type": "object"}}})), JSON)
            .safe(),
        "searchJSONPath": Action::new("Find Things by JSONPath", "GET", "search/jsonpath{?query}", JSON)
            .uri_variables(&json!({"query": {"type": "string"}}))
            .output(json!({"type": "array"}), JSON)
            .safe(),
    });
    if with_sparql {
        const RESULTS: &str = "application/sparql-results+json";
        actions["searchSPARQL"] = Action::new("Find Things by SPARQL", "GET", "search/sparql{?query}", RESULTS)
            .uri_variables(&json!({"query": {"type": "string"}}))
            .output(json!({"type": "object"}), RESULTS)
            .safe();
    }
    actions
}

/// An action affordance with one form.
struct Action(Value);

impl Action {
    fn new(title: &str, method: &str, href: &str, content_type: &str) -> Action {
        let form = form(href, method, &["invokeaction"], content_type);
        Action(json!({"title": title, "safe": false, "forms": [form]}))
    }

    /// Adds a second form with the content type of the specification, behind one that every consumer can write.
    fn or_content_type(mut self, content_type: &str) -> Action {
        let mut form = self.0["forms"][0].clone();
        form["contentType"] = content_type.into();
        if let Some(forms) = self.0["forms"].as_array_mut() {
            forms.push(form);
        }
        self
    }

    fn uri_variables(mut self, variables: &Value) -> Action {
        self.0["uriVariables"] = variables.clone();
        self
    }

    fn input(mut self, schema: Value) -> Action {
        self.0["input"] = schema;
        self
    }

    /// Actions without one are answered with 204: their forms have no `response`.
    fn output(mut self, schema: Value, content_type: &str) -> Action {
        self.0["output"] = schema;
        self.0["forms"][0]["response"] = json!({"contentType": content_type});
        self
    }

    fn safe(mut self) -> Value {
        self.0["safe"] = true.into();
        self.0
    }
}

impl serde::Serialize for Action {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// Each event has two forms. Consumers take the first: like node-wot's, they receive only messages that have
/// no name, and read their data by the content type of the form. The second is that of WoT Discovery.
fn events() -> Value {
    let event = |title: &str, kind: ChangeKind| {
        let form = |variables: &str, content_type: &str| {
            let href = format!("events/{}{variables}", kind.as_str());
            let mut form = form(&href, "GET", &["subscribeevent", "unsubscribeevent"], content_type);
            form["subprotocol"] = "sse".into();
            form
        };
        json!({
            "title": title,
            "data": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
            "uriVariables": {"diff": {"type": "boolean"}},
            "forms": [form("?unnamed=true{&diff}", JSON), form("{?diff}", "text/event-stream")],
        })
    };
    json!({
        "thingCreated": event("A Thing was registered", ChangeKind::Created),
        "thingUpdated": event("A Thing has changed", ChangeKind::Updated),
        "thingDeleted": event("A Thing was removed or has expired", ChangeKind::Deleted),
    })
}

const JSON: &str = "application/json";
const TD_JSON: &str = "application/td+json";

fn object(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

fn form(href: &str, method: &str, op: &[&str], content_type: &str) -> Value {
    json!({
        "href": href,
        "htv:methodName": method,
        "op": op,
        "contentType": content_type,
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
        let document =
            description("https://example.org/registry", "urn:agentdex:registry:x", true, json!({"scheme": "bearer"}))
                .to_string();
        let report = validate(&Document::parse(document.as_bytes())?, Layers::All);
        assert!(report.is_valid(), "{report:?}");
        assert!(report.warnings.is_empty(), "{report:?}");
        assert_eq!(report.version, Some(crate::td::Version::V1_1));
        Ok(())
    }
}
