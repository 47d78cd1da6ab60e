//! The Agent Observability Standard (AOS 0.1.0): its data objects, and conversions between agents and Things.
//!
//! All objects are parsed strictly: missing members, and members of another type, are errors with their location.
//! Members not defined by the specification are kept in descriptions of agents, and ignored elsewhere.
//!
//! | section | here | shown by |
//! |---|---|---|
//! | 2.2, 3.12, 3.13, 6 JSON-RPC | [`Request`], [`Response`], [`RpcError`], [`ErrorKind`] | `tests/aos/requests.rs` |
//! | 3.1 Agent, 3.1.1 to 3.1.5 | [`Agent`], [`AgentProvider`], [`Model`], [`LlmProvider`], [`McpServer`], [`Resource`] | `tests/aos/objects.rs`, `tests/aos/agents.rs` |
//! | 3.2 ToolDefinition | [`ToolDefinition`], [`ToolArgumentDefinition`], [`ToolOutputDefinition`] | `tests/aos/objects.rs` |
//! | 3.3 to 3.5 Message, Part, files | [`Message`], [`Part`], [`File`] | `tests/aos/objects.rs` |
//! | 3.6 AgentTrigger | [`AgentTrigger`], [`AgentTriggerEvent`] | `tests/aos/objects.rs` |
//! | 3.7 Source | [`Source`] | `tests/aos/objects.rs` |
//! | 3.8 to 3.11 StepContext, Session, User, Organization | [`StepContext`], [`Session`], [`User`], [`Organization`] | `tests/aos/objects.rs` |
//! | 3.14, 3.15, 4.6.1.1 retrieval, tool calls | [`KnowledgeRetrievalStepParams`], [`ToolCallRequest`], [`ToolCallResult`] | `tests/aos/objects.rs` |
//! | 4 methods | [`Method`], [`Call`] | `tests/aos/requests.rs` |
//! | 5 responses | [`SuccessResult`], [`PingResult`], [`Outcome`] | `tests/aos/objects.rs`, `tests/aos/requests.rs` |
//!
//! Requirements (MUST) of the specification for an implementation, and the tests that cover them (in `tests/aos`):
//!
//! | section | MUST | shown by |
//! |---|---|---|
//! | 2.1, 4 | HTTP POST of a request, answered by a response | `http::every_method_is_answered_with_its_id_as_json` |
//! | 2.2 | JSON-RPC 2.0, whatever comes | `http::whatever_is_sent_is_answered_in_json_rpc` |
//! | 2.2, 4 | `application/json` in both directions | `http::what_http_refuses_is_answered_in_json_rpc_too` |
//! | 3.4, 3.7 | a Part, a Source is one of its kinds | `objects::unions_are_read_by_their_kind` |
//! | 3.12.1 | `jsonrpc` is exactly "2.0", `id` a string or an integer | `requests::what_is_no_request_is_refused_by_the_codes_of_json_rpc` |
//! | 3.12.1, 3.12.2 | the answer has the id of the request | `requests::ids_are_echoed_as_they_are` |
//! | 3.12.2 | `id` is null where none was read | `http::errors_have_the_codes_of_json_rpc` |
//! | 3.12.2 | either `result` or `error`, which is a JSONRPCError | `requests::a_response_has_a_result_or_an_error` |
//! | 4.5 | messages are reported before they reach the agent or the user | the agent's duty: `examples/aos_guardian.rs` does so |
//!
//! Interpretation of contradictions and gaps in the specification:
//! - `error` is a string in section 5.2, and an object in 3.12.2, 3.13, and 6. Here it is the object of JSON-RPC, and
//!   the names in 5.2 are its `data.name`. For the same reason, the `id` of an error may be an integer or `null`.
//! - `citation` is required in section 4.5.1, but "mostly" relevant for messages of the agent. Here it is optional.
//! - `null` as the value of an optional member counts as missing.
//! - The numbers 4.5.2 and 4.6 each denote two sections. The name of the method is authoritative.
//! - Section 3.12.1 mentions methods that section 4 doesn't define (`steps/knowledge`, `messages/mcp`). They are
//!   unknown here.
//! - A2A methods have `payload` next to `method`, instead of `params` (4.8.1). Both locations are accepted. Requests
//!   and responses have the same methods (4.9): if the payload contains a `method`, it is a request.
//! - A2A methods and `protocols/MCP` have no context, so the agent that sends the message is unknown. Here `context` is
//!   accepted as an extension. Without it, only the form of the message is judged.
//! - Requests without the `id` required by section 3.12.1 are notifications of JSON-RPC, and get no response.
//! - A timestamp without an offset is in UTC. The `data` of a DataPart is an object according to its type, and "an
//!   object or an array" according to its description. Both are accepted.
//!
//! As a Thing, tools are entries of `lmos:capabilities` with data schemas, the provider is `lmos:vendor`, and MCP
//! servers and resources are also links. All other members keep their names with the prefix `aos:`. `instructions` and
//! the `content` of resources are private.

mod agent;
mod context;
mod document;
mod export;
mod format;
mod json_rpc;
mod mask;
mod message;
mod moment;
mod personal;
mod redaction;
mod request;
mod response;
mod strict;
mod terms;
mod thing;
mod tool;

pub(super) use self::format::FORMAT;
pub use self::{
    agent::{
        Agent, AgentProvider, LlmProvider, McpServer, Model, Organization, Resource, ToolArgumentDefinition,
        ToolDefinition, ToolOutputDefinition, ValueType,
    },
    context::{
        AgentTrigger, AgentTriggerEvent, KnowledgeRetrievalResult, KnowledgeRetrievalStepParams, Session, StepContext,
        ToolArgumentValue, ToolCallRequest, ToolCallResult, TriggerKind, User,
    },
    document::AgentDocument,
    export::from_thing,
    json_rpc::{ErrorKind, Id, JSON_RPC, MAX_BATCH, Refusal, Request, RpcError},
    mask::{MaskedRequest, Masking, mask},
    message::{
        Base64, Content, Data, DataKind, DataPart, File, FileKind, FilePart, FileSource, FileWithBytes, FileWithUri,
        Message, Part, PartKind, Role, SiteKind, SiteSource, Source, SourceKind, TextKind, TextPart,
    },
    moment::Moment,
    request::{
        A2aParams, AgentTriggerParams, Call, KnowledgeRetrievalParams, McpParams, MemoryParams, MessageParams, Method,
        PingParams, ToolCallRequestParams, ToolCallResultParams,
    },
    response::{Answer, Decision, Outcome, PingResult, PingStatus, Response, SuccessResult},
    strict::Nullable,
};

/// Namespace of the prefix `aos` in descriptions.
pub const AOS_NAMESPACE: &str = "urn:agentdex:aos:";

/// Options for converting an agent to a Thing.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Id of the Thing; by default, the id of the agent.
    pub id: Option<String>,
}
