//! Logging of calls.

use std::time::Instant;

use futures_util::StreamExt;

use super::{
    super::{Call, Event, Exchange, Pending},
    Middleware, Next,
};

/// Logs each call with its agent, affordance, outcome, and duration (`tracing`, target `agentdex_consumer`), but not
/// the content of requests and answers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Logging;

impl Middleware for Logging {
    fn handle<'a>(&'a self, call: Call, next: Next<'a>) -> Pending<'a, Exchange> {
        Box::pin(async move {
            let (agent, affordance) = (call.description.id().to_owned(), call.form.affordance.to_string());
            let started = Instant::now();
            let exchange = next.run(call).await.inspect_err(|error| {
                tracing::warn!(target: "agentdex::consumer", agent, affordance, %error, "a call failed");
            })?;
            let events = exchange.events.inspect(move |event| match event {
                Ok(Event::Done(reply) | Event::InputRequired(reply)) => {
                    let elapsed = started.elapsed().as_millis() as u64;
                    tracing::info!(target: "agentdex::consumer", agent, affordance, state = reply.state.name(), elapsed, "called");
                }
                Err(error) => tracing::warn!(target: "agentdex::consumer", agent, affordance, %error, "a call failed"),
                Ok(_) => {}
            });
            Ok(Exchange { events: events.boxed(), control: exchange.control })
        })
    }
}
