//! The call of one node's agent, and its answer as a response of SACP.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use serde_json::{Map, Value, json};
use tokio::{sync::mpsc, time::Instant};

use super::{
    super::{
        Affordance, Agent, Consumer, Control, Conversation, Error, Event, Message, Operation, Part, Reply, Result,
        Router, Settings, State, input::with_instruction,
    },
    event::{Answered, RunEvent},
};
use crate::sacp::{DataContract, Found, Node, Place, Response, Status, read};

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
    /// Calls it, and goes on with the conversation if there is one. `instruction`: see
    /// [`Due::instruction`](crate::sacp::Due::instruction).
    pub(super) async fn call(
        &self,
        node: &Node,
        input: &Value,
        instruction: Option<&str>,
        conversation: Option<&Value>,
    ) -> Answered {
        let started = Instant::now();
        let outcome = self.conversation(node, input, instruction, conversation, started).await;
        let (response, conversation) = outcome.unwrap_or_else(|error| (Response::failure(error.to_string()), None));
        Answered { node: self.name.clone(), response, elapsed: started.elapsed(), conversation }
    }

    async fn conversation(
        &self,
        node: &Node,
        input: &Value,
        instruction: Option<&str>,
        stored: Option<&Value>,
        started: Instant,
    ) -> Result<(Response, Option<Value>)> {
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
        let mut reply = self.exchange(&agent, &conversation, &message).await?;
        agent.wait(&mut reply, started, &chosen.affordance, None).await?;
        if matches!(reply.state, State::Failed | State::Rejected | State::Cancelled) {
            return Err(Error::Failed { state: reply.state.name(), message: reply.message.to_string() });
        }
        // A single output may be the whole answer, which descriptions of tools of Agent Spec don't say.
        if node.outputs.as_ref().is_none_or(|outputs| outputs.len() != 1) {
            agent.check_output(&chosen.affordance, &reply)?;
        }
        let response = response_of(&reply, contract(node, &agent, &chosen.affordance)?.as_ref());
        let next = conversation.with_streamed(message, reply, started.elapsed());
        let is_open = response.status == Status::ClarificationNeeded;
        let stored = is_open.then(|| serde_json::from_str(&next.to_json()).unwrap_or_default());
        Ok((response, stored))
    }

    /// Sends the message, and reports what happens until the answer is complete.
    async fn exchange(&self, agent: &Agent, conversation: &Conversation, message: &Message) -> Result<Reply> {
        let mut exchange = agent.perform(conversation.intent(message, None, true)).await?;
        if let Some(control) = exchange.control.take() {
            let mut controls = self.controls.lock().unwrap_or_else(PoisonError::into_inner);
            controls.push((self.place.clone(), control));
        }
        let mut builder = agent.answer_builder();
        while let Some(event) = exchange.events.next().await {
            match event? {
                Event::Done(mut reply) | Event::InputRequired(mut reply) => {
                    if reply.message.is_empty() {
                        reply.message = builder.into_message();
                    }
                    return Ok(reply);
                }
                event => {
                    builder.push(&event)?;
                    self.emit(RunEvent::Agent { node: self.name.clone(), event }).await;
                }
            }
        }
        Ok(Reply::message(builder.into_message()))
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
        Ok(agent.found(Vec::new(), "its description stands in the chain".into()))
    };
    let agent = match (&node.agent, &node.thing, &node.capability) {
        (Some(id), thing, _) => match (consumer.agent(id).await, thing) {
            // A chain that has all descriptions runs without a registry.
            (Err(Error::NotFound { .. } | Error::Directory { .. }), Some(thing)) => inline(thing)?,
            // A tool that an earlier version registered takes the body of its request, and the chain gives its inputs.
            (Ok(agent), Some(thing)) if has_template(thing) && !has_template(agent.description().value()) => {
                inline(thing)?
            }
            (Ok(agent), _) if !is_named => agent.found(Vec::new(), "a chain of somebody else names it".into()),
            (outcome, _) => outcome?,
        },
        (None, Some(thing), _) => inline(thing)?,
        (None, None, Some(capability)) => Router::by_capability(capability).choose(consumer).await?,
        (None, None, None) => return Err(Error::NotFound { query: "a node without an agent".into() }),
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
    let settings = agent.all_settings();
    let (affordance, _) = agent.message_action(&settings)?;
    let choices = agent.choices(&affordance, Operation::InvokeAction, &settings)?;
    let choice =
        choices.first().ok_or_else(|| Error::NoForm { id: agent.id().into(), reason: "it has no form".into() })?;
    Ok(Chosen {
        binding: choice.binding.name(),
        target: crate::fetch::shown(&choice.form.href),
        takes_messages: choice.fit.takes_messages,
        affordance,
    })
}

/// The input as a message. To an agent that is sent messages, an object whose only member is text is that text.
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

/// Returns the contract for the data of an action's responses; none unless it declares that its output is a response of
/// SACP, or the node asks for one.
fn contract(node: &Node, agent: &Agent, affordance: &Affordance) -> Result<Option<DataContract>> {
    let invalid = |reason: String| Error::InvalidDescription { id: agent.id().into(), reason };
    let declared = match agent.description().find(affordance) {
        Some(action) => DataContract::of_action(action).map_err(|error| invalid(error.to_string()))?,
        None => None,
    };
    match declared {
        None if node.sacp => DataContract::new(true.into()).map(Some).map_err(|error| invalid(error.to_string())),
        declared => Ok(declared),
    }
}

fn response_of(reply: &Reply, contract: Option<&DataContract>) -> Response {
    let mut response = match (sacp_response(&reply.message, contract), contract) {
        (Some(response), _) => response,
        (None, Some(_)) => Response::unreadable(&reply.message.text()),
        (None, None) => plain_response(&reply.message),
    };
    if reply.state.needs_input() {
        response.status = Status::ClarificationNeeded;
    }
    response
}

/// The response that an answer is, if it is one; one that breaks its contract is a failure.
fn sacp_response(message: &Message, contract: Option<&DataContract>) -> Option<Response> {
    let is_response = |data: &Value| data.get("status").is_some_and(Value::is_string) && data["data"].is_object();
    let text = match message.data() {
        Some(data) if is_response(data) => data.to_string(),
        _ => message.text(),
    };
    let mut reading = read(&text);
    let has_data = reading.violations.iter().all(|violation| violation.pointer != "/data");
    if reading.found == Found::Nowhere || !(has_data || contract.is_some()) {
        return None;
    }
    let Some(contract) = contract else { return Some(reading.response) };
    let before = reading.violations.len();
    reading.hold_to(contract);
    let broken: Vec<String> = reading.violations[before..].iter().map(ToString::to_string).collect();
    match broken.is_empty() {
        true => Some(reading.response),
        false => {
            Some(Response::failure(format!("the data of the answer break what the action says: {}", broken.join("; "))))
        }
    }
}

/// An answer that is not one of SACP, as a success.
fn plain_response(message: &Message) -> Response {
    let text = message.text();
    let data = message.data().cloned().or_else(|| serde_json::from_str(&text).ok().filter(Value::is_object));
    let data = match data {
        Some(Value::Object(data)) => data,
        Some(other) => Map::from_iter([("result".to_owned(), other)]),
        None => Map::new(),
    };
    let thought = message.parts.iter().find_map(|part| match part {
        Part::Thinking { text } => Some(text.clone()),
        _ => None,
    });
    let media: Vec<Value> =
        message.parts.iter().filter(|part| part.media().is_some()).map(|part| json!(part)).collect();
    let mut response = Response::success(text, data);
    response.thought = thought.unwrap_or_default();
    if !media.is_empty() {
        response.other.insert("media".into(), media.into());
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_responses_with_or_without_sacp() {
        let sacp = json!({"thought": "t", "status": "failure", "data": {"a": 1}, "message": "no"});
        for (message, status, data, text) in [
            (Message::from("It rains."), Status::Success, json!({}), "It rains."),
            (
                Message::from(json!({"status": "success", "rain": true})),
                Status::Success,
                json!({"status": "success", "rain": true}),
                "",
            ),
            (Message::from(json!([1, 2])), Status::Success, json!({"result": [1, 2]}), ""),
            (Message::from("{\"rain\": true}"), Status::Success, json!({"rain": true}), "{\"rain\": true}"),
            (Message::from(sacp.clone()), Status::Failure, json!({"a": 1}), "no"),
            (Message::from(format!("Here:\n```json\n{sacp}\n```")), Status::Failure, json!({"a": 1}), "no"),
        ] {
            let response = response_of(&Reply::message(message), None);
            assert_eq!(
                (response.status, Value::Object(response.data), response.message.as_str()),
                (status, data, text)
            );
        }
    }

    #[test]
    fn an_answer_that_breaks_its_contract_is_a_failure() {
        let action = json!({"output": {"@type": "sacp:Response", "properties": {"data": {"type": "object", "required": ["city"]}}}});
        let contract = DataContract::of_action(&action).unwrap().unwrap();
        for (text, expected) in [
            (r#"{"thought": "", "status": "success", "data": {}, "message": ""}"#, "city"),
            ("It rains.", "invalid response format"),
        ] {
            let response = response_of(&Reply::message(Message::from(text)), Some(&contract));
            assert_eq!(response.status, Status::Failure);
            assert!(response.message.contains(expected), "{}", response.message);
        }
    }
}
