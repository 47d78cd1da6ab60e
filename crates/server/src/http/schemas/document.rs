//! The OpenAPI document, made from the handlers.

use utoipa::{Modify, OpenApi};

use super::{
    super::{
        a2a, agent_events, agent_property, announcements, aos, audit, backup, batch, changes, clock, cluster,
        compatible, compose, connect, conversation, convert, events, exposition, health, history, home, imports,
        jsonpath, keys, mcp, mcp_registry, namespaces, own_description, protected_resource, queries, query_languages,
        records, sacp, search, sparql, thing, thing_access, things, validate, versions,
    },
    Constraints, Links, Security, conversions,
};

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
        things::list, things::create, thing::retrieve, thing::put, thing::patch, thing::remove, history::of_thing, versions::of_thing,
        batch::write, convert::document, imports::list, imports::retrieve, imports::stop, imports::refresh, validate::document, search::things, compatible::capabilities, compatible::of_thing, compose::chains, jsonpath::descriptions, sparql::get, sparql::post, query_languages::not_offered, changes::after, events::all,
        events::of_type, queries::list, queries::retrieve, queries::save, queries::remove, queries::subscribe, health::live, health::ready, exposition::metrics, backup::take, records::list, records::write, audit::read, clock::accept, cluster::state, cluster::verify, keys::list, keys::create, keys::revoke, namespaces::list, namespaces::claim, namespaces::give_up, thing_access::retrieve, thing_access::set, own_description::page, protected_resource::metadata, mcp::message, home::page,
        a2a::rpc, a2a::send, a2a::tasks, a2a::task, announcements::agent_card, announcements::mcp_server_card, announcements::llms_txt,
        super::super::openapi::document, conversation::ask, agent_property::read, agent_property::write, agent_events::subscribe, aos::answer, aos::sessions, aos::session, aos::decisions, aos::events,
        sacp::instructions, sacp::check,
        mcp_registry::list::servers, mcp_registry::read::versions, mcp_registry::read::version, mcp_registry::publish::server, mcp_registry::status::of_version, mcp_registry::status::of_all_versions,
        connect::to_registry, connect::to_server,
    ),
    components(schemas(agentdex_api::Mode, super::A2aVersion, super::DocumentUrl, agentdex_api::Imported, agentdex_api::ExportedDocument, super::ImportParts)),
    tags(
        (name = "things", description = "Register, read, change, and remove descriptions"),
        (name = "import", description = "Import and export in other formats, and tracked URLs"),
        (name = "search", description = "Find agents by what they can do"),
        (name = "changes", description = "The change log, and events"),
        (name = "about", description = "The registry itself"),
        (name = "guardian", description = "The guardian of the Agent Observability Standard: decisions about the steps of agents"),
    ),
)]
struct Document;

/// The OpenAPI document as the handlers describe it, which `openapi/agentdex.json` has to contain: that is served.
pub fn openapi() -> utoipa::openapi::OpenApi {
    let mut document = Document::openapi();
    conversions::describe(&mut document);
    Constraints.modify(&mut document);
    Links.modify(&mut document);
    Security.modify(&mut document);
    document
}
