//! Requests and responses of JSON-RPC 2.0 (A2A 1.0, section 9).

use serde_json::{Value, json};

use super::failure::{Failure, Kind};

/// A request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) id: Value,
    pub(crate) method: String,
    pub(crate) params: Value,
}

impl Request {
    /// Reads a request.
    ///
    /// # Errors
    /// The failure, with the id of the request, or null if that isn't known.
    pub(crate) fn parse(json: &[u8]) -> Result<Request, (Value, Failure)> {
        let invalid = |id: Value, reason: &'static str| (id, Failure::new(Kind::InvalidRequest, reason));
        let value: Value = serde_json::from_slice(json)
            .map_err(|_| (Value::Null, Failure::new(Kind::Parse, "the body is not JSON")))?;
        let Value::Object(mut members) = value else { return Err(invalid(Value::Null, "the body is not an object")) };
        let id = members.remove("id").unwrap_or_default();
        if !(id.is_string() || id.is_number() || id.is_null()) {
            return Err(invalid(Value::Null, "id is not a string or a number"));
        }
        if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(invalid(id, "jsonrpc is not \"2.0\""));
        }
        let Some(Value::String(method)) = members.remove("method") else {
            return Err(invalid(id, "method is not a string"));
        };
        Ok(Request { id, method, params: members.remove("params").unwrap_or_default() })
    }
}

/// Returns the response to a request with this id.
pub(crate) fn response(id: &Value, outcome: Result<Value, Failure>) -> Value {
    match outcome {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(failure) => json!({"jsonrpc": "2.0", "id": id, "error": failure.rpc_error()}),
    }
}
