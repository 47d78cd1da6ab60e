//! Actions of a Thing: their inputs, outputs, and forms.

use serde_json::{Map, Value, json};

use super::{Mapper, Target, data_schema::DataSchemas, endpoint::Endpoint};
use crate::{
    a2a::{Generation, message_form},
    agent_spec::{
        Protocol,
        graph::Key,
        inference::Side,
        property::Property,
        terms::REQUIRES_CONFIRMATION,
        types::{Call, Role},
    },
    thing_builder::form,
};

type Object = Map<String, Value>;

impl<'d> Mapper<'_, 'd> {
    /// Finds the endpoint that a component itself specifies.
    pub(super) fn own_endpoint(&self, key: Key) -> Option<Endpoint> {
        if self.call(key) == Call::Request {
            return self.request_endpoint(key);
        }
        let (owner, field) = self.url_field(key)?;
        let mut endpoint = Endpoint::of_url(self.text(owner, field)?)?;
        endpoint.credentials.user_info |= self.had_user_info(owner, field);
        Some(endpoint)
    }

    /// Returns the component and its field with the URL that a component is called at.
    fn url_field(&self, key: Key) -> Option<(Key, &'static str)> {
        Some(match self.call(key) {
            Call::Unsaid => return None,
            Call::Request => (key, "url"),
            Call::Mcp => (self.graph.part(key, "client_transport")?, "url"),
            Call::A2a => (key, "agent_url"),
        })
    }

    /// Returns the URL that a component is called at, if it is relative.
    pub(in crate::agent_spec) fn relative_url(&self, key: Key) -> Option<&'d str> {
        let (owner, field) = self.url_field(key)?;
        self.text(owner, field).filter(|url| !url.is_empty() && !url.contains("://") && !url.starts_with("{{"))
    }

    pub(super) fn requires_confirmation(&self, key: Key) -> bool {
        self.field(key, "requires_confirmation") == Some(&Value::Bool(true))
    }

    fn is_toolbox(&self, key: Key) -> bool {
        self.graph.role(key) == Role::ToolBox
    }

    /// The actions of a Thing: one, or one for each tool that a toolbox names. `target` is missing in a Thing Model.
    pub(super) fn actions(&self, schemas: &mut DataSchemas, key: Key, target: Option<&Target>) -> Object {
        let listed = if self.is_toolbox(key) { self.listed_tools(key) } else { Vec::new() };
        if listed.is_empty() {
            let tool = self.text(key, "name").filter(|_| self.call(key) == Call::Mcp && !self.is_toolbox(key));
            return Object::from_iter([(self.key(key), self.action(schemas, key, Some(key), tool, target).into())]);
        }
        let action = |(name, signature): (String, Option<Key>)| {
            let action = self.action(schemas, key, signature, Some(&name), target);
            (name, action.into())
        };
        listed.into_iter().map(action).collect()
    }

    /// `signature` is what has the description, inputs and outputs, `tool` the name of a tool of an MCP server.
    fn action(
        &self,
        schemas: &mut DataSchemas,
        key: Key,
        signature: Option<Key>,
        tool: Option<&str>,
        target: Option<&Target>,
    ) -> Object {
        let said = |name: &str| signature.and_then(|key| self.text(key, name)).map(Value::from);
        let data = match (target, signature) {
            (Some(Target::Own(endpoint)), _) if self.call(key) == Call::Request => {
                self.request_members(schemas, key, endpoint)
            }
            (_, Some(signature)) if tool.is_some() || !self.is_toolbox(key) => vec![
                ("input", self.data(schemas, signature, Side::Inputs)),
                ("output", self.data(schemas, signature, Side::Outputs)),
            ],
            (_, None) => Vec::new(),
            _ => vec![("input", Some(any_tool_call()))],
        };
        let forms = target.map(|target| Value::Array(vec![self.form(key, tool, target).into()]));
        // A toolbox requires it for all of its tools.
        let is_required = [Some(key), signature].into_iter().flatten().any(|key| self.requires_confirmation(key));
        let described = [
            ("title", said("name")),
            ("description", said("description")),
            ("forms", forms),
            (REQUIRES_CONFIRMATION, is_required.then(|| true.into())),
        ];
        let members = described.into_iter().chain(data);
        members.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    /// An object that has the properties of one side by their titles, if there are any. Inputs without a default are
    /// required.
    pub(super) fn data(&self, schemas: &mut DataSchemas, key: Key, side: Side) -> Option<Value> {
        let list = self.inference.port(key, side).effective().filter(|list| !list.is_empty())?;
        let is_first =
            |(position, property): &(usize, &Property<'d>)| list.position(&property.title) == Some(*position);
        let properties = || list.as_slice().iter().enumerate().filter(is_first).map(|(_, property)| property);
        let mut described = Object::new();
        for property in properties() {
            if !schemas.spend(property.title.len()) {
                return None;
            }
            described.insert(property.title.to_string(), schemas.of(&property.schema()));
        }
        let is_required = |property: &&Property<'d>| side == Side::Outputs || !property.has_default();
        let required: Vec<Value> = properties().filter(is_required).map(|property| (*property.title).into()).collect();
        let required = (!required.is_empty()).then(|| ("required", required.into()));
        let members = [("type", "object".into()), ("properties", described.into())].into_iter().chain(required);
        Some(members.map(|(name, value): (&str, Value)| (name.to_owned(), value)).collect())
    }

    fn form(&self, key: Key, tool: Option<&str>, target: &Target) -> Object {
        match (target, self.call(key)) {
            (Target::Base(base), _) if self.options.protocol == Protocol::A2a => message_form(base, Generation::V1),
            (Target::Base(base), _) => {
                let mut form = form("invokeaction", base);
                form.insert("contentType".to_owned(), "application/json".into());
                form.insert("htv:methodName".to_owned(), "POST".into());
                form
            }
            (Target::Own(endpoint), Call::Request) => self.request_form(key, &endpoint.href),
            (Target::Own(endpoint), Call::Mcp) => self.tool_form(key, tool, &endpoint.href),
            (Target::Own(endpoint), Call::A2a | Call::Unsaid) => {
                // Where there is no card, what clients of the SDK's age speak.
                let mut form = message_form(&endpoint.href, Generation::V0);
                form.insert("a2a:agentCard".to_owned(), endpoint.href.as_str().into());
                form.extend(self.connection_members(key));
                form
            }
        }
    }

    fn tool_form(&self, key: Key, tool: Option<&str>, href: &str) -> Object {
        let mut form = form("invokeaction", href);
        form.extend(self.connection_members(key));
        let members = [
            ("contentType", Some("application/json")),
            ("subprotocol", Some("mcp")),
            ("mcp:method", Some("tools/call")),
            ("mcp:tool", tool),
            ("htv:methodName", Some("POST")),
        ];
        form.extend(members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into()))));
        form
    }
}

/// Returns the input of an action that calls any tool of an MCP server: the parameters of `tools/call`.
fn any_tool_call() -> Value {
    let properties = json!({"name": {"type": "string"}, "arguments": {"type": "object"}});
    json!({"type": "object", "properties": properties, "required": ["name"]})
}
