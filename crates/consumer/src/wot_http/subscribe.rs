//! Events and observed properties over HTTP: server-sent events, and long polls.

use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use serde_json::Value;

use super::{
    super::{
        Call, Error, Event, Exchange, Notification, Result,
        transport::{Incoming, Outgoing, Transport},
    },
    answer::{event_of_text, value},
};

/// The pause before another attempt.
const PAUSE: Duration = Duration::from_millis(500);
/// Attempts in a row that may fail once a subscription stands.
const MAX_FAILURES: u32 = 5;

pub(super) async fn run(call: &Call, transport: Transport, outgoing: Outgoing) -> Result<Exchange> {
    let name = call.form.affordance.name().to_owned();
    if call.form.subprotocol() == Some("sse") {
        let answer = event_stream(transport.send(&outgoing).await?)?;
        return Ok(Exchange::new(server_sent(transport, outgoing, answer, name)));
    }
    // Long polls have nothing to say until something happens: the first answer may take any time.
    Ok(Exchange::new(long_polls(transport, outgoing, name)))
}

fn event_stream(answer: Incoming) -> Result<Incoming> {
    match answer.media_type().as_str() {
        "text/event-stream" => Ok(answer),
        other => Err(Error::Protocol {
            url: answer.url.clone(),
            binding: "http",
            reason: format!("its media type is {other:?} instead of text/event-stream"),
        }),
    }
}

fn notification(name: &str, event: Event) -> Event {
    let data = match event {
        Event::Text(text) => Value::String(text),
        Event::Data(data) => data,
        other => return other,
    };
    Event::Notification(Notification { name: name.to_owned(), data, media: None })
}

fn server_sent(
    transport: Transport,
    outgoing: Outgoing,
    answer: Incoming,
    name: String,
) -> impl Stream<Item = Result<Event>> + Send {
    struct State {
        transport: Transport,
        outgoing: Outgoing,
        name: String,
        blocks: stream::BoxStream<'static, Result<crate::client::sse::Block>>,
        last_id: String,
        failures: u32,
    }
    let blocks = answer.blocks().boxed();
    let state = State { transport, outgoing, name, blocks, last_id: String::new(), failures: 0 };
    stream::try_unfold(state, |mut state| async move {
        loop {
            match state.blocks.next().await {
                Some(Ok(block)) => {
                    state.last_id.clone_from(&block.id);
                    state.failures = 0;
                    let event = notification(&state.name, event_of_text(&block.data));
                    return Ok(Some((event, state)));
                }
                Some(Err(error)) if !error.is_transient() => return Err(error),
                // Ended or broke: a subscription goes on.
                _ => {}
            }
            loop {
                tokio::time::sleep(PAUSE * 2u32.pow(state.failures)).await;
                let mut again = state.outgoing.clone();
                if !state.last_id.is_empty() {
                    again = again.header("last-event-id", &state.last_id);
                }
                match state.transport.send(&again).await.and_then(event_stream) {
                    Ok(answer) => {
                        state.blocks = answer.blocks().boxed();
                        break;
                    }
                    Err(error) if error.is_transient() && state.failures < MAX_FAILURES => state.failures += 1,
                    Err(error) => return Err(error),
                }
            }
        }
    })
}

fn long_polls(transport: Transport, outgoing: Outgoing, name: String) -> impl Stream<Item = Result<Event>> + Send {
    stream::try_unfold((transport, outgoing, name, 0), |(transport, outgoing, name, mut failures)| async move {
        loop {
            match transport.send(&outgoing).await {
                Ok(answer) if matches!(answer.status, 204 | 205) => {}
                Ok(answer) => {
                    let (data, media) = value(answer).await?;
                    let event = Event::Notification(Notification { name: name.clone(), data, media });
                    return Ok(Some((event, (transport, outgoing, name, 0))));
                }
                // A server that ends a poll without an event.
                Err(Error::Status { status: 304 | 408 | 504, .. }) => {}
                Err(error) if error.is_transient() && failures < MAX_FAILURES => failures += 1,
                Err(error) => return Err(error),
            }
            tokio::time::sleep(PAUSE * failures).await;
        }
    })
}
