//! Export of Thing Descriptions that weren't imported from Agent Spec.
//!
//! | content of the Thing | component |
//! |---|---|
//! | a form for A2A (`subprotocol` is `a2a`) | an A2AAgent |
//! | actions with a form for MCP (`mcp`) | an MCPTool for each action, with the name of the tool in the form (`mcp:tool`) |
//! | an action with a form for MCP that names no tool | an MCPToolBox, if there are no other tools |
//! | other actions with a form for HTTP | a RemoteTool for each action |
//!
//! Several tools become the tools of AgentSpecializationParameters, with which an agent can be specialized to use the
//! Thing. The description is stored in the metadata. A description contains no credentials, so the operator of the
//! tools has to add them.

mod flow;
mod properties;
mod target;

use serde_json::{Map, Value, json};

pub(super) use self::flow::TAKES_INPUTS;
pub use self::flow::{FlowLink, FlowStep, flow_of};
use self::{
    properties::{Property, Titles},
    target::Target,
};
use super::{
    placeholders::names,
    terms::{DESCRIPTION, REQUEST, REQUIRES_CONFIRMATION},
};
use crate::casting::effort::Effort;
use crate::{Error, Format, MAX_SOURCE_BYTES, Result, size::size, td::internal::McpTransport};

/// The version of the language that has all that is written here.
const VERSION: &str = "25.4.2";
/// The scheme of a client that shows a certificate.
const MUTUAL_TLS: &str = "agentspec:mutualTLS";
/// Deeper descriptions are kept as text: a configuration is nested no deeper than a description may be.
const DEEPEST_KEPT: usize = 56;

/// Creates a configuration from a Thing Description.
///
/// ```
/// use agentdex_convert::agent_spec::from_thing;
///
/// let tool = from_thing(&serde_json::json!({
///     "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:example:weather", "title": "Weather",
///     "security": "open", "securityDefinitions": {"open": {"scheme": "nosec"}},
///     "actions": {"forecast": {"forms": [{"href": "https://weather.example/forecast{?city}"}]}},
/// }))?;
/// assert_eq!(tool["component_type"], "RemoteTool");
/// assert_eq!(tool["query_params"]["city"], "{{city}}");
/// # Ok::<(), agentdex_convert::Error>(())
/// ```
///
/// # Errors
/// [`Error::NotExpressible`] if the Thing has no form for A2A, MCP, or HTTP, or if the addresses of all such forms
/// exceed the length limit; [`Error::LimitExceeded`] if its tools exceed the size limit of a configuration.
pub fn from_thing(thing: &Value) -> Result<Value> {
    let effort = Effort::for_document();
    if let Some(agent) = agent(thing, &effort) {
        return Ok(agent);
    }
    let actions = || thing.get("actions").and_then(Value::as_object).into_iter().flatten();
    let mut callable = actions().filter_map(|(name, action)| Some((name, action, call_of(thing, action)?)));
    let (Some((name, action, call)), second) = (callable.next(), callable.next()) else {
        // A list of tools has no place for it.
        return actions().find_map(|(name, action)| toolbox(thing, name, action)).ok_or_else(|| {
            Error::NotExpressible {
                format: Format::AgentSpec.name(),
                reason:
                    "it needs an action with an HTTP form, or with an A2A or MCP form without variables in its URL; \
                         a URL can have at most 8,000 bytes"
                        .to_owned(),
            }
        });
    };
    let Some(second) = second else {
        let (mut tool, _) = tool(thing, &id_of(thing), name, action, &call, &effort);
        tool.insert("metadata".to_owned(), json!({DESCRIPTION: kept(thing)}));
        let mut tool = Value::Object(tool);
        tool["agentspec_version"] = version([&tool]).into();
        return Ok(tool);
    };
    let mut bytes = 0;
    let mut tools = Vec::new();
    for (name, action, call) in [(name, action, call), second].into_iter().chain(callable) {
        let (tool, _) = tool(thing, &format!("{}#{name}", id_of(thing)), name, action, &call, &effort);
        let tool = Value::Object(tool);
        // The base and the variables of the Thing are in every tool.
        bytes += size(&tool, MAX_SOURCE_BYTES);
        if bytes > MAX_SOURCE_BYTES {
            let what = "size in bytes of the tools generated from the Thing's actions";
            return Err(Error::LimitExceeded { what, maximum: MAX_SOURCE_BYTES as u64 });
        }
        tools.push(tool);
    }
    let version = version(&tools);
    Ok(json!({
        "component_type": "AgentSpecializationParameters", "id": id_of(thing), "name": title_of(thing),
        "description": text_of(thing, "description"), "metadata": {DESCRIPTION: kept(thing)},
        "inputs": [], "outputs": [], "additional_instructions": null, "additional_tools": tools,
        "human_in_the_loop": null, "agentspec_version": version,
    }))
}

/// The version of a document with these tools.
fn version<'t>(tools: impl IntoIterator<Item = &'t Value>) -> &'static str {
    match tools.into_iter().any(|tool| tool.get("url_allow_list").is_some()) {
        true => "26.1.2",
        false => VERSION,
    }
}

/// The whole Thing as an agent, if one of its forms is for A2A.
fn agent(thing: &Value, effort: &Effort) -> Option<Value> {
    let kinds = ["actions", "properties", "events"].into_iter().filter_map(|kind| thing.get(kind)?.as_object());
    let affordances = kinds.flat_map(Map::values).chain([thing]);
    let (url, form) = a2a_call(thing, affordances.flat_map(forms))?;
    let skills: Vec<&Value> =
        thing.get("actions").and_then(Value::as_object).into_iter().flat_map(Map::values).collect();
    // With several skills none is what goes in and out of the agent.
    let ports = ["input", "output"].map(|name| match skills.as_slice() {
        [skill] => Titles::new(effort).properties(skill.get(name), name),
        _ => Vec::new(),
    });
    let mut agent = a2a_component(thing, &id_of(thing), &url, form, &ports);
    agent["metadata"] = json!({DESCRIPTION: kept(thing)});
    agent["agentspec_version"] = VERSION.into();
    Some(agent)
}

/// An action with a form for A2A as an agent, and its inputs and outputs.
fn a2a_agent(thing: &Value, action: &Value, id: &str, effort: &Effort) -> Option<(Value, [Vec<Property>; 2])> {
    let (url, form) = a2a_call(thing, forms(action))?;
    let ports = ["input", "output"].map(|name| Titles::new(effort).properties(action.get(name), name));
    Some((a2a_component(thing, id, &url, form, &ports), ports))
}

/// The first form for A2A whose address is complete.
fn a2a_call<'t>(thing: &Value, mut forms: impl Iterator<Item = &'t Value>) -> Option<(String, &'t Value)> {
    let is_a2a = |form: &Value| text_of(form, "subprotocol").is_some_and(|name| name.eq_ignore_ascii_case("a2a"));
    forms.find_map(|form| {
        is_a2a(form).then(|| Target::of(thing, form)?.without_variables()).flatten().map(|url| (url, form))
    })
}

fn a2a_component(thing: &Value, id: &str, url: &str, form: &Value, ports: &[Vec<Property>; 2]) -> Value {
    let [inputs, outputs] = ports.each_ref().map(|ports| ports.iter().map(|port| &port.schema).collect::<Vec<_>>());
    let connection = json!({
        "component_type": "A2AConnectionConfig", "id": format!("{id}#connection"), "name": "connection",
        "description": null, "metadata": {}, "timeout": form.get("agentspec:timeout").unwrap_or(&json!(600.0)),
        "headers": fixed_headers(thing, &json!({}), form), "verify": true,
        "key_file": null, "cert_file": null, "ssl_ca_cert": null,
    });
    json!({
        "component_type": "A2AAgent", "id": id, "name": title_of(thing),
        "description": text_of(thing, "description"), "metadata": {},
        "inputs": inputs, "outputs": outputs, "agent_url": url,
        "connection_config": connection,
        "session_parameters": session_parameters(form, json!({"timeout": 60.0, "poll_interval": 2.0, "max_retries": 5})),
    })
}

/// Address and form for calling an action, by protocol.
enum Call<'t> {
    Mcp(String, &'t Value),
    Http(Target, &'t Value),
}

/// Finds the form by which an action is called as a tool: one that names a tool of MCP if there is any, else one for HTTP.
fn call_of<'t>(thing: &Value, action: &'t Value) -> Option<Call<'t>> {
    let mut mcp = mcp_forms(thing, action).filter(|(_, form)| tool_name(form).is_some());
    mcp.next().map(|(url, form)| Call::Mcp(url, form)).or_else(|| {
        let mut others = forms(action).filter(|form| is_call(form) && !is_mcp(form));
        others.find_map(|form| Some(Call::Http(Target::of(thing, form)?, form)))
    })
}

/// The forms by which an action calls tools of MCP, and their addresses.
fn mcp_forms<'t>(thing: &Value, action: &'t Value) -> impl Iterator<Item = (String, &'t Value)> {
    let is_call = |form: &&Value| {
        is_mcp(form) && is_call(form) && text_of(form, "mcp:method").is_none_or(|method| method == "tools/call")
    };
    forms(action).filter(is_call).filter_map(|form| Some((Target::of(thing, form)?.without_variables()?, form)))
}

fn is_call(form: &Value) -> bool {
    match form.get("op") {
        None => true,
        Some(Value::Array(operations)) => operations.iter().any(|operation| operation == "invokeaction"),
        Some(operation) => operation == "invokeaction",
    }
}

fn is_mcp(form: &Value) -> bool {
    text_of(form, "subprotocol").is_some_and(|name| name.eq_ignore_ascii_case("mcp"))
}

fn tool_name(form: &Value) -> Option<&str> {
    text_of(form, "mcp:tool").filter(|name| !name.is_empty())
}

/// An action that calls whatever tool its input names as the toolbox of its server.
fn toolbox(thing: &Value, name: &str, action: &Value) -> Option<Value> {
    let (url, form) = mcp_forms(thing, action).next()?;
    let id = id_of(thing);
    Some(json!({
        "component_type": "MCPToolBox", "id": id, "name": name, "description": description_of(action),
        "metadata": {DESCRIPTION: kept(thing)}, "requires_confirmation": requires_confirmation(action), "tool_filter": null,
        "client_transport": transport(thing, action, &id, &url, form), "agentspec_version": VERSION,
    }))
}

fn description_of(action: &Value) -> Option<&str> {
    text_of(action, "description").or_else(|| text_of(action, "title"))
}

/// An action as a tool, and its inputs and outputs.
fn tool(
    thing: &Value,
    id: &str,
    name: &str,
    action: &Value,
    call: &Call<'_>,
    effort: &Effort,
) -> (Map<String, Value>, [Vec<Property>; 2]) {
    let (name, type_name, ports, further) = match call {
        Call::Mcp(url, form) => {
            let inputs = Titles::new(effort).arguments(action.get("input"));
            let outputs = Titles::new(effort).properties(action.get("output"), "output");
            let transport = transport(thing, action, id, url, form);
            let name = tool_name(form).unwrap_or(name);
            (name, "MCPTool", [inputs, outputs], json!({"client_transport": transport}))
        }
        Call::Http(target, form) => {
            let (inputs, mut request) = request(thing, action, target, form, effort);
            request["sensitive_headers"] = credentials(thing, form, id);
            let outputs = Titles::new(effort).properties(action.get("output"), "output");
            (name, "RemoteTool", [inputs, outputs], request)
        }
    };
    let [inputs, outputs] = ports.each_ref().map(|ports| ports.iter().map(|port| &port.schema).collect::<Vec<_>>());
    let mut tool = json!({
        "component_type": type_name, "id": id, "name": name, "description": description_of(action),
        "inputs": inputs, "outputs": outputs, "requires_confirmation": requires_confirmation(action),
    });
    if let (Value::Object(tool), Value::Object(further)) = (&mut tool, further) {
        tool.extend(further);
    }
    match tool {
        Value::Object(members) => (members, ports),
        _ => (Map::new(), ports),
    }
}

/// The names of the parameters of the query that are keys (TD 1.1, section 5.3.3.5).
fn keys_in_query<'t>(thing: &'t Value, form: &'t Value) -> impl Iterator<Item = &'t str> {
    let is_key = |definition: &Value| {
        text_of(definition, "scheme") == Some("apikey") && text_of(definition, "in").unwrap_or("query") == "query"
    };
    let keys = security_of(thing, form).filter(move |(_, definition)| is_key(definition));
    keys.map(|(name, definition)| text_of(definition, "name").unwrap_or(name))
}

/// The security definitions that a form requires, by name.
fn security_of<'t>(thing: &'t Value, form: &'t Value) -> impl Iterator<Item = (&'t str, &'t Value)> {
    let names = match form.get("security").or_else(|| thing.get("security")) {
        Some(Value::Array(names)) => names.as_slice(),
        Some(name) => std::slice::from_ref(name),
        None => &[],
    };
    names.iter().filter_map(|name| Some((name.as_str()?, thing.get("securityDefinitions")?.get(name.as_str()?)?)))
}

/// The security schemes that a form requires.
fn schemes<'t>(thing: &'t Value, form: &'t Value) -> impl Iterator<Item = &'t str> {
    security_of(thing, form).filter_map(|(_, definition)| text_of(definition, "scheme"))
}

/// The headers that whoever calls a form must bring: where it is secured by headers, a reference to what isn't known here.
fn credentials(thing: &Value, form: &Value, id: &str) -> Value {
    let is_elsewhere = |definition: &Value| {
        let scheme = text_of(definition, "scheme");
        let place = text_of(definition, "in").unwrap_or(if scheme == Some("apikey") { "query" } else { "header" });
        matches!(scheme, None | Some("nosec" | "auto" | MUTUAL_TLS)) || !matches!(place, "header" | "cookie" | "auto")
    };
    // What an input of the tool makes need not be brought.
    let is_input = |definition: &Value| {
        let header = text_of(definition, "name").unwrap_or("Authorization");
        let headers = template_of(form).and_then(|template| template.get("headers")?.as_object());
        let mut values = headers.into_iter().flatten().filter(|(name, _)| name.eq_ignore_ascii_case(header));
        values.any(|(_, value)| value.as_str().is_some_and(|value| names(value).next().is_some()))
    };
    match security_of(thing, form).all(|(_, definition)| is_elsewhere(definition) || is_input(definition)) {
        true => json!({}),
        false => json!({"$component_ref": format!("{id}.sensitive_headers")}),
    }
}

/// The headers of a form that are known, if there are any. A variable in one has its default.
fn fixed_headers(thing: &Value, action: &Value, form: &Value) -> Value {
    let listed = form.get("htv:headers").and_then(Value::as_array).into_iter().flatten();
    let default = |name: &str| {
        let schema = [action, thing].into_iter().find_map(|owner| owner.get("uriVariables")?.get(name))?;
        let default = schema.get("default")?;
        Some(default.as_str().map_or_else(|| default.to_string(), str::to_owned))
    };
    let header = |header: &Value| {
        let mut parts = text_of(header, "htv:fieldValue")?.split('{');
        let mut value = parts.next()?.to_owned();
        for part in parts {
            let (name, literal) = part.split_once('}')?;
            value.push_str(&default(name)?);
            value.push_str(literal);
        }
        Some((text_of(header, "htv:fieldName")?.to_owned(), Value::from(value)))
    };
    let headers: Map<String, Value> = listed.filter_map(header).collect();
    if headers.is_empty() { Value::Null } else { headers.into() }
}

/// The times of a connection that a form was made of, or else those that the SDK has.
fn session_parameters(form: &Value, default: Value) -> Value {
    form.get("agentspec:sessionParameters").and_then(|literal| literal.get("@value")).cloned().unwrap_or(default)
}

fn transport(thing: &Value, action: &Value, id: &str, url: &str, form: &Value) -> Value {
    let id = format!("{id}#transport");
    let is_sse = form.as_object().and_then(McpTransport::of_form) == Some(McpTransport::Sse);
    let has_certificate = schemes(thing, form).any(|scheme| scheme == MUTUAL_TLS);
    let mut transport = json!({
        "component_type": match (is_sse, has_certificate) {
            (true, false) => "SSETransport",
            (true, true) => "SSEmTLSTransport",
            (false, false) => "StreamableHTTPTransport",
            (false, true) => "StreamableHTTPmTLSTransport",
        },
        "id": id, "name": "transport", "description": null, "metadata": {},
        "session_parameters": session_parameters(form, json!({"read_timeout_seconds": 60.0})), "url": url,
        "headers": fixed_headers(thing, action, form), "sensitive_headers": credentials(thing, form, &id),
    });
    if has_certificate {
        for file in ["key_file", "cert_file", "ca_file"] {
            transport[file] = json!({"$component_ref": format!("{id}.{file}")});
        }
    }
    transport
}

/// The inputs of a tool that is called over HTTP, and how its request is made of them: variables of the URL
/// from those of that name, the body from what goes into the action.
fn request(thing: &Value, action: &Value, target: &Target, form: &Value, effort: &Effort) -> (Vec<Property>, Value) {
    if let Some(template) = template_of(form) {
        let inputs = Titles::new(effort).properties(action.get("input"), "input");
        return (inputs, templated(target, form, template));
    }
    let mut titles = Titles::of_placeholders(effort);
    let mut inputs = Vec::new();
    let mut variables = Vec::new();
    for name in target.variables() {
        let declared = [action, thing].into_iter().find_map(|owner| owner.get("uriVariables")?.get(name));
        let property = titles.property(name, declared.unwrap_or(&json!({"type": "string"})));
        variables.push((name.to_owned(), property.title.clone()));
        inputs.push(property);
    }
    let (url, mut query_params) = target.fill(&variables);
    // The language has a place for secret headers alone.
    for name in keys_in_query(thing, form) {
        let property = titles.property(name, &json!({"type": "string", "description": "A key that grants access."}));
        query_params.insert(name.to_owned(), format!("{{{{{}}}}}", property.title).into());
        inputs.push(property);
    }
    let body = titles.properties(action.get("input"), "input");
    let is_object = action.get("input").is_some_and(|input| input.get("properties").is_some());
    let placeholder = |title: &str| Value::from(format!("{{{{{title}}}}}"));
    let data = match (is_object, body.as_slice()) {
        (false, [whole]) => placeholder(&whole.title),
        _ => body.iter().map(|property| (property.name.clone(), placeholder(&property.title))).collect(),
    };
    inputs.extend(body);
    let mut headers = headers_of(form);
    if data.is_string() {
        // A text is sent as plain text otherwise.
        headers.entry("Content-Type").or_insert_with(|| "application/json".into());
    }
    let request = json!({
        "url": url, "http_method": method_of(form), "api_spec_uri": null, "data": data,
        "query_params": query_params, "headers": headers,
    });
    (inputs, request)
}

/// The template that the request of a form is made by, if its action was a RemoteTool.
fn template_of(form: &Value) -> Option<&Map<String, Value>> {
    form.get(REQUEST)?.get("@value")?.as_object()
}

/// The request as the RemoteTool had it.
fn templated(target: &Target, form: &Value, template: &Map<String, Value>) -> Value {
    let (url, query_params) = target.fill(&[]);
    let mut headers = headers_of(form);
    headers.extend(template.get("headers").and_then(Value::as_object).cloned().into_iter().flatten());
    let method = template.get("http_method").and_then(Value::as_str).unwrap_or(method_of(form));
    let data = template.get("data").cloned().unwrap_or_else(|| json!({}));
    let mut request = json!({
        "url": url, "http_method": method, "api_spec_uri": null, "data": data, "query_params": query_params,
        "headers": headers,
    });
    if let Some(allowed) = template.get("url_allow_list") {
        request["url_allow_list"] = allowed.clone();
    }
    request
}

fn method_of(form: &Value) -> &str {
    form.get("htv:methodName").and_then(Value::as_str).unwrap_or("POST")
}

/// The headers that a form lists, and its media type.
fn headers_of(form: &Value) -> Map<String, Value> {
    let mut headers = Map::new();
    if let Some(media_type) = text_of(form, "contentType").filter(|media_type| *media_type != "application/json") {
        headers.insert("Content-Type".to_owned(), media_type.into());
    }
    let listed = form.get("htv:headers").and_then(Value::as_array).into_iter().flatten();
    headers.extend(listed.filter_map(|header| {
        Some((text_of(header, "htv:fieldName")?.to_owned(), text_of(header, "htv:fieldValue")?.into()))
    }));
    headers
}

/// True if an action is called only once its user agrees.
fn requires_confirmation(action: &Value) -> bool {
    action.get(REQUIRES_CONFIRMATION) == Some(&Value::Bool(true))
}

fn forms(affordance: &Value) -> impl Iterator<Item = &Value> {
    affordance.get("forms").and_then(Value::as_array).into_iter().flatten()
}

fn id_of(thing: &Value) -> String {
    text_of(thing, "id").unwrap_or("thing").to_owned()
}

fn title_of(thing: &Value) -> &str {
    text_of(thing, "title").unwrap_or("thing")
}

fn text_of<'v>(owner: &'v Value, name: &str) -> Option<&'v str> {
    owner.get(name)?.as_str()
}

/// A value as it is kept in metadata.
pub(super) fn kept(thing: &Value) -> Value {
    match depth(thing) <= DEEPEST_KEPT {
        true => thing.clone(),
        false => thing.to_string().into(),
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(elements) => 1 + elements.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Syntax,
        agent_spec::{Configuration, Profile},
    };

    /// A configuration of a Thing with these actions, which is valid in both profiles.
    fn exported(actions: Value) -> Value {
        let thing = json!({"id": "urn:example:x", "title": "Thing", "base": "https://{host}/a/", "actions": actions});
        let configuration = from_thing(&thing).unwrap();
        assert_eq!(configuration["metadata"]["thingDescription"], thing);
        let read = Configuration::parse(configuration.to_string().as_bytes(), Syntax::Json, &[]).unwrap();
        for profile in [Profile::Spec, Profile::Sdk] {
            let report = read.validate(profile);
            assert!(report.is_valid(), "{profile:?}: {report}\n{configuration}");
        }
        configuration
    }

    #[test]
    fn thing_with_a_form_for_a2a_is_an_agent() {
        let input = json!({"type": "object", "properties": {"the city": {"type": "string", "unit": "x"}}});
        let agent = exported(json!({"ask": {
            "input": input, "forms": [{"href": "/b"}, {"href": "https://h/a2a", "subprotocol": "a2a"}],
        }}));
        assert_eq!((&agent["component_type"], &agent["agent_url"]), (&json!("A2AAgent"), &json!("https://h/a2a")));
        assert_eq!(agent["inputs"], json!([{"title": "the_city", "type": "string"}]));
    }

    #[test]
    fn action_with_a_form_for_mcp_is_an_mcp_tool() {
        let tool = exported(json!({"add": {
            "description": "Adds.", "input": {"type": "object", "properties": {"a": {"type": "number"}}},
            "output": {"type": "number"}, "forms": [
                {"href": "https://h/any", "subprotocol": "mcp"}, {"href": "https://h/add"},
                {"href": "https://h/list", "subprotocol": "mcp", "mcp:method": "tools/list", "mcp:tool": "none"},
                {"href": "https://h/mcp", "subprotocol": "mcp", "op": "invokeaction", "mcp:tool": "add_numbers"},
            ],
        }}));
        assert_eq!((&tool["component_type"], &tool["name"]), (&json!("MCPTool"), &json!("add_numbers")));
        assert_eq!(tool["client_transport"]["url"], "https://h/mcp");
        assert_eq!(tool["outputs"], json!([{"title": "output", "type": "number"}]));
    }

    #[test]
    fn action_that_names_no_tool_is_a_toolbox_if_there_is_no_tool() {
        let form = json!([{"href": "https://h/mcp", "subprotocol": "mcp", "mcp:transport": "sse"}]);
        let any = json!({"forms": form, "description": "Calls any tool."});
        let toolbox = exported(json!({"any": any}));
        assert_eq!((&toolbox["component_type"], &toolbox["name"]), (&json!("MCPToolBox"), &json!("any")));
        assert_eq!(toolbox["client_transport"]["component_type"], "SSETransport");
        assert_eq!((&toolbox["tool_filter"], toolbox.get("inputs")), (&Value::Null, None));
        let tool = exported(json!({"any": any, "find": {"forms": [{"href": "https://h/find"}]}}));
        assert_eq!(tool["component_type"], "RemoteTool");
    }

    #[test]
    fn tool_of_mcp_takes_the_members_of_its_object() {
        let inputs = |input: Value| {
            let form = json!([{"href": "https://h/mcp", "subprotocol": "mcp", "mcp:tool": "add"}]);
            exported(json!({"add": {"input": input, "forms": form}}))["inputs"].clone()
        };
        let city = json!({"properties": {"city": {"type": "string"}}, "required": ["city"]});
        for empty in [
            json!({"type": "object"}),
            json!({"type": "object", "additionalProperties": false}),
            json!({"type": "object", "properties": {}}),
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"oneOf": [{"type": "object", "properties": {}}, {"type": "null"}]}),
        ] {
            assert_eq!(inputs(empty.clone()), json!([]), "{empty}");
        }
        for whole in [city.clone(), json!({"type": "object", "allOf": [city]})] {
            assert_eq!(inputs(whole.clone()), json!([{"title": "city", "type": "string"}]), "{whole}");
        }
        assert_eq!(inputs(json!({"type": "string"})), json!([{"title": "input", "type": "string"}]));
    }

    #[test]
    fn schemas_are_those_that_the_thing_was_made_of() {
        let literal = json!({"@type": "@json", "@value": {"type": "object", "additionalProperties": {"type": "string"}, "minProperties": 1}});
        let union = json!({"anyOf": [{"type": "integer"}, {"type": "number"}]});
        let [a, b] = ["a", "b"].map(|name| json!({"properties": {name: {"type": "string"}}, "required": [name]}));
        let both = json!({"type": "object", "allOf": [a], "properties": b["properties"], "required": b["required"]});
        let tool = exported(json!({"add": {
            "input": {"type": "object", "required": ["kept", "union", "both"], "properties": {
                "kept": {"type": "object", "agentspec:jsonSchema": literal}, "union": union, "both": both,
            }},
            "forms": [{"href": "https://h/mcp", "subprotocol": "mcp", "mcp:tool": "add"}],
        }}));
        let properties = json!({"a": {"type": "string"}, "b": {"type": "string"}});
        let expected = json!({"type": "object", "properties": properties, "required": ["a", "b"], "title": "both"});
        assert_eq!(tool["inputs"][0], expected);
        assert_eq!(tool["inputs"][1]["minProperties"], 1);
        assert_eq!(tool["inputs"][1].get("@value"), None);
        assert_eq!(tool["inputs"][2], json!({"title": "union", "anyOf": union["anyOf"]}));
    }

    #[test]
    fn request_of_an_action_is_made_of_variables_and_input() {
        let tool = exported(json!({"write": {
            "uriVariables": {"x-y": {"type": "integer"}},
            "input": {"type": "object", "properties": {"x-y": {"oneOf": [{"type": "string"}, {"type": "null"}], "default": "1"}, "z": {}}, "required": ["z"]},
            "forms": [{"href": "b/{x-y}{?q}", "htv:methodName": "PUT", "contentType": "text/csv"}],
        }}));
        assert_eq!(tool["url"], "https://{{host}}/a/b/{{x_y}}");
        assert_eq!(tool["data"], json!({"x-y": "{{x_y_2}}", "z": "{{z}}"}));
        assert_eq!((&tool["query_params"], &tool["http_method"]), (&json!({"q": "{{q}}"}), &json!("PUT")));
        assert_eq!(tool["headers"], json!({"Content-Type": "text/csv"}));
        let titles: Vec<_> = tool["inputs"].as_array().unwrap().iter().map(|input| &input["title"]).collect();
        assert_eq!(titles, ["host", "x_y", "q", "x_y_2", "z"]);
        assert_eq!(tool["inputs"][1]["type"], "integer");
    }

    #[test]
    fn secured_action_asks_for_its_credentials() {
        for (subprotocol, open_to_all) in [("mcp", false), ("http", false), ("mcp", true), ("http", true)] {
            let thing = json!({
                "id": "urn:example:x", "title": "Thing", "security": if open_to_all { "open" } else { "token" },
                "securityDefinitions": {"open": {"scheme": "nosec"}, "token": {"scheme": "bearer"}},
                "actions": {"add": {"forms": [{"href": "https://h/add", "subprotocol": subprotocol, "mcp:tool": "add"}]}},
            });
            let tool = from_thing(&thing).unwrap();
            let caller = tool.get("client_transport").unwrap_or(&tool);
            let reference = format!("{}.sensitive_headers", caller["id"].as_str().unwrap());
            let expected = if open_to_all { json!({}) } else { json!({"$component_ref": reference}) };
            assert_eq!(caller["sensitive_headers"], expected, "{tool}");
            let read = Configuration::parse(tool.to_string().as_bytes(), Syntax::Json, &[]).unwrap();
            for profile in [Profile::Spec, Profile::Sdk] {
                assert!(read.validate(profile).is_valid(), "{profile:?}: {tool}");
            }
        }
    }

    #[test]
    fn header_that_an_input_makes_asks_for_no_credential() {
        let tool = json!({
            "component_type": "RemoteTool", "agentspec_version": "25.4.2", "id": "t", "name": "t", "description": "d",
            "inputs": [{"title": "token", "type": "string"}], "outputs": [], "url": "https://h/t", "http_method": "POST",
            "headers": {"Authorization": "Bearer {{token}}"}, "data": {}, "query_params": {},
        });
        let read = Configuration::parse(tool.to_string().as_bytes(), Syntax::Json, &[]).unwrap();
        let thing = read.to_things(&crate::agent_spec::Options::default()).unwrap().things.remove(0);
        let exported = from_thing(thing.description.value()).unwrap();
        assert_eq!((&exported["headers"], &exported["sensitive_headers"]), (&tool["headers"], &json!({})));
    }

    #[test]
    fn numbers_that_are_sent_as_text_are_warned_of() {
        let input = json!({
            "type": "object", "required": ["city"],
            "properties": {
                "city": {"type": "string"}, "days": {"type": "integer"}, "kind": {"enum": ["a", "b"]},
                "any": {"anyOf": [{"type": "string"}, {"type": "boolean"}]},
            },
        });
        let thing = json!({
            "@context": "https://www.w3.org/2022/wot/td/v1.1", "id": "urn:example:x", "title": "Thing", "security": "open",
            "securityDefinitions": {"open": {"scheme": "nosec"}},
            "actions": {
                "find": {"input": input, "forms": [{"href": "https://h/find"}]},
                "add": {"input": input, "forms": [{"href": "https://h/mcp", "subprotocol": "mcp"}]},
                "say": {"input": {"type": "string"}, "forms": [{"href": "https://h/say"}]},
                "set": {
                    "input": {"type": "object", "properties": {"t": {"type": "string"}}, "required": ["t"]},
                    "uriVariables": {"page": {"type": "integer"}}, "forms": [{"href": "https://h/set{?page}"}],
                },
            },
        });
        let made = Format::AgentSpec.export().unwrap().from_thing(&thing, None).unwrap();
        let warned = made.warnings.iter().filter(|one| one.message.contains("as text"));
        let warned: Vec<_> = warned.map(|one| one.pointer.as_str()).collect();
        // The variable of its URL is an input of the tool.
        assert!(!made.warnings.iter().any(|one| one.pointer == "/actions/set/input"), "{:?}", made.warnings);
        let find = "/actions/find/input/properties";
        assert_eq!(warned, [&format!("{find}/any"), &format!("{find}/days"), "/actions/say/input"]);
    }

    #[test]
    fn tool_keeps_what_limits_its_calls() {
        let request = json!({"@type": "@json", "@value": {"url_allow_list": ["https://h/a/"]}});
        let tool = exported(json!({"find": {
            "agentspec:requiresConfirmation": true, "forms": [{"href": "https://h/a/b", "agentspec:request": request}],
        }}));
        assert_eq!((&tool["requires_confirmation"], &tool["agentspec_version"]), (&json!(true), &json!("26.1.2")));
        assert_eq!(tool["url_allow_list"], json!(["https://h/a/"]));
    }

    #[test]
    fn request_has_the_fixed_headers_and_the_key_of_its_form() {
        let thing = json!({
            "id": "urn:example:x", "title": "Thing", "security": "key",
            "securityDefinitions": {"key": {"scheme": "apikey", "in": "query", "name": "api-key"}},
            "actions": {"find": {"forms": [{
                "href": "https://h/find{?q}", "htv:headers": [{"htv:fieldName": "X-C", "htv:fieldValue": "a"}],
            }]}},
        });
        let tool = from_thing(&thing).unwrap();
        assert_eq!((&tool["headers"], &tool["sensitive_headers"]), (&json!({"X-C": "a"}), &json!({})));
        assert_eq!(tool["query_params"], json!({"q": "{{q}}", "api-key": "{{api_key}}"}));
        let read = Configuration::parse(tool.to_string().as_bytes(), Syntax::Json, &[]).unwrap();
        for profile in [Profile::Spec, Profile::Sdk] {
            assert!(read.validate(profile).is_valid(), "{profile:?}: {tool}");
        }
    }

    #[test]
    fn several_actions_are_what_an_agent_is_specialised_with() {
        let form = json!([{"href": "x", "op": ["invokeaction"]}]);
        let parameters = exported(json!({
            "a": {"forms": form}, "b": {"input": {"type": "string", "pattern": "["}, "forms": form},
            "c": {"forms": [{"href": "mqtt://h/c"}]}, "d": {"forms": [{"href": "x", "op": "queryaction"}]},
        }));
        let tools = parameters["additional_tools"].as_array().unwrap();
        let names: Vec<_> = tools.iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(tools[1]["data"], "{{input}}");
    }

    #[test]
    fn thing_without_a_usable_form_is_not_expressible() {
        let thing = json!({"title": "Thing", "actions": {"a": {"forms": [{"href": "coap://h/x"}]}}, "properties": {}});
        assert!(matches!(from_thing(&thing), Err(Error::NotExpressible { format: "agent-spec", .. })));
        assert!(from_thing(&json!("no thing")).is_err());
    }

    #[test]
    fn description_that_is_nested_deep_is_kept_as_text() {
        let mut deep = json!(1);
        for _ in 0..60 {
            deep = json!([deep]);
        }
        let thing = json!({"title": "T", "x": deep, "actions": {"a": {"forms": [{"href": "https://h"}]}}});
        let kept = &from_thing(&thing).unwrap()["metadata"]["thingDescription"];
        assert_eq!(serde_json::from_str::<Value>(kept.as_str().unwrap()).unwrap(), thing);
    }
}
