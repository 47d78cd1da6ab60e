//! `POST /import/a2a`: an agent card, or the URL of one or of its agent.

use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Data},
};

use super::{Sent, Terms, answer, convert, given_id, register, track};
use crate::{
    convert::{
        Conversion, Format,
        a2a::{Card, Options},
    },
    http::{Context, parameters::Parameters, problem::Problem},
    signature::Verification,
    td::Document,
};

const PATH: &str = "/import/a2a";
const PARAMETERS: [&str; 4] = ["id", "if_exists", "ttl", "dry_run"];
const TYPES: [&str; 2] = ["application/json", "application/a2a+json"];

/// `POST /import/a2a`
#[utoipa::path(
    post,
    path = "/import/a2a",
    operation_id = "import_a2a",
    tag = "import",
    summary = "Register the agent of an A2A agent card, and track the card's URL",
    description = "The card comes in the body, or the body is `{\"url\": …}`: then the registry fetches it, and polls \
        the URL for changes. The URL is that of the card, or that of an agent: then \
        `/.well-known/agent-card.json` and `/.well-known/agent.json` are tried. Cards of 0.2, 0.3 and 1.0 are read.",
    params(
        ("id" = Option<String>, Query, description = "The id of the Thing, instead of one that is made of the card"),
        ("if_exists" = Option<String>, Query, description = "`replace` or `refuse`: 409 if the Thing is there"),
        ("ttl" = Option<u64>, Query, description = "Time to live in seconds. With a URL it is at least 60 s, and the Thing is renewed while its source is tracked, even while that fails"),
        ("dry_run" = Option<bool>, Query, description = "Check everything; write nothing and track nothing"),
    ),
    request_body(content((crate::http::schemas::AgentCardOrUrl = "application/json"), (crate::http::schemas::AgentCardOrUrl = "application/a2a+json"))),
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
    let imported = match Sent::read(&context, &request, payload, &TYPES).await? {
        Sent::Url(url) => track(&context, &url, terms.track(&url, Format::A2a).id(id)).await?,
        Sent::Document(bytes) => {
            let (conversion, card) = convert(move || read(&bytes, id)).await?;
            let found = check(&context, card).await?;
            register(&context, terms.import(conversion).signed(Some(found))).await?
        }
    };
    Ok(answer(&context, &request, PATH, &imported, terms))
}

/// The Thing of a card, and the card as it was sent, which is what was signed.
fn read(bytes: &[u8], id: Option<String>) -> crate::Result<(Conversion, Document)> {
    Ok((Card::parse(bytes)?.to_thing(&Options { id, base: None })?, Document::parse(bytes)?))
}

async fn check(context: &Context, card: Document) -> Result<Verification, Problem> {
    let registry = context.registry.clone();
    Ok(context.network.run(async move { registry.check_card(&card, None).await }).await?)
}
