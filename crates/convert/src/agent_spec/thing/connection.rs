//! Connections of remote agents and of MCP tools, as members of their forms.

use std::{borrow::Cow, iter};

use serde_json::{Map, Value, json};

use super::{Mapper, request::is_access};
use crate::{
    agent_spec::{graph::Key, types::Call},
    data_schema::json_literal,
    redaction::is_stand_in,
    td::internal::McpTransport,
};

impl<'d> Mapper<'_, 'd> {
    /// What a form has of the connection: the transport, headers that grant no access, and times.
    pub(super) fn connection_members(&self, key: Key) -> Map<String, Value> {
        let Some(connection) = self.connection(key) else { return Map::new() };
        let headers = self.field(connection, "headers").and_then(Value::as_object).into_iter().flatten();
        let headers = headers.filter_map(|(name, value)| Some((name, self.resolve(value)?.as_str()?)));
        let shown = headers.filter(|(name, value)| !is_access(name) && !is_stand_in(value));
        let shown: Vec<Value> =
            shown.map(|(name, value)| json!({"htv:fieldName": name, "htv:fieldValue": value})).collect();
        let owners = [connection, key].into_iter();
        let session = owners.filter_map(|owner| self.field(owner, "session_parameters")?.as_object()).next();
        let type_name = self.graph.type_name(connection);
        let transport = McpTransport::parse(type_name).filter(|_| self.call(key) == Call::Mcp);
        let members = [
            ("mcp:transport", transport.map(|transport| transport.name().into())),
            ("agentspec:transport", transport.map(|_| type_name.into())),
            ("agentspec:timeout", self.field(connection, "timeout").filter(|timeout| timeout.is_number()).cloned()),
            ("agentspec:sessionParameters", session.map(|session| json_literal(&session.clone().into()))),
            ("htv:headers", (!shown.is_empty()).then(|| shown.into())),
        ];
        members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    /// The program that an MCP server runs in, as `mcp:packages` has it; `None` unless it is reached over stdio.
    pub(super) fn program(&self, key: Key) -> Option<Value> {
        let transport = self.graph.part(key, "client_transport").filter(|_| self.call(key) == Call::Mcp)?;
        if !self.graph.is_a(transport, "StdioTransport") {
            return None;
        }
        let shown = |text: &'d str| if is_stand_in(text) { Cow::from("<secret>") } else { text.into() };
        let arguments = self.field(transport, "args").and_then(Value::as_array).into_iter().flatten();
        let arguments =
            arguments.map(|argument| self.resolve(argument).and_then(Value::as_str).map_or("<secret>".into(), shown));
        let command: Vec<Cow<'_, str>> = iter::once(shown(self.text(transport, "command")?)).chain(arguments).collect();
        let mut package = json!({"mcp:transport": {"mcp:type": "stdio"}, "mcp:command": command});
        let variables = self.field(transport, "env").and_then(Value::as_object).into_iter().flatten();
        let variables: Vec<Value> =
            variables.map(|(name, _)| json!({"mcp:name": name, "mcp:isRequired": true})).collect();
        if !variables.is_empty() {
            package["mcp:environmentVariables"] = variables.into();
        }
        if let Some(directory) = self.text(transport, "cwd").filter(|directory| !directory.is_empty()) {
            package["agentspec:workingDirectory"] = directory.into();
        }
        Some(package)
    }
}
