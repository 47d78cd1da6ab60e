//! The context of a step: session and user, the trigger of the agent, retrieved knowledge, and tool calls (sections
//! 3.6, 3.8 to 3.10, 3.14, 3.15, and 4.6.1.1).

use serde_json::{Map, Value};

use super::{
    agent::{Agent, Organization},
    message::{Content, TextPart},
    moment::Moment,
    strict::{object, words},
};

object! {
    /// Context of a step: agent, session, turn, and user (section 3.8).
    StepContext = "a StepContext object" {
        /// Agent that takes the step.
        agent: Box<Agent> = "agent",
        /// Session of the step.
        session: Session = "session",
        /// Turn, unique within the session.
        turn_id: String = "turnId",
        /// Step, unique within the turn.
        step_id: String = "stepId",
        /// Time at which the step was recorded.
        timestamp: Moment = "timestamp",
        /// User whose prompt led to the step.
        user: Option<User> = "user",
    }
}

object! {
    /// A session (section 3.9).
    Session = "a Session object with `id`" {
        /// Id of the session.
        id: String = "id",
        /// Further metadata.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

object! {
    /// A user (section 3.10).
    User = "a User object" {
        /// Id of the user.
        id: String = "id",
        /// Name of the user.
        name: Option<String> = "name",
        /// Email address of the user.
        email: Option<String> = "email",
        /// Organization of the user.
        organization: Organization = "organization",
        /// Further metadata.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

object! {
    /// The trigger that activated an agent (section 3.6).
    AgentTrigger = "an AgentTrigger object" {
        /// Kind of trigger.
        kind: TriggerKind = "type",
        /// Event that caused the trigger.
        event: AgentTriggerEvent = "event",
        /// Content delivered with the event.
        content: Content = "content",
        /// Further metadata.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

words! {
    /// The kind of a trigger (section 3.6).
    TriggerKind {
        /// Activation without a request from a user.
        Autonomous = "autonomous",
    }
}

object! {
    /// The event of a trigger (section 3.6.1).
    AgentTriggerEvent = "an AgentTriggerEvent object with `type` and `id`" {
        /// Kind of event, such as `email`.
        kind: String = "type",
        /// Id of the event.
        id: String = "id",
    }
}

object! {
    /// Query and results of a knowledge retrieval (section 3.14).
    KnowledgeRetrievalStepParams = "a KnowledgeRetrievalStepParams object" {
        /// Query of the retrieval.
        query: Option<String> = "query",
        /// Keywords of the retrieval.
        keywords: Option<Vec<String>> = "keywords",
        /// Results of the search.
        results: Vec<KnowledgeRetrievalResult> = "results",
    }
}

object! {
    /// A result of a knowledge retrieval (section 3.14.1).
    KnowledgeRetrievalResult = "a KnowledgeRetrievalResult object" {
        /// Id of the source. For a resource of the agent, it is the id of that resource.
        id: String = "id",
        /// Content of the result.
        content: String = "content",
        /// Media type of the content.
        mime_type: Option<String> = "mimeType",
        /// Further metadata.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

object! {
    /// A call of a tool (section 3.15).
    ToolCallRequest = "a ToolCallRequest object" {
        /// Id of the call, which is repeated in the result.
        execution_id: String = "executionId",
        /// Id of the tool.
        tool_id: String = "toolId",
        /// Arguments of the call.
        inputs: Vec<ToolArgumentValue> = "inputs",
    }
}

object! {
    /// The value of an argument (section 3.15.1).
    ToolArgumentValue = "a ToolArgumentValue object" {
        /// The name of the argument.
        name: String = "name",
        /// The id of the argument.
        id: Option<String> = "id",
        /// The value, which may be `null`.
        value: Value = "value",
    }
}

object! {
    /// The result of a tool call (section 4.6.1.1).
    ToolCallResult = "a ToolCallResult object" {
        /// Parts of the output, possibly none.
        outputs: Vec<TextPart> = "outputs",
        /// True if the call failed.
        is_error: bool = "isError",
    }
}
