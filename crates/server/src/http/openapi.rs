//! The OpenAPI document, made from the handlers.

use std::sync::LazyLock;

use actix_web::{HttpRequest, HttpResponse, web::Bytes};
use utoipa::{Modify, OpenApi};

use super::{
    audit, backup, batch, changes, compatible, compose, convert, events, exposition, formats, health, history, home,
    imports, jsonpath, keys, namespaces, own_description,
    parameters::Parameters,
    problem::Problem,
    protected_resource, queries, query_languages, records,
    schemas::{Constraints, Links},
    search, thing, thing_access, things, validate,
};
use crate::Error;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "agentdex",
        description = "An agent discovery registry. Agents describe themselves as LMOS agents, that is as W3C Thing \
            Descriptions; the registry validates, stores and indexes the descriptions, finds agents by what they can do, and \
            notifies subscribers of every change. The Things, Events and Search APIs are those of W3C WoT \
            Discovery. HEAD works wherever GET does. Every failure is a problem document (RFC 9457).",
    ),
    paths(
        things::list, things::create, thing::retrieve, thing::put, thing::patch, thing::remove, history::of_thing,
        batch::write, convert::document, imports::list, imports::retrieve, imports::stop, imports::refresh, validate::document, search::things, compatible::capabilities, compatible::of_thing, compose::chains, jsonpath::descriptions, super::sparql::get, super::sparql::post, query_languages::not_offered, changes::after, events::all,
        events::of_type, queries::list, queries::retrieve, queries::save, queries::remove, queries::subscribe, health::live, health::ready, exposition::metrics, backup::take, records::list, records::write, audit::read, keys::list, keys::create, keys::revoke, namespaces::list, namespaces::claim, namespaces::give_up, thing_access::retrieve, thing_access::set, own_description::page, protected_resource::metadata, home::page, document,
    ),
    components(schemas(agentdex_api::Mode, super::schemas::DocumentUrl, agentdex_api::Imported, super::schemas::ImportParts)),
    tags(
        (name = "things", description = "Register, read, change and remove descriptions"),
        (name = "import", description = "Import and export in other formats, and the URLs that are tracked"),
        (name = "search", description = "Find agents by what they can do"),
        (name = "changes", description = "The change log, and events"),
        (name = "about", description = "The registry itself"),
    ),
)]
struct Document;

/// The OpenAPI document of the API: what `GET /openapi.json` returns and `openapi/agentdex.json` contains.
pub fn openapi() -> utoipa::openapi::OpenApi {
    let mut document = Document::openapi();
    formats::describe(&mut document);
    document.merge(super::conversation::Document::openapi());
    document.merge(super::aos::Document::openapi());
    document.merge(super::sacp::Document::openapi());
    Constraints.modify(&mut document);
    Links.modify(&mut document);
    document
}

/// Describe the API
#[utoipa::path(
    get,
    path = "/openapi.json",
    operation_id = "describe_api",
    tag = "about",
    responses((status = 200, description = "An OpenAPI document", content_type = "application/json"), super::schemas::Refusals)
)]
pub(super) async fn document(request: HttpRequest) -> Result<HttpResponse, Problem> {
    static TEXT: LazyLock<Result<Bytes, String>> =
        LazyLock::new(|| openapi().to_json().map(Bytes::from).map_err(|error| error.to_string()));
    Parameters::parse(&request, &[])?;
    match &*TEXT {
        Ok(text) => Ok(HttpResponse::Ok().content_type("application/json").body(text.clone())),
        Err(error) => Err(failed(error.clone().into())),
    }
}

fn failed(source: crate::error::BoxError) -> Problem {
    let source = std::io::Error::other(source);
    Error::Io { doing: "writing the documentation of the API".to_owned(), source }.into()
}
