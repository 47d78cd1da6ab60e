//! `/things/{id}/properties/{name}/value`: a property of an agent through the registry, where its operator offers that.

use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Data},
};
use agentdex_api::{NewPropertyValue, PropertyValue};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::{
    address::affordance,
    agent_call::{called_agent, problem},
    compatible::json_body,
    context::Context,
    parameters::Parameters,
    problem::Problem,
};
use crate::consumer::{Affordance, Agent, Settings};

/// Path segment before the name of a property, and suffix after it.
pub(super) const ENDS: (&str, &str) = ("/properties/", "/value");
/// The parameter with URI variables.
const VARIABLES: &str = "variables";

/// Answers all methods of `/things/{id}/properties/{name}/value`.
pub(super) async fn any(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    match request.method().as_str() {
        "GET" | "HEAD" => read(context, request).await,
        "PUT" => write(context, request, payload).await,
        other => Err(Problem::method_not_allowed(other, "GET, HEAD, PUT")),
    }
}

/// Read a property of an agent, through the registry
///
/// The registry calls the agent. Only available if the server was started with `--conversations`.
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/things/{id}/properties/{name}/value",
    operation_id = "read_property",
    tag = "things",
    params(
        super::schemas::ThingId,
        ("name" = String, Path, description = "The name of the property"),
        ("variables" = Option<String>, Query, description = "URI variables of the property: a JSON object"),
    ),
    responses(
        (status = 200, description = "The value of the property", body = PropertyValue),
        super::schemas::Refusals,
        super::schemas::CallRefusals,
    )
))]
pub(super) async fn read(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &[VARIABLES])?;
    let (agent, name) = addressed(&context, &request, &parameters).await?;
    let _place = context.streams.take_for_stream(&request)?;
    let reply = agent.read_reply(&name).await.map_err(problem)?;
    let message = &reply.message;
    let media = message.parts.iter().find_map(|part| part.media());
    let value = match message.data() {
        Some(data) => data.clone(),
        None if media.is_some() || message.parts.is_empty() => Value::Null,
        None => message.text().into(),
    };
    Ok(HttpResponse::Ok().json(PropertyValue { value, media: media.map(|media| json!(media)) }))
}

/// Write a property of an agent, through the registry
///
/// The value is checked against the schema of the property before anything is sent. Only available if the server was
/// started with `--conversations`.
#[cfg_attr(debug_assertions, utoipa::path(
    put,
    path = "/things/{id}/properties/{name}/value",
    operation_id = "write_property",
    tag = "things",
    params(
        super::schemas::ThingId,
        ("name" = String, Path, description = "The name of the property"),
        ("variables" = Option<String>, Query, description = "URI variables of the property: a JSON object"),
    ),
    request_body(content((NewPropertyValue = "application/json"))),
    responses(
        (status = 204, description = "The agent accepted the value"),
        super::schemas::Refusals,
        super::schemas::BodyRefusals,
        super::schemas::CallRefusals,
    )
))]
pub(super) async fn write(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let NewPropertyValue { value } = json_body(&context, &request, payload, &[VARIABLES]).await?;
    let parameters = Parameters::parse(&request, &[VARIABLES])?;
    let (agent, name) = addressed(&context, &request, &parameters).await?;
    let _place = context.streams.take_for_stream(&request)?;
    agent.write(&name, value).await.map_err(problem)?;
    Ok(HttpResponse::NoContent().finish())
}

/// The agent in the path, with the URI variables of the request, and the name of the property.
async fn addressed(
    context: &Data<Context>,
    request: &HttpRequest,
    parameters: &Parameters,
) -> Result<(Agent, String), Problem> {
    let (id, name) = affordance(request, &context.options, ENDS)?;
    let variables = match parameters.text(VARIABLES) {
        Some(text) => serde_json::from_str::<Map<String, Value>>(text).map_err(|error| {
            Problem::invalid_parameter(VARIABLES, format!("`{VARIABLES}` is not a JSON object: {error}"))
        })?,
        None => Map::new(),
    };
    let agent = called_agent(context, request, id).await?;
    let description = agent.description();
    let owners = [description.find(&Affordance::Property(name.clone())), description.find(&Affordance::Thing)];
    let declared = owners.into_iter().flatten().filter_map(|owner| owner["uriVariables"].as_object()).flatten();
    let declared: Vec<_> = declared.map(|(name, _)| percent_decode_str(name).decode_utf8_lossy()).collect();
    if let Some(unknown) = variables.keys().find(|name| !declared.iter().any(|declared| declared == name.as_str())) {
        return Err(Problem::invalid_parameter(VARIABLES, format!("the property has no URI variable {unknown:?}")));
    }
    let settings = variables.into_iter().fold(Settings::new(), |all, (name, value)| all.variable(name, value));
    Ok((agent.update(settings), name))
}
