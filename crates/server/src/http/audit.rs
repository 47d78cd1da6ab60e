//! `/audit`: who changed what, and what was denied.

use std::fmt::Write;

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        Method, StatusCode,
        header::{CACHE_CONTROL, LINK},
    },
    web::Data,
};

use agentdex_api::AuditChain;
use serde::Deserialize;

use super::{
    address::{base_path, thing_path},
    blocking::blocking,
    body::NDJSON,
    context::Context,
    negotiation::negotiate,
    parameters::Parameters,
    problem::Problem,
};
use crate::{Error, Registry};

/// Number of entries in a response without `limit`.
const DEFAULT_LIMIT: usize = 100;
/// The most entries of an answer.
const MAX_LIMIT: usize = 1000;

/// The routes that change something that the registry has no entry of itself, or give everything away, by method.
const NOTED: [(&str, &str, AuditChain); 6] = [
    ("POST", "/clock/accept", AuditChain::Administration),
    ("PUT", "/queries/{name}", AuditChain::Decisions),
    ("DELETE", "/queries/{name}", AuditChain::Decisions),
    ("DELETE", "/imports/{id}", AuditChain::Decisions),
    ("GET", "/backup", AuditChain::Administration),
    ("GET", "/records", AuditChain::Administration),
];

/// Read the audit trail: who changed what, and which requests were denied
///
/// Requires the role `admin`. Entries about Things, keys, and namespaces are written together with the change, all
/// others a moment later. Without authentication, nothing is recorded. Each of the chains `changes`, `decisions`,
/// `denials`, and `administration` is retained like the change log; an entry contains the SHA-256 of the previous
/// line in its chain (`previous`). `application/x-ndjson` has one entry per line, for export.
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/audit",
    operation_id = "audit",
    tag = "about",
    params(
        ("since" = Option<u64>, Query, description = "Only entries after this number"),
        ("limit" = Option<u64>, Query, description = "Maximum number of entries (default 100); values over 1,000 are reduced to 1,000"),
    ),
    responses(
        (status = 200, description = "The entries, oldest first", content((agentdex_api::Audited = "application/json"), (agentdex_api::AuditEntry = "application/x-ndjson")), headers(("Link"))),
        super::schemas::Refusals,
        super::schemas::TypeRefusals,
    )
))]
pub(super) async fn read(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &["since", "limit"])?;
    let since = parameters.number("since", 0)?.unwrap_or_default();
    let limit = parameters.number("limit", 1)?.and_then(|limit| usize::try_from(limit).ok());
    let limit = limit.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT);
    let registry = context.admin(&request)?;
    let media_type = negotiate(&request, &["application/json", NDJSON])?;
    let audited = blocking(move || registry.audit(since, limit)).await?;
    let mut response = HttpResponse::Ok();
    response.insert_header((CACHE_CONTROL, "no-store"));
    if let Some(read) = audited.entries.last().filter(|read| read.number < audited.last) {
        let base = base_path(&request, &context.options, "/audit");
        response.insert_header((LINK, format!("<{base}/audit?since={}&limit={limit}>; rel=\"next\"", read.number)));
    }
    if media_type != NDJSON {
        return Ok(response.json(audited));
    }
    let mut lines = String::new();
    for entry in &audited.entries {
        let line = serde_json::to_string(entry)
            .map_err(|source| Error::Store { doing: "writing the audit trail", source: source.into() })?;
        let _ = writeln!(lines, "{line}");
    }
    Ok(response.content_type(NDJSON).body(lines))
}

/// Notes a line of a batch that was denied, as a PUT of the same description is.
pub(super) fn note_line(registry: &Registry, line: &[u8], status: StatusCode) {
    #[derive(Deserialize)]
    struct Identified {
        id: String,
    }
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        let identified: Option<Identified> = serde_json::from_slice(line).ok();
        let shown = identified
            .map_or_else(|| "POST /things".to_owned(), |Identified { id }| format!("PUT {}", thing_path("", &id)));
        registry.note_denied(&shown, Some(status.as_u16()));
    }
}

/// Notes that a part of a request was denied, whose others weren't.
pub(super) fn note_part(context: &Context, request: &HttpRequest, status: StatusCode) {
    if context.options.access.authentication {
        let shown = format!("{} {}", request.method(), request.path());
        context.registry(request).note_denied(&shown, Some(status.as_u16()));
    }
}

/// Notes a request that was denied, or that has changed something that is no Thing. `path` is that of its route.
pub(super) fn note(context: &Context, request: &HttpRequest, path: &str, status: StatusCode) {
    if !context.options.access.authentication {
        return;
    }
    let shown = || format!("{} {}", request.method(), request.path());
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return context.registry(request).note_denied(&shown(), Some(status.as_u16()));
    }
    let method = if *request.method() == Method::HEAD { "GET" } else { request.method().as_str() };
    let noted = NOTED.iter().find(|(of_method, of_path, _)| (*of_method, *of_path) == (method, path));
    if let Some((_, _, chain)) = noted.filter(|_| status.is_success()) {
        // Whose query it was, and who sees it now.
        let asked = Some(request.query_string()).filter(|asked| !asked.is_empty() && path == "/queries/{name}");
        let shown = asked.map(|asked| format!("{}?{asked}", request.path()));
        context.registry(request).note_done(*chain, method, shown.as_deref().unwrap_or(request.path()));
    }
}
