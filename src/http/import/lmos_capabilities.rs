//! `POST /import/lmos-capabilities`: an LMOS capability file, or the URL of one or of its agent.

use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Data},
};
use fluent_uri::Iri;

use super::{Sent, Terms, answer, convert, given_id, register, track};
use crate::{
    convert::{
        Format,
        lmos_capabilities::{Options, to_thing},
    },
    http::{Context, parameters::Parameters, problem::Problem},
};

const PATH: &str = "/import/lmos-capabilities";
const PARAMETERS: [&str; 5] = ["id", "base", "if_exists", "ttl", "dry_run"];

/// `POST /import/lmos-capabilities`
#[utoipa::path(
    post,
    path = "/import/lmos-capabilities",
    operation_id = "import_lmos_capabilities",
    tag = "import",
    summary = "Register the agent of an LMOS capability file, and track the file's URL",
    description = "The file comes in the body, or the body is `{\"url\": …}`: then the registry fetches it, and polls \
        the URL for changes. The URL is that of the file, or that of an agent: then \
        `/.well-known/capabilities.json` is tried.",
    params(
        ("id" = Option<String>, Query, description = "The id of the Thing, instead of that of the file"),
        ("base" = Option<String>, Query, description = "The URL that the file in the body is from; the id is made of it where the file has none"),
        ("if_exists" = Option<String>, Query, description = "`replace` or `refuse`: 409 if the Thing is there"),
        ("ttl" = Option<u64>, Query, description = "Time to live in seconds. With a URL it is at least 60 s, and the Thing is renewed while its source is tracked, even while that fails"),
        ("dry_run" = Option<bool>, Query, description = "Check everything; write nothing and track nothing"),
    ),
    request_body(content((crate::http::schemas::CapabilityFileOrUrl = "application/json"))),
    responses(
        (status = 201, description = "Registered", body = crate::http::schemas::Imported, headers(("Location" = String, description = "The path of the Thing"), ("Agentdex-Warnings" = u64, description = "How much is odd or didn't survive"), ("ETag" = String, description = "The entity tag of the Thing"))),
        (status = 200, description = "Replaced or unchanged; or what a dry run would do", body = crate::http::schemas::Imported),
        crate::http::schemas::Refusals,
        crate::http::schemas::ConflictRefusals,
        crate::http::schemas::BodyRefusals,
        crate::http::schemas::FetchRefusals,
    )
)]
pub(in crate::http) async fn import(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &PARAMETERS)?;
    let (terms, id) = (Terms::of(&parameters)?, given_id(&parameters)?);
    let base = base(&parameters)?;
    let imported = match Sent::read(&context, &request, payload, &["application/json"]).await? {
        Sent::Url(_) if base.is_some() => {
            let detail = "`base` says where a file in the body is from; a file that is fetched is from its URL";
            return Err(Problem::invalid_parameter("base", detail));
        }
        Sent::Url(url) => track(&context, &url, terms.track(&url, Format::LmosCapabilities).id(id)).await?,
        Sent::Document(bytes) => {
            let conversion = convert(move || to_thing(&bytes, &Options { id, base })).await?;
            register(&context, terms.import(conversion)).await?
        }
    };
    Ok(answer(&context, &request, PATH, &imported, terms))
}

/// Where the file is from, which everybody will read.
fn base(parameters: &Parameters) -> Result<Option<String>, Problem> {
    let Some(text) = parameters.text("base") else { return Ok(None) };
    let is_public = |url: Iri<&str>| {
        let is_web = ["http", "https"].iter().any(|scheme| url.scheme().as_str().eq_ignore_ascii_case(scheme));
        is_web && url.authority().is_some_and(|authority| !authority.host().is_empty() && !authority.has_userinfo())
    };
    if Iri::parse(text).is_ok_and(is_public) {
        return Ok(Some(text.to_owned()));
    }
    let detail = "`base` must be an absolute URL with http or https, and without credentials";
    Err(Problem::invalid_parameter("base", detail))
}
