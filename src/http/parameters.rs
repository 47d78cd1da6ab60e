//! Query parameters: read strictly, so that a misspelt one is told and not ignored.

use std::borrow::Cow;

use actix_web::HttpRequest;
use percent_encoding::percent_decode_str;

use super::problem::Problem;
use crate::search::Filters;

/// The parameters that may be given more than once: the search filters and the facets.
const REPEATABLE: [&str; 13] = [
    "capability",
    "type",
    "tag",
    "vendor",
    "protocol",
    "security",
    "format",
    "source_format",
    "tenant",
    "channel",
    "status",
    "signature",
    "facets",
];

/// The query parameters of a request.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    pairs: Vec<(String, String)>,
}

impl Parameters {
    /// Reads the query of a request whose resource knows these parameters.
    pub(super) fn parse(request: &HttpRequest, known: &[&str]) -> Result<Parameters, Problem> {
        Parameters::parse_query(request.query_string(), known)
    }

    fn parse_query(query: &str, known: &[&str]) -> Result<Parameters, Problem> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decode(name)?, decode(value)?);
            if !known.contains(&name.as_str()) {
                return Err(unknown(&name, known));
            }
            if !REPEATABLE.contains(&name.as_str()) && pairs.iter().any(|(other, _)| *other == name) {
                return Err(Problem::invalid_parameter(&name, format!("`{name}` is given more than once")));
            }
            pairs.push((name, value));
        }
        Ok(Parameters { pairs })
    }

    /// The value of a parameter.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.values(name).next()
    }

    /// All values of a parameter.
    pub(super) fn values<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.pairs.iter().filter(move |(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// `true` or `false`; a parameter without value is `true`.
    pub(super) fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.text(name) {
            None | Some("false") => Ok(false),
            Some("true" | "") => Ok(true),
            Some(other) => {
                Err(Problem::invalid_parameter(name, format!("`{name}` is {other:?}, but must be true or false")))
            }
        }
    }

    /// A whole number of at least `minimum`.
    pub(super) fn number(&self, name: &str, minimum: u64) -> Result<Option<u64>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let number = text.parse().ok().filter(|number| *number >= minimum && !text.starts_with('+'));
        number.map(Some).ok_or_else(|| {
            let detail = format!("`{name}` is {text:?}, but must be a whole number of at least {minimum}");
            Problem::invalid_parameter(name, detail)
        })
    }

    /// One of several words.
    pub(super) fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<Option<T>, Problem> {
        Ok(self.choices(name, choices)?.first().copied())
    }

    /// Some of several words.
    pub(super) fn choices<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<Vec<T>, Problem> {
        let choose = |text: &str| {
            let chosen = choices.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
            chosen.ok_or_else(|| {
                let words: Vec<_> = choices.iter().map(|(word, _)| *word).collect();
                let detail = format!("`{name}` is {text:?}, but must be one of {}", words.join(", "));
                Problem::invalid_parameter(name, detail)
            })
        };
        self.values(name).map(choose).collect()
    }

    /// The search filters among the parameters; `format` is what the one for source formats is called.
    pub(super) fn filters(&self, format: &str) -> Filters {
        let values = |name| self.values(name).map(str::to_owned).collect();
        Filters {
            capability: values("capability"),
            type_: values("type"),
            tag: values("tag"),
            vendor: values("vendor"),
            protocol: values("protocol"),
            security: values("security"),
            format: values(format),
            tenant: values("tenant"),
            channel: values("channel"),
            status: values("status"),
            signature: values("signature"),
        }
    }

    /// The pairs as they came, decoded.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

fn unknown(name: &str, known: &[&str]) -> Problem {
    let detail = match known {
        [] => format!("there is no parameter `{name}`: none is known here"),
        known => format!("there is no parameter `{name}`; known here: {}", known.join(", ")),
    };
    Problem::invalid_parameter(name, detail).with("known", known)
}

/// Reads a part of a query as forms write it: `+` is a space.
fn decode(text: &str) -> Result<String, Problem> {
    let spaced = if text.contains('+') { Cow::Owned(text.replace('+', " ")) } else { Cow::Borrowed(text) };
    let decoded = percent_decode_str(&spaced).decode_utf8().map(Cow::into_owned);
    decoded.map_err(|_| Problem::invalid_parameter(text, format!("{text:?} in the query is not UTF-8")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(query: &str) -> String {
        match Parameters::parse_query(query, &["limit", "tag"]) {
            Ok(parameters) => panic!("{query:?} was read as {parameters:?}"),
            Err(problem) => problem.to_string(),
        }
    }

    #[test]
    fn unknown_parameters_are_refused_with_the_known_ones() {
        assert_eq!(refusal("limits=3"), "Invalid parameter: there is no parameter `limits`; known here: limit, tag");
        assert_eq!(refusal("limit=3&limit=4"), "Invalid parameter: `limit` is given more than once");
        assert_eq!(refusal("tag=%FF"), "Invalid parameter: \"%FF\" in the query is not UTF-8");
    }

    #[test]
    fn values_are_decoded_as_forms_write_them() {
        let parameters =
            Parameters::parse_query("tag=a+b&tag=c%2Bd&limit=7", &["limit", "tag"]).ok().unwrap_or_default();
        assert_eq!(parameters.filters("format").tag, ["a b", "c+d"]);
        assert_eq!(parameters.number("limit", 1).ok().flatten(), Some(7));
        assert!(parameters.number("limit", 8).is_err());
    }
}
