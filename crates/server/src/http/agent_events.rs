//! `/things/{id}/events/{name}/notifications`: the events of an agent through the registry, where its operator offers that.

use actix_web::{
    HttpRequest, HttpResponse,
    http::Method,
    web::{Bytes, Data},
};
use agentdex_api::AgentEvent;
use futures_util::{Stream, StreamExt, stream};
use serde_json::json;

use super::{
    address::affordance,
    agent_call::{called_agent, problem},
    blocking::blocking,
    context::Context,
    event_stream::{self, HEARTBEAT, Open, Waited},
    listing::Empty,
    parameters::Parameters,
    problem::Problem,
};
use crate::{
    Registry,
    consumer::{Event, Events},
};

/// Path segment before the name of an event, and suffix after it.
pub(super) const ENDS: (&str, &str) = ("/events/", "/notifications");
/// The parameter with the input of the subscription.
const INPUT: &str = "input";

/// Subscribe to an event of an agent, through the registry
///
/// The subscription lasts while the request is open, and the agent is registered and visible to the client. Each
/// notification is an event of the stream; its data is JSON with the name of the event (`event`) and the agent's data
/// (`data`). A failure is the last event, of the type `error`, with its `detail`. Only available if the server was
/// started with `--conversations`.
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/things/{id}/events/{name}/notifications",
    operation_id = "subscribe_to_agent",
    tag = "things",
    params(
        super::schemas::ThingId,
        ("name" = String, Path, description = "The name of the event"),
        ("input" = Option<String>, Query, description = "Input of the subscription, as JSON; members that are URI variables of the event become part of the URL"),
    ),
    responses(
        (status = 200, description = "Server-Sent Events", body = AgentEvent, content_type = "text/event-stream"),
        super::schemas::Refusals,
        super::schemas::CallRefusals,
    )
))]
pub(super) async fn subscribe(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &[INPUT])?;
    let (id, name) = affordance(&request, &context.options, ENDS)?;
    let input = parameters.text(INPUT).map(serde_json::from_str).transpose();
    let input = input.map_err(|error| Problem::invalid_parameter(INPUT, format!("`{INPUT}` is not JSON: {error}")))?;
    let agent = called_agent(&context, &request, id.clone()).await?;
    if *request.method() == Method::HEAD {
        return Ok(event_stream::head().body(Empty));
    }
    let open = Open::new(&context, &request)?;
    let events = agent.subscribe(&name, input).await.map_err(problem)?;
    let notifications = Notifications { events, open, registry: context.registry(&request), id, has_failed: false };
    Ok(event_stream::head().streaming(notifications.into_stream()))
}

/// A subscription that is open.
struct Notifications {
    events: Events,
    open: Open,
    /// As the client sees it.
    registry: Registry,
    /// The id of the agent.
    id: String,
    /// True if the failure was sent that ends it.
    has_failed: bool,
}

impl Notifications {
    fn into_stream(self) -> impl Stream<Item = crate::Result<Bytes>> {
        stream::try_unfold(self, |mut notifications| async move {
            Ok(notifications.next().await?.map(|chunk| (chunk, notifications)))
        })
    }

    /// The next chunk; none once either side ends it, the server stops, or the client no longer sees the agent.
    async fn next(&mut self) -> crate::Result<Option<Bytes>> {
        let silent_until = self.open.silent_until();
        while !self.has_failed {
            let event = match self.open.wait(silent_until, self.events.next()).await {
                Waited::Stopped => return Ok(None),
                Waited::Silent => return Ok(self.is_seen().await?.then_some(HEARTBEAT)),
                Waited::Came(event) => event,
            };
            match event {
                None => break,
                Some(Ok(Event::Notification(notification))) => {
                    let media = notification.media.map(|media| json!(media));
                    let event = AgentEvent { event: notification.name, data: notification.data, media };
                    return Ok(self.is_seen().await?.then(|| format!("data: {}\n\n", json!(event)).into()));
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    self.has_failed = true;
                    let failure = json!({"detail": error.to_string()});
                    return Ok(Some(format!("event: error\ndata: {failure}\n\n").into()));
                }
            }
        }
        Ok(None)
    }

    async fn is_seen(&self) -> crate::Result<bool> {
        let (registry, id) = (self.registry.clone(), self.id.clone());
        blocking(move || Ok(registry.find(&id)?.is_some())).await
    }
}
