//! Requests of tools called over HTTP: RemoteTool and ApiNode.
//!
//! The action takes the inputs of the tool. The form describes how a request is built from them: inputs in the URL are
//! variables of its URI template. All other parts of the request that contain inputs are members of
//! `agentspec:request`, named and written as in the configuration (Agent Spec, "Remote Tools"):
//!
//! | member | content |
//! |---|---|
//! | `http_method` | the method, if it contains inputs |
//! | `headers` | the headers whose names or values contain inputs |
//! | `url_allow_list` | the URLs that may be called, if they are restricted |
//! | `data` | the body, unless it is empty: a text unchanged, all other values as JSON or as a form |

use std::{borrow::Cow, collections::HashSet};

use serde_json::{Map, Value, json};

use super::{
    super::terms::REQUEST,
    Mapper, Target,
    data_schema::{DataSchemas, json_literal},
    endpoint::{Endpoint, is_hidden, is_sent, text_of, variable_name},
};
use crate::{
    agent_spec::{
        findings::Findings,
        graph::Key,
        inference::Side,
        placeholders::{Collected, Piece, Within, names, pieces},
        references::REFERENCE,
        types::Call,
    },
    redaction::{REDACTED, is_stand_in, secrecy_of},
    td::internal::{origin_variable, push_token},
    thing_builder::form,
};

type Object = Map<String, Value>;

impl<'d> Mapper<'_, 'd> {
    pub(super) fn request_endpoint(&self, key: Key) -> Option<Endpoint> {
        self.text(key, "http_method").filter(|method| is_method(method))?;
        let mut endpoint = Endpoint::of_template(self.text(key, "url")?)?;
        endpoint.credentials.user_info |= self.had_user_info(key, "url");
        if let Some(Value::Object(parameters)) = self.field(key, "query_params") {
            endpoint.add_parameters(parameters);
        }
        endpoint.credentials.members = self.shown_body(key).map(|(_, members)| members).unwrap_or_default();
        Some(endpoint)
    }

    /// The members of an action that sends a request: input, output, variables of the URL, `safe` and `idempotent`.
    pub(super) fn request_members(
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
            ("input", self.request_input(schemas, key, endpoint)),
            ("output", self.data(schemas, key, Side::Outputs)),
        ]
    }

    /// The inputs of the tool. Those that are only in headers that grant access need not be given: a credential for the
    /// security scheme takes the place of such a header.
    fn request_input(&self, schemas: &mut DataSchemas, key: Key, endpoint: &Endpoint) -> Option<Value> {
        let mut input = self.data(schemas, key, Side::Inputs)?;
        let access: HashSet<&str> =
            self.open_headers(key).filter(|(name, _)| is_access(name)).flat_map(|(_, value)| names_in(value)).collect();
        if let (false, Some(required)) = (access.is_empty(), input.get("required").and_then(Value::as_array)) {
            let mut elsewhere: HashSet<&str> = endpoint.variables.names().iter().map(String::as_str).collect();
            elsewhere.extend(self.text(key, "http_method").into_iter().flat_map(names));
            let others = self.open_headers(key).filter(|(name, _)| !is_access(name));
            elsewhere.extend(others.flat_map(|(name, value)| names(name).chain(names_in(value))));
            let mut body = Collected::default();
            self.request_body(key).into_iter().for_each(|data| body.add(data, Within::NamesAndValues));
            elsewhere.extend(body.into_names());
            let is_needed =
                |name: &&Value| name.as_str().is_none_or(|name| elsewhere.contains(name) || !access.contains(name));
            let required: Vec<Value> = required.iter().filter(is_needed).cloned().collect();
            match required.is_empty() {
                true => drop(input.as_object_mut().and_then(|input| input.remove("required"))),
                false => input["required"] = required.into(),
            }
        }
        Some(input)
    }

    /// The body of a request, if it has one.
    pub(in super::super) fn request_body(&self, key: Key) -> Option<&'d Value> {
        self.field(key, "data").filter(|data| !is_empty(data))
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

    /// The form of a request.
    pub(super) fn request_form(&self, key: Key, href: &str) -> Object {
        let mut form = form("invokeaction", href);
        form.insert("contentType".to_owned(), self.content_type(key).into());
        let mut template = Object::new();
        if let Some(method) = self.text(key, "http_method") {
            match names(method).next() {
                None => drop(form.insert("htv:methodName".to_owned(), method.to_ascii_uppercase().into())),
                Some(_) => drop(template.insert("http_method".to_owned(), method.into())),
            }
        }
        let shown = self.headers(key).filter(|(name, value)| {
            let is_open = names(name).chain(names(value)).next().is_some();
            !is_open && !name.eq_ignore_ascii_case("content-type") && !is_access(name) && !is_stand_in(value)
        });
        let shown: Vec<Value> =
            shown.map(|(name, value)| json!({"htv:fieldName": name, "htv:fieldValue": value})).collect();
        if !shown.is_empty() {
            form.insert("htv:headers".to_owned(), shown.into());
        }
        let text = |value: &Value| text_of(value).map_or_else(|| value.clone(), Value::from);
        let open: Object = self.open_headers(key).map(|(name, value)| (name.to_owned(), text(value))).collect();
        if !open.is_empty() {
            template.insert("headers".to_owned(), open.into());
        }
        if let Some((data, _)) = self.shown_body(key) {
            template.insert("data".to_owned(), data);
        }
        if let Some(allowed) = self.field(key, "url_allow_list").filter(|allowed| !allowed.is_null()) {
            template.insert("url_allow_list".to_owned(), allowed.clone());
        }
        form.insert(REQUEST.to_owned(), json_literal(&template.into()));
        form
    }

    /// The body of a request without the values that were hidden in it, and JSON Pointers to where those were.
    fn shown_body(&self, key: Key) -> Option<(Value, Vec<String>)> {
        let mut body = self.request_body(key)?.clone();
        let spot = self.graph.at(key).member("data");
        let hidden = self.hidden.iter().filter(|_| spot.document == 0);
        let hidden = hidden.filter_map(|hidden| hidden.pointer.strip_prefix(&spot.pointer)).collect();
        let mut taken = HiddenMembers { hidden, pointer: String::new(), places: Vec::new() };
        taken.take_within(&mut body);
        Some((body, taken.places))
    }

    fn all_headers(&self, key: Key) -> impl Iterator<Item = (&'d str, &'d Value)> {
        let headers = self.field(key, "headers").and_then(Value::as_object).into_iter().flatten();
        headers.map(|(name, value)| (name.as_str(), value))
    }

    /// The headers with their values as text.
    fn headers(&self, key: Key) -> impl Iterator<Item = (&'d str, Cow<'d, str>)> {
        self.all_headers(key).filter_map(|(name, value)| Some((name, text_of(value)?)))
    }

    /// The headers that are made of inputs.
    fn open_headers(&self, key: Key) -> impl Iterator<Item = (&'d str, &'d Value)> {
        self.all_headers(key).filter(|(name, value)| names(name).chain(names_in(value)).next().is_some())
    }

    /// Reports what can't be sent as the configuration says: headers and parameters that are neither texts nor numbers, and a
    /// URL whose host is made of inputs. Also reports certificates that need not be verified.
    pub(super) fn warn_of_request(&self, key: Key, target: Option<&Target>, findings: &mut Findings) {
        if let Some(connection) = self.connection(key)
            && self.field(connection, "verify") == Some(&Value::Bool(false))
        {
            let spot = || self.graph.at(connection).member("verify");
            findings.warning(spot, "option-unused", || "this option is not used: calls always verify certificates");
        }
        let Some(Target::Own(endpoint)) = target.filter(|_| self.call(key) == Call::Request) else { return };
        for (name, _) in self.all_headers(key).filter(|(_, value)| text_of(value).is_none() && !value.is_null()) {
            let spot = || self.graph.at(key).member("headers").member(name);
            let message = "the header is not sent: its value is neither a string nor a number";
            findings.warning(spot, "header-not-sent", || message);
        }
        let parameters = self.field(key, "query_params").and_then(Value::as_object).into_iter().flatten();
        for (name, _) in parameters.filter(|(_, value)| !is_sent(value) && !is_hidden(value)) {
            let spot = || self.graph.at(key).member("query_params").member(name);
            let message = "the parameter is not sent: its value is not a string, a number, or a list of these";
            findings.warning(spot, "parameter-not-sent", || message);
        }
        if let Some(name) = origin_variable(&endpoint.href) {
            let spot = || self.graph.at(key).member("url");
            let message = || {
                format!(
                    "the tool can't be called: the input {name:?} would select the server; write the host into the URL"
                )
            };
            findings.warning(spot, "open-host", message);
        }
    }

    fn content_type(&self, key: Key) -> Cow<'d, str> {
        let mut types = self.headers(key).filter(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        let is_media_type = |value: &str| {
            let name = value.split(';').next().unwrap_or_default().trim();
            name.contains('/') && !name.contains(' ') && names(value).next().is_none()
        };
        let of_data =
            if self.request_body(key).is_some_and(Value::is_string) { "text/plain" } else { "application/json" };
        types.next().map(|(_, value)| value).filter(|value| is_media_type(value)).unwrap_or(of_data.into())
    }
}

/// Values of a body that were hidden, while they are taken out of it.
struct HiddenMembers<'h> {
    /// JSON Pointers to all that was hidden, or had something in it that was.
    hidden: HashSet<&'h str>,
    /// The position of the walk.
    pointer: String,
    /// JSON Pointers to what was taken out.
    places: Vec<String>,
}

impl HiddenMembers<'_> {
    fn take_within(&mut self, value: &mut Value) {
        match value {
            Value::Object(members) => members.retain(|name, member| !self.at(name, |taken| taken.is_taken(member))),
            Value::Array(elements) => {
                for (index, element) in elements.iter_mut().enumerate() {
                    // Those after it stay where they are.
                    if self.at(&index.to_string(), |taken| taken.is_taken(element)) {
                        *element = Value::Null;
                    }
                }
            }
            _ => {}
        }
    }

    fn at(&mut self, token: &str, walk: impl FnOnce(&mut Self) -> bool) -> bool {
        let length = self.pointer.len();
        push_token(&mut self.pointer, token);
        let is_taken = walk(self);
        self.pointer.truncate(length);
        is_taken
    }

    /// True for a value that was hidden as a whole, or whose text has something hidden in it: whoever calls the tool has the
    /// whole text. Where an input is in it too, or leads to it, no credential can take its place: such a call is refused.
    fn is_taken(&mut self, value: &mut Value) -> bool {
        let (is_hidden, text) = match value {
            Value::String(text) => (*text == REDACTED || self.hidden.contains(self.pointer.as_str()), text.as_str()),
            Value::Object(members) => (members.len() == 1 && members.get(REFERENCE).is_some_and(Value::is_string), ""),
            _ => (false, ""),
        };
        if !is_hidden {
            self.take_within(value);
            return false;
        }
        let is_open = names(text).chain(names(&self.pointer)).next().is_some();
        match is_open {
            true => *value = REDACTED.into(),
            false => self.places.push(self.pointer.clone()),
        }
        !is_open
    }
}

/// True if a header grants access, which security schemes say.
pub(super) fn is_access(name: &str) -> bool {
    name.eq_ignore_ascii_case("cookie") || secrecy_of(name).is_some()
}

fn names_in(value: &Value) -> impl Iterator<Item = &str> {
    value.as_str().into_iter().flat_map(names)
}

fn is_empty(data: &Value) -> bool {
    match data {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// True if this is the name of a method, or becomes one once its inputs are known.
fn is_method(method: &str) -> bool {
    let is_of_name = |piece: &Piece<'_>| match piece {
        Piece::Literal(literal) => literal.bytes().all(|byte| byte.is_ascii_alphabetic()),
        Piece::Name(_) => true,
    };
    !method.is_empty() && pieces(method).iter().all(is_of_name)
}

fn has_parts(schema: &Value) -> bool {
    let is_part = |name: &Value| matches!(name.as_str(), Some("object" | "array"));
    match schema.get("type") {
        Some(Value::Array(names)) => names.iter().any(is_part),
        Some(name) => is_part(name),
        None => ["properties", "items", "$ref"].into_iter().any(|keyword| schema.get(keyword).is_some()),
    }
}
