//! The Agent Observability Standard (AOS 0.1.0): its data objects, and agents as Things and back.
//!
//! Everything is read strictly: what is missing or of another type is an error with its place. Members that the
//! specification doesn't name are kept in descriptions of agents, and passed over elsewhere.
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
//! What the document says that an implementation MUST do, and the test that shows it (in `tests/aos`):
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
//! Where the document contradicts itself or leaves something open:
//! - `error` is a text in section 5.2 and an object in 3.12.2, 3.13 and 6: it is the object of JSON-RPC; the names of
//!   5.2 are `data.name`. For the same reason `id` of an error may be an integer or `null`.
//! - `citation` is required in section 4.5.1, "mostly" relevant for messages of the agent: it may be missing.
//! - `null` in the place of an optional member is read as missing.
//! - Sections 4.5.2 and 4.6 are there twice; the method's name counts.
//! - Section 3.12.1 names methods that section 4 doesn't have (`steps/knowledge`, `messages/mcp`): they don't exist.
//! - A2A methods have `payload` beside `method` instead of `params` (4.8.1): it is read there, and in `params`.
//!   Requests and responses have the same methods (4.9): what has a `method` in its payload is a request.
//! - A2A methods and `protocols/MCP` have no context, so that nobody knows whose message it is: `context` is read as
//!   an extension, and without it only the form of the message is judged.
//! - Requests without an `id`, which section 3.12.1 demands, are notifications of JSON-RPC: nothing is answered.
//! - A timestamp without an offset is in UTC. `data` of a DataPart is an object in the type and "an object or an array"
//!   in the description: both are read.
//!
//! As a Thing: tools are entries of `lmos:capabilities` with data schemas, the provider is `lmos:vendor`, MCP servers
//! and resources are links too, and all else keeps its name with the prefix `aos:`. `instructions` and the `content` of
//! resources are private.

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

/// The namespace of the prefix `aos` in descriptions.
pub const AOS_NAMESPACE: &str = "urn:agentdex:aos:";

/// Options for converting an agent to a Thing.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The id of the Thing; by default, that of the agent.
    pub id: Option<String>,
}
