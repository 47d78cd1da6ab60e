//! The agent and its components (sections 3.1, 3.2, and 3.11).

use serde_json::{Map, Value};

use super::strict::{Nullable, object, words};

object! {
    /// An agent (section 3.1).
    Agent = "an Agent object" {
        /// Display name.
        name: String = "name",
        /// Its id.
        id: String = "id",
        /// Description of what the agent does.
        description: Option<String> = "description",
        /// Its system prompt: private.
        instructions: String = "instructions",
        /// Its version.
        version: String = "version",
        /// The provider of the agent.
        provider: AgentProvider = "provider",
        /// The language model behind it.
        model: Option<Model> = "model",
        /// The tools that it may use.
        tools: Option<Vec<ToolDefinition>> = "tools",
        /// The MCP servers that it may use.
        mcp_servers: Option<Vec<McpServer>> = "mcpServers",
        /// The resources that it may use.
        resources: Option<Vec<Resource>> = "resources",
        /// The organization that owns the agent.
        organization: Option<Organization> = "organization",
        /// Whatever else is known.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

object! {
    /// The provider of an agent (section 3.1.1).
    AgentProvider = "an AgentProvider object with `name` and `url`" {
        /// Display name.
        name: String = "name",
        /// Its web site.
        url: String = "url",
        /// Whatever else is known.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

object! {
    /// A language model (section 3.1.2).
    Model = "a Model object" {
        /// Display name.
        name: String = "name",
        /// Its id.
        id: String = "id",
        /// The provider of the model.
        provider: LlmProvider = "provider",
        /// The most tokens of a response.
        max_tokens: Option<i64> = "maxTokens",
        /// The most tokens of a request with its response.
        context_window: Option<i64> = "contextWindow",
        /// Texts that end the generation.
        stop_sequences: Option<Vec<String>> = "stopSequences",
        /// Parameters such as `temperature`.
        default_params: Option<Map<String, Value>> = "defaultParams",
        /// Whatever else is known.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

object! {
    /// The provider of a language model (section 3.1.3).
    LlmProvider = "an LlmProvider object with `name`" {
        /// Display name.
        name: String = "name",
        /// Whatever else is known.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

object! {
    /// An MCP server (section 3.1.4).
    McpServer = "an MCPServer object with `name` and `version`" {
        /// Its name.
        name: String = "name",
        /// Its version.
        version: String = "version",
    }
}

object! {
    /// A resource (section 3.1.5).
    Resource = "a Resource object" {
        /// Its name.
        name: String = "name",
        /// Its id.
        id: String = "id",
        /// Description of its subject.
        description: Option<String> = "description",
        /// Its content, which is private.
        content: String = "content",
        /// Its media type.
        mime_type: Option<String> = "mimeType",
        /// Whatever else is known.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

object! {
    /// A tool (section 3.2).
    ToolDefinition = "a ToolDefinition object" {
        /// Its name.
        name: String = "name",
        /// Its id, by which it is called.
        id: String = "id",
        /// Description of what the tool does.
        description: Option<String> = "description",
        /// Kind of tool, such as `function_call`.
        kind: String = "type",
        /// Arguments of a call.
        arguments: Nullable<Vec<ToolArgumentDefinition>> = "arguments",
        /// Outputs of a call.
        outputs: Nullable<Vec<ToolOutputDefinition>> = "outputs",
        /// Whatever else is known.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

object! {
    /// An argument of a tool (section 3.2.1).
    ToolArgumentDefinition = "a ToolArgumentDefinition object" {
        /// Its name.
        name: String = "name",
        /// Its id.
        id: Option<String> = "id",
        /// Description of its purpose.
        description: Option<String> = "description",
        /// Its type; none: any.
        kind: Option<ValueType> = "type",
        /// Its media type.
        mime_type: Option<String> = "mimeType",
        /// True if it must be given.
        required: bool = "required",
    }
}

object! {
    /// An output of a tool (section 3.2.2).
    ToolOutputDefinition = "a ToolOutputDefinition object" {
        /// Its name.
        name: String = "name",
        /// Its id.
        id: Option<String> = "id",
        /// Description of the output.
        description: Option<String> = "description",
        /// Its type; none: any.
        kind: Option<ValueType> = "type",
        /// Its media type.
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
        /// Nothing.
        Null = "null",
    }
}

object! {
    /// An organization (section 3.11).
    Organization = "an Organization object with `id`" {
        /// Its id.
        id: String = "id",
        /// Display name.
        name: Option<String> = "name",
        /// Whatever else is known.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}
