//! `/records`: Things with all that is stored of each, one a line, for admins.

use actix_web::{
    HttpRequest, HttpResponse,
    http::{Method, StatusCode, header::CACHE_CONTROL},
    web::{self, Bytes, Data},
};
use agentdex_api::FullRecord;
use futures_util::{Stream, stream};

use super::{
    batch, blocking::blocking, body::NDJSON, context::Context, formats::explain, listing::Empty,
    parameters::Parameters, problem::Problem,
};
use crate::{Error, Registry, Result, convert::Format, registry::FullRecords};

/// Size in bytes at which a chunk is full and is sent.
const CHUNK: usize = 64 * 1024;
/// Maximum length of a line, as a multiple of that of a description: it has the document that this was converted from,
/// and escapes it.
const LINE_FACTOR: usize = 8;

/// List Things with everything stored for each
///
/// One per line, in ascending order of id: the description, its creation time, owner, visibility, and expiry, its
/// original document, and the URL that is polled for it. `POST /records` accepts them. To continue an interrupted
/// list, set `after` to the id of its last line. In contrast, a backup (`GET /backup`) is from a single moment, and
/// includes the change log, keys, and saved queries.
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/records",
    operation_id = "list_records",
    tag = "about",
    params(("after" = Option<String>, Query, description = "Only records after this id")),
    responses(
        (status = 200, description = "The records", body = FullRecord, content_type = "application/x-ndjson"),
        super::schemas::Refusals,
    )
))]
pub(super) async fn list(context: Data<Context>, request: HttpRequest) -> std::result::Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &["after"])?;
    let (registry, after) = (context.registry(&request), parameters.text("after").map(str::to_owned));
    let records = blocking(move || registry.full_records(after.as_deref())).await?;
    let mut response = HttpResponse::Ok();
    response.content_type(NDJSON).insert_header((CACHE_CONTROL, "no-store"));
    if request.method() == Method::HEAD {
        return Ok(response.body(Empty));
    }
    Ok(response.streaming(lines(records)))
}

/// The lines, in chunks. Each is read on a thread that may block, once it is asked for.
fn lines(records: FullRecords) -> impl Stream<Item = Result<Bytes>> {
    stream::try_unfold(records, |mut records| async {
        let read = blocking(move || {
            let mut chunk = Vec::with_capacity(CHUNK);
            let writing =
                |source: serde_json::Error| Error::Io { doing: "writing a record".to_owned(), source: source.into() };
            while chunk.len() < CHUNK
                && let Some(record) = records.next().transpose()?
            {
                serde_json::to_writer(&mut chunk, &record).map_err(writing)?;
                chunk.push(b'\n');
            }
            Ok((chunk, records))
        });
        let (chunk, records) = read.await?;
        Ok((!chunk.is_empty()).then(|| (Bytes::from(chunk), records)))
    })
}

/// Register Things with everything that another registry stored for each
///
/// One per line, as from `GET /records`. A new Thing is created with the time in `created`, and an existing Thing is
/// replaced; both get the owner and visibility of the record. Identical Things are left unchanged, so an interrupted
/// request can simply be repeated.
#[cfg_attr(debug_assertions, utoipa::path(
    post,
    path = "/records",
    operation_id = "write_records",
    tag = "about",
    params(("dry_run" = Option<bool>, Query, description = "Check everything without writing anything")),
    request_body(content((FullRecord = "application/x-ndjson"))),
    responses(
        (status = 200, description = "One result line for each line, in the same order", body = agentdex_api::BatchResult, content_type = "application/x-ndjson"),
        super::schemas::Refusals,
        super::schemas::BodyRefusals,
    )
))]
pub(super) async fn write(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> std::result::Result<HttpResponse, Problem> {
    let dry_run = Parameters::parse(&request, &["dry_run"])?.flag("dry_run")?;
    let limit = context.options.body_limit.saturating_mul(LINE_FACTOR);
    batch::write_lines(context, &request, payload, limit, dry_run, async move |registry: &Registry, line| {
        let record: FullRecord = serde_json::from_slice(&line).map_err(|error| {
            Problem::new(StatusCode::BAD_REQUEST, "invalid-record", format!("this line is not a record: {error}"))
        })?;
        let written = registry.write_record(record, dry_run).await;
        written.map_err(|error| explain(error, &line, Format::ThingDescription))
    })
}
