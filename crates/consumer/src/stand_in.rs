//! Stand-ins for credentials that a registry removed from a description: they are never sent.

use serde_json::Value;

use super::{Error, Form, Result};

/// Replacement for a credential in a text or in the query of a URL.
pub(super) const STAND_IN: &str = "[redacted]";
const STAND_IN_OF_QUERY: &str = "redacted";

/// Checks that the form doesn't contain a stand-in in place of a credential.
///
/// # Errors
/// [`Error::Setting`] with the member of the form.
pub(super) fn check(form: &Form) -> Result<()> {
    let query = form.href.split_once('?').map_or("", |(_, query)| query.split('#').next().unwrap_or_default());
    let mut parameters = query.split('&').filter_map(|parameter| parameter.split_once('='));
    if let Some((name, _)) = parameters.find(|(_, value)| *value == STAND_IN_OF_QUERY) {
        return Err(left_out(form, &format!("the parameter {name:?} in `href`")));
    }
    let headers = form.members.get("htv:headers").and_then(Value::as_array).into_iter().flatten();
    let mut hidden =
        headers.filter(|header| header["htv:fieldValue"].as_str().is_some_and(|value| value.contains(STAND_IN)));
    match hidden.next() {
        Some(header) => Err(left_out(form, &format!("the header {} in `htv:headers`", header["htv:fieldName"]))),
        None => Ok(()),
    }
}

fn left_out(form: &Form, member: &str) -> Error {
    let reason = "a credential was removed from it when the agent was registered; declare a security scheme in the \
        description, so that callers can supply the credential";
    Error::Setting { setting: format!("{member} of {}", form.affordance), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Affordance, Description};

    #[test]
    fn what_stands_for_a_credential_is_refused() {
        let refusal = |href: &str, value: &str| {
            let form =
                serde_json::json!({"href": href, "htv:headers": [{"htv:fieldName": "X-Key", "htv:fieldValue": value}]});
            let thing = serde_json::json!({"id": "urn:a", "title": "A", "actions": {"ask": {"forms": [form]}}});
            let forms = Description::parse(&thing.to_string()).unwrap().forms(&Affordance::Action("ask".into()));
            check(&forms[0]).err().map(|error| error.to_string())
        };
        assert_eq!(refusal("https://a.example/x?state=redacted-no&q={q}", "eu"), None);
        for (href, value, member) in [
            ("https://a.example/x?q=1&api_key=redacted#f", "eu", "api_key"),
            ("https://a.example/x", "Bearer [redacted]", "X-Key"),
        ] {
            let refused = refusal(href, value).unwrap_or_default();
            assert!(refused.contains(member) && refused.contains("ask"), "{refused}");
        }
    }
}
