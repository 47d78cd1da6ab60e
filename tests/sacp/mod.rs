//! Responses of agents: the Standard Agent Communication Protocol.

mod answer;
mod chain;
mod condition;
mod prompt;
mod reading;
mod response;
mod template;

use agentdex::sacp::{Response, read};
use serde_json::{Value, json};

/// A successful response with this data.
fn success(data: Value) -> Response {
    read(&json!({"thought": "t", "status": "success", "data": data, "message": "m"}).to_string()).response
}
