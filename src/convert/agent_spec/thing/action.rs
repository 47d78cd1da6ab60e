//! The actions of a Thing: what goes in and out, and the forms by which they are called.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{
    Mapper, Target,
    data_schema::DataSchemas,
    endpoint::{Endpoint, Variables, variable_name},
    template::write_headers,
    writer::Writer,
};
use crate::convert::{
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
};

impl<'d> Mapper<'_, 'd> {
    /// Where a component is reached by what it says itself.
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

    /// Writes the actions of a Thing: one, or one for each tool that a toolbox names. `target` is missing in a
    /// Thing Model.
    pub(super) fn write_actions(&self, schemas: &mut DataSchemas<'_>, key: Key, target: Option<&Target>) {
        schemas.writer.name("actions").open('{');
        let listed = if self.is_toolbox(key) { self.listed_tools(key) } else { Vec::new() };
        for (name, signature) in &listed {
            schemas.writer.name(name).open('{');
            self.write_action(schemas, key, *signature, Some(name), target);
            schemas.writer.close('}');
        }
        if listed.is_empty() {
            schemas.writer.name(&self.key(key)).open('{');
            let tool = self.text(key, "name").filter(|_| self.call(key) == Call::Mcp && !self.is_toolbox(key));
            self.write_action(schemas, key, Some(key), tool, target);
            schemas.writer.close('}');
        }
        schemas.writer.close('}');
    }

    /// `signature` is what has the description, inputs and outputs, `tool` the name of a tool of an MCP server.
    fn write_action(
        &self,
        schemas: &mut DataSchemas<'_>,
        key: Key,
        signature: Option<Key>,
        tool: Option<&str>,
        target: Option<&Target>,
    ) {
        if let Some(title) = signature.and_then(|key| self.text(key, "name")) {
            schemas.writer.name("title").text(title);
        }
        if let Some(description) = signature.and_then(|key| self.text(key, "description")) {
            schemas.writer.name("description").text(description);
        }
        match (target, signature) {
            (Some(Target::Own(endpoint)), _) if self.call(key) == Call::Request => {
                self.write_request_data(schemas, key, endpoint);
            }
            (_, Some(signature)) if tool.is_some() || !self.is_toolbox(key) => {
                self.write_data(schemas, "input", signature, Side::Inputs, &Variables::default());
                self.write_data(schemas, "output", signature, Side::Outputs, &Variables::default());
            }
            (_, None) => {}
            _ => write_any_tool_call(schemas.writer),
        }
        if let Some(target) = target {
            schemas.writer.name("forms").open('[');
            schemas.writer.object(|writer| self.write_form(writer, key, tool, target));
            schemas.writer.close(']');
        }
    }

    /// What goes into the URL and the body of a request, and what comes out.
    fn write_request_data(&self, schemas: &mut DataSchemas<'_>, key: Key, endpoint: &Endpoint) {
        let method = self.text(key, "http_method").unwrap_or_default().to_ascii_uppercase();
        let is_safe = matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS");
        if is_safe {
            schemas.writer.name("safe").flag(true);
        }
        if is_safe || matches!(method.as_str(), "PUT" | "DELETE") {
            schemas.writer.name("idempotent").flag(true);
        }
        if !endpoint.variables.names().is_empty() {
            self.write_variables(schemas, key, endpoint.variables.names());
        }
        if let Some(data) = self.body(key) {
            schemas.writer.name("input");
            self.write_body(schemas, key, data, 0);
        }
        self.write_data(schemas, "output", key, Side::Outputs, &Variables::default());
    }

    /// The template of the body of a request, if it has one.
    fn body(&self, key: Key) -> Option<&'d Value> {
        let method = self.text(key, "http_method").unwrap_or_default();
        let has_body = !["get", "head"].iter().any(|known| method.eq_ignore_ascii_case(known));
        self.field(key, "data").filter(|data| has_body && !is_empty(data))
    }

    /// Writes an object that has the properties of one side by their titles, if there are any that don't
    /// go elsewhere. Inputs without a default are required.
    pub(super) fn write_data(
        &self,
        schemas: &mut DataSchemas<'_>,
        name: &str,
        key: Key,
        side: Side,
        elsewhere: &Variables,
    ) {
        let mut known = HashSet::new();
        let properties: Vec<&Property<'d>> = self
            .inference
            .port(key, side)
            .properties()
            .iter()
            .filter(|property| !elsewhere.contains(&property.title) && known.insert(&property.title))
            .collect();
        if properties.is_empty() {
            return;
        }
        schemas.writer.name(name).open('{');
        schemas.writer.name("type").word("object");
        schemas.writer.name("properties").open('{');
        for property in &properties {
            if schemas.writer.is_full() {
                return;
            }
            schemas.writer.name(&property.title);
            schemas.write(&property.schema());
        }
        schemas.writer.close('}');
        let is_required = |property: &&&Property<'d>| side == Side::Outputs || !property.has_default();
        let mut required = properties.iter().filter(is_required).peekable();
        if required.peek().is_some() {
            schemas.writer.name("required").array(|writer| required.for_each(|property| writer.text(&property.title)));
        }
        schemas.writer.close('}');
    }

    /// What goes into the URL. A variable can't be an object or array (TD 1.1, section 5.3.1.2).
    fn write_variables(&self, schemas: &mut DataSchemas<'_>, key: Key, variables: &[String]) {
        schemas.writer.name("uriVariables").open('{');
        for variable in variables {
            if schemas.writer.is_full() {
                return;
            }
            schemas.writer.name(&variable_name(variable));
            let property = self.inference.port(key, Side::Inputs).find(variable);
            match property.map(|property| property.schema()) {
                Some(schema) if !has_parts(&schema) => schemas.write(&schema),
                Some(schema) => schemas.writer.object(|writer| {
                    writer.name("type").word("string");
                    writer.name("agentspec:jsonSchema").json(&schema);
                }),
                None => schemas.write(&json!({"type": "string"})),
            }
        }
        schemas.writer.close('}');
    }

    fn write_form(&self, writer: &mut Writer, key: Key, tool: Option<&str>, target: &Target) {
        let transport = self.graph.part(key, "client_transport");
        match (target, self.call(key)) {
            (Target::Base(base), _) if self.options.protocol == Protocol::A2a => {
                write_message(writer, base, Generation::V1);
            }
            (Target::Base(base), _) => {
                write_target(writer, base);
                writer.name("contentType").word("application/json");
                writer.name("htv:methodName").word("POST");
            }
            (Target::Own(endpoint), Call::Request) => {
                write_target(writer, &endpoint.href);
                self.write_request(writer, key);
            }
            (Target::Own(endpoint), Call::Mcp) => {
                write_target(writer, &endpoint.href);
                transport.into_iter().for_each(|transport| self.write_tool_call(writer, transport, tool));
            }
            // What its clients speak: the SDK is of that age.
            (Target::Own(endpoint), Call::A2a | Call::Unsaid) => {
                write_message(writer, &endpoint.href, Generation::V0);
            }
        }
    }

    fn write_tool_call(&self, writer: &mut Writer, transport: Key, tool: Option<&str>) {
        writer.name("contentType").word("application/json");
        writer.name("subprotocol").word("mcp");
        writer.name("mcp:method").word("tools/call");
        if let Some(tool) = tool {
            writer.name("mcp:tool").text(tool);
        }
        if self.graph.is_a(transport, "StreamableHTTPTransport") {
            writer.name("htv:methodName").word("POST");
        }
        writer.name("agentspec:transport").text(self.graph.type_name(transport));
    }

    /// What the request of a tool is like beside its body.
    fn write_request(&self, writer: &mut Writer, key: Key) {
        writer.name("contentType").word(self.content_type(key));
        if let Some(method) = self.text(key, "http_method") {
            writer.name("htv:methodName").word(&method.to_ascii_uppercase());
        }
        let headers: Vec<_> =
            self.headers(key).filter(|(name, _)| !name.eq_ignore_ascii_case("content-type")).collect();
        let is_shown = |value: &str| names(value).next().is_none() && !is_stand_in(value);
        write_headers(writer, headers.iter().copied().filter(|(name, value)| is_shown(value) && !is_access(name)));
        let mut open = headers.iter().filter(|(name, value)| is_placeholders(value) && !is_access(name)).peekable();
        if open.peek().is_some() {
            let headers = open.map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect();
            writer.name("agentspec:headers").json(&Value::Object(headers));
        }
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

/// What calls any tool of an MCP server: the parameters of `tools/call`.
fn write_any_tool_call(writer: &mut Writer) {
    writer.name("input").object(|writer| {
        writer.name("type").word("object");
        writer.name("properties").object(|writer| {
            writer.name("name").object(|writer| writer.name("type").word("string"));
            writer.name("arguments").object(|writer| writer.name("type").word("object"));
        });
        writer.name("required").array(|writer| writer.word("name"));
    });
}

fn write_target(writer: &mut Writer, href: &str) {
    writer.name("op").word("invokeaction");
    writer.name("href").word(href);
}

/// The form of an A2A agent, as agent cards have it.
fn write_message(writer: &mut Writer, url: &str, generation: Generation) {
    let mut form = message_form(url, generation);
    for name in ["op", "href", "contentType", "subprotocol"] {
        form.remove(name).iter().for_each(|value| writer.name(name).data(value));
    }
    form.iter().for_each(|(name, value)| writer.name(name).data(value));
}

/// Whether a header grants access, which security schemes say.
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

/// Whether this is the name of a method rather than a template for one.
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
