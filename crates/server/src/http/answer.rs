//! The answer of an agent, for the client of a conversation: whole, or as server-sent events while the agent makes it.

use std::convert::Infallible;

use actix_web::{HttpResponse, web::Bytes};
use agentdex_api::{Answered, TurnEvent, TurnStatus};
use futures_util::{StreamExt, stream};
use serde_json::json;

use super::{
    agent_call::problem,
    event_stream::{self, HEARTBEAT, Open, Waited},
    problem::Problem,
};
use crate::{
    Error,
    consumer::{Conversation, Dialogue, Event, Part},
};

/// The answer with which a turn has ended.
pub(super) fn answered(turn: &Conversation) -> Result<Answered, Problem> {
    let conversation = serde_json::from_str(&turn.to_json()).map_err(|source| {
        Problem::from(Error::Io { doing: "writing a conversation".to_owned(), source: source.into() })
    })?;
    Ok(Answered {
        conversation,
        message: json!(turn.message()),
        state: turn.state().to_string(),
        text: turn.message().text(),
        repairs: turn.repairs().to_vec(),
    })
}

/// An answer that is streamed. What the agent says is read as fast as the client takes it. Dropping it cancels the call.
pub(super) struct AnswerStream {
    dialogue: Dialogue,
    open: Open,
    /// True if the last event was sent.
    is_over: bool,
}

impl AnswerStream {
    /// The answer to the message that waits in a dialogue.
    pub(super) fn new(dialogue: Dialogue, open: Open) -> AnswerStream {
        AnswerStream { dialogue, open, is_over: false }
    }

    /// Begins the response once there is something to send: an event, or a heartbeat.
    ///
    /// # Errors
    /// The problem of a call that fails before.
    pub(super) async fn respond(mut self) -> Result<HttpResponse, Problem> {
        let first = self.next().await?;
        let rest = stream::unfold(self, |mut answer| async move { Some((answer.next_or_failure().await?, answer)) });
        let chunks = stream::iter(first).chain(rest).map(Ok::<_, Infallible>);
        Ok(event_stream::head().streaming(chunks))
    }

    async fn next_or_failure(&mut self) -> Option<Bytes> {
        self.next().await.unwrap_or_else(|problem| {
            self.is_over = true;
            Some(chunk_of(&TurnEvent::Error(problem.document())))
        })
    }

    /// The next chunk; none once the answer is over, or the server stops.
    async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        let silent_until = self.open.silent_until();
        while !self.is_over {
            let event = match self.open.wait(silent_until, self.dialogue.next()).await {
                Waited::Stopped | Waited::Came(None) => break,
                Waited::Silent => return Ok(Some(HEARTBEAT)),
                Waited::Came(Some(event)) => event.map_err(problem)?,
            };
            self.is_over = event.is_last();
            if let Some(event) = self.turn_event(event)? {
                return Ok(Some(chunk_of(&event)));
            }
        }
        Ok(None)
    }

    /// The event for the client; none for the agent's reasoning.
    fn turn_event(&self, event: Event) -> Result<Option<TurnEvent>, Problem> {
        let part = match event {
            Event::Text(text) => Part::Text { text },
            Event::Data(data) => Part::Data { data },
            Event::ToolCall(call) => Part::ToolCall(call),
            Event::ToolResult(result) => Part::ToolResult(result),
            Event::Artifact(mut artifact) => {
                artifact.parts.retain(is_shown);
                Part::Artifact(artifact)
            }
            Event::Media(media) => media,
            Event::Status(status) => {
                let message = status.message.map(|mut message| {
                    message.parts.retain(is_shown);
                    json!(message)
                });
                let status = TurnStatus { state: status.state.to_string(), message, progress: status.progress };
                return Ok(Some(TurnEvent::Status(status)));
            }
            Event::InputRequired(_) => return Ok(Some(TurnEvent::Question(answered(self.dialogue.conversation())?))),
            Event::Done(_) => return Ok(Some(TurnEvent::Done(answered(self.dialogue.conversation())?))),
            _ => return Ok(None),
        };
        Ok(Some(TurnEvent::Part(json!(part))))
    }
}

/// True for a part that is not the agent's reasoning.
fn is_shown(part: &Part) -> bool {
    !matches!(part, Part::Thinking { .. })
}

fn chunk_of(event: &TurnEvent) -> Bytes {
    format!("event: {}\ndata: {}\n\n", event.name(), event.data()).into()
}
