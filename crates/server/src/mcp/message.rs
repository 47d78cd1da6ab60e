//! Messages of JSON-RPC 2.0 from clients, and refusals of invalid messages.

use rmcp::model::ProtocolVersion;
use serde_json::{Value, json};

use super::{foreign_text::excerpt, handler::MAX_SUBSCRIBED};

/// Error codes of JSON-RPC 2.0, section 5.1.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
/// Error code of MCP for an unsupported revision.
const UNSUPPORTED_VERSION: i32 = -32022;

/// Member of `_meta` with the revision of a request.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Maximum number of characters of client text in an error.
const EXCERPT: usize = 40;

/// A request or notification.
#[derive(Debug)]
pub(crate) struct Message(Value);

/// An error of JSON-RPC, with its status in HTTP.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Refusal {
    fn new(status: u16, id: &Value, code: i32, message: &str) -> Refusal {
        let error = json!({"code": code, "message": message});
        Refusal { status, body: json!({"jsonrpc": "2.0", "id": id, "error": error}) }
    }
}

impl Message {
    /// Reads a message.
    ///
    /// # Errors
    /// An error for the client if the server takes no such message.
    pub(crate) fn read(text: &[u8]) -> Result<Message, Refusal> {
        let Ok(message) = serde_json::from_slice::<Value>(text) else {
            return Err(Refusal::new(400, &Value::Null, PARSE_ERROR, "the message is not JSON"));
        };
        if message["jsonrpc"] != "2.0" || !message["method"].is_string() {
            let reason = "the message is not a request or notification of JSON-RPC 2.0; batches are not supported";
            return Err(Refusal::new(400, &Value::Null, INVALID_REQUEST, reason));
        }
        let is_id = |id: &Value| id.is_string() || id.is_i64();
        if !message.get("id").is_none_or(is_id) {
            let reason = "the `id` of a request must be a string or a 64-bit integer";
            return Err(Refusal::new(400, &Value::Null, INVALID_REQUEST, reason));
        }
        let message = Message(message);
        let refusal = |status, code, reason: &str| Err(Refusal::new(status, message.id(), code, reason));
        let is_modern = message.version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str());
        if message.method() == "initialize" && is_modern {
            let reason = "since revision 2026-07-28, server/discover replaces the method initialize";
            return refusal(404, METHOD_NOT_FOUND, reason);
        }
        let uris = message.0["params"]["notifications"]["resourceSubscriptions"].as_array();
        if uris.is_some_and(|uris| uris.len() > MAX_SUBSCRIBED) {
            let reason = format!("a subscription can have at most {MAX_SUBSCRIBED} resources");
            return refusal(200, INVALID_PARAMS, &reason);
        }
        Ok(message)
    }

    /// Checks the revision in the header `MCP-Protocol-Version`.
    ///
    /// # Errors
    /// The revision is unsupported; the error lists the supported revisions.
    pub(crate) fn check_version(&self, version: &[u8]) -> Result<(), Refusal> {
        let known = ProtocolVersion::KNOWN_VERSIONS.iter().map(ProtocolVersion::as_str);
        let known: Vec<&str> = known.collect();
        if known.iter().any(|known| known.as_bytes() == version) {
            return Ok(());
        }
        let version = excerpt(&String::from_utf8_lossy(version), EXCERPT);
        let reason =
            format!("MCP-Protocol-Version: {version:?} is not supported; supported versions are {}", known.join(", "));
        let mut refusal = Refusal::new(400, self.id(), UNSUPPORTED_VERSION, &reason);
        refusal.body["error"]["data"] = json!({"supported": known, "requested": version});
        Err(refusal)
    }

    /// Returns an error about unreadable params.
    pub(crate) fn invalid_params(&self) -> Refusal {
        let is_malformed = self.0["params"].get("_meta").is_some_and(|meta| !meta.is_object());
        let status = if is_malformed { 400 } else { 200 };
        Refusal::new(status, self.id(), INVALID_PARAMS, "the params don't match the method")
    }

    pub(crate) fn method(&self) -> &str {
        self.0["method"].as_str().unwrap_or_default()
    }

    /// Returns the id, or null for a notification.
    pub(crate) fn id(&self) -> &Value {
        &self.0["id"]
    }

    /// Returns the name of a called tool.
    pub(crate) fn tool(&self) -> Option<&str> {
        self.0["params"]["name"].as_str().filter(|_| self.method() == "tools/call")
    }

    /// Returns the URI of a resource, or a name.
    pub(crate) fn subject(&self) -> Option<&str> {
        let member = if self.method() == "resources/read" { "uri" } else { "name" };
        self.0["params"][member].as_str()
    }

    /// Returns the revision in `_meta`.
    pub(crate) fn version(&self) -> Option<&str> {
        self.0["params"]["_meta"][VERSION].as_str()
    }
}
