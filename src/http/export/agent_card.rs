//! `GET /things/{id}/agent-card`: a Thing as an A2A agent card, in the version that the client reads.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{HeaderValue, VARY},
    web::Data,
};

use super::{MAX_AGE, Rendition, Source, render};
use crate::{
    convert::{
        Format,
        a2a::{Card, Generation, from_thing},
    },
    http::{Context, conditions::Conditions, negotiation::accepts, parameters::Parameters, problem::Problem},
};

/// What comes behind the id of the Thing.
pub(in crate::http) const END: &str = "/agent-card";

/// `GET /things/{id}/agent-card`
#[utoipa::path(
    get,
    path = "/things/{id}/agent-card",
    tag = "import",
    summary = "Read a Thing as an A2A agent card",
    params(
        ("id" = String, Path, description = "The id, percent-encoded: an absolute URI, or a name that is made one"),
        ("version" = Option<String>, Query, description = "`0.3` or `1.0`; without it a card is given as it was imported, and anything else as 1.0"),
        ("If-Match" = Option<String>, Header, description = "Only if the current entity tag is one of these"),
        ("If-None-Match" = Option<String>, Header, description = "Only if the current entity tag is none of these"),
    ),
    responses(
        (status = 200, description = "The card that it was imported from, without secrets; in the other version, or of other descriptions, one that is made of it", content((crate::http::schemas::AgentCard = "application/json"), (crate::http::schemas::AgentCard = "application/a2a+json")), headers(("ETag" = String, description = "The entity tag of the card"), ("Cache-Control" = String, description = "How long it needn't be asked for again"), ("Agentdex-Warnings" = u64, description = "Of a card in another version than its own: how much that version can't say"))),
        (status = 304, description = "Not modified"),
        (status = 409, description = "The description has nothing that a card of this version could be made of", body = crate::http::schemas::Problem, content_type = "application/problem+json"),
        crate::http::schemas::Refusals,
        crate::http::schemas::ThingRefusals,
    )
)]
pub(in crate::http) async fn agent_card(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &["version"])?;
    let version = parameters.text("version").map(str::parse::<Generation>).transpose();
    let version = version.map_err(|message| Problem::invalid_parameter("version", message))?;
    let conditions = Conditions::of(&request);
    let mut card = render(&context, &request, (Format::A2a, END), move |source| make(source, version)).await?;
    if accepts(&request, "application/a2a+json") {
        card.media_type = "application/a2a+json".to_owned();
    }
    let mut response = card.answer(&conditions, Some(MAX_AGE))?;
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept, accept-encoding"));
    Ok(response)
}

fn make(source: Source, version: Option<Generation>) -> crate::Result<Rendition> {
    let original = match source {
        Source::Description(thing) => {
            let card = from_thing(&thing, version.unwrap_or(Generation::V1))?;
            let warnings = Some(card.warnings.len()).filter(|warnings| *warnings > 0);
            return Ok(Rendition { warnings, ..Rendition::json(card.json) });
        }
        Source::Original(original) => original,
    };
    let Some(version) = version else { return Ok(original.into()) };
    let card = Card::parse(&original.bytes)?;
    if card.generation() == version {
        return Ok(original.into());
    }
    let converted = card.as_version(version);
    Ok(Rendition { warnings: Some(converted.warnings.len()), ..Rendition::json(converted.json) })
}
