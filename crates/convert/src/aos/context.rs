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
    /// Context of a step: agent, session, turn and user (section 3.8).
    StepContext = "a StepContext object" {
        /// The agent that takes it.
        agent: Box<Agent> = "agent",
        /// The session.
        session: Session = "session",
        /// The turn, unique in its session.
        turn_id: String = "turnId",
        /// The step, unique in its turn.
        step_id: String = "stepId",
        /// When it was recorded.
        timestamp: Moment = "timestamp",
        /// The user whose prompt the step is about.
        user: Option<User> = "user",
    }
}

object! {
    /// A session (section 3.9).
    Session = "a Session object with `id`" {
        /// Its id.
        id: String = "id",
        /// Whatever else is known.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

object! {
    /// A user (section 3.10).
    User = "a User object" {
        /// Its id.
        id: String = "id",
        /// Its name.
        name: Option<String> = "name",
        /// Its e-mail address.
        email: Option<String> = "email",
        /// The organization that the user belongs to.
        organization: Organization = "organization",
        /// Whatever else is known.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

object! {
    /// The trigger that activated an agent (section 3.6).
    AgentTrigger = "an AgentTrigger object" {
        /// Kind of trigger.
        kind: TriggerKind = "type",
        /// The event.
        event: AgentTriggerEvent = "event",
        /// Content that came with the event.
        content: Content = "content",
        /// Whatever else is known.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

words! {
    /// The kind of a trigger (section 3.6).
    TriggerKind {
        /// No user asked for it.
        Autonomous = "autonomous",
    }
}

object! {
    /// The event of a trigger (section 3.6.1).
    AgentTriggerEvent = "an AgentTriggerEvent object with `type` and `id`" {
        /// Kind of event, such as `email`.
        kind: String = "type",
        /// Its id.
        id: String = "id",
    }
}

object! {
    /// Query and results of a knowledge retrieval (section 3.14).
    KnowledgeRetrievalStepParams = "a KnowledgeRetrievalStepParams object" {
        /// The query.
        query: Option<String> = "query",
        /// The keywords.
        keywords: Option<Vec<String>> = "keywords",
        /// Results of the search.
        results: Vec<KnowledgeRetrievalResult> = "results",
    }
}

object! {
    /// Something that was found (section 3.14.1).
    KnowledgeRetrievalResult = "a KnowledgeRetrievalResult object" {
        /// The id of its source: that of a resource of the agent, if it is one.
        id: String = "id",
        /// Content of the result.
        content: String = "content",
        /// Its media type.
        mime_type: Option<String> = "mimeType",
        /// Whatever else is known.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

object! {
    /// A call of a tool (section 3.15).
    ToolCallRequest = "a ToolCallRequest object" {
        /// Its id, which the result repeats.
        execution_id: String = "executionId",
        /// The tool.
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
        /// True if it failed.
        is_error: bool = "isError",
    }
}
