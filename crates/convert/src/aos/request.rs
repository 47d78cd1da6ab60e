//! Requests of agents to a guardian (section 4): the methods and their parameters.

use serde_json::{Map, Value};

use super::{
    context::{AgentTrigger, KnowledgeRetrievalStepParams, StepContext, ToolCallRequest, ToolCallResult},
    message::{Message, Source},
    moment::Moment,
    strict::{Strict, member, mismatch, object, words},
};
use crate::{
    shape::Findings,
    td::{Violation, internal::Path},
};

words! {
    /// Methods of a guardian (section 4).
    Method {
        /// Section 4.1.
        AgentTrigger = "steps/agentTrigger",
        /// Section 4.2.
        KnowledgeRetrieval = "steps/knowledgeRetrieval",
        /// Section 4.3.
        MemoryStore = "steps/memoryStore",
        /// Section 4.4.
        MemoryContextRetrieval = "steps/memoryContextRetrieval",
        /// Section 4.5.
        Message = "steps/message",
        /// Section 4.6, the first with that number.
        ToolCallRequest = "steps/toolCallRequest",
        /// Section 4.6, the second with that number.
        ToolCallResult = "steps/toolCallResult",
        /// Section 4.7.
        Ping = "ping",
        /// Sections 4.8 and 4.9: sends a message.
        MessageSend = "message/send",
        /// Sections 4.8 and 4.9: sends a message, and streams the answer.
        MessageStream = "message/stream",
        /// Sections 4.8 and 4.9: sets the receiver of notifications about a task.
        PushNotificationConfigSet = "tasks/pushNotificationConfig/set",
        /// Sections 4.8 and 4.9.
        PushNotificationConfigGet = "tasks/pushNotificationConfig/get",
        /// Sections 4.8 and 4.9.
        TaskResubscribe = "tasks/resubscribe",
        /// Sections 4.8 and 4.9.
        TaskCancel = "tasks/cancel",
        /// Sections 4.8 and 4.9.
        TaskGet = "tasks/get",
        /// Section 4.10.
        Mcp = "protocols/MCP",
    }
}

impl Method {
    /// True if the method wraps an A2A message.
    pub const fn is_a2a(self) -> bool {
        matches!(
            self,
            Method::MessageSend
                | Method::MessageStream
                | Method::PushNotificationConfigSet
                | Method::PushNotificationConfigGet
                | Method::TaskResubscribe
                | Method::TaskCancel
                | Method::TaskGet
        )
    }
}

object! {
    /// Parameters of `steps/agentTrigger` (section 4.1.1).
    AgentTriggerParams = "the parameters of steps/agentTrigger" {
        /// Context of the step.
        context: StepContext = "context",
        /// The trigger that activated the agent.
        trigger: AgentTrigger = "trigger",
    }
}

object! {
    /// Parameters of `steps/knowledgeRetrieval` (section 4.2.1).
    KnowledgeRetrievalParams = "the parameters of steps/knowledgeRetrieval" {
        /// Context of the step.
        context: StepContext = "context",
        /// Query and results of the retrieval.
        knowledge_step: KnowledgeRetrievalStepParams = "knowledgeStep",
        /// Reason for the step.
        reasoning: Option<String> = "reasoning",
    }
}

object! {
    /// Parameters of `steps/memoryStore` and `steps/memoryContextRetrieval` (sections 4.3.1 and 4.4.1).
    MemoryParams = "the parameters of steps/memoryStore" {
        /// Context of the step.
        context: StepContext = "context",
        /// Texts to be stored, or that were retrieved.
        memory: Vec<String> = "memory",
        /// Reason for the step.
        reasoning: Option<String> = "reasoning",
    }
}

object! {
    /// Parameters of `steps/message` (section 4.5.1).
    MessageParams = "the parameters of steps/message" {
        /// Context of the step.
        context: StepContext = "context",
        /// The message.
        message: Message = "message",
        /// Sources cited in the message. The specification requires this member, but most messages cite no sources.
        citation: Option<Vec<Source>> = "citation",
        /// Reason for the step.
        reasoning: Option<String> = "reasoning",
    }
}

object! {
    /// Parameters of `steps/toolCallRequest` (section 4.6.1, the first with that number).
    ToolCallRequestParams = "the parameters of steps/toolCallRequest" {
        /// Context of the step.
        context: StepContext = "context",
        /// The tool call.
        tool_call_request: ToolCallRequest = "toolCallRequest",
        /// Reason for the step.
        reasoning: Option<String> = "reasoning",
    }
}

object! {
    /// Parameters of `steps/toolCallResult` (section 4.6.1, the second with that number).
    ToolCallResultParams = "the parameters of steps/toolCallResult" {
        /// Context of the step.
        context: StepContext = "context",
        /// The id of the call.
        execution_id: String = "executionId",
        /// Outputs or failure of the tool.
        result: ToolCallResult = "result",
        /// Reason for the step, which the specification doesn't define for this method.
        reasoning: Option<String> = "reasoning",
    }
}

object! {
    /// Parameters of `ping` (section 4.7.1).
    PingParams = "the parameters of ping" {
        /// Time at which the request was sent.
        timestamp: Moment = "timestamp",
        /// Number of milliseconds without an answer after which the guardian counts as unavailable.
        timeout: Option<i64> = "timeout",
        /// Further metadata.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

object! {
    /// An A2A message, reported before it is sent or after it was received (sections 4.8.1 and 4.9.1).
    A2aParams = "an object with `payload`" {
        /// The original A2A message.
        payload: Map<String, Value> = "payload",
        /// Reason for the step.
        reasoning: Option<String> = "reasoning",
        /// Context of the step, an extension of the specification. Without it, the agent that sends or receives the
        /// message is unknown.
        context: Option<StepContext> = "context",
    }
}

object! {
    /// Parameters of `protocols/MCP` (section 4.10.1).
    McpParams = "the parameters of protocols/MCP" {
        /// The original MCP message.
        message: Map<String, Value> = "message",
        /// Reason for the step.
        reasoning: Option<String> = "reasoning",
        /// Context of the step, an extension of the specification. Without it, the agent that sends or receives the
        /// message is unknown.
        context: Option<StepContext> = "context",
    }
}

/// A request of an agent: a method with its parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum Call {
    /// `steps/agentTrigger`
    AgentTrigger(AgentTriggerParams),
    /// `steps/knowledgeRetrieval`
    KnowledgeRetrieval(KnowledgeRetrievalParams),
    /// `steps/memoryStore`
    MemoryStore(MemoryParams),
    /// `steps/memoryContextRetrieval`
    MemoryContextRetrieval(MemoryParams),
    /// `steps/message`
    Message(MessageParams),
    /// `steps/toolCallRequest`
    ToolCallRequest(ToolCallRequestParams),
    /// `steps/toolCallResult`
    ToolCallResult(ToolCallResultParams),
    /// `ping`
    Ping(PingParams),
    /// An A2A method.
    A2a(Method, A2aParams),
    /// `protocols/MCP`
    Mcp(McpParams),
}

impl Call {
    /// Parses the parameters of a method from a complete request. A2A methods have `payload` next to `method` (section
    /// 4.8.1), all others have `params`. Both locations are accepted for all methods.
    ///
    /// # Errors
    /// All faults of the parameters, each with its location in the request.
    pub fn read(method: Method, request: &Map<String, Value>) -> Result<Call, Vec<Violation>> {
        let mut faults = Findings::default();
        let call = read_params(method, request, &mut faults);
        match call {
            Some(call) if faults.is_empty() => Ok(call),
            _ => Err(faults.into_list()),
        }
    }

    /// Returns the method.
    pub fn method(&self) -> Method {
        match self {
            Call::AgentTrigger(_) => Method::AgentTrigger,
            Call::KnowledgeRetrieval(_) => Method::KnowledgeRetrieval,
            Call::MemoryStore(_) => Method::MemoryStore,
            Call::MemoryContextRetrieval(_) => Method::MemoryContextRetrieval,
            Call::Message(_) => Method::Message,
            Call::ToolCallRequest(_) => Method::ToolCallRequest,
            Call::ToolCallResult(_) => Method::ToolCallResult,
            Call::Ping(_) => Method::Ping,
            Call::A2a(method, _) => *method,
            Call::Mcp(_) => Method::Mcp,
        }
    }

    /// Returns the context of the step; `None` for `ping`, and for A2A and MCP messages without a context.
    pub fn context(&self) -> Option<&StepContext> {
        match self {
            Call::AgentTrigger(params) => Some(&params.context),
            Call::KnowledgeRetrieval(params) => Some(&params.context),
            Call::MemoryStore(params) | Call::MemoryContextRetrieval(params) => Some(&params.context),
            Call::Message(params) => Some(&params.context),
            Call::ToolCallRequest(params) => Some(&params.context),
            Call::ToolCallResult(params) => Some(&params.context),
            Call::Ping(_) => None,
            Call::A2a(_, params) => params.context.as_ref(),
            Call::Mcp(params) => params.context.as_ref(),
        }
    }

    /// Returns the agent's reason for the step, in its own words.
    pub fn reasoning(&self) -> Option<&str> {
        let reasoning = match self {
            Call::AgentTrigger(_) | Call::Ping(_) => &None,
            Call::KnowledgeRetrieval(params) => &params.reasoning,
            Call::MemoryStore(params) | Call::MemoryContextRetrieval(params) => &params.reasoning,
            Call::Message(params) => &params.reasoning,
            Call::ToolCallRequest(params) => &params.reasoning,
            Call::ToolCallResult(params) => &params.reasoning,
            Call::A2a(_, params) => &params.reasoning,
            Call::Mcp(params) => &params.reasoning,
        };
        reasoning.as_deref()
    }
}

fn read_params(method: Method, request: &Map<String, Value>, faults: &mut Findings) -> Option<Call> {
    if method.is_a2a() && request.contains_key("payload") {
        let at = Path::ROOT;
        return Some(Call::A2a(
            method,
            A2aParams {
                payload: member(request, "payload", &at, faults)?,
                reasoning: member(request, "reasoning", &at, faults)?,
                context: member(request, "context", &at, faults)?,
            },
        ));
    }
    let at = Path::ROOT.member("params");
    let none = Value::Null;
    let params = request.get("params").unwrap_or(&none);
    if !params.is_object() {
        match params {
            Value::Null if method.is_a2a() => {
                faults.add(&Path::ROOT.member("payload"), "member-missing", || {
                    "`payload` is missing; add the A2A message".into()
                });
            }
            Value::Null => {
                faults.add(&at, "member-missing", || format!("`params` is missing; add {}", noun(method)));
            }
            other => mismatch(other, noun(method), &at, faults),
        }
        return None;
    }
    Some(match method {
        Method::AgentTrigger => Call::AgentTrigger(Strict::read_at(params, &at, faults)?),
        Method::KnowledgeRetrieval => Call::KnowledgeRetrieval(Strict::read_at(params, &at, faults)?),
        Method::MemoryStore => Call::MemoryStore(Strict::read_at(params, &at, faults)?),
        Method::MemoryContextRetrieval => Call::MemoryContextRetrieval(Strict::read_at(params, &at, faults)?),
        Method::Message => Call::Message(Strict::read_at(params, &at, faults)?),
        Method::ToolCallRequest => Call::ToolCallRequest(Strict::read_at(params, &at, faults)?),
        Method::ToolCallResult => Call::ToolCallResult(Strict::read_at(params, &at, faults)?),
        Method::Ping => Call::Ping(Strict::read_at(params, &at, faults)?),
        Method::Mcp => Call::Mcp(Strict::read_at(params, &at, faults)?),
        a2a => Call::A2a(a2a, Strict::read_at(params, &at, faults)?),
    })
}

fn noun(method: Method) -> &'static str {
    match method {
        Method::AgentTrigger => "an object with `context` and `trigger`",
        Method::KnowledgeRetrieval => "an object with `context` and `knowledgeStep`",
        Method::MemoryStore | Method::MemoryContextRetrieval => "an object with `context` and `memory`",
        Method::Message => "an object with `context` and `message`",
        Method::ToolCallRequest => "an object with `context` and `toolCallRequest`",
        Method::ToolCallResult => "an object with `context`, `executionId` and `result`",
        Method::Ping => "an object with `timestamp`",
        Method::Mcp => "an object with `message`",
        _ => "an object with `payload`",
    }
}
