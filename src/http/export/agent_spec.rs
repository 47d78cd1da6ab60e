//! `GET /things/{id}/agent-spec`: a Thing as an Open Agent Spec configuration.

use actix_web::{HttpRequest, HttpResponse, web::Data};

use super::{Rendition, Source, render};
use crate::{
    convert::{Format, agent_spec::from_thing},
    http::{Context, conditions::Conditions, parameters::Parameters, problem::Problem},
};

/// What comes behind the id of the Thing.
pub(in crate::http) const END: &str = "/agent-spec";

/// `GET /things/{id}/agent-spec`
#[utoipa::path(
    get,
    path = "/things/{id}/agent-spec",
    tag = "import",
    summary = "Read a Thing as an Open Agent Spec configuration",
    params(
        ("id" = String, Path, description = "The id, percent-encoded: an absolute URI, or a name that is made one"),
        ("If-Match" = Option<String>, Header, description = "Only if the current entity tag is one of these"),
        ("If-None-Match" = Option<String>, Header, description = "Only if the current entity tag is none of these"),
    ),
    responses(
        (status = 200, description = "What it was imported from, without secrets; of other descriptions a configuration that is made of them", content((crate::http::schemas::AgentSpec = "application/json"), (String = "application/yaml")), headers(("ETag" = String, description = "The entity tag of the configuration"))),
        (status = 304, description = "Not modified"),
        (status = 409, description = "The description has nothing that a configuration could be made of", body = crate::http::schemas::Problem, content_type = "application/problem+json"),
        crate::http::schemas::Refusals,
        crate::http::schemas::ThingRefusals,
    )
)]
pub(in crate::http) async fn as_agent_spec(
    context: Data<Context>,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let conditions = Conditions::of(&request);
    let make = |source| match source {
        Source::Original(original) => Ok(original.into()),
        Source::Description(thing) => from_thing(&thing).map(|made| Rendition::json(format!("{made:#}\n"))),
    };
    render(&context, &request, (Format::AgentSpec, END), make).await?.answer(&conditions, None)
}
