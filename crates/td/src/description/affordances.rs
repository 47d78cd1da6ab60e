//! Affordances of an agent (actions, properties, events), and their forms.

use serde_json::{Map, Value, json};

/// The common part of actions, properties and events.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Affordance {
    pub name: String,
    pub members: Map<String, Value>,
    /// True if a form specifies its HTTP method. The description then declares the prefix of that member.
    pub names_method: bool,
}

impl Affordance {
    fn new(name: String, members: Map<String, Value>, form: Form) -> Affordance {
        Affordance { name, members, names_method: false }.form(form)
    }

    fn form(mut self, form: Form) -> Affordance {
        self.names_method |= form.0.contains_key("htv:methodName");
        match self.members.entry("forms").or_insert_with(|| Value::Array(Vec::new())) {
            Value::Array(forms) => forms.push(Value::Object(form.0)),
            other => *other = json!([form.0]),
        }
        self
    }

    fn member(mut self, name: impl Into<String>, value: impl Into<Value>) -> Affordance {
        self.members.insert(name.into(), value.into());
        self
    }
}

/// Builder for an action: a function that callers invoke.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "an action does nothing until a description has it"]
pub struct Action(pub(super) Affordance);

impl Action {
    /// Creates an action with a name and a form to invoke it.
    pub fn new(name: impl Into<String>, form: Form) -> Action {
        Action(Affordance::new(name.into(), Map::new(), form))
    }

    /// Sets the data schema of the input.
    pub fn input(self, schema: impl Into<Value>) -> Action {
        self.member("input", schema)
    }

    /// Sets the data schema of the output.
    pub fn output(self, schema: impl Into<Value>) -> Action {
        self.member("output", schema)
    }

    /// Sets the title shown to people.
    pub fn title(self, title: impl Into<String>) -> Action {
        self.member("title", title.into())
    }

    /// Sets the description of the action and its effect.
    pub fn description(self, text: impl Into<String>) -> Action {
        self.member("description", text.into())
    }

    /// Adds another form to invoke the action.
    pub fn form(self, form: Form) -> Action {
        Action(self.0.form(form))
    }

    /// Sets any other member, such as `safe` or `idempotent`.
    pub fn member(self, name: impl Into<String>, value: impl Into<Value>) -> Action {
        Action(self.0.member(name, value))
    }
}

/// Builder for a property: state that callers read.
///
/// ```
/// use agentdex_td::{Description, description::{Form, Property}};
/// use serde_json::json;
///
/// let coverage = Property::new("coverage", json!({"type": "string"}), Form::get("https://weather.example/coverage"));
/// let agent = Description::new("Weather agent").property(coverage).to_value();
/// assert_eq!(agent["properties"]["coverage"]["type"], "string");
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a property does nothing until a description has it"]
pub struct Property(pub(super) Affordance);

impl Property {
    /// Creates a property with a name, the data schema of its value, and a form to read it. The schema is a JSON
    /// object. The property is read-only, unless [`Property::member`] sets `readOnly` to `false`.
    pub fn new(name: impl Into<String>, schema: impl Into<Value>, form: Form) -> Property {
        let members = match schema.into() {
            Value::Object(members) => members,
            _ => Map::new(),
        };
        Property(Affordance::new(name.into(), members, form).member("readOnly", true))
    }

    /// Adds another form to read the property.
    pub fn form(self, form: Form) -> Property {
        Property(self.0.form(form))
    }

    /// Sets any other member, such as `title`, `readOnly`, or `observable`.
    pub fn member(self, name: impl Into<String>, value: impl Into<Value>) -> Property {
        Property(self.0.member(name, value))
    }
}

/// Builder for an event: a source of notifications for subscribers.
///
/// ```
/// use agentdex_td::{Description, description::{Event, Form}};
/// use serde_json::json;
///
/// let form = Form::get("https://weather.example/warnings").subprotocol("sse");
/// let agent = Description::new("Weather agent").event(Event::new("warning", json!({"type": "string"}), form)).to_value();
/// assert_eq!(agent["events"]["warning"]["forms"][0]["subprotocol"], "sse");
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use = "an event does nothing until a description has it"]
pub struct Event(pub(super) Affordance);

impl Event {
    /// Creates an event with a name, the data schema of its notifications, and a form to subscribe to it.
    pub fn new(name: impl Into<String>, data: impl Into<Value>, form: Form) -> Event {
        Event(Affordance::new(name.into(), Map::new(), form).member("data", data))
    }

    /// Adds another form to subscribe to the event.
    pub fn form(self, form: Form) -> Event {
        Event(self.0.form(form))
    }

    /// Sets any other member, such as `title` or `description`.
    pub fn member(self, name: impl Into<String>, value: impl Into<Value>) -> Event {
        Event(self.0.member(name, value))
    }
}

/// Builder for a form: the URL, method, and media type of a request.
///
/// ```
/// use agentdex_td::description::Form;
///
/// let http = Form::post("https://weather.example.org/forecast");
/// let a2a = Form::new("https://weather.example.org/a2a").subprotocol("a2a");
/// assert_ne!(http, a2a);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Form(Map<String, Value>);

impl Form {
    /// Creates a form with a URL, absolute or relative to [`Description::base`](super::Description::base). Requests and
    /// responses are JSON unless [`Form::content_type`] sets another type.
    pub fn new(href: impl Into<String>) -> Form {
        Form(Map::from_iter([
            ("href".to_owned(), href.into().into()),
            ("contentType".to_owned(), "application/json".into()),
        ]))
    }

    /// Creates a form for a GET request.
    pub fn get(href: impl Into<String>) -> Form {
        Form::new(href).member("htv:methodName", "GET")
    }

    /// Creates a form for a POST request.
    pub fn post(href: impl Into<String>) -> Form {
        Form::new(href).member("htv:methodName", "POST")
    }

    /// Sets the subprotocol, such as `sse`, `a2a`, or `lmosprotocol`.
    pub fn subprotocol(self, name: impl Into<String>) -> Form {
        self.member("subprotocol", name.into())
    }

    /// Sets the media type of requests and responses.
    pub fn content_type(self, media_type: impl Into<String>) -> Form {
        self.member("contentType", media_type.into())
    }

    /// Sets any other member, such as `op`.
    pub fn member(mut self, name: impl Into<String>, value: impl Into<Value>) -> Form {
        self.0.insert(name.into(), value.into());
        self
    }
}
