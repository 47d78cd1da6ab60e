//! The agent and its components (sections 3.1, 3.2, and 3.11).

use serde_json::{Map, Value};

use super::strict::{Nullable, object, words};

object! {
    /// An agent (section 3.1).
    Agent = "an Agent object" {
        /// Display name.
        name: String = "name",
        /// Id of the agent.
        id: String = "id",
        /// Description of what the agent does.
        description: Option<String> = "description",
        /// System prompt, which is private.
        instructions: String = "instructions",
        /// Version of the agent.
        version: String = "version",
        /// The provider of the agent.
        provider: AgentProvider = "provider",
        /// Language model used by the agent.
        model: Option<Model> = "model",
        /// Tools available to the agent.
        tools: Option<Vec<ToolDefinition>> = "tools",
        /// MCP servers available to the agent.
        mcp_servers: Option<Vec<McpServer>> = "mcpServers",
        /// Resources available to the agent.
        resources: Option<Vec<Resource>> = "resources",
        /// The organization that owns the agent.
        organization: Option<Organization> = "organization",
        /// Further metadata.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

object! {
    /// The provider of an agent (section 3.1.1).
    AgentProvider = "an AgentProvider object with `name` and `url`" {
        /// Display name.
        name: String = "name",
        /// URL of the provider's website.
        url: String = "url",
        /// Further metadata.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

object! {
    /// A language model (section 3.1.2).
    Model = "a Model object" {
        /// Display name.
        name: String = "name",
        /// Id of the model.
        id: String = "id",
        /// The provider of the model.
        provider: LlmProvider = "provider",
        /// Maximum number of tokens in a response.
        max_tokens: Option<i64> = "maxTokens",
        /// Maximum number of tokens in a request and its response together.
        context_window: Option<i64> = "contextWindow",
        /// Stop sequences, which end the generation.
        stop_sequences: Option<Vec<String>> = "stopSequences",
        /// Parameters such as `temperature`.
        default_params: Option<Map<String, Value>> = "defaultParams",
        /// Further metadata.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

object! {
    /// The provider of a language model (section 3.1.3).
    LlmProvider = "an LlmProvider object with `name`" {
        /// Display name.
        name: String = "name",
        /// Further metadata.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

object! {
    /// An MCP server (section 3.1.4).
    McpServer = "an MCPServer object with `name` and `version`" {
        /// Name of the server.
        name: String = "name",
        /// Version of the server.
        version: String = "version",
    }
}

object! {
    /// A resource (section 3.1.5).
    Resource = "a Resource object" {
        /// Name of the resource.
        name: String = "name",
        /// Id of the resource.
        id: String = "id",
        /// Description of its subject.
        description: Option<String> = "description",
        /// Content of the resource, which is private.
        content: String = "content",
        /// Media type of the content.
        mime_type: Option<String> = "mimeType",
        /// Further metadata.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

object! {
    /// A tool (section 3.2).
    ToolDefinition = "a ToolDefinition object" {
        /// Name of the tool.
        name: String = "name",
        /// Id of the tool, by which it is called.
        id: String = "id",
        /// Description of what the tool does.
        description: Option<String> = "description",
        /// Kind of tool, such as `function_call`.
        kind: String = "type",
        /// Arguments of a call.
        arguments: Nullable<Vec<ToolArgumentDefinition>> = "arguments",
        /// Outputs of a call.
        outputs: Nullable<Vec<ToolOutputDefinition>> = "outputs",
        /// Further metadata.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

object! {
    /// An argument of a tool (section 3.2.1).
    ToolArgumentDefinition = "a ToolArgumentDefinition object" {
        /// Name of the argument.
        name: String = "name",
        /// Id of the argument.
        id: Option<String> = "id",
        /// Description of its purpose.
        description: Option<String> = "description",
        /// Type of the value, or `None` for any type.
        kind: Option<ValueType> = "type",
        /// Media type of the value.
        mime_type: Option<String> = "mimeType",
        /// True if the argument is required.
        required: bool = "required",
    }
}

object! {
    /// An output of a tool (section 3.2.2).
    ToolOutputDefinition = "a ToolOutputDefinition object" {
        /// Name of the output.
        name: String = "name",
        /// Id of the output.
        id: Option<String> = "id",
        /// Description of the output.
        description: Option<String> = "description",
        /// Type of the value, or `None` for any type.
        kind: Option<ValueType> = "type",
        /// Media type of the value.
        mime_type: Option<String> = "mimeType",
    }
}

words! {
    /// The type of a value (sections 3.2.1 and 3.2.2).
    ValueType {
        /// Text.
        String = "string",
        /// A number.
        Number = "number",
        /// True or false.
        Boolean = "boolean",
        /// An object.
        Object = "object",
        /// An array.
        Array = "array",
        /// The value `null`.
        Null = "null",
    }
}

object! {
    /// An organization (section 3.11).
    Organization = "an Organization object with `id`" {
        /// Id of the organization.
        id: String = "id",
        /// Display name.
        name: Option<String> = "name",
        /// Further metadata.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}
