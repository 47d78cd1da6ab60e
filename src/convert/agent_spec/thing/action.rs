//! The action `invoke`: what goes in and out, and the form by which it is called.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::{
    Mapper, Target,
    data_schema::{DataSchemas, is_within_depth},
    endpoint::{Endpoint, Variables, variable_name},
    writer::Writer,
};
use crate::convert::agent_spec::{
    findings::Findings, graph::Key, inference::Side, placeholders::is_placeholders, placeholders::names,
    property::Property,
};

/// The deepest body of a request that is shown: beyond, the description would be too deep.
const DEEPEST_DATA: usize = 56;

impl<'d> Mapper<'_, 'd> {
    /// Where a component is reached by what it says itself.
    pub(super) fn own_endpoint(&self, key: Key) -> Option<Endpoint> {
        let graph = self.graph;
        if graph.is_a(key, "RemoteTool") {
            let mut endpoint = Endpoint::of_template(self.text(key, "url")?)?;
            if let Some(Value::Object(parameters)) = self.field(key, "query_params") {
                endpoint.add_parameters(parameters);
            }
            return Some(endpoint);
        }
        let url = match graph.part(key, "client_transport") {
            Some(transport) => self.text(transport, "url"),
            None => self.text(key, "agent_url"),
        };
        Endpoint::of_url(url?)
    }

    /// Writes what the action `invoke` is; `target` is missing in a Thing Model.
    pub(super) fn write_invoke(&self, schemas: &mut DataSchemas<'_>, key: Key, target: Option<&Target>) {
        let variables = match target {
            Some(Target::Own(endpoint)) => &endpoint.variables,
            _ => &Variables::default(),
        };
        if let Some(description) = self.text(key, "description") {
            schemas.writer.name("description").text(description);
        }
        self.write_data_of(schemas, ["input", "output"], key, variables);
        if !variables.names().is_empty() {
            self.write_variables(schemas, key, variables.names());
        }
        if let Some(target) = target {
            schemas.writer.name("forms").open('[');
            schemas.writer.object(|writer| self.write_form(writer, key, target));
            schemas.writer.close(']');
        }
    }

    /// Writes what goes in and out under these names.
    pub(super) fn write_data_of(
        &self,
        schemas: &mut DataSchemas<'_>,
        [input, output]: [&str; 2],
        key: Key,
        elsewhere: &Variables,
    ) {
        if self.graph.is_a(key, "MCPToolBox") {
            return self.write_tool_call(schemas.writer.name(input), key);
        }
        self.write_data(schemas, input, key, Side::Inputs, elsewhere);
        self.write_data(schemas, output, key, Side::Outputs, &Variables::default());
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
        let owner = self.graph.id(key).unwrap_or_default();
        schemas.writer.name(name).open('{');
        schemas.writer.name("type").word("object");
        schemas.writer.name("properties").open('{');
        for property in &properties {
            if schemas.writer.is_full() {
                return;
            }
            schemas.writer.name(&property.title);
            schemas.write(&self.redaction.schema(owner, &property.schema()));
        }
        schemas.writer.close('}');
        let is_required = |property: &&&Property<'d>| side == Side::Outputs || !property.has_default();
        let mut required = properties.iter().filter(is_required).peekable();
        if required.peek().is_some() {
            schemas.writer.name("required").array(|writer| required.for_each(|property| writer.text(&property.title)));
        }
        schemas.writer.close('}');
    }

    /// What goes into the URL. A variable is no object or array (TD 1.1, section 5.3.1.2).
    fn write_variables(&self, schemas: &mut DataSchemas<'_>, key: Key, variables: &[String]) {
        let owner = self.graph.id(key).unwrap_or_default();
        schemas.writer.name("uriVariables").open('{');
        for variable in variables {
            if schemas.writer.is_full() {
                return;
            }
            schemas.writer.name(&variable_name(variable));
            let property = self.inference.port(key, Side::Inputs).find(variable);
            let schema = property.map(|property| property.schema());
            match schema.map(|schema| self.redaction.schema(owner, &schema).into_owned()) {
                Some(schema) if !has_parts(&schema) => schemas.write(&schema),
                Some(schema) => schemas.writer.object(|writer| {
                    writer.name("type").word("string");
                    writer.name("agentspec:jsonSchema").data(&schema);
                }),
                None => schemas.write(&json!({"type": "string"})),
            }
        }
        schemas.writer.close('}');
    }

    /// What calls a tool of a toolbox: the parameters of MCP's `tools/call`.
    fn write_tool_call(&self, writer: &mut Writer, toolbox: Key) {
        let tools = self.own_tools(toolbox);
        let mut names: Vec<&str> = tools.iter().filter_map(|tool| self.tool_name(tool)).collect();
        names.sort_unstable();
        names.dedup();
        writer.object(|writer| {
            writer.name("type").word("object");
            writer.name("properties").object(|writer| {
                writer.name("name").object(|writer| {
                    writer.name("type").word("string");
                    if !names.is_empty() {
                        writer.name("enum").array(|writer| names.iter().for_each(|name| writer.text(name)));
                    }
                });
                writer.name("arguments").object(|writer| writer.name("type").word("object"));
            });
            writer.name("required").array(|writer| writer.word("name"));
        });
    }

    fn write_form(&self, writer: &mut Writer, key: Key, target: &Target) {
        writer.name("op").word("invokeaction");
        let endpoint = match target {
            Target::Base(base) => {
                writer.name("href").word(&format!("{base}/actions/invoke"));
                writer.name("contentType").word("application/json");
                return writer.name("htv:methodName").word("POST");
            }
            Target::Own(endpoint) => endpoint,
        };
        writer.name("href").word(&endpoint.href);
        if self.graph.is_a(key, "RemoteTool") {
            return self.write_request(writer, key);
        }
        writer.name("contentType").word("application/json");
        match self.graph.part(key, "client_transport") {
            None => {
                writer.name("subprotocol").word("a2a");
                writer.name("htv:methodName").word("POST");
            }
            Some(transport) => {
                writer.name("subprotocol").word("mcp");
                if self.graph.is_a(transport, "StreamableHTTPTransport") {
                    writer.name("htv:methodName").word("POST");
                }
                writer.name("agentspec:transport").text(self.graph.type_name(transport));
            }
        }
    }

    /// What the request of a tool is like, and how its body and headers are made of the inputs.
    fn write_request(&self, writer: &mut Writer, key: Key) {
        let graph = self.graph;
        let data = self.field(key, "data").filter(|data| !is_empty(data));
        writer.name("contentType").word(self.content_type(key, data));
        if let Some(method) = self.text(key, "http_method").filter(|method| is_method(method)) {
            writer.name("htv:methodName").word(&method.to_ascii_uppercase());
        }
        let owner = graph.id(key).unwrap_or_default();
        if let Some(data) = data.filter(|data| is_within_depth(data, DEEPEST_DATA)) {
            writer.name("agentspec:data").data(&self.redaction.free_form(owner, "data", data));
        }
        let headers = self.field(key, "headers").and_then(Value::as_object).into_iter().flatten();
        let mut open = headers
            .filter_map(|(name, value)| Some((name, value.as_str().filter(|value| is_placeholders(value))?)))
            .peekable();
        if open.peek().is_some() {
            writer.name("agentspec:headers").object(|writer| {
                open.for_each(|(name, value)| writer.name(name).text(value));
            });
        }
    }

    /// Says which headers of a tool aren't shown though they are made of inputs: their values have more in
    /// them than placeholders, which may be a secret.
    pub(super) fn warn_of_headers(&self, key: Key, target: Option<&Target>, findings: &mut Findings) {
        if !self.graph.is_a(key, "RemoteTool") || !matches!(target, Some(Target::Own(_))) {
            return;
        }
        let headers = self.graph.field(key, "headers").and_then(Value::as_object).into_iter().flatten();
        for (name, value) in headers {
            let Some(text) = value.as_str().filter(|text| !is_placeholders(text)) else { continue };
            if names(text).next().is_some() {
                let spot = || self.graph.at(key).member("headers").member(name);
                let message = "the description doesn't say which inputs go into this header: there is more than \
                               placeholders in its value, which may be a secret";
                findings.warning(spot, "header-not-shown", || message);
            }
        }
    }

    fn content_type(&self, key: Key, data: Option<&Value>) -> &'static str {
        let headers = self.field(key, "headers").and_then(Value::as_object).into_iter().flatten();
        let mut types = headers.filter(|(name, _)| name.eq_ignore_ascii_case("content-type")).map(|(_, value)| value);
        let media_type = types.next().and_then(Value::as_str).and_then(|value| value.split(';').next());
        // Values of headers aren't shown, so that only what is known to be none of a secret is said.
        let known =
            ["application/json", "application/x-www-form-urlencoded", "application/xml", "text/plain", "text/xml"];
        let named =
            known.into_iter().find(|known| media_type.is_some_and(|name| name.trim().eq_ignore_ascii_case(known)));
        let of_data = if data.is_some_and(Value::is_string) { "text/plain" } else { "application/json" };
        named.unwrap_or(of_data)
    }
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
