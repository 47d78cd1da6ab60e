//! `/things`: the collection. Lists are streamed, anonymous Things are created.

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        Method,
        header::{ETAG, HeaderName, LINK, VARY},
    },
    web::{self, Data},
};

use super::{
    address::{base_path, escape},
    backpressure::read_body,
    blocking::blocking,
    body,
    conditions::{Conditions, Verdict},
    context::Context,
    formats::explain,
    listing::{Empty, Form, Listing, View},
    negotiation::negotiate,
    page_token,
    parameters::{PERIODS, Parameters},
    problem::Problem,
    selection::{Selection, Start},
    since::POSITION,
    thing,
};
use crate::{Error, Position, Registry, convert::Format, registry::Write};

/// The log position that an answer shows at least.
pub(super) const SEQ: HeaderName = HeaderName::from_static("agentdex-seq");

/// Beside the filters.
const KNOWN: [&str; 10] =
    ["limit", "offset", "after", "format", "view", "sort_by", "sort_order", "q", "consistent", "source_format"];
const KINDS: [&str; 2] = ["application/ld+json", "application/json"];

/// Register a description without an id
#[cfg_attr(debug_assertions, utoipa::path(
    post,
    path = "/things",
    operation_id = "create_thing",
    tag = "things",
    params(
        ("dry_run" = Option<bool>, Query, description = "Check everything without writing anything"),
        super::schemas::AccessParameters,
    ),
    request_body(content((super::schemas::AnonymousThingDescription = "application/td+json"), (super::schemas::AnonymousThingDescription = "application/ld+json"), (super::schemas::AnonymousThingDescription = "application/json"))),
    responses(
        (status = 201, description = "Registered", body = agentdex_api::Created, headers(("Location"), ("Agentdex-Effect" = String, description = "`created`"), ("Agentdex-Warnings" = u64), ("ETag"))),
        (status = 200, description = "Result of a dry run", body = agentdex_api::DryRun),
        super::schemas::Refusals,
        super::schemas::WriteRefusals,
        super::schemas::BodyRefusals,
    )
))]
pub(super) async fn create(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &["dry_run", "visibility", "namespace", "versions"])?;
    let (dry_run, access) = (parameters.flag("dry_run")?, parameters.access()?);
    body::check_type(&request, &body::DESCRIPTIONS)?;
    let json = read_body(&context, &request, payload).await?;
    let large = json.len() > thing::LARGE;
    let written = thing::commit(
        &context.registry(&request),
        Write::create(&json[..]).dry_run(dry_run).with_access(access),
        large,
    )
    .await;
    let written = written.map_err(|error| explain(error, &json, Format::ThingDescription))?;
    thing::answer(&context, &request, &written, dry_run)
}

/// List descriptions
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/things",
    operation_id = "list_things",
    tag = "things",
    params(
        ("limit" = Option<u64>, Query, description = "Maximum number of Things; values over 1,000 are reduced to 1,000. All by default"),
        ("after" = Option<String>, Query, description = "Page token of a `next` link; it stays valid when Things are added or removed"),
        ("offset" = Option<u64>, Query, description = "Number of Things to skip, at most 10,000; `next` links have no such limit"),
        ("format" = Option<String>, Query, description = "`array`, `collection`, or `ndjson` (one Thing per line, as accepted by `/things/batch`)"),
        ("view" = Option<String>, Query, description = "`full` or `summary`: id, title, description, capabilities"),
        ("sort_by" = Option<String>, Query, description = "`id`, or with a `limit`: `title`, `created`, `modified`"),
        ("sort_order" = Option<String>, Query, description = "`asc` or `desc`"),
        ("q" = Option<String>, Query, description = "Only Things that match the query, as in `/search`"),
        ("consistent" = Option<bool>, Query, description = "Wait until all writes acknowledged so far are indexed"),
        super::schemas::FilterParameters,
        super::schemas::ConditionsOfFilters,
        ("all_source_format" = Option<Vec<String>>, Query, description = "Values of `source_format` that must all match"),
        ("not_source_format" = Option<Vec<String>>, Query, description = "Values of `source_format` that must not match"),
        super::schemas::PeriodParameters,
        ("source_format" = Option<Vec<String>>, Query, description = "Formats that descriptions were converted from"),
    ),
    responses(
        (status = 200, description = "In ascending order of id", content((super::schemas::ThingList = "application/ld+json"), (super::schemas::ThingList = "application/json"), (super::schemas::ThingDescription = "application/x-ndjson")), headers(("Agentdex-Seq" = u64, description = "Log position before the list was generated"), ("Agentdex-Position", description = "The same as `<epoch>-<position>`, for `GET /changes?since=`"), ("Link" = String, description = "`canonical` with the etag of the collection, and `next`"), ("ETag" = String, description = "The entity tag of the collection"))),
        (status = 304, description = "Not modified"),
        super::schemas::Refusals,
        super::schemas::TypeRefusals,
    )
))]
pub(super) async fn list(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse_with_filters(&request, &[&KNOWN[..], &PERIODS].concat())?;
    let selection = Selection::of(&parameters, &context.registry(&request))?;
    let forms = [("array", Form::Array), ("collection", Form::Collection), ("ndjson", Form::Lines)];
    let chosen = parameters.choice("format", &forms)?;
    let media_type = match chosen {
        Some(Form::Lines) => body::NDJSON,
        Some(_) => negotiate(&request, &KINDS)?,
        None => negotiate(&request, &[KINDS[0], KINDS[1], body::NDJSON])?,
    };
    let by_header = if media_type == body::NDJSON { Form::Lines } else { Form::default() };
    let form = chosen.unwrap_or(by_header);
    let view = parameters.choice("view", &[("full", View::Full), ("summary", View::Summary)])?.unwrap_or_default();
    let path = format!("{}/things", base_path(&request, &context.options, "/things"));
    let registry = context.registry(&request);
    let tag = blocking(move || collection_tag(&registry)).await?;
    let etag = (ETAG, format!("\"{tag}\""));
    let canonical = (LINK, format!("<{path}>; rel=\"canonical\"; etag=\"{tag}\""));

    let mut response = HttpResponse::Ok();
    // What the filters choose depends on the search index, which the tag knows nothing of.
    if !selection.is_filtered() {
        match Conditions::of(&request).verdict(&tag) {
            Verdict::Proceed => response.insert_header(etag),
            Verdict::NotModified => {
                return Ok(HttpResponse::NotModified()
                    .insert_header(etag)
                    .insert_header(canonical)
                    .insert_header((VARY, "accept"))
                    .finish());
            }
            Verdict::Failed => return Err(Problem::precondition_failed(&etag.1)),
        };
    }
    let (limit, offset) = (selection.limit, selection.offset);
    let found = selection.find(context.registry(&request)).await?;
    let next = found.next.map(|start| match start {
        Start::Offset(offset) => page_url(&path, &parameters, offset, limit),
        Start::After(id) => {
            let token = page_token::encode(context.registry_id(), &id);
            url_of_page(&path, &parameters, ("after", &token), limit)
        }
    });

    let position = Position { epoch: context.epoch(), seq: found.seq };
    response.insert_header((SEQ, found.seq.0)).insert_header((POSITION, position.to_string()));
    response.insert_header((VARY, "accept")).insert_header(canonical);
    if let Some(next) = &next {
        response.append_header((LINK, format!("<{next}>; rel=\"next\"")));
    }
    response.content_type(media_type);
    if *request.method() == Method::HEAD {
        return Ok(response.body(Empty));
    }
    let this = match parameters.text("after") {
        Some(token) => url_of_page(&path, &parameters, ("after", token), limit),
        None => page_url(&path, &parameters, offset, limit),
    };
    let frame = form.frame(found.total, &this, next.as_deref());
    Ok(response.streaming(Listing::new(found.things, form, view, frame).into_stream()))
}

/// The URL of a page with everything else that was asked for.
pub(super) fn page_url(path: &str, parameters: &Parameters, offset: usize, limit: Option<usize>) -> String {
    url_of_page(path, parameters, ("offset", &offset.to_string()), limit)
}

fn url_of_page(path: &str, parameters: &Parameters, start: (&str, &str), limit: Option<usize>) -> String {
    let mut url = format!("{path}?{}={}", start.0, start.1);
    if let Some(limit) = limit {
        url.push_str(&format!("&limit={limit}"));
    }
    for (name, value) in parameters.pairs().filter(|(name, _)| !["after", "offset", "limit"].contains(name)) {
        url.push_str(&format!("&{name}={}", escape(value)));
    }
    url
}

/// The entity tag of the collection, without quotes.
pub(super) fn collection_tag(registry: &Registry) -> Result<String, Error> {
    let seq = registry.last_seq();
    let mut tag = match registry.expired_count()? {
        0 => seq.to_string(),
        expired => format!("{seq}-{expired}"),
    };
    // Flags follow the log. Their number depends on Things that the caller doesn't see, their position doesn't.
    let flags = registry.flags_position(seq);
    if flags < seq {
        tag.push_str(&format!("-f{flags}"));
    }
    // Who sees other Things has another collection.
    Ok(registry.sight_tag().map_or(tag.clone(), |sight| format!("{tag}-{sight:x}")))
}
