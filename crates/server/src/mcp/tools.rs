//! Tools, independent of the protocol that they are called by.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

/// A tool that reads and changes nothing.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    /// JSON Schema of the arguments.
    pub(crate) input: Map<String, Value>,
    /// JSON Schema of the result, which is an object.
    pub(crate) output: Map<String, Value>,
}

/// The tools of a server.
pub(crate) trait Tools: Send + Sync + 'static {
    /// The name of the server.
    fn name(&self) -> &'static str;

    /// The tools that there are.
    fn list(&self) -> Vec<Tool>;

    /// Calls a tool. An error is a sentence for the caller, which may be a model.
    fn call<'a>(&'a self, name: &'a str, arguments: Map<String, Value>) -> BoxFuture<'a, Result<Value, String>>;
}
