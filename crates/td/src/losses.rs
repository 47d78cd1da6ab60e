//! `Losses`: content of a description that is missing from another description of the same Thing.

use std::{collections::HashSet, fmt};

use fluent_uri::{Iri, IriRef};
use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

/// Members of affordances with their data.
const DATA: [&str; 6] = ["input", "output", "uriVariables", "subscription", "data", "cancellation"];
/// Members of a Thing that are compared by what is in them, or that say nothing of it that could be lost.
const COMPARED: [&str; 16] = [
    "@context",
    "@type",
    "id",
    "title",
    "version",
    "created",
    "modified",
    "base",
    "actions",
    "properties",
    "events",
    "forms",
    "links",
    "security",
    "securityDefinitions",
    "registration",
];
/// The most names of a kind in a message, and the most characters of each.
const MOST_NAMED: usize = 20;
const LONGEST_NAME: usize = 200;

/// Affordances, forms, security definitions, and other members of a Thing Description that another description lacks.
///
/// A form is the same if it has the same URL, operations, subprotocol, content type, and protocol-specific members. A
/// security definition is the same even under another name. The scheme `auto` requires nothing in particular, so its
/// removal is no loss.
///
/// ```
/// use agentdex_td::Losses;
/// use serde_json::json;
///
/// let before = json!({"actions": {"forecast": {"forms": [{"href": "https://weather.example/"}]}, "warn": {}}});
/// let after = json!({"actions": {"forecast": {"forms": [{"href": "https://weather.example/v2"}]}}});
/// let losses = Losses::between(&before, &after);
/// assert_eq!(losses.to_string(), "the action warn and the form of actions.forecast to https://weather.example/");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Losses {
    /// Names of missing actions.
    pub actions: Vec<String>,
    /// Names of missing properties.
    pub properties: Vec<String>,
    /// Names of missing events.
    pub events: Vec<String>,
    /// Missing forms of the Thing, and of affordances contained in both descriptions, such as
    /// `actions.forecast to https://weather.example/`.
    pub forms: Vec<String>,
    /// Names of missing security definitions.
    pub security_definitions: Vec<String>,
    /// Missing members of other kinds, such as `support`, `actions.forecast.input`, and
    /// `links to https://weather.example/license`.
    pub members: Vec<String>,
}

impl Losses {
    /// Returns the content of `before` that is missing from `after`.
    pub fn between(before: &Value, after: &Value) -> Losses {
        let (before, after) = (Thing::new(before), Thing::new(after));
        let mut losses = Losses::default();
        losses.actions = losses.missing_affordances("actions", &before, &after);
        losses.properties = losses.missing_affordances("properties", &before, &after);
        losses.events = losses.missing_affordances("events", &before, &after);
        losses.add_forms("", before.members, after.members, [&before, &after]);
        losses.security_definitions = missing_definitions(&before, &after);
        losses.members.extend(missing_members(&before, &after));
        losses
    }

    /// True if nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.kinds().iter().all(|(_, names)| names.is_empty())
    }

    /// Returns the losses as members of a problem document: `actions`, `properties`, `events`, `forms`,
    /// `securityDefinitions`, and `members`, each a list of up to 20 names. Empty lists are omitted.
    pub fn to_members(&self) -> Map<String, Value> {
        let members = ["actions", "properties", "events", "forms", "securityDefinitions", "members"];
        let missing = members.into_iter().zip(self.kinds()).filter(|(_, (_, names))| !names.is_empty());
        missing.map(|(member, (_, names))| (member.to_owned(), first(names).collect())).collect()
    }

    fn kinds(&self) -> [(&'static str, &[String]); 6] {
        [
            ("action", &self.actions),
            ("property", &self.properties),
            ("event", &self.events),
            ("form", &self.forms),
            ("security definition", &self.security_definitions),
            ("member", &self.members),
        ]
    }

    /// The names of missing affordances of a kind. Forms of those that are there are compared.
    fn missing_affordances(&mut self, kind: &str, before: &Thing<'_>, after: &Thing<'_>) -> Vec<String> {
        let mut missing = Vec::new();
        for (name, was) in before.object(kind).into_iter().flatten() {
            match after.object(kind).and_then(|all| all.get(name)) {
                None => missing.push(name.clone()),
                Some(is) => {
                    let place = format!("{kind}.{name}");
                    self.add_forms(&place, was.as_object(), is.as_object(), [before, after]);
                    let lacks = |member: &&str| was.get(*member).is_some() && is.get(*member).is_none();
                    self.members.extend(DATA.into_iter().filter(lacks).map(|member| format!("{place}.{member}")));
                }
            }
        }
        missing
    }

    fn add_forms(&mut self, place: &str, was: Option<&Object>, is: Option<&Object>, things: [&Thing<'_>; 2]) {
        let [before, after] = things;
        let known: HashSet<String> = forms(is).map(|form| after.key(place, form)).collect();
        let missing = forms(was).filter(|form| !known.contains(&before.key(place, form)));
        let place = if place.is_empty() { "the Thing" } else { place };
        self.forms.extend(missing.map(|form| format!("{place} to {}", text(form, "href").unwrap_or_default())));
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing = self.kinds().into_iter().filter(|(_, names)| !names.is_empty());
        let parts: Vec<String> = missing.map(|(kind, names)| part(kind, names)).collect();
        match parts.as_slice() {
            [] => f.write_str("nothing"),
            [only] => f.write_str(only),
            [rest @ .., last] => write!(f, "{} and {last}", rest.join(", ")),
        }
    }
}

/// The first names of one kind, with the number of others.
fn part(kind: &str, names: &[String]) -> String {
    let plural = match kind.strip_suffix('y') {
        _ if names.len() == 1 => kind.to_owned(),
        Some(start) => format!("{start}ies"),
        None => format!("{kind}s"),
    };
    let of = if kind == "form" { " of" } else { "" };
    // Without quotes, `links` reads as a verb.
    let quoted = |name: String| match name.strip_prefix("links to ") {
        Some(href) if kind == "member" => format!("`links` to {href}"),
        _ => name,
    };
    let shown: Vec<String> = first(names).map(quoted).collect();
    let more = names.len().saturating_sub(MOST_NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("the {plural}{of} {}{more}", shown.join(", "))
}

fn first(names: &[String]) -> impl Iterator<Item = String> {
    names.iter().take(MOST_NAMED).map(|name| name.chars().take(LONGEST_NAME).collect())
}

/// A description that is compared.
struct Thing<'t> {
    members: Option<&'t Object>,
    base: &'t str,
}

impl<'t> Thing<'t> {
    fn new(description: &'t Value) -> Thing<'t> {
        let members = description.as_object();
        Thing { members, base: members.and_then(|members| text(members, "base")).unwrap_or_default() }
    }

    fn object(&self, name: &str) -> Option<&'t Object> {
        self.members?.get(name)?.as_object()
    }

    /// The identity of a form, with the defaults of TD 1.1, section 5.4.
    fn key(&self, place: &str, form: &Object) -> String {
        let href = resolved(text(form, "href").unwrap_or_default(), self.base);
        let mut operations: Vec<&str> = match form.get("op") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
            _ => default_operations(place),
        };
        operations.sort_unstable();
        let content_type = text(form, "contentType").unwrap_or("application/json");
        // Members of the protocol, such as the method of HTTP or the topic of MQTT.
        let binding: Object = form
            .iter()
            .filter(|(name, _)| name.contains(':'))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        json!([href, operations, content_type, text(form, "subprotocol"), binding]).to_string()
    }
}

fn default_operations(place: &str) -> Vec<&'static str> {
    match place.split('.').next() {
        Some("actions") => vec!["invokeaction"],
        Some("properties") => vec!["readproperty", "writeproperty"],
        Some("events") => vec!["subscribeevent", "unsubscribeevent"],
        _ => Vec::new(),
    }
}

fn missing_definitions(before: &Thing<'_>, after: &Thing<'_>) -> Vec<String> {
    let (was, is) = (before.object("securityDefinitions"), after.object("securityDefinitions"));
    let known: HashSet<String> = is.into_iter().flatten().map(|(_, definition)| definition.to_string()).collect();
    let states_something = |definition: &Value| definition.get("scheme").is_none_or(|scheme| scheme != "auto");
    let missing = was
        .into_iter()
        .flatten()
        .filter(|(_, definition)| states_something(definition) && !known.contains(&definition.to_string()));
    missing.map(|(name, _)| name.clone()).collect()
}

/// A form's URL with its base; variables stay as they are. Without a base that it can be resolved against, it stays relative.
fn resolved(href: &str, base: &str) -> String {
    let (start, template) = href.split_at(href.find('{').unwrap_or(href.len()));
    let resolve = || {
        let base = Iri::parse(base).ok()?;
        Some(IriRef::parse(start).ok()?.resolve_against(&base.strip_fragment()).ok()?.into_string())
    };
    match IriRef::parse(start).is_ok_and(|reference| reference.has_scheme()) {
        true => href.to_owned(),
        false => resolve().map_or_else(|| format!("{base}{href}"), |start| format!("{start}{template}")),
    }
}

/// Members of the Thing, and its links, that are missing. Those that a registry sets, and those that only identify the Thing, are
/// none of them.
fn missing_members<'t>(before: &Thing<'t>, after: &Thing<'t>) -> impl Iterator<Item = String> + use<'t> {
    let after = after.members;
    let is_counted = |name: &str| !COMPARED.contains(&name) && !name.starts_with("agentdex:");
    let members = before
        .members
        .into_iter()
        .flatten()
        .filter(move |(name, _)| is_counted(name) && after.is_none_or(|after| !after.contains_key(*name)));
    let links = |thing: Option<&'t Object>| {
        let links = thing.and_then(|thing| thing.get("links")?.as_array()).into_iter().flatten();
        links.filter_map(|link| text(link.as_object()?, "href"))
    };
    let known: HashSet<&str> = links(after).collect();
    let missing = links(before.members).filter(move |href| !known.contains(href));
    members.map(|(name, _)| name.clone()).chain(missing.map(|href| format!("links to {href}")))
}

fn forms(owner: Option<&Object>) -> impl Iterator<Item = &Object> {
    let forms = owner.and_then(|owner| owner.get("forms")).and_then(Value::as_array);
    forms.into_iter().flatten().filter_map(Value::as_object)
}

fn text<'o>(owner: &'o Object, name: &str) -> Option<&'o str> {
    owner.get(name).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent() -> Value {
        json!({
            "base": "https://a.example/", "forms": [{"href": "all", "op": "readallproperties"}],
            "actions": {"run": {"forms": [{"href": "run"}, {"href": "https://b.example/run", "subprotocol": "a2a"}]}, "stop": {}},
            "properties": {"state": {"forms": [{"href": "state", "op": ["readproperty", "writeproperty"]}]}},
            "events": {"done": {"forms": [{"href": "done"}]}},
            "securityDefinitions": {"key": {"scheme": "apikey", "in": "header"}, "any": {"scheme": "auto"}},
        })
    }

    #[test]
    fn what_is_written_otherwise_is_not_missing() {
        let mut other = agent();
        assert!(Losses::between(&other, &other).is_empty());
        other["actions"]["run"]["forms"][0] =
            json!({"contentType": "application/json", "href": "run", "op": ["invokeaction"]});
        other["properties"]["state"]["forms"][0] = json!({"href": "state", "op": ["writeproperty", "readproperty"]});
        other["securityDefinitions"] = json!({"renamed": {"in": "header", "scheme": "apikey"}});
        other["title"] = "Another".into();
        assert_eq!(Losses::between(&agent(), &other), Losses::default());
    }

    #[test]
    fn each_kind_is_missed_by_name() {
        type Change = fn(&mut Value);
        let cases: [(Change, &str, Value); 8] = [
            (
                |agent| drop(agent["actions"].as_object_mut().unwrap().remove("stop")),
                "the action stop",
                json!({"actions": ["stop"]}),
            ),
            (|agent| agent["properties"] = json!({}), "the property state", json!({"properties": ["state"]})),
            (|agent| agent["events"] = json!({}), "the event done", json!({"events": ["done"]})),
            (
                |agent| agent["actions"]["run"]["forms"][1]["subprotocol"] = "mcp".into(),
                "the form of actions.run to https://b.example/run",
                json!({"forms": ["actions.run to https://b.example/run"]}),
            ),
            (
                |agent| agent["actions"]["run"]["forms"][0]["htv:methodName"] = "PUT".into(),
                "the form of actions.run to run",
                json!({"forms": ["actions.run to run"]}),
            ),
            (
                |agent| agent["forms"] = json!([]),
                "the form of the Thing to all",
                json!({"forms": ["the Thing to all"]}),
            ),
            (
                |agent| agent["events"]["done"]["forms"][0]["mqv:filter"] = "done/other".into(),
                "the form of events.done to done",
                json!({"forms": ["events.done to done"]}),
            ),
            (
                |agent| agent["securityDefinitions"]["key"]["in"] = "query".into(),
                "the security definition key",
                json!({"securityDefinitions": ["key"]}),
            ),
        ];
        for (change, words, members) in cases {
            let mut after = agent();
            change(&mut after);
            let losses = Losses::between(&agent(), &after);
            assert_eq!((losses.to_string().as_str(), Value::from(losses.to_members())), (words, members));
        }
        let mut moved = agent();
        moved["base"] = "https://other.example/".into();
        assert_eq!(Losses::between(&agent(), &moved).forms.len(), 4, "relative URLs lead elsewhere");
        let nothing = Losses::between(&agent(), &Value::Null);
        let words = "the actions run, stop, the property state, the event done, the form of the Thing to all and the security \
                     definition key";
        assert_eq!(nothing.to_string(), words);
    }

    #[test]
    fn members_are_missed_and_addresses_compared_as_they_are_called() {
        let before = json!({
            "base": "https://a.example/w/", "support": "mailto:a@a.example", "uriVariables": {"room": {"enum": ["a"]}},
            "links": [{"href": "https://a.example/license"}, {"href": "https://a.example/docs"}], "agentdex:status": "stale",
            "actions": {"run": {"input": {"type": "string"}, "forms": [{"href": "run{?units}"}, {"href": "/stop"}]}},
        });
        let mut after = json!({
            "links": [{"href": "https://a.example/docs"}], "uriVariables": {},
            "actions": {"run": {"forms": [{"href": "https://a.example/w/run{?units}"}, {"href": "https://a.example/stop"}]}},
        });
        let losses = Losses::between(&before, &after);
        assert_eq!(losses.members, ["actions.run.input", "support", "links to https://a.example/license"]);
        assert_eq!((losses.forms.len(), losses.to_members().len()), (0, 1), "{losses}");
        after["actions"]["run"]["forms"][0]["href"] = "https://a.example/run{?units}".into();
        assert_eq!(Losses::between(&before, &after).forms, ["actions.run to run{?units}"]);
    }

    #[test]
    fn message_is_short_whatever_is_missing() {
        let actions: Object = (0..1000).map(|number| ("x".repeat(1000) + &number.to_string(), json!({}))).collect();
        let losses = Losses::between(&json!({"actions": actions}), &json!({}));
        assert_eq!(losses.actions.len(), 1000);
        assert!(losses.to_string().len() < 5000 && losses.to_string().ends_with(" and 980 more"));
        assert_eq!(losses.to_members()["actions"].as_array().unwrap().len(), 20);
    }
}
