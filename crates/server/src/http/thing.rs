//! `/things/{id}`: one Thing Description.

use std::hash::{DefaultHasher, Hash, Hasher};

use actix_web::{
    HttpRequest, HttpResponse, HttpResponseBuilder,
    http::header::{CONTENT_TYPE, ETAG, HeaderValue, LOCATION},
    web::{self, Data},
};
use agentdex_api::{Created, DryRun};
use serde_json::{Value, json};

use super::{
    address::{base_path, id_in_own_url, path_below, thing_id, thing_path},
    backpressure::read_body,
    blocking::blocking,
    body::{self, EFFECT, WARNINGS},
    conditions::{Conditions, Verdict},
    context::Context,
    formats::explain,
    negotiation::{VARY_BY_TYPE, preferred},
    parameters::Parameters,
    problem::Problem,
};
use crate::{
    Error, Registry,
    convert::Format,
    registry::{Effect, Thing, Write, Written},
};

/// Bodies over this are validated on a thread that may block.
pub(super) const LARGE: usize = 32 * 1024;

/// The methods of a Thing.
pub(super) const METHODS: &str = "GET, HEAD, PUT, PATCH, DELETE";

/// Answers all methods of a Thing.
pub(super) async fn any(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    if path_below(&request) == "/" {
        let detail = "the collection is /things, without a trailing slash; a Thing is /things/{id}";
        return Err(Problem::unknown_path(request.path()).with_detail(detail));
    }
    match request.method().as_str() {
        "GET" | "HEAD" => retrieve(context, request).await,
        "PUT" => put(context, request, payload).await,
        "PATCH" => patch(context, request, payload).await,
        "DELETE" => remove(context, request).await,
        other => Err(Problem::method_not_allowed(other, METHODS)),
    }
}

/// Read a description
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/things/{id}",
    operation_id = "retrieve_thing",
    tag = "things",
    params(
        super::schemas::ThingId,
        ("version" = Option<String>, Query, description = "A version, an npm-style version range, or `latest`: returns the description of that version, without edits, and with the ETag of that version"),
        super::schemas::ConditionParameters,
    ),
    responses(
        (status = 200, description = "The description with `registration`, or its statements as RDF", content((super::schemas::ThingDescription = "application/td+json"), (super::schemas::ThingDescription = "application/ld+json"), (super::schemas::ThingDescription = "application/json"), (String = "application/n-quads"), (String = "text/turtle")), headers(("ETag"), ("Agentdex-Warnings" = u64, description = "As RDF: number of contexts that were ignored because they are unknown or invalid"))),
        (status = 304, description = "Not modified"),
        super::schemas::Refusals,
        super::schemas::TypeRefusals,
        super::schemas::ThingRefusals,
    )
))]
pub(super) async fn retrieve(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &["version"])?;
    let id = existing_id(&context, &request)?;
    let registry = context.registry(&request);
    let found = match parameters.version("version")? {
        Some(version) => Some(registry.find_version(&id, version)?),
        None => registry.find(&id)?,
    };
    let Some(thing) = found else { return Err(Error::NotFound { id }.into()) };
    let etag = tag(&thing);
    if let Some(syntax) = super::rdf::wanted(&request)? {
        return super::rdf::respond(&context, &request, thing, etag, syntax).await;
    }
    match Conditions::of(&request).verdict(etag.trim_matches('"')) {
        Verdict::Proceed => Ok(representation(&request, &mut HttpResponse::Ok(), etag, &thing)),
        Verdict::NotModified => {
            Ok(HttpResponse::NotModified().insert_header((ETAG, etag)).insert_header(VARY_BY_TYPE).finish())
        }
        Verdict::Failed => Err(Problem::precondition_failed(&etag)),
    }
}

/// Register a description under its id, or replace the served one
///
/// Other versions don't change. For an imported Thing, this is an edit: its original document is kept, and the edit
/// is applied again when the document is imported again.
#[cfg_attr(debug_assertions, utoipa::path(
    put,
    path = "/things/{id}",
    operation_id = "put_thing",
    tag = "things",
    params(
        super::schemas::ThingId,
        ("dry_run" = Option<bool>, Query, description = "Check everything without writing anything"),
        ("version" = Option<String>, Query, description = "Store it as this version, in addition to other versions of the Thing; the highest is served. Conditions apply to this version"),
        ("replace" = Option<bool>, Query, description = "Drop everything else stored for the Thing: its original, other versions, edits, and tracking"),
        ("if_exists" = Option<String>, Query, description = "`related`: refuse (409 `unrelated`) to replace a Thing that has no title, description, capability, or address in common with this one; `replace` (the default): replace it"),
        super::schemas::AccessParameters,
        super::schemas::ConditionParameters,
        ("Prefer" = Option<String>, Header, description = "`return=representation`: respond with the description instead of 204; `return=effect`: with the effect and the warnings"),
    ),
    request_body(content((super::schemas::ThingDescription = "application/td+json"), (super::schemas::ThingDescription = "application/ld+json"), (super::schemas::ThingDescription = "application/json"))),
    responses(
        (status = 201, description = "Registered", body = agentdex_api::Created, headers(("Location"), ("Agentdex-Effect"), ("Agentdex-Warnings" = u64), ("ETag"))),
        (status = 204, description = "Replaced", headers(("Agentdex-Effect"), ("Agentdex-Warnings" = u64), ("ETag"))),
        (status = 200, description = "Result in the form requested by `Prefer`, or the result of a dry run", content((super::schemas::ThingDescription = "application/td+json"), (super::schemas::ThingDescription = "application/ld+json"), (super::schemas::RepresentationOrDryRun = "application/json")), headers(("Agentdex-Effect"), ("Agentdex-Warnings" = u64))),
        super::schemas::Refusals,
        super::schemas::WriteRefusals,
        (status = 409, description = "`unrelated`: with `if_exists=related`, it has nothing in common with the existing Thing; `part-of-document`: a part inherits the access of its documents; `version-not-served`: the access would also publish the served version, which is higher than this one", body = super::schemas::Problem, content_type = "application/problem+json"),
        (status = 412, description = "`If-Match` or `If-None-Match` does not hold", body = super::schemas::Problem, content_type = "application/problem+json"),
        super::schemas::BodyRefusals,
    )
))]
pub(super) async fn put(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    const KNOWN: [&str; 7] = ["dry_run", "visibility", "namespace", "versions", "version", "if_exists", "replace"];
    let parameters = Parameters::parse(&request, &KNOWN)?;
    let (dry_run, access, replaces) = (parameters.flag("dry_run")?, parameters.access()?, parameters.flag("replace")?);
    let only_related = parameters.choice("if_exists", &[("replace", false), ("related", true)])?.unwrap_or(false);
    let version = parameters.version("version")?.map(str::to_owned);
    let id = thing_id(&request, &context.options)?;
    let conditions = Conditions::of(&request);
    body::check_type(&request, &body::DESCRIPTIONS)?;
    let json = read_body(&context, &request, payload).await?;
    let large = json.len() > LARGE;
    let mut write = Write::put_at(&id, &json[..]).dry_run(dry_run).with_access(access);
    write = write.only_related(only_related).replacing(replaces);
    let precondition = conditions.precondition_of(&context.registry(&request), &id, version.as_deref())?;
    if let Some(precondition) = precondition {
        write = write.when(precondition);
    }
    if let Some(version) = version {
        write = write.version(version);
    }
    let written = commit(&context.registry(&request), write, large).await;
    let written = written.map_err(|error| explain(error, &json, Format::ThingDescription))?;
    answer(&context, &request, &written, dry_run)
}

/// Change a description, or renew its expiry
#[cfg_attr(debug_assertions, utoipa::path(
    patch,
    path = "/things/{id}",
    operation_id = "patch_thing",
    tag = "things",
    params(
        super::schemas::ThingId,
        ("dry_run" = Option<bool>, Query, description = "Check everything without writing anything"),
        super::schemas::ConditionParameters,
        ("Prefer" = Option<String>, Header, description = "`return=representation`: respond with the description instead of 204; `return=effect`: with the effect and the warnings"),
    ),
    request_body(content((super::schemas::MergePatch = "application/merge-patch+json"), (super::schemas::MergePatch = "application/json"))),
    responses(
        (status = 204, description = "Changed", headers(("Agentdex-Effect"), ("Agentdex-Warnings" = u64), ("ETag"))),
        (status = 200, description = "Result in the form requested by `Prefer`, or the result of a dry run", content((super::schemas::ThingDescription = "application/td+json"), (super::schemas::ThingDescription = "application/ld+json"), (super::schemas::RepresentationOrDryRun = "application/json")), headers(("Agentdex-Effect"), ("Agentdex-Warnings" = u64))),
        super::schemas::Refusals,
        super::schemas::WriteRefusals,
        super::schemas::ThingRefusals,
        super::schemas::BodyRefusals,
    )
))]
pub(super) async fn patch(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let dry_run = Parameters::parse(&request, &["dry_run"])?.flag("dry_run")?;
    let id = existing_id(&context, &request)?;
    let conditions = Conditions::of(&request);
    body::check_type(&request, &body::MERGE_PATCHES)?;
    let patch = read_body(&context, &request, payload).await?;
    // The result is validated, not the patch alone.
    let stored = context.registry(&request).find(&id)?.map_or(0, |thing| thing.text().len());
    let large = patch.len() + stored > LARGE;
    let write = Write::patch(&id, &patch[..]).dry_run(dry_run);
    let written = commit_to_present(&context.registry(&request), &id, write, &conditions, large).await?;
    answer(&context, &request, &written, dry_run)
}

/// Remove a description
#[cfg_attr(debug_assertions, utoipa::path(
    delete,
    path = "/things/{id}",
    operation_id = "remove_thing",
    tag = "things",
    params(
        super::schemas::ThingId,
        ("dry_run" = Option<bool>, Query, description = "Check everything without writing anything"),
        ("version" = Option<String>, Query, description = "Remove only this version; if the Thing has no other version, the Thing is removed. Conditions apply to this version"),
        super::schemas::ConditionParameters,
    ),
    responses(
        (status = 204, description = "Removed, together with the Things of parts that no other document declares", headers(("Agentdex-Effect" = String, description = "`removed`"), ("Agentdex-Warnings" = u64, description = "1 if parts were removed too"))),
        (status = 200, description = "Result, if requested by `Prefer: return=representation` or `return=effect`; or the result of a dry run", body = agentdex_api::DryRun),
        (status = 409, description = "`part-of-document`: versions of a part belong to its documents; `hidden-versions`: only versions that the owner of the Thing may not read would remain", body = super::schemas::Problem, content_type = "application/problem+json"),
        super::schemas::Refusals,
        super::schemas::WriteRefusals,
        super::schemas::ThingRefusals,
    )
))]
pub(super) async fn remove(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &["dry_run", "version"])?;
    let dry_run = parameters.flag("dry_run")?;
    let id = existing_id(&context, &request)?;
    let conditions = Conditions::of(&request);
    let mut write = Write::remove(&id).dry_run(dry_run);
    let registry = context.registry(&request);
    let written = match parameters.version("version")? {
        Some(version) => {
            if let Some(precondition) = conditions.precondition_of(&registry, &id, Some(version))? {
                write = write.when(precondition);
            }
            commit(&registry, write.version(version), false).await?
        }
        None => commit_to_present(&registry, &id, write, &conditions, false).await?,
    };
    answer(&context, &request, &written, dry_run)
}

/// Writes to a Thing that has to exist. Where it doesn't, the response is 404, whatever the conditions
/// say (RFC 9110, section 13.2.1).
pub(super) async fn commit_to_present(
    registry: &Registry,
    id: &str,
    mut write: Write,
    conditions: &Conditions,
    large: bool,
) -> Result<Written, Error> {
    let absent = |error| match error {
        Error::PreconditionFailed { id, found: None, .. } => Error::NotFound { id },
        error => error,
    };
    if let Some(precondition) = conditions.precondition(registry, id).map_err(absent)? {
        write = write.when(precondition);
    }
    commit(registry, write, large).await.map_err(absent)
}

/// Writes, with the validation of large documents on a thread that may block.
pub(super) async fn commit(registry: &Registry, write: Write, large: bool) -> Result<Written, Error> {
    if !large {
        return registry.write(write).await;
    }
    let registry = registry.clone();
    blocking(move || registry.write_blocking(write)).await
}

const PREFERENCE_APPLIED: (&str, &str) = ("preference-applied", "return=representation");

/// The response to a write.
pub(super) fn answer(
    context: &Context,
    request: &HttpRequest,
    written: &Written,
    dry_run: bool,
) -> Result<HttpResponse, Problem> {
    let mut response = respond_to_write(context, request, written, dry_run)?;
    let headers = response.headers_mut();
    headers.insert(WARNINGS, written.warnings.len().into());
    headers.insert(EFFECT, HeaderValue::from_static(written.effect.as_str()));
    Ok(response)
}

fn respond_to_write(
    context: &Context,
    request: &HttpRequest,
    written: &Written,
    dry_run: bool,
) -> Result<HttpResponse, Problem> {
    if dry_run {
        return Ok(HttpResponse::Ok().json(effect(written, true)));
    }
    let prefers_representation = || body::prefers(request, "return=representation");
    let etag = (ETAG, format!("\"{}\"", written.seq));
    match written.effect {
        Effect::Created => {
            let path = format!("/things{}", path_below(request));
            let location = thing_path(base_path(request, &context.options, &path), &written.id);
            let answer = json!(Created { id: written.id.clone(), warnings: written.warnings.clone() });
            Ok(HttpResponse::Created().insert_header(etag).insert_header((LOCATION, location)).json(answer))
        }
        Effect::Removed => {
            let applied = match prefers_representation() {
                true => PREFERENCE_APPLIED,
                false if body::prefers(request, body::RETURN_EFFECT) => ("preference-applied", body::RETURN_EFFECT),
                false => return Ok(HttpResponse::NoContent().finish()),
            };
            Ok(HttpResponse::Ok().insert_header(applied).json(effect(written, false)))
        }
        _ => {
            if body::prefers(request, body::RETURN_EFFECT) {
                let mut response = HttpResponse::Ok();
                response.insert_header(etag).insert_header(("preference-applied", body::RETURN_EFFECT));
                return Ok(response.json(effect(written, false)));
            }
            if prefers_representation()
                && let Some(thing) = context.registry(request).find(&written.id)?
            {
                let mut response = HttpResponse::Ok();
                response.insert_header(PREFERENCE_APPLIED);
                return Ok(representation(request, &mut response, tag(&thing), &thing));
            }
            Ok(HttpResponse::NoContent().insert_header(etag).finish())
        }
    }
}

/// The effect of a write as a body, `dry_run` or not.
fn effect(written: &Written, dry_run: bool) -> Value {
    let Written { id, effect, warnings, .. } = written.clone();
    json!(DryRun { dry_run, effect, id, warnings })
}

/// The enriched TD with its entity tag.
fn representation(
    request: &HttpRequest,
    response: &mut HttpResponseBuilder,
    etag: String,
    thing: &Thing,
) -> HttpResponse {
    // What was written isn't refused for the sake of the answer.
    let media_type = preferred(request, &body::DESCRIPTIONS).unwrap_or(body::DESCRIPTIONS[0]);
    response
        .insert_header((ETAG, etag))
        .insert_header(VARY_BY_TYPE)
        .insert_header((CONTENT_TYPE, HeaderValue::from_static(media_type)))
        .body(thing.enriched())
}

/// The entity tag of a Thing: see [`conditions`](super::conditions).
fn tag(thing: &Thing) -> String {
    let (seq, expiry) = (thing.seq(), thing.expiry());
    let mut tag = match (expiry.expires, expiry.ttl) {
        (None, None) => seq.to_string(),
        (expires, ttl) => format!("{seq}.{:x}.{}", expires.map_or(0, |expires| expires.0), ttl.unwrap_or_default()),
    };
    if !thing.flags().is_empty() {
        let mut hasher = DefaultHasher::new();
        thing.flags().hash(&mut hasher);
        tag.push_str(&format!(".f{:x}", hasher.finish()));
    }
    format!("\"{tag}\"")
}

/// The id of the Thing that a request addresses by its id, or by the URL that it has here. A Thing whose
/// id is such a URL comes first.
fn existing_id(context: &Context, request: &HttpRequest) -> Result<String, Error> {
    let id = thing_id(request, &context.options)?;
    match id_in_own_url(request, &context.options)? {
        Some(other) if context.registry(request).find(&id)?.is_none() => Ok(other),
        _ => Ok(id),
    }
}
