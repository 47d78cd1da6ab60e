//! The description of an agent as its callers need it: affordances, forms, security.

use fluent_uri::{Uri, UriRef};
use serde_json::{Map, Value};

use super::{Error, Result, package};
use crate::td::Operation;

type Object = Map<String, Value>;

/// A Thing Description, parsed for calling the agent.
#[derive(Debug, Clone)]
pub struct Description {
    id: String,
    value: Value,
}

/// Target of a call: an affordance of a Thing, or the Thing itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Affordance {
    /// A property, by name.
    Property(String),
    /// An action, by name.
    Action(String),
    /// An event, by name.
    Event(String),
    /// The Thing itself. Its forms apply to all of its properties, actions, or events.
    Thing,
}

/// A way to perform operations on an affordance.
#[derive(Debug, Clone)]
pub struct Form {
    /// Affordance of the form.
    pub affordance: Affordance,
    /// Target: an absolute URI, or a URI template for an absolute URI. Relative targets are resolved against the
    /// `base`.
    pub href: String,
    /// Members of the form as found in the description, including protocol-specific terms.
    pub members: Object,
}

impl Affordance {
    /// Returns the name of the affordance, or an empty string for the Thing.
    pub fn name(&self) -> &str {
        match self {
            Affordance::Property(name) | Affordance::Action(name) | Affordance::Event(name) => name,
            Affordance::Thing => "",
        }
    }

    /// Returns the name of the description's member that contains the affordance.
    fn list(&self) -> &'static str {
        match self {
            Affordance::Property(_) => "properties",
            Affordance::Action(_) => "actions",
            Affordance::Event(_) => "events",
            Affordance::Thing => "",
        }
    }
}

impl std::fmt::Display for Affordance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Affordance::Thing => f.write_str("the Thing"),
            other => write!(f, "{}.{}", other.list(), other.name()),
        }
    }
}

impl Description {
    /// Parses a Thing Description.
    ///
    /// # Errors
    /// [`Error::InvalidDescription`] if the text is not JSON or has no `id`.
    pub fn parse(text: &str) -> Result<Description> {
        let value: Value = serde_json::from_str(text)
            .map_err(|error| Error::InvalidDescription { id: "the agent".into(), reason: error.to_string() })?;
        let id = value.get("id").and_then(Value::as_str);
        let id = id.ok_or_else(|| Error::InvalidDescription {
            id: "the agent".into(),
            reason: "it has no `id`, so it is not a Thing Description from a registry".into(),
        })?;
        Ok(Description { id: id.to_owned(), value })
    }

    /// Returns the id of the agent.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the title of the agent, or its id if it has no title.
    pub fn title(&self) -> &str {
        self.value.get("title").and_then(Value::as_str).unwrap_or(&self.id)
    }

    /// Returns the complete description.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the names of the actions, sorted.
    pub fn actions(&self) -> impl Iterator<Item = &str> {
        self.names("actions")
    }

    /// Returns the names of the events, sorted.
    pub fn events(&self) -> impl Iterator<Item = &str> {
        self.names("events")
    }

    /// Returns the names of the properties, sorted.
    pub fn properties(&self) -> impl Iterator<Item = &str> {
        self.names("properties")
    }

    /// The names of its affordances of the same kind.
    pub(super) fn alike(&self, affordance: &Affordance) -> impl Iterator<Item = &str> {
        self.names(match affordance {
            Affordance::Property(_) => "properties",
            Affordance::Action(_) => "actions",
            Affordance::Event(_) => "events",
            Affordance::Thing => "forms",
        })
    }

    fn names<'d>(&'d self, list: &str) -> impl Iterator<Item = &'d str> {
        self.value.get(list).and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.as_str())
    }

    /// Returns the definition of an affordance, or `None` if it doesn't exist. For the Thing itself, returns the
    /// complete description.
    pub fn find(&self, affordance: &Affordance) -> Option<&Value> {
        match affordance {
            Affordance::Thing => Some(&self.value),
            other => self.value.get(other.list())?.get(other.name()),
        }
    }

    /// True if the action may only be called with the user's consent (`agentspec:requiresConfirmation`, from a tool
    /// of Agent Spec). See [`Settings::confirmed`](super::Settings::confirmed).
    pub fn requires_confirmation(&self, affordance: &Affordance) -> bool {
        let flag = self.find(affordance).and_then(|found| found.get("agentspec:requiresConfirmation"));
        matches!(affordance, Affordance::Action(_)) && flag == Some(&Value::Bool(true))
    }

    /// Returns the forms of an affordance, with their targets resolved. Forms with unresolvable targets are left out.
    pub fn forms(&self, affordance: &Affordance) -> Vec<Form> {
        let forms = self.find(affordance).and_then(|found| found.get("forms")).and_then(Value::as_array);
        let forms = forms.into_iter().flatten().filter_map(Value::as_object);
        let form = |members: &Object| {
            let href = members.get("href")?.as_str()?;
            Some(Form { affordance: affordance.clone(), href: self.resolve(href)?, members: members.clone() })
        };
        forms.filter_map(form).collect()
    }

    /// Returns instructions for running and connecting to an MCP server that is published as packages for local use
    /// (`mcp:packages`), or `None` if the description has no packages.
    pub fn instructions(&self) -> Option<String> {
        package::instructions(&self.value)
    }

    /// The first variable of the `base`, against which nothing can be resolved then.
    pub(super) fn base_variable(&self) -> Option<&str> {
        let (_, inner) = self.value.get("base")?.as_str()?.split_once('{')?;
        Some(inner.split('}').next().unwrap_or(inner))
    }

    /// Converts a URL of the description to an absolute URL. Relative URLs are resolved against the `base`.
    pub(super) fn resolve(&self, url: &str) -> Option<String> {
        resolve(self.value.get("base").and_then(Value::as_str), url)
    }

    /// Returns the security definition with the given name.
    pub fn security_definition(&self, name: &str) -> Option<&Object> {
        self.value.get("securityDefinitions")?.get(name)?.as_object()
    }

    /// True if the security definition leaves the scheme open.
    pub(super) fn is_auto(&self, name: &str) -> bool {
        self.security_definition(name)
            .is_some_and(|definition| definition.get("scheme").is_some_and(|scheme| scheme == "auto"))
    }

    /// Returns the names of all security definitions required by a form: its own, or those of the Thing if it has
    /// none.
    pub fn security(&self, form: &Form) -> Vec<&str> {
        let own = form.members.get("security").and_then(|names| {
            // The names are those of the description's own text, which outlives the form.
            let definitions = self.value.get("securityDefinitions")?.as_object()?;
            Some(strings(names).filter_map(|name| Some(definitions.get_key_value(name)?.0.as_str())).collect())
        });
        own.unwrap_or_else(|| self.value.get("security").map(|names| strings(names).collect()).unwrap_or_default())
    }
}

impl Form {
    /// Returns the value of a member if it is a string.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.members.get(name).and_then(Value::as_str)
    }

    /// Returns the scheme of the target in lower case, such as `http`. If the origin is a variable, returns `https`.
    pub fn scheme(&self) -> String {
        if self.href.starts_with('{') {
            return "https".to_owned();
        }
        self.href.split(':').next().unwrap_or_default().to_ascii_lowercase()
    }

    /// Returns the subprotocol, such as `sse`, `longpoll`, `a2a`, `lmosprotocol`, or `mcp`.
    pub fn subprotocol(&self) -> Option<&str> {
        self.text("subprotocol")
    }

    /// Returns the media type of the request's content; `application/json` unless the form names another type.
    pub fn content_type(&self) -> &str {
        self.text("contentType").unwrap_or("application/json")
    }

    /// True if the form lists the operation. A form without listed operations has the default operations of its
    /// affordance (TD 1.1, section 5.4).
    pub fn has_operation(&self, operation: Operation) -> bool {
        match self.members.get("op") {
            Some(listed) => strings(listed).any(|listed| listed == operation.as_str()),
            None => match self.affordance {
                Affordance::Action(_) => operation == Operation::InvokeAction,
                Affordance::Property(_) => matches!(operation, Operation::ReadProperty | Operation::WriteProperty),
                Affordance::Event(_) => {
                    matches!(operation, Operation::SubscribeEvent | Operation::UnsubscribeEvent)
                }
                Affordance::Thing => false,
            },
        }
    }

    /// Returns the OAuth 2.0 scopes requested by the form.
    pub fn scopes(&self) -> impl Iterator<Item = &str> {
        self.members.get("scopes").into_iter().flat_map(strings)
    }
}

/// Iterates over a string or an array of strings.
pub(super) fn strings(value: &Value) -> impl Iterator<Item = &str> {
    let several = value.as_array().map(Vec::as_slice).unwrap_or_default();
    value.as_str().into_iter().chain(several.iter().filter_map(Value::as_str))
}

/// Resolves a target against the base. A URI template that starts with a scheme, or with a variable that may contain
/// a whole URL, is returned unchanged.
fn resolve(base: Option<&str>, href: &str) -> Option<String> {
    let has_scheme = href.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    });
    // Operators of expressions write what is within a URL (RFC 6570, section 3.2).
    let operator = href.strip_prefix('{').map(|inner| inner.chars().next().unwrap_or_default());
    if has_scheme || operator.is_some_and(|operator| !"?&#/;.".contains(operator)) {
        return Some(href.to_owned());
    }
    let base = Uri::parse(base?).ok()?;
    // Braces are not allowed in URI references: what is in them is resolved as it is.
    let (start, template) = href.split_at(href.find('{').unwrap_or(href.len()));
    let start = match operator {
        Some('/') => "/",
        Some(';' | '.') => ".",
        _ => start,
    };
    let resolved = UriRef::parse(start).ok()?.resolve_against(&base).ok()?.to_string();
    let resolved = match operator {
        Some('/') => resolved.trim_end_matches('/'),
        Some('?') => resolved.split('?').next().unwrap_or_default(),
        _ => &resolved,
    };
    Some(format!("{resolved}{template}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_absolute() {
        let base = Some("https://a.example/things/x/");
        for (href, expected) in [
            ("actions/ask", Some("https://a.example/things/x/actions/ask")),
            ("/ask{?q}", Some("https://a.example/ask{?q}")),
            ("{?q}", Some("https://a.example/things/x/{?q}")),
            ("{/q}", Some("https://a.example{/q}")),
            ("{;q}", Some("https://a.example/things/x/{;q}")),
            ("{+q}", Some("{+q}")),
            ("{q}/x", Some("{q}/x")),
            ("http://b.example/{q}", Some("http://b.example/{q}")),
            ("mqtt://b.example:1883/x", Some("mqtt://b.example:1883/x")),
            ("", Some("https://a.example/things/x/")),
        ] {
            assert_eq!(resolve(base, href).as_deref(), expected, "{href}");
        }
        assert_eq!(resolve(Some("https://a.example/x?y=1"), "{?q}").as_deref(), Some("https://a.example/x{?q}"));
        assert_eq!(resolve(None, "actions/ask"), None);
    }

    #[test]
    fn operation_of_a_form_has_defaults() {
        let text = r#"{"id": "urn:a", "title": "A", "base": "http://a.example", "security": "s",
            "securityDefinitions": {"s": {"scheme": "nosec"}, "t": {"scheme": "bearer"}},
            "actions": {"ask": {"forms": [{"href": "ask"}, {"href": "q", "op": ["queryaction"], "security": ["t"]}]}}}"#;
        let description = Description::parse(text).unwrap();
        let forms = description.forms(&Affordance::Action("ask".into()));
        assert_eq!(forms[0].href, "http://a.example/ask");
        assert!(forms[0].has_operation(Operation::InvokeAction) && !forms[0].has_operation(Operation::QueryAction));
        assert!(forms[1].has_operation(Operation::QueryAction) && !forms[1].has_operation(Operation::InvokeAction));
        assert_eq!(description.security(&forms[0]), ["s"]);
        assert_eq!(description.security(&forms[1]), ["t"]);
    }
}
