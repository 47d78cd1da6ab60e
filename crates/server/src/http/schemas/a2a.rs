//! Schemas of the A2A agent, as far as it uses the objects of the protocol.

use serde_json::Value;
use utoipa::ToSchema;

/// A version of the protocol.
#[derive(ToSchema)]
pub(in crate::http) enum A2aVersion {
    #[schema(rename = "1.0")]
    V1,
}

/// The params of `SendMessage`.
#[derive(ToSchema)]
#[schema(example = json!({"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "weather forecast"}]}}))]
pub(in crate::http) struct SendMessageRequest {
    message: AgentMessage,
}

/// A message to the agent.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
struct AgentMessage {
    #[schema(min_length = 1, max_length = 256)]
    message_id: String,
    role: UserRole,
    #[schema(min_items = 1)]
    parts: Vec<MessagePart>,
    /// Group of the new task; by default, a new one.
    #[schema(max_length = 256)]
    context_id: Option<String>,
}

#[derive(ToSchema)]
enum UserRole {
    #[schema(rename = "ROLE_USER")]
    User,
}

/// A part of a message: a text, or arguments of the MCP tool `search_agents`.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
struct MessagePart {
    /// The task in plain words.
    text: Option<String>,
    data: Option<serde_json::Map<String, Value>>,
    media_type: Option<String>,
}

/// The result of `SendMessage`.
#[derive(ToSchema)]
pub(in crate::http) struct SendMessageResponse {
    task: AgentTask,
}

/// A task, which is over.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(in crate::http) struct AgentTask {
    id: String,
    context_id: String,
    status: TaskStatus,
    /// The agents that were found, as one artifact: a sentence, and data as the MCP tool `search_agents` returns it.
    artifacts: Option<Vec<serde_json::Map<String, Value>>>,
}

#[derive(ToSchema)]
struct TaskStatus {
    state: TaskState,
    /// The reason of a failure.
    message: Option<serde_json::Map<String, Value>>,
    timestamp: String,
}

/// The state of a task.
#[derive(ToSchema)]
pub(in crate::http) enum TaskState {
    #[schema(rename = "TASK_STATE_COMPLETED")]
    Completed,
    #[schema(rename = "TASK_STATE_FAILED")]
    Failed,
}

/// A page of tasks.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(in crate::http) struct TaskList {
    tasks: Vec<AgentTask>,
    /// The `pageToken` of the next page; empty on the last one.
    next_page_token: String,
    page_size: u32,
    total_size: u32,
}
