//! The agent and what belongs to it (sections 3.1, 3.2 and 3.11).

use serde_json::{Map, Value};

use super::strict::{Nullable, object, words};

object! {
    /// An agent (section 3.1).
    Agent = "an Agent object" {
        /// What people call it.
        name: String = "name",
        /// Its id.
        id: String = "id",
        /// What it does.
        description: Option<String> = "description",
        /// Its system prompt: private.
        instructions: String = "instructions",
        /// Its version.
        version: String = "version",
        /// Who provides it.
        provider: AgentProvider = "provider",
        /// The language model behind it.
        model: Option<Model> = "model",
        /// The tools that it may use.
        tools: Option<Vec<ToolDefinition>> = "tools",
        /// The MCP servers that it may use.
        mcp_servers: Option<Vec<McpServer>> = "mcpServers",
        /// The resources that it may use.
        resources: Option<Vec<Resource>> = "resources",
        /// Who owns it.
        organization: Option<Organization> = "organization",
        /// Whatever else is known.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

object! {
    /// Who provides an agent (section 3.1.1).
    AgentProvider = "an AgentProvider object with `name` and `url`" {
        /// What people call it.
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
        /// What people call it.
        name: String = "name",
        /// Its id.
        id: String = "id",
        /// Who provides it.
        provider: LlmProvider = "provider",
        /// The most tokens of a response.
        max_tokens: Option<i64> = "maxTokens",
        /// The most tokens of a request with its response.
        context_window: Option<i64> = "contextWindow",
        /// What ends the generation.
        stop_sequences: Option<Vec<String>> = "stopSequences",
        /// Parameters such as `temperature`.
        default_params: Option<Map<String, Value>> = "defaultParams",
        /// Whatever else is known.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}

object! {
    /// Who provides a language model (section 3.1.3).
    LlmProvider = "an LlmProvider object with `name`" {
        /// What people call it.
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
        /// What it is about.
        description: Option<String> = "description",
        /// What is in it: private.
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
        /// What it does.
        description: Option<String> = "description",
        /// What kind of tool it is, such as `function_call`.
        kind: String = "type",
        /// What it takes.
        arguments: Nullable<Vec<ToolArgumentDefinition>> = "arguments",
        /// What it gives.
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
        /// What it is for.
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
        /// What it is.
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
        /// What people call it.
        name: Option<String> = "name",
        /// Whatever else is known.
        metadata: Option<Map<String, Value>> = "metadata",
    }
}
