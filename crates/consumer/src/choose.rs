//! Selection of a form and its binding for an operation, and of the action for a message.

use std::sync::Arc;

use super::{Affordance, Binding, Description, Error, Fit, Form, Operation, Result, Settings, transport::origin};

/// A form with its binding.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    pub(super) binding: Arc<dyn Binding>,
    pub(super) form: Form,
    pub(super) fit: Fit,
}

/// Maximum number of names listed in an error.
const MOST_LISTED: usize = 20;

/// Names of actions that messages are for, in any case.
const MESSAGE_ACTIONS: [&str; 9] =
    ["ask", "chat", "message", "sendmessage", "send_message", "talk", "invoke", "run", "query"];

/// Returns the usable forms for an operation of an affordance, best first.
pub(super) fn choices(
    description: &Description,
    affordance: &Affordance,
    operation: Operation,
    settings: &Settings,
    bindings: &[Arc<dyn Binding>],
) -> Result<Vec<Choice>> {
    let forms = description.forms(affordance);
    let mut choices = Vec::new();
    for form in &forms {
        let mut form = form.clone();
        if let Some(endpoint) = &settings.endpoint {
            form.href = moved(&form.href, endpoint)?;
        }
        let own =
            bindings.iter().filter(|binding| settings.binding.as_deref().is_none_or(|name| name == binding.name()));
        let fits = own.filter_map(|binding| Some((binding, binding.fit(&form, operation)?)));
        if let Some((binding, fit)) = fits.max_by_key(|(_, fit)| fit.rank) {
            choices.push(Choice { binding: binding.clone(), form: form.clone(), fit });
        }
    }
    // Of equal ranks, the description's own order counts.
    choices.sort_by_key(|choice| std::cmp::Reverse(choice.fit.rank));
    if choices.is_empty() {
        return Err(no_form(description, affordance, operation, &forms, settings, bindings));
    }
    Ok(choices)
}

fn no_form(
    description: &Description,
    affordance: &Affordance,
    operation: Operation,
    forms: &[Form],
    settings: &Settings,
    bindings: &[Arc<dyn Binding>],
) -> Error {
    let known = || bindings.iter().map(|binding| binding.name());
    let seen: Vec<String> = forms
        .iter()
        .map(|form| match (form.subprotocol(), form.text("mcp:transport")) {
            (Some("a2a"), _) if !matches!(form.text("a2a:binding"), Some("JSONRPC" | "HTTP+JSON")) => {
                format!("{} with the subprotocol a2a, which needs `a2a:binding` (JSONRPC or HTTP+JSON)", form.scheme())
            }
            (Some("mcp"), Some(transport)) => format!("{} with the subprotocol mcp over {transport}", form.scheme()),
            (Some(subprotocol), _) => format!("{} with the subprotocol {subprotocol}", form.scheme()),
            (None, _) => match form.text("contentType") {
                Some(content_type) => format!("{} with {content_type}", form.scheme()),
                None => form.scheme(),
            },
        })
        .collect();
    let reason = match (description.find(affordance), seen.as_slice()) {
        (_, []) if let Some(instructions) = description.instructions() => instructions,
        (None, _) => format!("it has no {affordance}; available: {}", listed(description.alike(affordance))),
        (Some(_), []) if let Some(variable) = description.base_variable() => format!(
            "`base` contains the variable {variable:?}, and the targets of {affordance} are relative to `base`; \
             register the agent with its address as the `base`"
        ),
        (Some(_), []) => format!("{affordance} has no form with a target"),
        (Some(_), seen) => match &settings.binding {
            Some(name) if known().all(|known| known != name) => {
                format!("there is no binding {name:?}; available: {}", listed(known()))
            }
            chosen => format!(
                "no binding supports any of the forms of {affordance} for {}; forms: {}; bindings: {}",
                operation.as_str(),
                seen.join(", "),
                chosen.clone().unwrap_or_else(|| listed(known()))
            ),
        },
    };
    Error::NoForm { id: description.id().to_owned(), reason }
}

/// A target at another endpoint.
fn moved(href: &str, endpoint: &str) -> Result<String> {
    let invalid = |reason: &str| Error::Setting {
        setting: "endpoint".into(),
        reason: format!("{endpoint:?} {reason}; for example https://gateway.internal:8443"),
    };
    origin(endpoint).ok_or_else(|| invalid("is not a URL with a host"))?;
    let start = endpoint
        .split_once("://")
        .map(|(scheme, rest)| (scheme, rest.split(['/', '?', '#']).next().unwrap_or_default()));
    let (scheme, authority) = start.ok_or_else(|| invalid("is not a URL with a host"))?;
    let rest = href.split_once("://").map_or("", |(_, rest)| rest);
    let path = rest.find(['/', '?', '#']).map_or("", |start| &rest[start..]);
    Ok(format!("{scheme}://{authority}{path}"))
}

/// Returns the action for messages, and the reason for the choice.
pub(super) fn message_action(
    description: &Description,
    settings: &Settings,
    capabilities: &[String],
    bindings: &[Arc<dyn Binding>],
) -> Result<(Affordance, String)> {
    let action = |name: &str| Affordance::Action(name.to_owned());
    if let Some(name) = &settings.action {
        return match description.find(&action(name)) {
            Some(_) => Ok((action(name), format!("the settings name the action {name:?}"))),
            None => Err(Error::Setting {
                setting: "action".into(),
                reason: format!(
                    "{} has no action {name:?}; available: {}",
                    description.id(),
                    listed(description.actions())
                ),
            }),
        };
    }
    let names: Vec<&str> = description.actions().collect();
    let found = capabilities.iter().find_map(|key| names.iter().find(|name| **name == key));
    if let Some(name) = found {
        return Ok((action(name), format!("the action {name:?} matches the search")));
    }
    if let [name] = names.as_slice() {
        return Ok((action(name), format!("{name:?} is its only action")));
    }
    let takes_messages = |name: &&&str| {
        let choices = choices(description, &action(name), Operation::InvokeAction, settings, bindings);
        choices.is_ok_and(|choices| choices.first().is_some_and(|choice| choice.fit.takes_messages))
    };
    if let Some(name) = names.iter().find(takes_messages) {
        return Ok((action(name), format!("the action {name:?} is the first that accepts messages")));
    }
    let named = MESSAGE_ACTIONS.iter().find_map(|known| names.iter().find(|name| name.eq_ignore_ascii_case(known)));
    if let Some(name) = named {
        return Ok((action(name), format!("the action {name:?} accepts messages, judging by its name")));
    }
    let reason = match names.is_empty() {
        true => description.instructions().unwrap_or_else(|| "it has no actions".to_owned()),
        false => {
            let names = listed(description.actions());
            format!("it has several actions, but no action is known to accept messages; name an action: {names}")
        }
    };
    Err(Error::NoForm { id: description.id().to_owned(), reason })
}

fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.split_at_checked(MOST_LISTED) {
        _ if names.is_empty() => "none".to_owned(),
        Some((first, more)) if !more.is_empty() => format!("{} and {} more", first.join(", "), more.len()),
        _ => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_that_nothing_supports_is_named_with_its_content_type() {
        let text = r#"{"id": "urn:a", "actions": {"a": {"forms": [
            {"href": "https://a.example", "contentType": "application/cbor"}, {"href": "coap://a.example"}]}}}"#;
        let description = Description::parse(text).unwrap();
        let bindings = crate::bindings::all();
        let action = Affordance::Action("a".into());
        let error = choices(&description, &action, Operation::InvokeAction, &Settings::new(), &bindings).unwrap_err();
        assert!(error.to_string().contains("; forms: https with application/cbor, coap;"), "{error}");
    }

    #[test]
    fn endpoint_replaces_the_origin() {
        for (href, expected) in [
            ("http://a.example/x?y=1", "https://b.example:8443/x?y=1"),
            ("https://a.example", "https://b.example:8443"),
            ("http://{host}/x/{id}", "https://b.example:8443/x/{id}"),
        ] {
            assert_eq!(moved(href, "https://b.example:8443/ignored").unwrap(), expected);
        }
        assert!(moved("http://a.example/", "b.example").unwrap_err().to_string().starts_with("endpoint: "));
    }
}
