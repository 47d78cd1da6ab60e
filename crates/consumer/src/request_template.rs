//! Requests of tools from Open Agent Spec: a template in the form, filled in with the input of the action.
//!
//! The template is in `agentspec:request`, with the members `http_method`, `headers`, `data`, and `url_allow_list` of a
//! RemoteTool. `{{name}}` is a placeholder for the input with that name, and is allowed everywhere except in the host
//! of the URL. It is replaced by text (Agent Spec, "Specifying inputs through placeholders"): values other than strings
//! are inserted as JSON.

use std::{borrow::Cow, sync::LazyLock};

use percent_encoding::percent_decode_str;
use regex::Regex;
use reqwest::{
    Url,
    header::{HeaderName, HeaderValue},
};
use serde_json::{Map, Value};

use super::{Authorization, Error, Form, Place, Result, credential::parts, stand_in::STAND_IN, template::text_of};
use crate::fetch::shown;

/// A name is of letters, numbers and underscores; as in Python, combining marks are no letters.
#[expect(clippy::expect_used, reason = "the expression is part of the program, and the tests compile it")]
static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\{\{[\s\x1c-\x1f]*([\p{L}\p{N}_]+)[\s\x1c-\x1f]*\}\}").expect("the expression is valid")
});

/// Headers that select the server or delimit requests.
const OF_CONNECTION: [&str; 8] =
    ["host", "connection", "content-length", "expect", "keep-alive", "te", "transfer-encoding", "upgrade"];

/// Name of the only member of a reference, which stands for a credential missing in the description.
const REFERENCE: &str = "$component_ref";

/// The inputs of a tool, by name.
type Inputs = Map<String, Value>;

/// Parts of a request generated from inputs.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestTemplate<'f> {
    members: &'f Map<String, Value>,
    affordance: &'f super::Affordance,
}

impl<'f> RequestTemplate<'f> {
    /// Returns the template of a form, or `None` if the form itself describes the request.
    pub(super) fn of(form: &'f Form) -> Option<RequestTemplate<'f>> {
        let members = form.members.get("agentspec:request")?.get("@value")?.as_object()?;
        Some(RequestTemplate { members, affordance: &form.affordance })
    }

    /// The method, if it is made of inputs.
    pub(super) fn method(&self, inputs: &Inputs) -> Result<Option<String>> {
        let method = self.members.get("http_method").and_then(Value::as_str);
        method.map(|method| self.filled(method, inputs, "http_method")).transpose()
    }

    /// Returns the headers generated from inputs, except for those replaced by a credential.
    pub(super) fn headers(&self, inputs: &Inputs, granted: &[Authorization]) -> Result<Vec<(String, String)>> {
        let is_granted = |header: &str| {
            granted
                .iter()
                .any(|one| matches!(parts(&one.grant).1, Place::Header(name) if name.eq_ignore_ascii_case(header)))
        };
        let mut headers = Vec::new();
        for (name, value) in self.header_templates() {
            if is_granted(name) {
                continue;
            }
            let pointer = format!("headers/{name}");
            let value = self.filled(value, inputs, &pointer)?;
            let template = name;
            let name = self.filled_name(template, inputs, &pointer)?;
            if name != template && OF_CONNECTION.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
                return Err(self.refused(
                    &pointer,
                    &format!("an input would set the header {name:?}, which is reserved for the connection"),
                ));
            }
            if HeaderName::try_from(name.as_str()).is_err() || HeaderValue::try_from(value.as_str()).is_err() {
                return Err(self.refused(
                    &pointer,
                    "a header can't have this name or value; line breaks, for example, are not allowed",
                ));
            }
            headers.push((name, value));
        }
        Ok(headers)
    }

    /// Returns the names of headers whose inputs are supplied by the caller, as data or as variables.
    pub(super) fn given_headers(&self, data: &Inputs, variables: &Inputs) -> Vec<String> {
        let is_there = |name: &str| data.contains_key(name) || variables.contains_key(name);
        let is_given = |template: &str| PLACEHOLDER.captures_iter(template).all(|found| is_there(&found[1]));
        let given = self.header_templates().filter(|(_, value)| PLACEHOLDER.is_match(value) && is_given(value));
        given.map(|(name, _)| name.to_owned()).collect()
    }

    /// Returns the names of the inputs used in a header.
    pub(super) fn inputs_of_header(&self, header: &str) -> Vec<String> {
        let found = self.header_templates().filter(|(name, _)| name.eq_ignore_ascii_case(header));
        let names = found.flat_map(|(_, value)| PLACEHOLDER.captures_iter(value).map(|found| found[1].to_owned()));
        names.collect()
    }

    /// The body: text as it is, else data.
    pub(super) fn data(&self, inputs: &Inputs) -> Result<Option<Value>> {
        self.members.get("data").map(|data| self.filled_data(data, inputs, "data")).transpose()
    }

    /// Fails for a URL that the tool doesn't allow. An entry of its list allows the URLs of the same scheme and authority whose
    /// paths begin with its own; queries and fragments don't count.
    pub(super) fn check_url(&self, url: &str) -> Result<()> {
        let Some(allowed) = self.members.get("url_allow_list").filter(|allowed| !allowed.is_null()) else {
            return Ok(());
        };
        let is_allowed = |url: &Url, entry: &Url| {
            (url.scheme(), url.authority()) == (entry.scheme(), entry.authority())
                && url.path().starts_with(entry.path())
        };
        let mut entries = allowed.as_array().into_iter().flatten().filter_map(|entry| Url::parse(entry.as_str()?).ok());
        match Url::parse(url) {
            Ok(url) if entries.any(|entry| is_allowed(&url, &entry)) => Ok(()),
            _ => Err(Error::Refused {
                url: shown(url),
                reason: format!("it is not allowed by the `url_allow_list` of {}", self.affordance),
            }),
        }
    }

    fn header_templates(&self) -> impl Iterator<Item = (&'f str, &'f str)> {
        let headers = self.members.get("headers").and_then(Value::as_object).into_iter().flatten();
        headers.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
    }

    fn is_given(&self, template: &str, inputs: &Inputs) -> bool {
        PLACEHOLDER.captures_iter(template).all(|found| inputs.contains_key(&found[1]))
    }

    fn filled_data(&self, template: &Value, inputs: &Inputs, pointer: &str) -> Result<Value> {
        Ok(match template {
            Value::String(text) => self.filled(text, inputs, pointer)?.into(),
            Value::Array(items) => {
                let filled = |(index, item)| self.filled_data(item, inputs, &format!("{pointer}/{index}"));
                items.iter().enumerate().map(filled).collect::<Result<_>>()?
            }
            Value::Object(members) if members.len() == 1 && members.get(REFERENCE).is_some_and(Value::is_string) => {
                return Err(self.left_out(pointer));
            }
            Value::Object(members) => {
                let mut filled = Map::with_capacity(members.len());
                for (name, member) in members {
                    let pointer = format!("{pointer}/{name}");
                    let name = self.filled_name(name, inputs, &pointer)?;
                    if filled.contains_key(&name) {
                        return Err(self.refused(&pointer, &format!("an input would create a second member {name:?}")));
                    }
                    filled.insert(name, self.filled_data(member, inputs, &pointer)?);
                }
                filled.into()
            }
            constant => constant.clone(),
        })
    }

    /// Fills in the name of a member. The language allows placeholders only in values, but its SDK also in names.
    /// Names that aren't inputs of the tool are left as text.
    fn filled_name(&self, name: &str, inputs: &Inputs, pointer: &str) -> Result<String> {
        match self.is_given(name, inputs) {
            true => self.filled(name, inputs, pointer),
            false => Ok(name.to_owned()),
        }
    }

    /// A text with the inputs in place of their names.
    fn filled(&self, text: &str, inputs: &Inputs, pointer: &str) -> Result<String> {
        if text.contains(STAND_IN) {
            return Err(self.left_out(pointer));
        }
        let mut filled = String::with_capacity(text.len());
        let mut end = 0;
        for found in PLACEHOLDER.captures_iter(text) {
            let (Some(whole), name) = (found.get(0), &found[1]) else { continue };
            let Some(value) = inputs.get(name) else {
                return Err(self.refused(pointer, &format!("the input {name:?} is missing")));
            };
            filled.push_str(&text[end..whole.start()]);
            filled.push_str(&text_of(value));
            end = whole.end();
        }
        filled.push_str(&text[end..]);
        Ok(filled)
    }

    fn left_out(&self, pointer: &str) -> Error {
        self.refused(
            pointer,
            "a credential was removed from it when the tool was registered; make the credential an input of the tool",
        )
    }

    fn refused(&self, pointer: &str, reason: &str) -> Error {
        Error::Setting { setting: format!("{} of {}", pointer, self.affordance), reason: reason.to_owned() }
    }
}

/// Decodes the name of an input from a variable of a URI template.
pub(super) fn input_name(variable: &str) -> Cow<'_, str> {
    percent_decode_str(variable).decode_utf8_lossy()
}
