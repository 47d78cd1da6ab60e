//! Memory of a session: counts, and the calls of its turn that wait for a result.

use std::hash::{DefaultHasher, Hash, Hasher};

use agentdex_api::guardian::Decision;
use serde_json::{Value, json};

use super::{
    step::{Action, Step},
    verdict::Verdict,
};

/// Maximum number of calls of one turn that wait for a result; beyond it, the oldest are forgotten.
pub const MAX_OPEN_CALLS: usize = 256;

/// A live session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Session {
    /// Number of steps, including denied ones.
    pub steps: u64,
    /// Number of turns.
    pub turns: u64,
    /// Number of denied steps.
    pub denied: u64,
    /// Number of tool calls and of requests to MCP servers, without denied ones.
    pub tool_calls: u64,
    /// The turn that it is in, as a hash: ids may be long.
    turn: Option<u64>,
    /// The calls of the turn that wait for a result, as hashes.
    open: Vec<u64>,
}

/// The protocol of a call, so that ids of one don't answer calls of the other.
#[derive(Debug, Clone, Copy, Hash)]
enum Caller {
    Aos,
    Mcp,
}

impl Session {
    /// True if a result is that of a call of this turn.
    pub(super) fn has_called(&self, turn: &str, execution: &str) -> bool {
        self.turn == Some(hash(turn)) && self.open.contains(&key(Caller::Aos, execution))
    }

    /// True if a response is that of a request to an MCP server in this turn.
    pub(super) fn has_requested(&self, turn: &str, id: &Value) -> bool {
        self.turn == Some(hash(turn)) && self.open.contains(&key(Caller::Mcp, &id.to_string()))
    }

    /// Records a step and the decision about it.
    pub fn take_in(&mut self, step: &Step<'_>, verdict: &Verdict) {
        self.steps += 1;
        let turn = Some(hash(step.origin.as_ref().map_or("", |origin| origin.turn)));
        if self.turn != turn {
            self.turns += 1;
            self.turn = turn;
            self.open.clear();
        }
        // A call that wasn't made has no result.
        if verdict.decision == Decision::Deny {
            self.denied += 1;
            return;
        }
        match &step.action {
            Action::ToolCall { execution, .. } => self.open(key(Caller::Aos, execution)),
            Action::ToolResult { execution, .. } => self.close(key(Caller::Aos, execution)),
            Action::Mcp(message) => {
                let Some(id) = message.get("id").map(Value::to_string) else { return };
                if message.contains_key("method") {
                    self.open(key(Caller::Mcp, &id));
                } else {
                    self.close(key(Caller::Mcp, &id));
                }
            }
            _ => {}
        }
    }

    fn open(&mut self, call: u64) {
        self.tool_calls += 1;
        if self.open.len() == MAX_OPEN_CALLS {
            self.open.remove(0);
        }
        self.open.push(call);
    }

    fn close(&mut self, call: u64) {
        if let Some(index) = self.open.iter().position(|open| *open == call) {
            self.open.remove(index);
        }
    }

    /// Returns the value of `session` in expressions.
    pub fn facts(&self, id: &str) -> Value {
        json!({
            "id": id, "steps": self.steps, "turns": self.turns, "denied": self.denied, "toolCalls": self.tool_calls,
            "openCalls": self.open.len(),
        })
    }

    /// Returns the size of its heap memory in bytes, without its own size.
    pub fn heap_bytes(&self) -> usize {
        self.open.capacity() * size_of::<u64>()
    }
}

fn key(caller: Caller, execution: &str) -> u64 {
    hash((caller, execution))
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
