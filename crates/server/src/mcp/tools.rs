//! Tools, independent of the protocol that they are called by.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::resources::Resources;

/// A tool.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    /// JSON Schema of the arguments.
    pub(crate) input: Map<String, Value>,
    /// JSON Schema of the result, which is an object.
    pub(crate) output: Map<String, Value>,
    pub(crate) hints: Hints,
}

/// Annotations of a tool, by which clients decide whether to ask their user before a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hints {
    pub(crate) read_only: bool,
    pub(crate) destructive: bool,
    pub(crate) idempotent: bool,
    /// True for a tool that reaches other systems.
    pub(crate) open_world: bool,
}

impl Hints {
    /// Annotations of a tool that only reads data of its own server.
    pub(crate) const READ: Hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };
}

/// The tools of a server.
pub(crate) trait Tools: Send + Sync + 'static {
    /// The name of the server.
    fn name(&self) -> &'static str;

    /// Instructions for models, in sentences of the server's own.
    fn instructions(&self) -> Option<&'static str> {
        None
    }

    /// The tools that the caller may use.
    fn list(&self) -> Vec<Tool>;

    /// True if the list and the resources depend on the caller.
    fn is_private(&self) -> bool {
        false
    }

    /// The resources of the server; `None` if it has none.
    fn resources(&self) -> Option<&dyn Resources> {
        None
    }

    /// False if nobody could call a tool of this name: that is an error of the protocol.
    fn has(&self, _name: &str) -> bool {
        true
    }

    /// Calls a tool. An error is a sentence for the caller, which may be a model.
    fn call<'a>(&'a self, name: &'a str, arguments: Map<String, Value>) -> BoxFuture<'a, Result<Value, String>>;
}
