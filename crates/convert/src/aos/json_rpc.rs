//! JSON-RPC 2.0 requests, responses, and errors (sections 2.2, 3.12, 3.13, and 6).

use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    request::{Call, Method},
    strict::{object, words},
};
use crate::td::Violation;

/// The version of JSON-RPC.
pub const JSON_RPC: &str = "2.0";
/// Maximum number of requests in a batch.
pub const MAX_BATCH: usize = 256;
/// Maximum number of violations in an error.
const MOST_VIOLATIONS: usize = 50;

/// The id of a request: a string or an integer (section 3.12.1).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub enum Id {
    /// A string.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A larger integer.
    Large(u64),
}

impl Id {
    fn of(value: &Value) -> Option<Id> {
        match value {
            Value::String(text) => Some(Id::Text(text.clone())),
            Value::Number(number) => number.as_i64().map(Id::Integer).or_else(|| number.as_u64().map(Id::Large)),
            _ => None,
        }
    }
}

/// A request (section 3.12.1).
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Id of the request; `None` for a notification, which gets no response.
    pub id: Option<Id>,
    /// Method and parameters.
    pub call: Call,
}

/// A refused request, with the error to be returned.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// Id of the request, if it has one.
    pub id: Option<Id>,
    /// True if the request is well-formed but has no id, so that it gets no response.
    pub is_notification: bool,
    /// The error to be returned, unless the request is a notification.
    pub error: RpcError,
}

impl Request {
    /// Parses a request strictly.
    ///
    /// # Errors
    /// The error to be returned.
    pub fn read(value: &Value) -> Result<Request, Refusal> {
        let invalid = |id: Option<Id>, detail: &str| Refusal {
            id,
            is_notification: false,
            error: RpcError::of(ErrorKind::InvalidRequest, detail),
        };
        let Some(request) = value.as_object() else { return Err(invalid(None, "a request must be an object")) };
        let id = match request.get("id") {
            None => None,
            Some(given) => match Id::of(given) {
                Some(id) => Some(id),
                None => return Err(invalid(None, "/id: an id must be a string or an integer")),
            },
        };
        if request.get("jsonrpc").and_then(Value::as_str) != Some(JSON_RPC) {
            return Err(invalid(id, "/jsonrpc: write \"2.0\""));
        }
        let Some(name) = request.get("method").and_then(Value::as_str) else {
            return Err(invalid(id, "/method: write the name of a method, such as \"steps/message\""));
        };
        if request.get("params").is_some_and(|params| !params.is_object() && !params.is_array()) {
            return Err(invalid(id, "/params: parameters must be an object"));
        }
        let is_notification = id.is_none();
        let Some(method) = Method::from_name(name) else {
            let shown: String = name.chars().take(80).collect();
            let known: Vec<&str> = Method::ALL.iter().map(|method| method.as_str()).collect();
            let detail = format!("unknown method {shown:?}; known methods are {}", known.join(", "));
            return Err(Refusal { id, is_notification, error: RpcError::of(ErrorKind::MethodNotFound, &detail) });
        };
        match Call::read(method, request) {
            Ok(call) => Ok(Request { id, call }),
            Err(violations) => Err(Refusal { id, is_notification, error: RpcError::of_params(&violations) }),
        }
    }
}

words! {
    /// Errors of JSON-RPC, with their names in section 6.1, and an additional error from the range reserved for
    /// servers.
    ErrorKind {
        /// The text isn't JSON.
        Parse = "JSONParseError",
        /// The text is not a request.
        InvalidRequest = "InvalidRequestError",
        /// The method is unknown.
        MethodNotFound = "MethodNotFoundError",
        /// The parameters are invalid.
        InvalidParams = "InvalidParamsError",
        /// The guardian failed.
        Internal = "InternalError",
        /// The sender is not allowed to send the request.
        Forbidden = "ForbiddenError",
    }
}

impl ErrorKind {
    /// Returns the numeric code.
    pub const fn code(self) -> i64 {
        match self {
            ErrorKind::Parse => -32700,
            ErrorKind::InvalidRequest => -32600,
            ErrorKind::MethodNotFound => -32601,
            ErrorKind::InvalidParams => -32602,
            ErrorKind::Internal => -32603,
            // Among those that JSON-RPC reserves for servers.
            ErrorKind::Forbidden => -32003,
        }
    }

    /// Returns the message. For errors listed in section 6.1, it is the message specified there.
    pub const fn message(self) -> &'static str {
        match self {
            ErrorKind::Parse => "Invalid JSON payload",
            ErrorKind::InvalidRequest => "Invalid JSON-RPC Request",
            ErrorKind::MethodNotFound => "Method not found",
            ErrorKind::InvalidParams => "Invalid method parameters",
            ErrorKind::Internal => "Internal server error",
            ErrorKind::Forbidden => "Not allowed",
        }
    }
}

object! {
    /// An error (section 3.13).
    RpcError = "a JSONRPCError object with `code` and `message`" {
        /// Numeric code (section 6.1).
        code: i64 = "code",
        /// Short description of the error.
        message: String = "message",
        /// Further details.
        data: Option<Value> = "data",
    }
}

impl RpcError {
    /// Creates an error with details.
    pub fn of(kind: ErrorKind, detail: &str) -> RpcError {
        let data = Map::from_iter([("name".to_owned(), kind.as_str().into()), ("detail".to_owned(), detail.into())]);
        RpcError { code: kind.code(), message: kind.message().to_owned(), data: Some(data.into()) }
    }

    /// The error of parameters with these violations.
    fn of_params(violations: &[Violation]) -> RpcError {
        let detail = violations.first().map(Violation::to_string).unwrap_or_default();
        let mut error = RpcError::of(ErrorKind::InvalidParams, &detail);
        let listed: Vec<Value> =
            violations.iter().take(MOST_VIOLATIONS).filter_map(|one| serde_json::to_value(one).ok()).collect();
        if let Some(Value::Object(data)) = &mut error.data {
            data.insert("violations".to_owned(), listed.into());
        }
        error
    }
}
