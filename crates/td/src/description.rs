//! `Description`: the description of an agent, written in Rust.
//!
//! What it makes is valid by the strict rules of Thing Descriptions, as long as its URLs are URLs and its schemas are
//! data schemas.

mod affordances;

use serde_json::{Map, Value, json};

use self::affordances::Affordance;
pub use self::affordances::{Action, Event, Form, Property};
use super::{CONTEXT_1_1, LMOS_NAMESPACE};

/// The prefix of the vocabulary of HTTP in forms.
const HTV: &str = "http://www.w3.org/2011/http#";
/// The prefix of keywords.
const SCHEMA: &str = "https://schema.org/";

/// The description of an agent: a Thing Description 1.1 with the terms of LMOS, to be registered.
///
/// ```
/// use agentdex_td::{
///     Description, Document, Identity, Strictness, admit,
///     description::{Action, Capability, Form, Security},
/// };
/// use serde_json::json;
///
/// let weather = Description::new("Weather agent")
///     .id("urn:example:weather")
///     .description("Forecasts for every city")
///     .vendor("Example", "https://example.org")
///     .tag("weather")
///     .capability(Capability::new("forecast").name("Weather forecast").example("Will it rain in Bonn?"))
///     .action(
///         Action::new("getForecast", Form::post("https://weather.example.org/forecast"))
///             .input(json!({"type": "object", "properties": {"city": {"type": "string"}}}))
///             .output(json!({"type": "string"})),
///     )
///     .security(Security::bearer());
///
/// // Nothing needs a fix.
/// let document = Document::parse(weather.to_json().as_bytes())?;
/// let admission = admit(document, Identity::Own, Strictness::Strict)?;
/// assert!(admission.warnings.is_empty());
/// # Ok::<(), agentdex_td::Error>(())
/// ```
///
/// Without [`Description::security`] it says `auto`: callers find out what is needed when they call.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a description does nothing until it is registered"]
pub struct Description {
    members: Map<String, Value>,
    prefixes: Map<String, Value>,
}

impl Description {
    /// An agent (`lmos:Agent`) with a title.
    pub fn new(title: impl Into<String>) -> Description {
        Description::of_type("lmos:Agent", title)
    }

    /// A tool (`lmos:Tool`) with a title.
    ///
    /// ```
    /// use agentdex_td::{Description, description::{Action, Form, Security}};
    ///
    /// let search = Description::tool("Web search")
    ///     .action(Action::new("search", Form::get("https://search.example/?q={words}")))
    ///     .security(Security::api_key("X-Api-Key"));
    /// assert_eq!(search.to_value()["@type"], "lmos:Tool");
    /// ```
    pub fn tool(title: impl Into<String>) -> Description {
        Description::of_type("lmos:Tool", title)
    }

    fn of_type(type_: &str, title: impl Into<String>) -> Description {
        let mut members = Map::new();
        members.insert("@type".into(), type_.into());
        members.insert("title".into(), title.into().into());
        Description { members, prefixes: Map::from_iter([("lmos".into(), LMOS_NAMESPACE.into())]) }
    }

    /// The id: an absolute URI. Without one, `register` assigns a `urn:uuid:`.
    pub fn id(self, id: impl Into<String>) -> Description {
        self.member("id", id.into())
    }

    /// Describes the agent or tool in a sentence or more. The text is searched.
    pub fn description(self, text: impl Into<String>) -> Description {
        self.member("description", text.into())
    }

    /// The version of the agent.
    pub fn version(self, version: impl Into<String>) -> Description {
        self.member("version", json!({"instance": version.into()}))
    }

    /// Sets the vendor (`lmos:vendor`), with a URL about it.
    pub fn vendor(self, name: impl Into<String>, url: impl Into<String>) -> Description {
        let vendor = json!({"lmos:name": name.into(), "lmos:url": url.into()});
        self.member("lmos:metadata", json!({"lmos:vendor": vendor}))
    }

    /// A keyword (`schema:keywords`), by which the filter `tag` finds it.
    pub fn tag(self, tag: impl Into<String>) -> Description {
        self.prefix("schema", SCHEMA).push("schema:keywords", tag.into().into())
    }

    /// Something that it can do (`lmos:capabilities`): its id, or a [`Capability`] with more.
    pub fn capability(self, capability: impl Into<Capability>) -> Description {
        self.push("lmos:capabilities", Value::Object(capability.into().0))
    }

    /// An action, with the forms that it is invoked by.
    pub fn action(self, action: Action) -> Description {
        self.affordance("actions", action.0)
    }

    /// A property, with the forms that it is read by.
    pub fn property(self, property: Property) -> Description {
        self.affordance("properties", property.0)
    }

    /// An event, with the forms that it is subscribed to by.
    pub fn event(self, event: Event) -> Description {
        self.affordance("events", event.0)
    }

    /// Adds a security scheme that callers need. If it is called more than once, callers need all of them.
    pub fn security(mut self, security: Security) -> Description {
        let Security { name, scheme } = security;
        object(self.members.entry("securityDefinitions")).insert(name.into(), scheme);
        self.push("security", name.into())
    }

    /// The URL that relative URLs of forms and links are resolved against.
    pub fn base(self, url: impl Into<String>) -> Description {
        self.member("base", url.into())
    }

    /// A link to something related, with what it is (`rel`).
    pub fn link(self, rel: impl Into<String>, href: impl Into<String>) -> Description {
        self.push("links", json!({"rel": rel.into(), "href": href.into()}))
    }

    /// After how many seconds it expires, unless it is renewed.
    pub fn ttl(self, seconds: u64) -> Description {
        self.member("registration", json!({"ttl": seconds}))
    }

    /// Another member of the Thing Description, in place of the one of that name.
    ///
    /// ```
    /// use agentdex_td::Description;
    ///
    /// let agent = Description::new("Weather agent").prefix("geo", "https://geo.example/#").member("geo:covers", "Europe");
    /// let text = agent.to_json();
    /// assert!(text.contains("\"geo\":\"https://geo.example/#\"") && text.contains("\"geo:covers\":\"Europe\""));
    /// ```
    pub fn member(mut self, name: impl Into<String>, value: impl Into<Value>) -> Description {
        self.members.insert(name.into(), value.into());
        self
    }

    /// Declares a prefix of JSON-LD for members such as `prefix:name`.
    pub fn prefix(mut self, prefix: impl Into<String>, iri: impl Into<String>) -> Description {
        self.prefixes.insert(prefix.into(), iri.into().into());
        self
    }

    /// The description as JSON text.
    pub fn to_json(&self) -> String {
        self.to_value().to_string()
    }

    /// The description as a JSON value.
    pub fn to_value(&self) -> Value {
        let mut members = self.members.clone();
        members.insert("@context".into(), json!([CONTEXT_1_1, self.prefixes]));
        if !members.contains_key("security") {
            let Security { name, scheme } = Security::auto();
            members.insert("security".into(), name.into());
            members.insert("securityDefinitions".into(), json!({name: scheme}));
        }
        Value::Object(members)
    }

    fn push(mut self, name: &str, value: Value) -> Description {
        match self.members.entry(name).or_insert_with(|| Value::Array(Vec::new())) {
            Value::Array(values) => values.push(value),
            other => *other = json!([other.take(), value]),
        }
        self
    }

    fn affordance(mut self, kind: &str, affordance: Affordance) -> Description {
        if affordance.names_method {
            self = self.prefix("htv", HTV);
        }
        object(self.members.entry(kind)).insert(affordance.name, Value::Object(affordance.members));
        self
    }
}

impl serde::Serialize for Description {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

/// The object under a member; anything else there is replaced by an empty one.
fn object<'m>(entry: serde_json::map::Entry<'m>) -> &'m mut Map<String, Value> {
    let value = entry.or_insert_with(|| Value::Object(Map::new()));
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(members) => members,
        _ => unreachable!("it was made an object"),
    }
}

/// Something that an agent can do: an entry of `lmos:capabilities`.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a capability does nothing until a description has it"]
pub struct Capability(Map<String, Value>);

impl Capability {
    /// A capability by its id, which is what filters and topics name. It is also its name unless it gets another.
    pub fn new(id: impl Into<String>) -> Capability {
        let id = Value::from(id.into());
        Capability(Map::from_iter([("id".to_owned(), id.clone()), ("name".to_owned(), id)]))
    }

    /// Its name, for people.
    pub fn name(self, name: impl Into<String>) -> Capability {
        self.member("name", name.into())
    }

    /// Describes the capability in a sentence or more.
    pub fn description(self, text: impl Into<String>) -> Capability {
        self.member("description", text.into())
    }

    /// Its version, by which ranges such as `forecast@^1.2` find it.
    pub fn version(self, version: impl Into<String>) -> Capability {
        self.member("version", version.into())
    }

    /// A request that it would answer.
    pub fn example(mut self, example: impl Into<String>) -> Capability {
        match self.0.entry("examples").or_insert_with(|| Value::Array(Vec::new())) {
            Value::Array(examples) => examples.push(example.into().into()),
            other => *other = json!([example.into()]),
        }
        self
    }

    /// The data schema of what it needs.
    pub fn input(self, schema: impl Into<Value>) -> Capability {
        self.member("input", schema)
    }

    /// The data schema of what it gives.
    pub fn output(self, schema: impl Into<Value>) -> Capability {
        self.member("output", schema)
    }

    /// Another member of the entry.
    pub fn member(mut self, name: impl Into<String>, value: impl Into<Value>) -> Capability {
        self.0.insert(name.into(), value.into());
        self
    }
}

impl From<&str> for Capability {
    fn from(id: &str) -> Capability {
        Capability::new(id)
    }
}

impl From<String> for Capability {
    fn from(id: String) -> Capability {
        Capability::new(id)
    }
}

/// A security scheme that callers need, with its name.
///
/// ```
/// use agentdex_td::{Description, description::Security};
///
/// // Both are needed.
/// let agent = Description::new("Weather agent").security(Security::api_key("X-Api-Key")).security(Security::bearer());
/// assert_eq!(agent.to_value()["security"].as_array().map(Vec::len), Some(2));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Security {
    name: &'static str,
    scheme: Value,
}

impl Security {
    fn new(name: &'static str, scheme: Value) -> Security {
        Security { name, scheme }
    }

    /// Nothing: everybody may call.
    pub fn none() -> Security {
        Security::new("nosec", json!({"scheme": "nosec"}))
    }

    /// Callers find out when they call.
    pub fn auto() -> Security {
        Security::new("auto", json!({"scheme": "auto"}))
    }

    /// A user name and a password.
    pub fn basic() -> Security {
        Security::new("basic", json!({"scheme": "basic", "in": "header"}))
    }

    /// A bearer token.
    pub fn bearer() -> Security {
        Security::new("bearer", json!({"scheme": "bearer", "in": "header"}))
    }

    /// A key in a header.
    pub fn api_key(header: impl Into<String>) -> Security {
        Security::new("apikey", json!({"scheme": "apikey", "in": "header", "name": header.into()}))
    }

    /// Client credentials of OAuth 2.0, from the token endpoint at this URL.
    pub fn oauth2_client(token_url: impl Into<String>) -> Security {
        Security::new("oauth2", json!({"scheme": "oauth2", "flow": "client", "token": token_url.into()}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Document, Strictness, assess};

    fn violations(description: &Description) -> Vec<String> {
        let document = Document::parse(description.to_json().as_bytes()).unwrap();
        let report = assess(document, Strictness::Strict);
        report.violations.iter().chain(&report.warnings).map(ToString::to_string).collect()
    }

    #[test]
    fn a_title_is_enough() {
        let none: [String; 0] = [];
        assert_eq!(violations(&Description::new("Weather agent").id("urn:a")), none);
    }

    #[test]
    fn everything_at_once_is_valid_by_the_strict_rules() {
        let form = || Form::post("forecast");
        let description = Description::tool("Weather")
            .id("urn:a")
            .base("https://weather.example.org/")
            .description("Forecasts")
            .version("1.0.0")
            .vendor("Example", "https://example.org")
            .tag("weather")
            .tag("beta")
            .capability("forecast")
            .capability(
                Capability::new("warn")
                    .name("Warnings")
                    .description("Warns of storms")
                    .version("1.2.0")
                    .example("Is there a storm?")
                    .example("Will it hail?")
                    .input(json!({"type": "string"}))
                    .output(json!({"type": "string"})),
            )
            .action(
                Action::new("getForecast", form())
                    .title("Forecast")
                    .description("A forecast")
                    .form(Form::new("https://weather.example.org/a2a").subprotocol("a2a")),
            )
            .property(Property::new("state", json!({"type": "string"}), Form::get("state")))
            .event(Event::new("storm", json!({"type": "string"}), Form::new("storms").subprotocol("sse")))
            .security(Security::bearer())
            .security(Security::api_key("X-Key"))
            .link("service-doc", "https://example.org/manual")
            .ttl(60)
            .prefix("ex", "https://example.org/terms#")
            .member("ex:note", "hello");
        let none: [String; 0] = [];
        assert_eq!(violations(&description), none);
        for security in
            [Security::none(), Security::auto(), Security::basic(), Security::oauth2_client("https://example.org/t")]
        {
            let description = Description::new("A").id("urn:a").security(security.clone());
            assert_eq!(violations(&description), none, "{security:?}");
        }
    }

    #[test]
    fn a_method_declares_its_prefix() {
        let context = |form| Description::new("A").action(Action::new("a", form)).to_value()["@context"][1].clone();
        assert_eq!(context(Form::get("https://a.example"))["htv"], HTV);
        assert_eq!(context(Form::new("https://a.example")).get("htv"), None);
    }
}
