//! The actions of a Thing: what goes in and out, and the forms by which they are called.

use serde_json::{Map, Value, json};

use super::{
    Mapper, Target,
    data_schema::{DataSchemas, json_literal},
    endpoint::{Endpoint, variable_name},
};
use crate::{
    a2a::{Generation, message_form},
    agent_spec::{
        Protocol,
        findings::Findings,
        graph::Key,
        inference::Side,
        placeholders::{is_placeholders, names},
        property::Property,
        types::{Call, Role},
    },
    redaction::{is_stand_in, secrecy_of},
    thing_builder::form,
};

type Object = Map<String, Value>;

impl<'d> Mapper<'_, 'd> {
    /// Finds the endpoint that a component itself specifies.
    pub(super) fn own_endpoint(&self, key: Key) -> Option<Endpoint> {
        let (owner, field) = match self.call(key) {
            Call::Unsaid => return None,
            Call::Request => return self.request_endpoint(key),
            Call::Mcp => (self.graph.part(key, "client_transport")?, "url"),
            Call::A2a => (key, "agent_url"),
        };
        let mut endpoint = Endpoint::of_url(self.text(owner, field)?)?;
        endpoint.credentials.user_info |= self.had_user_info(owner, field);
        Some(endpoint)
    }

    fn request_endpoint(&self, key: Key) -> Option<Endpoint> {
        self.text(key, "http_method").filter(|method| is_method(method))?;
        let mut endpoint = Endpoint::of_template(self.text(key, "url")?)?;
        endpoint.credentials.user_info |= self.had_user_info(key, "url");
        if let Some(Value::Object(parameters)) = self.field(key, "query_params") {
            endpoint.add_parameters(parameters);
        }
        Some(endpoint)
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
                self.request_data(schemas, key, endpoint)
            }
            (_, Some(signature)) if tool.is_some() || !self.is_toolbox(key) => vec![
                ("input", self.data(schemas, signature, Side::Inputs)),
                ("output", self.data(schemas, signature, Side::Outputs)),
            ],
            (_, None) => Vec::new(),
            _ => vec![("input", Some(any_tool_call()))],
        };
        let forms = target.map(|target| Value::Array(vec![self.form(key, tool, target).into()]));
        let described = [("title", said("name")), ("description", said("description")), ("forms", forms)];
        let members = described.into_iter().chain(data);
        members.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    /// Describes a request by members of an action: variables of the URL, input, output, `safe` and `idempotent`.
    fn request_data(
        &self,
        schemas: &mut DataSchemas,
        key: Key,
        endpoint: &Endpoint,
    ) -> Vec<(&'static str, Option<Value>)> {
        let method = self.text(key, "http_method").unwrap_or_default().to_ascii_uppercase();
        let is_safe = matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS");
        let is_idempotent = is_safe || matches!(method.as_str(), "PUT" | "DELETE");
        vec![
            ("safe", is_safe.then_some(true.into())),
            ("idempotent", is_idempotent.then_some(true.into())),
            ("uriVariables", self.variables(schemas, key, endpoint.variables.names())),
            ("input", self.body(key).map(|template| self.body_schema(schemas, key, template, 0))),
            ("output", self.data(schemas, key, Side::Outputs)),
        ]
    }

    /// The template of the body of a request, if it has one.
    pub(super) fn body(&self, key: Key) -> Option<&'d Value> {
        let method = self.text(key, "http_method").unwrap_or_default();
        let has_body = !["get", "head"].iter().any(|known| method.eq_ignore_ascii_case(known));
        self.field(key, "data").filter(|data| has_body && !is_empty(data))
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

    /// Describes the inputs in the URL, if there are any. A variable can't be an object or array (TD 1.1, section
    /// 5.3.1.2).
    fn variables(&self, schemas: &mut DataSchemas, key: Key, variables: &[String]) -> Option<Value> {
        let described = |variable: &String| {
            let property = self.inference.port(key, Side::Inputs).find(variable);
            let schema = match property.map(|property| property.schema()) {
                Some(schema) if !has_parts(&schema) => schemas.of(&schema),
                Some(schema) => json!({"type": "string", "agentspec:jsonSchema": json_literal(&schema)}),
                None => json!({"type": "string"}),
            };
            (variable_name(variable), schema)
        };
        (!variables.is_empty()).then(|| variables.iter().map(described).collect::<Object>().into())
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
            // What its clients speak: the SDK is of that age.
            (Target::Own(endpoint), Call::A2a | Call::Unsaid) => message_form(&endpoint.href, Generation::V0),
        }
    }

    fn tool_form(&self, key: Key, tool: Option<&str>, href: &str) -> Object {
        let mut form = form("invokeaction", href);
        let Some(transport) = self.graph.part(key, "client_transport") else { return form };
        let is_http = self.graph.is_a(transport, "StreamableHTTPTransport");
        let members = [
            ("contentType", Some("application/json")),
            ("subprotocol", Some("mcp")),
            ("mcp:method", Some("tools/call")),
            ("mcp:tool", tool),
            ("htv:methodName", is_http.then_some("POST")),
            ("agentspec:transport", Some(self.graph.type_name(transport))),
        ];
        form.extend(members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into()))));
        form
    }

    /// The request of a tool beside its body.
    fn request_form(&self, key: Key, href: &str) -> Object {
        let mut form = form("invokeaction", href);
        form.insert("contentType".to_owned(), self.content_type(key).into());
        if let Some(method) = self.text(key, "http_method") {
            form.insert("htv:methodName".to_owned(), method.to_ascii_uppercase().into());
        }
        let headers: Vec<_> = self
            .headers(key)
            .filter(|(name, _)| !name.eq_ignore_ascii_case("content-type") && !is_access(name))
            .collect();
        let is_shown = |(_, value): &&(&str, &str)| names(value).next().is_none() && !is_stand_in(value);
        let shown = headers.iter().filter(is_shown);
        let shown: Vec<Value> =
            shown.map(|(name, value)| json!({"htv:fieldName": name, "htv:fieldValue": value})).collect();
        if !shown.is_empty() {
            form.insert("htv:headers".to_owned(), shown.into());
        }
        let open = headers.iter().filter(|(_, value)| is_placeholders(value));
        let open: Object = open.map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect();
        if !open.is_empty() {
            form.insert("agentspec:headers".to_owned(), json_literal(&open.into()));
        }
        form
    }

    fn headers(&self, key: Key) -> impl Iterator<Item = (&'d str, &'d str)> {
        let headers = self.field(key, "headers").and_then(Value::as_object).into_iter().flatten();
        headers.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
    }

    /// Says which headers of a tool aren't shown though they are made of inputs: their values have more in
    /// them than placeholders.
    pub(super) fn warn_of_headers(&self, key: Key, target: Option<&Target>, findings: &mut Findings) {
        if self.call(key) != Call::Request || !matches!(target, Some(Target::Own(_))) {
            return;
        }
        for (name, value) in self.headers(key).filter(|(name, value)| !is_placeholders(value) && !is_access(name)) {
            if names(value).next().is_some() {
                let spot = || self.graph.at(key).member("headers").member(name);
                let message = "the description doesn't say which inputs go into this header: there is more than \
                               placeholders in its value";
                findings.warning(spot, "header-not-shown", || message);
            }
        }
    }

    fn content_type(&self, key: Key) -> &'d str {
        let mut types = self.headers(key).filter(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        let is_media_type = |name: &str| name.contains('/') && names(name).next().is_none() && !name.contains(' ');
        let named = types.next().and_then(|(_, value)| value.split(';').next()).map(str::trim);
        let of_data = if self.body(key).is_some_and(Value::is_string) { "text/plain" } else { "application/json" };
        named.filter(|name| is_media_type(name)).unwrap_or(of_data)
    }
}

/// Returns the input of an action that calls any tool of an MCP server: the parameters of `tools/call`.
fn any_tool_call() -> Value {
    let properties = json!({"name": {"type": "string"}, "arguments": {"type": "object"}});
    json!({"type": "object", "properties": properties, "required": ["name"]})
}

/// True if a header grants access, which security schemes say.
pub(super) fn is_access(name: &str) -> bool {
    name.eq_ignore_ascii_case("cookie") || secrecy_of(name).is_some()
}

fn is_empty(data: &Value) -> bool {
    match data {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// True if this is the name of a method rather than a template for one.
fn is_method(method: &str) -> bool {
    !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn has_parts(schema: &Value) -> bool {
    let is_part = |name: &Value| matches!(name.as_str(), Some("object" | "array"));
    match schema.get("type") {
        Some(Value::Array(names)) => names.iter().any(is_part),
        Some(name) => is_part(name),
        None => ["properties", "items", "$ref"].into_iter().any(|keyword| schema.get(keyword).is_some()),
    }
}
