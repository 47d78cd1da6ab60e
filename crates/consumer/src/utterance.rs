//! Conversion of the caller's message to the request of a binding.

use serde_json::{Map, Value};

use super::{Continuation, Description, Message, Part, Request, Result, Role, choose::Choice, input};

/// A message, with the context required by an agent that doesn't remember the conversation.
#[derive(Debug, Clone, Default)]
pub(super) struct Utterance {
    pub(super) message: Message,
    /// The earlier turns.
    pub(super) history: Vec<Message>,
    /// Instructions for the agent's behavior.
    pub(super) prompt: Option<String>,
    pub(super) continuation: Continuation,
    /// Input to which an open question refers.
    pub(super) input: Option<Map<String, Value>>,
    /// True if the answer may come in pieces.
    pub(super) stream: bool,
    /// JSON Schema for the answer.
    pub(super) schema: Option<Value>,
}

impl Utterance {
    /// Returns the request for a form, and its URI variables. For an agent that doesn't know the conversation, the
    /// prompt and the history are put before the message. The history is included only if the binding or the action
    /// accepts it: an action whose input is a city would otherwise look up a city named like the whole conversation.
    pub(super) fn request(
        &self,
        description: &Description,
        choice: &Choice,
        variables: Map<String, Value>,
    ) -> Result<(Request, Map<String, Value>)> {
        let Choice { form, fit, .. } = choice;
        let (continuation, stream) = (self.continuation.clone(), self.stream);
        if fit.continues && !fit.takes_messages && continuation.task.is_some() {
            let input::Input { data, parts, .. } = input::of_answer(form, &self.message)?;
            let variables = input::of_variables(description, &form.affordance, variables)?;
            return Ok((Request::Invoke { input: data, parts, continuation, stream }, variables));
        }
        let is_known = fit.continues && continuation != Continuation::default();
        let (mut message, mut history) = (self.message.clone(), Vec::new());
        let answered = self.answered(description, choice);
        let is_complete = answered.as_ref().is_some_and(|answered| answered.text.is_none());
        if let Some(input::Answered { members, text }) = answered {
            let media = message.parts.into_iter().filter(|part| part.media().is_some());
            message.parts = text.map(Part::text).into_iter().chain([Part::data(members)]).chain(media).collect();
        }
        if !is_known {
            let mut before: Vec<Part> = self.prompt.clone().map(Part::system).into_iter().collect();
            if fit.takes_history {
                history.clone_from(&self.history);
            } else if !self.history.is_empty()
                && !is_complete
                && (fit.takes_messages || input::takes_transcript(description, form))
            {
                let transcript = transcript(&self.history);
                before.push(Part::text(format!("The conversation so far:\n\n{transcript}\n\nGo on with:")));
            }
            message.parts.splice(0..0, before);
        }
        if fit.takes_messages {
            let (message, schema) = (Box::new(message), self.schema.clone());
            return Ok((Request::Message { message, history, continuation, stream, schema }, variables));
        }
        input::check_places(description, form, &self.message)?;
        let input::Input { data, parts, variables } = input::of_message(description, form, &message, variables)?;
        Ok((Request::Invoke { input: data, parts, continuation, stream }, variables))
    }

    /// Returns the input of an action that doesn't remember its question, with the answer filled in.
    fn answered(&self, description: &Description, choice: &Choice) -> Option<input::Answered> {
        let before = self.input.as_ref().filter(|_| !choice.fit.takes_messages)?;
        let asked = self.history.iter().rev().find(|message| message.role == Role::Agent)?;
        input::with_answer(description, &choice.form, before, &asked.text(), &self.message)
    }

    /// Returns the input to which a question in reply to this message would refer: an object, as declared by the
    /// action.
    pub(super) fn input(&self, description: &Description, choice: &Choice) -> Option<Map<String, Value>> {
        if let Some(input::Answered { members, text }) = self.answered(description, choice) {
            return if text.is_none() { Some(members) } else { self.input.clone() };
        }
        let is_declared = !choice.fit.takes_messages && input::is_object(description, &choice.form);
        let input =
            is_declared.then(|| input::of_message(description, &choice.form, &self.message, Map::new()))?.ok()?;
        let data = input.data.unwrap_or_default();
        Some(data.as_object().cloned().unwrap_or_default().into_iter().chain(input.variables).collect())
    }
}

/// Renders a history as text, each message after its role, with its data.
pub(super) fn transcript(history: &[Message]) -> String {
    let line = |message: &Message| {
        let who = match message.role {
            Role::User => "User",
            Role::Agent => "Agent",
        };
        let text = message.text();
        let data = message.all_data().map(Value::to_string);
        let said = (!text.is_empty()).then_some(text).into_iter().chain(data).collect::<Vec<_>>();
        format!("{who}: {}", said.join("\n"))
    };
    history.iter().map(line).collect::<Vec<_>>().join("\n")
}
