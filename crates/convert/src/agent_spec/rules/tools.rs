//! Rules for the tools expected from an MCP server, and for the headers of requests.

use std::collections::HashSet;

use serde_json::Value;

use super::{Demand, Key, Rules, Side, quoted};

impl Rules<'_, '_> {
    /// If a tool of an MCP server is described with outputs, there is one, a string.
    pub(super) fn mcp_tool_spec(&mut self, key: Key) {
        let Some(outputs) = &self.inference.port(key, Side::Outputs).declared else { return };
        let is_text = |schema: &Value| schema.get("type").is_some_and(|kind| kind == "string");
        let fits = match outputs.as_slice() {
            [] => true,
            [one] => is_text(&one.schema()),
            _ => false,
        };
        if !fits {
            self.report(
                Demand::Text,
                "mcp-tool-spec-outputs",
                || self.graph.at(key).member("outputs"),
                || "an MCPToolSpec can have at most one output, which must be a string",
            );
        }
    }

    /// A header is among the plain or the sensitive ones, not both.
    pub(super) fn headers(&mut self, key: Key) {
        let sides = ["headers", "sensitive_headers"];
        let [Some(Value::Object(plain)), Some(Value::Object(sensitive))] =
            sides.map(|field| self.graph.field(key, field))
        else {
            return;
        };
        let lower_case: HashSet<String> = plain.keys().map(|name| name.to_ascii_lowercase()).collect();
        for name in sensitive.keys() {
            let spot = || self.graph.at(key).member("sensitive_headers").member(name);
            if plain.contains_key(name) {
                self.report(Demand::Both, "headers-overlap", spot, || {
                    format!("{} is also among the plain `headers`", quoted(name))
                });
            } else if lower_case.contains(&name.to_ascii_lowercase()) {
                self.report(Demand::Nobody, "headers-overlap", spot, || {
                    format!("{} is also among the plain `headers`, in a different case", quoted(name))
                });
            }
        }
    }
}
