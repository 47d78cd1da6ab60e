//! `Template`: the input of the next agent, made of what came before (SACP, section 4.2).

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::Value;

use super::response::Response;

/// Latest responses of the nodes of a chain, by the name of the node.
pub type Outputs = BTreeMap<String, Response>;

/// A JSON value with references such as `{{researcher.data.names}}` in its strings.
///
/// A string that is one reference becomes the referenced value, with its type; in other strings a
/// referenced string is inserted as it is and everything else as JSON.
///
/// ```
/// use agentdex_sacp::{Outputs, Template, read};
/// let answer = r#"{"thought": "", "status": "success", "data": {"names": ["Alice", "Bob"]}, "message": "Two"}"#;
/// let outputs = Outputs::from([("a".to_owned(), read(answer).response)]);
/// let template = Template::new(serde_json::json!({"names": "{{a.data.names}}", "text": "{{a.message}} names"}));
/// let input = template.fill(&outputs, None).unwrap();
/// assert_eq!(input, serde_json::json!({"names": ["Alice", "Bob"], "text": "Two names"}));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Template(Value);

/// An unresolvable reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{{{{{reference}}}}}`: {reason}")]
pub struct TemplateError {
    /// The reference as written.
    pub reference: String,
    /// The reason why it can't be resolved, such as a missing member, and the most similar one.
    pub reason: String,
}

/// The members of a response that references may name.
const MEMBERS: [&str; 5] = ["data", "message", "status", "thought", "next_step_hint"];
/// The name under which the input of the chain is referenced.
const INPUT: &str = "input";
/// The name under which a node references what it was given.
const GIVEN: &str = "given";
/// The name under which the target of an error edge references the failure.
pub(super) const ERROR: &str = "error";

impl Template {
    /// A template.
    pub fn new(template: Value) -> Template {
        Template(template)
    }

    /// The value with all references replaced; `{{input}}` is the input of the chain.
    ///
    /// # Errors
    /// The first reference that leads nowhere.
    pub fn fill(&self, outputs: &Outputs, input: Option<&Value>) -> Result<Value, TemplateError> {
        self.fill_from(&Sources { outputs, input, given: None, error: None })
    }

    /// The same with all that references may name within a chain.
    pub(super) fn fill_from(&self, sources: &Sources<'_>) -> Result<Value, TemplateError> {
        fill(&self.0, sources)
    }

    /// The names of the nodes that are referenced.
    pub(super) fn sources(&self) -> Vec<&str> {
        let mut references = Vec::new();
        collect_references(&self.0, &mut references);
        references.into_iter().map(|reference| reference.split(['.', '[']).next().unwrap_or_default()).collect()
    }
}

/// Values that references may name.
pub(super) struct Sources<'a> {
    pub outputs: &'a Outputs,
    /// Input of the chain.
    pub input: Option<&'a Value>,
    /// Input of the node.
    pub given: Option<&'a Value>,
    /// Failure whose error edge led to the node. If there is one, references that can't be resolved are null, since
    /// the failed node may have been meant to provide them.
    pub error: Option<&'a Value>,
}

fn fill(template: &Value, sources: &Sources<'_>) -> Result<Value, TemplateError> {
    Ok(match template {
        Value::String(text) => fill_text(text, sources)?,
        Value::Array(items) => items.iter().map(|item| fill(item, sources)).collect::<Result<_, _>>()?,
        Value::Object(members) => {
            let filled = members.iter().map(|(name, member)| Ok((name.clone(), fill(member, sources)?)));
            Value::Object(filled.collect::<Result<_, TemplateError>>()?)
        }
        other => other.clone(),
    })
}

fn fill_text(text: &str, sources: &Sources<'_>) -> Result<Value, TemplateError> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, reference, after)) = next_reference(rest) {
        let value = sources.resolve(reference)?;
        if before.is_empty() && after.is_empty() && filled.is_empty() {
            return Ok(value);
        }
        filled.push_str(before);
        match value {
            Value::String(text) => filled.push_str(&text),
            other => filled.push_str(&other.to_string()),
        }
        rest = after;
    }
    filled.push_str(rest);
    Ok(Value::String(filled))
}

/// Splits a text at its next reference: the text before it, the reference, and the text after it.
fn next_reference(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("{{")?;
    let (reference, after) = rest.split_once("}}")?;
    Some((before, reference.trim(), after))
}

fn collect_references<'t>(template: &'t Value, references: &mut Vec<&'t str>) {
    match template {
        Value::String(text) => {
            let mut rest = text.as_str();
            while let Some((_, reference, after)) = next_reference(rest) {
                references.push(reference);
                rest = after;
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, references)),
        Value::Object(members) => members.values().for_each(|member| collect_references(member, references)),
        _ => {}
    }
}

impl Sources<'_> {
    fn resolve(&self, reference: &str) -> Result<Value, TemplateError> {
        match (self.find(reference), self.error) {
            (Err(_), Some(_)) => Ok(Value::Null),
            (found, _) => found,
        }
    }

    fn find(&self, reference: &str) -> Result<Value, TemplateError> {
        let refuse = |reason: String| TemplateError { reference: reference.to_owned(), reason };
        let mut steps = reference.split(['.', '[']).map(|step| step.strip_suffix(']').unwrap_or(step));
        let source = steps.next().unwrap_or_default();
        let named = match source {
            INPUT => self.input,
            GIVEN => self.given,
            ERROR => self.error,
            _ => None,
        };
        let mut found = match (self.outputs.get(source), named) {
            (Some(response), _) => member(response, source, &mut steps).map_err(refuse)?,
            (None, Some(value)) => Cow::Borrowed(value),
            (None, None) => {
                let named = self.input.map(|_| INPUT).into_iter().chain(self.given.map(|_| GIVEN));
                let names = self.outputs.keys().map(String::as_str).chain(named);
                return Err(refuse(unknown(source, names)));
            }
        };
        for step in steps {
            found = match found {
                Cow::Borrowed(value) => Cow::Borrowed(child(value, step).map_err(refuse)?),
                Cow::Owned(value) => Cow::Owned(child(&value, step).map_err(refuse)?.clone()),
            };
        }
        Ok(found.into_owned())
    }
}

/// A member of a response; of its data at once the next step, so that nothing is copied that isn't asked for.
fn member<'r, 's>(
    response: &'r Response,
    source: &str,
    steps: &mut impl Iterator<Item = &'s str>,
) -> Result<Cow<'r, Value>, String> {
    Ok(match steps.next() {
        Some("data") => match steps.next() {
            Some(step) => Cow::Borrowed(
                response.data.get(step).ok_or_else(|| unknown(step, response.data.keys().map(String::as_str)))?,
            ),
            None => Cow::Owned(Value::Object(response.data.clone())),
        },
        Some("message") => Cow::Owned(response.message.as_str().into()),
        Some("status") => Cow::Owned(response.status.as_str().into()),
        Some("thought") => Cow::Owned(response.thought.as_str().into()),
        Some("next_step_hint") => Cow::Owned(response.next_step_hint.clone().map_or(Value::Null, Value::String)),
        Some(other) => {
            let names = MEMBERS.into_iter().chain(response.other.keys().map(String::as_str));
            Cow::Borrowed(response.other.get(other).ok_or_else(|| unknown(other, names))?)
        }
        None => {
            let members = MEMBERS.map(|name| format!("{source}.{name}")).join(", ");
            return Err(format!("name a member of the response: {members}"));
        }
    })
}

fn child<'v>(value: &'v Value, step: &str) -> Result<&'v Value, String> {
    match value {
        Value::Object(members) => members.get(step).ok_or_else(|| unknown(step, members.keys().map(String::as_str))),
        Value::Array(items) => {
            let item = step.parse().ok().and_then(|index: usize| items.get(index));
            item.ok_or_else(|| format!("{step:?} is not an index below {}", items.len()))
        }
        _ => Err(format!("{step:?} refers to a member of a value without members")),
    }
}

/// `"scor" is unknown; did you mean "score"?`
fn unknown<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> String {
    let mut known: Vec<&str> = known.take(1000).collect();
    known.sort_by_key(|candidate| distance(name, candidate));
    match known.first() {
        None => format!("{name:?} is unknown; no names are defined here"),
        Some(nearest) if distance(name, nearest) <= 2.max(name.chars().count() / 3) => {
            format!("{name:?} is unknown; did you mean {nearest:?}?")
        }
        Some(_) => format!("{name:?} is unknown; known names are {}", known[..known.len().min(8)].join(", ")),
    }
}

/// The Levenshtein distance of two names, of at most 64 characters each.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, from) in one.chars().take(64).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (column, to) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}
