//! A step, as far as it is judged.

use serde_json::{Map, Value, json};

use super::description::Given;

/// A step of an agent.
#[derive(Debug)]
pub struct Step<'s> {
    /// Name of the method that reports it, such as `steps/message`.
    pub method: &'s str,
    /// The agent, session, and turn of the step; `None` if they are unknown.
    pub origin: Option<Origin<'s>>,
    /// Why the agent takes it, in the agent's words.
    pub reasoning: Option<&'s str>,
    /// Its kind and content.
    pub action: Action<'s>,
    /// The SACP response in it, if the policy [reads](super::Policy::reads_response_of) it.
    pub response: Option<Value>,
}

/// The agent, session, and turn of a step, according to the step itself.
#[derive(Debug)]
pub struct Origin<'s> {
    /// The id of the agent.
    pub agent: &'s str,
    /// The version of the agent.
    pub version: &'s str,
    /// The session.
    pub session: &'s str,
    /// The turn in the session.
    pub turn: &'s str,
    /// The step in the turn.
    pub step: &'s str,
    /// The ids of the resources that the agent has.
    pub resources: Vec<&'s str>,
    /// The MCP servers that the agent has, each with its version.
    pub mcp_servers: Vec<(&'s str, &'s str)>,
}

/// The kind and content of a step.
#[derive(Debug)]
pub enum Action<'s> {
    /// The agent was activated by an event.
    Trigger {
        /// The kind of the event.
        event: &'s str,
        /// The text of the event.
        text: String,
    },
    /// Knowledge was retrieved.
    Knowledge {
        /// The query.
        query: Option<&'s str>,
        /// The ids of its sources.
        sources: Vec<&'s str>,
    },
    /// Memory is stored or was retrieved.
    Memory {
        /// The stored or retrieved texts.
        texts: Vec<&'s str>,
    },
    /// A message is received or sent.
    Message {
        /// Role of the sender.
        role: &'s str,
        /// Its text.
        text: String,
        /// The sources that it cites.
        citations: Vec<Citation<'s>>,
    },
    /// A tool is called.
    ToolCall {
        /// The id of the call.
        execution: &'s str,
        /// The id of the tool.
        tool: &'s str,
        /// Arguments of the call.
        inputs: Vec<Given<'s>>,
    },
    /// A tool returned a result.
    ToolResult {
        /// The id of the call.
        execution: &'s str,
        /// True if it failed.
        is_error: bool,
        /// The text of the result.
        text: String,
    },
    /// An A2A message.
    A2a(&'s Map<String, Value>),
    /// An MCP message.
    Mcp(&'s Map<String, Value>),
    /// Something else, which is only recorded.
    Other(Value),
}

/// A source that a message cites.
#[derive(Debug)]
pub enum Citation<'s> {
    /// A file, by its id.
    File(&'s str),
    /// A web site, by its URL.
    Site(&'s str),
}

impl Step<'_> {
    /// Returns the value of `step` in expressions.
    pub fn facts(&self) -> Value {
        let mut facts = json!({"method": self.method});
        if let Some(origin) = &self.origin {
            facts["turn"] = origin.turn.into();
            facts["id"] = origin.step.into();
        }
        if let Some(reasoning) = self.reasoning {
            facts["reasoning"] = reasoning.into();
        }
        if let Some(response) = &self.response {
            facts["response"] = response.clone();
        }
        match &self.action {
            Action::Trigger { event, text } => {
                facts["event"] = (*event).into();
                facts["text"] = text.as_str().into();
            }
            Action::Knowledge { query, sources } => {
                facts["query"] = (*query).into();
                facts["sources"] = sources.clone().into();
            }
            Action::Memory { texts } => facts["memory"] = texts.clone().into(),
            Action::Message { role, text, citations } => {
                facts["role"] = (*role).into();
                facts["text"] = text.as_str().into();
                let cited = citations.iter().map(|citation| match citation {
                    Citation::File(place) | Citation::Site(place) => *place,
                });
                facts["citations"] = cited.collect::<Vec<_>>().into();
            }
            Action::ToolCall { tool, inputs, .. } => {
                facts["tool"] = (*tool).into();
                let inputs = inputs.iter().map(|given| (given.name.to_owned(), given.value.clone()));
                facts["inputs"] = inputs.collect::<Map<_, _>>().into();
            }
            Action::ToolResult { is_error, text, .. } => {
                facts["isError"] = (*is_error).into();
                facts["text"] = text.as_str().into();
            }
            Action::A2a(message) | Action::Mcp(message) => {
                facts["message"] = Value::Object((*message).clone());
                if message.get("method").is_some_and(|method| method == "tools/call") {
                    let params = message.get("params");
                    facts["tool"] = params.and_then(|params| params.get("name")).cloned().unwrap_or_default();
                    facts["inputs"] = params.and_then(|params| params.get("arguments")).cloned().unwrap_or(json!({}));
                }
            }
            Action::Other(other) => facts["data"] = other.clone(),
        }
        facts
    }
}
