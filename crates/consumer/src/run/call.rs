//! Calling the agent of a node, and reading its answer as a SACP response.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};
use tokio::{sync::mpsc, time::Instant};

use super::{
    super::{
        Affordance, Agent, Consumer, Control, Conversation, Error, Message, Operation, Part, Result, Router, Settings,
        answer::invalid,
        input::with_instruction,
        turn::{End, Turn},
    },
    event::{Answered, RunEvent},
};
use crate::sacp::{Kind, Node, Place, Repair, Response, Sacp, Status};

/// The controls of the calls under way, each with its place in the run.
pub(super) type Controls = Arc<Mutex<Vec<(Place, Arc<dyn Control>)>>>;

/// Calls the agent of a node.
pub(super) struct Caller {
    pub(super) consumer: Consumer,
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) is_named: bool,
    pub(super) controls: Controls,
    pub(super) events: mpsc::Sender<RunEvent>,
}

impl Caller {
    /// Calls the agent, continuing its conversation if there is one. For `instruction`, see
    /// [`Due::instruction`](crate::sacp::Due::instruction).
    pub(super) async fn call(
        &self,
        node: &Node,
        input: &Value,
        instruction: Option<&str>,
        conversation: Option<&Value>,
    ) -> Answered {
        let started = Instant::now();
        let outcome = self.conversation(node, input, instruction, conversation).await;
        let (read, conversation) = outcome.unwrap_or_else(|error| {
            let response = Response::failure(error.to_string());
            (Read { response, repairs: Vec::new() }, None)
        });
        let Read { response, repairs } = read;
        Answered { node: self.name.clone(), response, repairs, elapsed: started.elapsed(), conversation }
    }

    async fn conversation(
        &self,
        node: &Node,
        input: &Value,
        instruction: Option<&str>,
        stored: Option<&Value>,
    ) -> Result<(Read, Option<Value>)> {
        let agent = agent_of(&self.consumer, node, self.is_named).await?;
        let chosen = chosen(&agent)?;
        self.emit(RunEvent::Started {
            node: self.name.clone(),
            agent: agent.id().to_owned(),
            title: agent.title().to_owned(),
            affordance: chosen.affordance.to_string(),
            binding: chosen.binding,
            target: chosen.target,
            why: agent.why().to_vec(),
        })
        .await;
        let conversation = match stored {
            Some(stored) => agent.restore_conversation(&stored.to_string())?,
            None => Conversation::new(agent.clone()),
        };
        let message = match instruction {
            None => message_of(input, chosen.takes_messages),
            Some(instruction) if chosen.takes_messages => {
                let mut message = message_of(input, true);
                message.parts.push(Part::text(instruction));
                message
            }
            Some(instruction) => {
                let input = with_instruction(agent.description(), &chosen.affordance, input, instruction)?;
                message_of(&input, false)
            }
        };
        let question = conversation.message().text();
        let sacp = if node.sacp { Sacp::Required } else { Sacp::Allowed };
        let intent = conversation.intent(&message, None, true);
        let mut turn = Turn::new(&agent, chosen.affordance.clone(), intent, true).reading(sacp);
        let end = match self.follow(&mut turn).await {
            // The answer to a question has no place in the input: the user is asked again, since nothing was sent.
            Err(error @ Error::InvalidInput { .. }) if stored.is_some() => {
                let message = format!("{error}\n{question}").trim_end().to_owned();
                let response = Response { status: Status::ClarificationNeeded, ..Response::failure(message) };
                return Ok((Read { response, repairs: Vec::new() }, stored.cloned()));
            }
            outcome => outcome?,
        };
        let next = conversation.with_turn(message, end.reply.clone(), &turn);
        let read = read(&chosen.affordance, end, node);
        let is_open = read.response.status == Status::ClarificationNeeded;
        let stored = is_open.then(|| serde_json::from_str(&next.to_json()).unwrap_or_default());
        Ok((read, stored))
    }

    /// Reports events until the answer is complete, even if it violates its schema.
    async fn follow(&self, turn: &mut Turn) -> Result<End> {
        turn.begin().await?;
        if let Some(control) = turn.control() {
            let mut controls = self.controls.lock().unwrap_or_else(PoisonError::into_inner);
            controls.push((self.place.clone(), control));
        }
        let mut failure = Error::Cancelled;
        while let Some(event) = turn.next().await {
            match event {
                Ok(event) if event.is_last() => {}
                Ok(event) => self.emit(RunEvent::Agent { node: self.name.clone(), event }).await,
                Err(error) => failure = error,
            }
        }
        turn.take_end().ok_or(failure)
    }

    async fn emit(&self, event: RunEvent) {
        // Nobody reads them once the run is dropped.
        let _ = self.events.send(event).await;
    }
}

/// The agent of a node.
async fn agent_of(consumer: &Consumer, node: &Node, is_named: bool) -> Result<Agent> {
    let inline = |thing: &Value| {
        let agent = consumer.agent_of(&thing.to_string())?;
        Ok(agent.found(Vec::new(), "its description is part of the chain".into()))
    };
    let agent = match (&node.agent, &node.thing, &node.capability) {
        (Some(id), thing, _) => match (consumer.agent(id).await, thing) {
            // A chain that has all descriptions runs without a registry.
            (Err(Error::NotFound { .. } | Error::Directory { .. }), Some(thing)) => inline(thing)?,
            // A tool that an earlier version registered takes the body of its request, and the chain gives its inputs.
            (Ok(agent), Some(thing)) if has_template(thing) && !has_template(agent.description().value()) => {
                inline(thing)?
            }
            (Ok(agent), _) if !is_named => agent.found(Vec::new(), "it is named by another owner's chain".into()),
            (outcome, _) => outcome?,
        },
        (None, Some(thing), _) => inline(thing)?,
        (None, None, Some(capability)) => Router::by_capability(capability).choose(consumer).await?,
        (None, None, None) => {
            return Err(Error::InvalidDescription {
                id: "the chain".into(),
                reason: "a node contains no agent, description, or capability".into(),
            });
        }
    };
    let settings = Settings::new().confirmed(node.confirmed);
    let settings = if node.sacp { settings.sacp_instructions(true) } else { settings };
    Ok(agent.update(match &node.action {
        Some(action) => settings.action(action),
        None => settings,
    }))
}

/// True if the request of an action is made of its inputs by a template.
fn has_template(thing: &Value) -> bool {
    let actions = thing.get("actions").and_then(Value::as_object).into_iter().flat_map(Map::values);
    let mut forms = actions.filter_map(|action| action.get("forms")?.as_array()).flatten();
    forms.any(|form| form.get("agentspec:request").is_some())
}

/// The affordance, binding and target that a message is sent by.
struct Chosen {
    affordance: Affordance,
    binding: &'static str,
    target: String,
    takes_messages: bool,
}

/// Chooses the affordance and binding for a message, as far as the description tells.
fn chosen(agent: &Agent) -> Result<Chosen> {
    let settings = agent.settings();
    let (affordance, _) = agent.message_action(settings)?;
    let choices = agent.choices(&affordance, Operation::InvokeAction, settings)?;
    let choice = choices.first().ok_or_else(|| Error::NoForm {
        id: agent.id().into(),
        reason: "its action for messages has no usable form".into(),
    })?;
    Ok(Chosen {
        binding: choice.binding.name(),
        target: crate::fetch::shown(&choice.form.href),
        takes_messages: choice.fit.takes_messages,
        affordance,
    })
}

/// Converts the input to a message. For agents that accept messages, an object with a single text member becomes that
/// text.
fn message_of(input: &Value, takes_messages: bool) -> Message {
    match input {
        Value::Null => Message::user([]),
        Value::String(text) => Message::from(text),
        Value::Object(members) if takes_messages && members.len() == 1 => {
            match members.values().next().and_then(Value::as_str) {
                Some(text) => Message::from(text),
                None => Message::from(input.clone()),
            }
        }
        data => Message::from(data.clone()),
    }
}

/// Response with which the chain continues, and repairs applied to the answer.
struct Read {
    response: Response,
    repairs: Vec<Repair>,
}

/// Converts an answer to a response. If the answer violates its declared schema, the response is a failure with the
/// original answer.
fn read(affordance: &Affordance, end: End, node: &Node) -> Read {
    let End { reply, last, answer } = end;
    if reply.state.is_failure() && !matches!(answer.kind, Kind::Response(_)) {
        let reason = match last.text() {
            text if text.is_empty() => Error::Failed { state: reply.state, message: text, data: None }.to_string(),
            text => text,
        };
        let mut response = Response::failure(reason);
        response.data = answer.response.data;
        return Read { response, repairs: answer.repairs };
    }
    // A single output may be the whole answer, which descriptions of tools of Agent Spec don't say.
    let has_single_output = node.outputs.as_ref().is_some_and(|outputs| outputs.len() == 1);
    if let Some(error) = invalid(affordance.to_string(), &answer)
        && !(answer.kind == Kind::Plain && has_single_output)
    {
        let response = match answer.kind {
            Kind::Unreadable => answer.response,
            Kind::Plain | Kind::Response(_) => answer.rejected(error.to_string()),
        };
        return Read { response, repairs: answer.repairs };
    }
    let mut response = answer.response;
    if answer.kind == Kind::Plain {
        response.thought = thought_of(&reply.message);
    }
    add_media(&mut response, &reply.message.parts);
    if reply.state.needs_input() {
        response.status = Status::ClarificationNeeded;
    }
    Read { response, repairs: answer.repairs }
}

/// Returns the agent's reasoning, or an empty text.
fn thought_of(message: &Message) -> String {
    let thought = message.parts.iter().find_map(|part| match part {
        Part::Thinking { text } => Some(text.clone()),
        _ => None,
    });
    thought.unwrap_or_default()
}

/// Adds images, documents, and other media to a response, those of artifacts included, as its member `media`.
fn add_media(response: &mut Response, parts: &[Part]) {
    let mut media = Vec::new();
    collect_media(parts, &mut media);
    if !media.is_empty() {
        response.other.insert("media".into(), media.into());
    }
}

fn collect_media(parts: &[Part], media: &mut Vec<Value>) {
    for part in parts {
        match part {
            Part::Artifact(artifact) => collect_media(&artifact.parts, media),
            part if part.media().is_some() => media.push(json!(part)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Artifact,
        sacp::{Expected, read_answer},
    };

    #[test]
    fn media_and_thoughts_of_plain_answers_are_kept() {
        let media = crate::Media::bytes("image/png", [1]);
        let artifact = Artifact { id: "a".into(), name: None, parts: vec![Part::Image(media)], append: false };
        let parts = [Part::Thinking { text: "hm".into() }, Part::text("It rains."), Part::Artifact(artifact)];
        let message = Message::agent(parts);
        let answer = read_answer(&crate::answer::given(&message), &Expected::any(Sacp::Allowed));
        let mut response = answer.response;
        response.thought = thought_of(&message);
        add_media(&mut response, &message.parts);
        assert_eq!((response.message.as_str(), response.thought.as_str()), ("It rains.", "hm"));
        assert_eq!(response.other["media"][0]["mediaType"], "image/png");
    }
}
