//! A conversation: its history and its continuation.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Agent, Continuation, Cost, Error, Message, Operation, Part, Reply, Result, Role, Settings, State,
    agent::Intent,
    turn::Turn,
    utterance::{Utterance, transcript},
};
use crate::sacp::{DataContract, Repair, inject};

/// Messages exchanged between a caller and an agent. Each turn returns a new conversation and leaves the previous one
/// unchanged, so a conversation can be continued from any of its turns. If the agent's protocol has no conversations,
/// the history is sent with each message, provided that the action accepts it.
#[derive(Debug, Clone)]
pub struct Conversation {
    agent: Agent,
    stored: Stored,
    /// Repairs of the last answer.
    repairs: Vec<Repair>,
}

/// The stored form of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Stored {
    /// The agent.
    agent: String,
    history: Vec<Message>,
    #[serde(default)]
    state: State,
    #[serde(default)]
    continuation: Continuation,
    /// Action named by the agent's settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    action: Option<String>,
    /// Input to which an open question refers. Agents without conversations receive it again together with the
    /// answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input: Option<Map<String, Value>>,
    #[serde(default)]
    cost: Cost,
}

impl Agent {
    /// Sends a message and returns the conversation with the agent's answer: a result, a question, a failure, or a
    /// notice that the work is still in progress ([`Conversation::state`]).
    ///
    /// # Errors
    /// Any [`Error`] of a call. A failure reported by the agent itself is not an error here; see
    /// [`Conversation::into_result`].
    pub async fn ask(&self, message: impl Into<Message>) -> Result<Conversation> {
        Conversation::new(self.clone()).ask(message).await
    }

    /// Like [`Agent::ask`], with other settings for this call only.
    ///
    /// # Errors
    /// Same as [`Agent::ask`].
    pub async fn ask_with(&self, message: impl Into<Message>, changes: Settings) -> Result<Conversation> {
        let conversation = self.update(changes).ask(message).await?;
        Ok(conversation.continued_by(self.clone()))
    }

    /// Sends a message and waits until the agent is done or needs input. Work that continues in the background is
    /// polled.
    ///
    /// # Errors
    /// Same as [`Agent::ask`].
    pub async fn process(&self, message: impl Into<Message>) -> Result<Conversation> {
        Conversation::new(self.clone()).process(message).await
    }

    /// Restores a conversation stored with [`Conversation::to_json`]. If it was held with another agent, its history
    /// is sent to this agent with the next message.
    ///
    /// # Errors
    /// [`Error::InvalidHistory`] if `stored` is not a stored conversation.
    pub fn restore_conversation(&self, stored: &str) -> Result<Conversation> {
        Conversation::restore(self.clone(), stored)
    }
}

impl Conversation {
    pub(super) fn new(agent: Agent) -> Conversation {
        let stored = Stored { agent: agent.id().to_owned(), ..Stored::default() };
        Conversation { agent, stored, repairs: Vec::new() }
    }

    fn restore(agent: Agent, stored: &str) -> Result<Conversation> {
        let stored: Stored =
            serde_json::from_str(stored).map_err(|error| Error::InvalidHistory { reason: error.to_string() })?;
        if stored.agent == agent.id() {
            // It goes on with the action that it was about, unless another is named.
            let action = stored.action.clone().filter(|_| agent.settings().action.is_none());
            let agent = match action {
                Some(action) => agent.update(Settings::new().action(action)),
                None => agent,
            };
            return Ok(Conversation { agent, stored, repairs: Vec::new() });
        }
        // Another agent knows nothing of the conversation, and is given what was said.
        let (history, cost) = (stored.history, stored.cost);
        let own = Stored { agent: agent.id().to_owned(), history, cost, ..Stored::default() };
        Ok(Conversation { agent, stored: own, repairs: Vec::new() })
    }

    fn continued_by(self, agent: Agent) -> Conversation {
        Conversation { agent, ..self }
    }

    /// Returns the agent of the conversation.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Returns the agent's last answer. The message is empty before the first answer.
    pub fn message(&self) -> &Message {
        static NOTHING: Message = Message { role: Role::Agent, parts: Vec::new(), id: None };
        self.stored.history.iter().rev().find(|message| message.role == Role::Agent).unwrap_or(&NOTHING)
    }

    /// Returns the repairs and coercions applied to the last answer. [`Conversation::to_json`] omits them.
    pub fn repairs(&self) -> &[Repair] {
        &self.repairs
    }

    /// Returns all messages of both sides, in order.
    pub fn history(&self) -> &[Message] {
        &self.stored.history
    }

    /// Returns the state of the agent's work.
    pub fn state(&self) -> State {
        self.stored.state
    }

    /// Returns the ids used by the agent's protocol to continue the conversation.
    pub fn continuation(&self) -> &Continuation {
        &self.stored.continuation
    }

    /// Returns the cost of the conversation so far.
    pub fn cost(&self) -> &Cost {
        &self.stored.cost
    }

    /// Returns the last answer as a reply.
    pub fn reply(&self) -> Reply {
        let Stored { state, continuation, .. } = &self.stored;
        let (state, continuation, repairs) = (*state, continuation.clone(), self.repairs.clone());
        Reply { state, continuation, repairs, ..Reply::message(self.message().clone()) }
    }

    /// Returns the conversation, or an error if the last turn ended without success.
    ///
    /// # Errors
    /// [`Error::Failed`]
    pub fn into_result(self) -> Result<Conversation> {
        self.reply().into_result().map(|_| self)
    }

    /// Sends the next message and returns the conversation with the answer. See [`Agent::ask`].
    ///
    /// # Errors
    /// Same as [`Agent::ask`].
    pub async fn ask(&self, message: impl Into<Message>) -> Result<Conversation> {
        self.turn(message.into(), None, false).await
    }

    /// Sends the next message and waits until the agent is done or needs input. See [`Agent::process`].
    ///
    /// # Errors
    /// Same as [`Agent::ask`].
    pub async fn process(&self, message: impl Into<Message>) -> Result<Conversation> {
        self.turn(message.into(), None, true).await
    }

    /// Returns a copy of the conversation with the given history. The agent's own memory of the conversation is no
    /// longer used; the given history is sent with the next message.
    pub fn with_history(&self, history: impl IntoIterator<Item = Message>) -> Conversation {
        let history = history.into_iter().collect();
        let stored = Stored { history, continuation: Continuation::default(), input: None, ..self.stored.clone() };
        Conversation { agent: self.agent.clone(), stored, repairs: Vec::new() }
    }

    /// Returns a copy of the conversation whose history is replaced by a summary. `agent` writes the summary; it may be
    /// the conversation's own agent.
    ///
    /// # Errors
    /// Same as [`Agent::ask`].
    pub async fn summarized_by(&self, agent: &Agent) -> Result<Conversation> {
        let request = format!("Summarize the following conversation.\n\n{}", transcript(self.history()));
        let summary = agent.process(request).await?.into_result()?;
        Ok(self.with_history([Message::agent([Part::text(summary.message().text())])]))
    }

    /// Serializes the conversation as JSON for storage. See [`Agent::restore_conversation`].
    pub fn to_json(&self) -> String {
        // Strings, numbers and lists have a JSON form.
        serde_json::to_string(&self.stored).unwrap_or_default()
    }

    pub(super) async fn turn(&self, message: Message, schema: Option<Value>, processes: bool) -> Result<Conversation> {
        let (affordance, _) = self.agent.message_action(self.agent.settings())?;
        let mut turn = Turn::new(&self.agent, affordance, self.intent(&message, schema, false), processes);
        let reply = turn.finish().await?.reply;
        Ok(self.with_turn(message, reply, &turn))
    }

    /// Creates the intent for a message, including the context required by agents that don't remember the
    /// conversation.
    pub(super) fn intent(&self, message: &Message, schema: Option<Value>, stream: bool) -> Intent {
        Intent::Message(Box::new(Utterance { stream, schema, ..self.said(message) }))
    }

    fn said(&self, message: &Message) -> Utterance {
        let Stored { history, continuation, input, .. } = self.stored.clone();
        let prompt = system_prompt(&self.agent);
        Utterance { message: message.clone(), history, prompt, continuation, input, ..Utterance::default() }
    }

    /// Returns the input to which a question in reply to the message would refer.
    fn input_of(&self, message: &Message) -> Option<Map<String, Value>> {
        let settings = self.agent.settings();
        let (affordance, _) = self.agent.message_action(settings).ok()?;
        let choices = self.agent.choices(&affordance, Operation::InvokeAction, settings).ok()?;
        self.said(message).input(self.agent.description(), choices.first()?)
    }

    /// The conversation after a turn: a message, and the reply to it.
    pub(super) fn with_turn(&self, message: Message, reply: Reply, turn: &Turn) -> Conversation {
        let mut stored = self.stored.clone();
        stored.input = reply.state.needs_input().then(|| self.input_of(&message)).flatten();
        stored.history.push(message);
        stored.history.push(Message { role: Role::Agent, ..reply.message });
        stored.action = self.agent.settings().action.clone();
        stored.state = reply.state;
        stored.continuation = reply.continuation;
        stored.cost.reported.extend(reply.cost);
        stored.cost.calls += turn.calls();
        stored.cost.elapsed += turn.elapsed();
        Conversation { agent: self.agent.clone(), stored, repairs: reply.repairs }
    }
}

/// Returns the system prompt of the agent's settings, with SACP instructions if requested.
fn system_prompt(agent: &Agent) -> Option<String> {
    let settings = agent.settings();
    if settings.sacp_instructions != Some(true) {
        return settings.system_prompt.clone();
    }
    let action = agent.message_action(settings).ok().map(|(affordance, _)| affordance);
    let action = action.and_then(|affordance| agent.description().find(&affordance));
    let contract = action.and_then(|action| DataContract::of_action(action).ok().flatten());
    Some(inject(settings.system_prompt.as_deref().unwrap_or_default(), contract.as_ref()))
}
