//! `Description`: a builder for the description of an agent.
//!
//! The result passes strict validation if its URLs are valid URLs and its schemas valid data schemas.

mod affordances;

use serde_json::{Map, Value, json};

use self::affordances::Affordance;
pub use self::affordances::{Action, Event, Form, Property};
use super::{CONTEXT_1_1, LMOS_NAMESPACE};

/// The prefix of the vocabulary of HTTP in forms.
const HTV: &str = "http://www.w3.org/2011/http#";
/// The prefix of keywords.
const SCHEMA: &str = "https://schema.org/";

/// Builder for the description of an agent: a Thing Description 1.1 with the LMOS vocabulary, ready to be registered.
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
/// Without [`Description::security`], the scheme is `auto`: callers negotiate security when they call.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a description does nothing until it is registered"]
pub struct Description {
    members: Map<String, Value>,
    prefixes: Map<String, Value>,
}

impl Description {
    /// Creates the description of an agent (`lmos:Agent`) with a title.
    pub fn new(title: impl Into<String>) -> Description {
        Description::of_type("lmos:Agent", title)
    }

    /// Creates the description of a tool (`lmos:Tool`) with a title.
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

    /// Sets the id, an absolute URI. Without an id, the registry assigns a `urn:uuid:`.
    pub fn id(self, id: impl Into<String>) -> Description {
        self.member("id", id.into())
    }

    /// Sets the description, a sentence or more. Searches find its words.
    pub fn description(self, text: impl Into<String>) -> Description {
        self.member("description", text.into())
    }

    /// Sets the version of the agent.
    pub fn version(self, version: impl Into<String>) -> Description {
        self.member("version", json!({"instance": version.into()}))
    }

    /// Sets the vendor (`lmos:vendor`), with the URL of its website.
    pub fn vendor(self, name: impl Into<String>, url: impl Into<String>) -> Description {
        let vendor = json!({"lmos:name": name.into(), "lmos:url": url.into()});
        self.member("lmos:metadata", json!({"lmos:vendor": vendor}))
    }

    /// Adds a keyword (`schema:keywords`), which the search filter `tag` matches.
    pub fn tag(self, tag: impl Into<String>) -> Description {
        self.prefix("schema", SCHEMA).push("schema:keywords", tag.into().into())
    }

    /// Adds a capability (`lmos:capabilities`): an id, or a [`Capability`] with further members.
    pub fn capability(self, capability: impl Into<Capability>) -> Description {
        self.push("lmos:capabilities", Value::Object(capability.into().0))
    }

    /// Adds an action.
    pub fn action(self, action: Action) -> Description {
        self.affordance("actions", action.0)
    }

    /// Adds a property.
    pub fn property(self, property: Property) -> Description {
        self.affordance("properties", property.0)
    }

    /// Adds an event.
    pub fn event(self, event: Event) -> Description {
        self.affordance("events", event.0)
    }

    /// Adds a required security scheme. If several schemes are added, callers of the agent must satisfy all of them. A
    /// second scheme of the same kind, such as a second API key, replaces the first.
    pub fn security(mut self, security: Security) -> Description {
        let Security { name, scheme } = security;
        object(self.members.entry("securityDefinitions")).insert(name.into(), scheme);
        self.push("security", name.into())
    }

    /// Sets the base URL for relative URLs in forms and links.
    pub fn base(self, url: impl Into<String>) -> Description {
        self.member("base", url.into())
    }

    /// Adds a link with a relation type (`rel`), such as `license`.
    pub fn link(self, rel: impl Into<String>, href: impl Into<String>) -> Description {
        self.push("links", json!({"rel": rel.into(), "href": href.into()}))
    }

    /// Sets the time to live in seconds, after which the agent expires unless it is renewed.
    pub fn ttl(self, seconds: u64) -> Description {
        self.member("registration", json!({"ttl": seconds}))
    }

    /// Sets any member of the Thing Description except `@context`, replacing a member of the same name.
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

    /// Declares a JSON-LD prefix for members such as `prefix:name`.
    pub fn prefix(mut self, prefix: impl Into<String>, iri: impl Into<String>) -> Description {
        self.prefixes.insert(prefix.into(), iri.into().into());
        self
    }

    /// Returns the description as JSON text.
    pub fn to_json(&self) -> String {
        self.to_value().to_string()
    }

    /// Returns the description as a JSON value.
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

/// Builder for a capability of an agent, an entry of `lmos:capabilities`.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a capability does nothing until a description has it"]
pub struct Capability(Map<String, Value>);

impl Capability {
    /// Creates a capability with an id, which filters and topics refer to. The id is also its name, unless
    /// [`Capability::name`] sets another.
    pub fn new(id: impl Into<String>) -> Capability {
        let id = Value::from(id.into());
        Capability(Map::from_iter([("id".to_owned(), id.clone()), ("name".to_owned(), id)]))
    }

    /// Sets the name shown to people.
    pub fn name(self, name: impl Into<String>) -> Capability {
        self.member("name", name.into())
    }

    /// Sets the description, a sentence or more.
    pub fn description(self, text: impl Into<String>) -> Capability {
        self.member("description", text.into())
    }

    /// Sets the version. Searches can require a range of versions, such as `forecast@^1.2`.
    pub fn version(self, version: impl Into<String>) -> Capability {
        self.member("version", version.into())
    }

    /// Adds an example of a request.
    pub fn example(mut self, example: impl Into<String>) -> Capability {
        match self.0.entry("examples").or_insert_with(|| Value::Array(Vec::new())) {
            Value::Array(examples) => examples.push(example.into().into()),
            other => *other = json!([example.into()]),
        }
        self
    }

    /// Sets the data schema of the input.
    pub fn input(self, schema: impl Into<Value>) -> Capability {
        self.member("input", schema)
    }

    /// Sets the data schema of the output.
    pub fn output(self, schema: impl Into<Value>) -> Capability {
        self.member("output", schema)
    }

    /// Sets any member of the entry.
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

/// A named security scheme.
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

    /// Requires no authentication.
    pub fn none() -> Security {
        Security::new("nosec", json!({"scheme": "nosec"}))
    }

    /// Leaves security to negotiation when the agent is called.
    pub fn auto() -> Security {
        Security::new("auto", json!({"scheme": "auto"}))
    }

    /// Requires a user name and a password (HTTP Basic).
    pub fn basic() -> Security {
        Security::new("basic", json!({"scheme": "basic", "in": "header"}))
    }

    /// Requires a bearer token.
    pub fn bearer() -> Security {
        Security::new("bearer", json!({"scheme": "bearer", "in": "header"}))
    }

    /// Requires an API key in the given header.
    pub fn api_key(header: impl Into<String>) -> Security {
        Security::new("apikey", json!({"scheme": "apikey", "in": "header", "name": header.into()}))
    }

    /// Requires an OAuth 2.0 token of the client credentials flow; `token_url` is the token endpoint.
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
