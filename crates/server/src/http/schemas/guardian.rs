//! The schemas of requests to the guardian and of its answers.

use utoipa::ToSchema;

/// A request in JSON-RPC 2.0, or a batch of requests. Other bodies are answered with a JSON-RPC
/// error.
#[derive(ToSchema)]
#[schema(value_type = Value, example = json!({
    "jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"timestamp": "2026-11-22T10:00:00Z"},
}))]
pub(in crate::http) struct AosRequest(serde_json::Value);

/// A response in JSON-RPC 2.0, or the responses to a batch.
#[derive(ToSchema)]
#[schema(value_type = Value, example = json!({
    "jsonrpc": "2.0", "id": 1,
    "result": {"decision": "deny", "reasonCode": ["tool-declared"], "message": "the tool \"refund\" is not declared"},
}))]
pub(in crate::http) struct AosResponse(serde_json::Value);
