//! Query parameters: read strictly, so that a misspelled one is refused and not ignored.

use std::borrow::Cow;

use actix_web::HttpRequest;
use percent_encoding::percent_decode_str;

use super::problem::{Problem, excerpt};
use crate::{
    Timestamp,
    access::{AccessRequest, Visibility},
    convert::Format,
    search::{Condition, FilterField, Filters, Period},
    signature, td,
};

/// The bounds of periods that Things were created and changed in.
pub(super) const PERIODS: [&str; 4] = ["created_from", "created_before", "modified_from", "modified_before"];
/// Parameters that may be given more than once, in addition to the filters.
const REPEATABLE: [&str; 6] = ["format", "source_format", "all_source_format", "not_source_format", "facets", "fields"];

/// The search filters, but for the one of source formats, which has another name in each resource, and for periods.
fn filters() -> impl Iterator<Item = &'static str> {
    let formats = Condition::ALL.map(|condition| FilterField::Format.parameter(condition));
    Filters::names().filter(move |name| !formats.contains(name) && !PERIODS.contains(name))
}

/// The parameter of a filter, where that for source formats is called `format`.
fn parameter(condition: Condition, field: FilterField, format: &str) -> Cow<'static, str> {
    match field.parameter(condition) {
        name if field == FilterField::Format => name.replace(field.name(), format).into(),
        name => name.into(),
    }
}

/// The largest number of a parameter: what JSON numbers hold exactly (RFC 7493, section 2.2).
pub(super) const LARGEST_NUMBER: u64 = (1 << 53) - 1;

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

    /// Reads the query of a request whose resource knows these parameters and the search filters.
    pub(super) fn parse_with_filters(request: &HttpRequest, known: &[&str]) -> Result<Parameters, Problem> {
        let formats = match known.contains(&"source_format") {
            true => ["all_source_format", "not_source_format"],
            false => ["all_format", "not_format"],
        };
        let mut all = known.to_vec();
        filters().chain(formats).for_each(|name| all.push(name));
        Parameters::parse(request, &all)
    }

    /// Reads the known parameters of a request, and ignores others. For protocols with clients of later revisions.
    pub(super) fn parse_known(request: &HttpRequest, known: &[&str]) -> Result<Parameters, Problem> {
        let is_known = |pair: &&str| known.contains(&pair.split('=').next().unwrap_or_default());
        let pairs: Vec<&str> = request.query_string().split('&').filter(is_known).collect();
        Parameters::parse_query(&pairs.join("&"), known)
    }

    /// Reads a query that has these parameters.
    pub(super) fn parse_query(query: &str, known: &[&str]) -> Result<Parameters, Problem> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decode(name)?, decode(value)?);
            if !known.contains(&name.as_str()) {
                return Err(unknown(&name, known));
            }
            let is_filter = || filters().chain(["all_format", "not_format"]).any(|filter| filter == name);
            let is_repeatable = REPEATABLE.contains(&name.as_str()) || is_filter();
            if !is_repeatable && pairs.iter().any(|(other, _)| *other == name) {
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

    /// The value of a parameter that names a version of a Thing, or several. An empty one names none: whoever sends it by mistake
    /// would change or remove more than one version.
    pub(super) fn version(&self, name: &str) -> Result<Option<&str>, Problem> {
        match self.text(name) {
            Some(version) if version.trim().is_empty() => {
                let detail = format!("`{name}` is empty; give a version, or omit the parameter");
                Err(Problem::invalid_parameter(name, detail))
            }
            version => Ok(version),
        }
    }

    /// All values of a parameter.
    pub(super) fn values<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.pairs.iter().filter(move |(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// `true` or `false`.
    pub(super) fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.text(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => Err(Problem::invalid_parameter(
                name,
                format!("`{name}` is {:?}, but must be true or false", excerpt(other)),
            )),
        }
    }

    /// A number from 0 to 1.
    pub(super) fn share(&self, name: &str) -> Result<Option<f32>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
        number.map(Some).ok_or_else(|| {
            let detail = format!("`{name}` is {:?}, but must be a number from 0 to 1", excerpt(text));
            Problem::invalid_parameter(name, detail)
        })
    }

    /// A moment, as an RFC 3339 date-time or the date of its day in UTC.
    pub(super) fn moment(&self, name: &str) -> Result<Option<Timestamp>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        // The sign of an offset, which forms read as a space.
        let signed = text.replace(' ', "+");
        let whole = if text.len() == "2026-01-31".len() { format!("{text}T00:00:00Z") } else { signed };
        Timestamp::parse_rfc3339(&whole).map(Some).ok_or_else(|| {
            let detail = format!(
                "`{name}` is {:?}, but must be a date-time in RFC 3339 format (2026-01-31T08:00:00Z) or a date",
                excerpt(text)
            );
            Problem::invalid_parameter(name, detail)
        })
    }

    /// A whole number from `minimum` to [`LARGEST_NUMBER`].
    pub(super) fn number(&self, name: &str, minimum: u64) -> Result<Option<u64>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let number =
            text.parse().ok().filter(|number| (minimum..=LARGEST_NUMBER).contains(number) && !text.starts_with('+'));
        number.map(Some).ok_or_else(|| {
            let detail = format!(
                "`{name}` is {:?}, but must be a whole number from {minimum} to {LARGEST_NUMBER}",
                excerpt(text)
            );
            Problem::invalid_parameter(name, detail)
        })
    }

    /// Reads the visibility and namespace that are requested for the Things that a request puts.
    pub(super) fn access(&self) -> Result<AccessRequest, Problem> {
        let choices = Visibility::ALL.map(|visibility| (visibility.as_str(), visibility));
        let namespace = match self.text("namespace") {
            None => None,
            Some("") => Some(None),
            Some(name) => Some(Some(name.parse().map_err(|message| Problem::invalid_parameter("namespace", message))?)),
        };
        let visibility = self.choice("visibility", &choices)?;
        let all_versions = self.all_versions()?;
        Ok(AccessRequest { owner: None, visibility, namespace, number: None, all_versions })
    }

    /// True if an access is requested for all versions.
    pub(super) fn all_versions(&self) -> Result<bool, Problem> {
        Ok(self.choice("versions", &[("served", false), ("all", true)])?.unwrap_or(false))
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
                let detail = format!("`{name}` is {:?}, but must be one of {}", excerpt(text), words.join(", "));
                Problem::invalid_parameter(name, detail)
            })
        };
        self.values(name).map(choose).collect()
    }

    /// The search filters among the parameters; `format` is what the one for source formats is called.
    pub(super) fn filters(&self, format: &str) -> Result<Filters, Problem> {
        let formats: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
        let mut filters = Filters::default();
        for (condition, field) in Condition::ALL.into_iter().flat_map(|all| FilterField::ALL.map(|field| (all, field)))
        {
            let name = parameter(condition, field, format);
            let known: &[&str] = match field {
                FilterField::Format => &formats,
                FilterField::Speaks => &[td::SACP],
                FilterField::Status => &agentdex_api::STATUSES,
                FilterField::Signature => &signature::Status::ALL.map(signature::Status::name),
                _ => &[],
            };
            if !known.is_empty() {
                self.choices(&name, &known.iter().map(|word| (*word, ())).collect::<Vec<_>>())?;
            }
            self.values(&name).for_each(|value| filters.add_to(condition, field, value));
        }
        filters.created = Period { from: self.moment("created_from")?, before: self.moment("created_before")? };
        filters.modified = Period { from: self.moment("modified_from")?, before: self.moment("modified_before")? };
        Ok(filters)
    }

    /// The pairs as they came, decoded.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// The maximum number of parameters that the sentence of a refusal lists with the filters.
const MOST_LISTED: usize = 20;

fn unknown(name: &str, known: &[&str]) -> Problem {
    let shown = excerpt(name);
    // Each filter has three names: where there are many, only the member `known` lists them.
    let is_left_out = |name: &str| known.len() > MOST_LISTED && filters().any(|filter| filter == name);
    let others: Vec<&str> = known.iter().copied().filter(|name| !is_left_out(name)).collect();
    let rest = if others.len() < known.len() { " and the filters listed in `known`" } else { "" };
    let detail = match known {
        [] => format!("unknown parameter `{shown}`; this operation has no parameters"),
        _ => format!("unknown parameter `{shown}`; known parameters are {}{rest}", others.join(", ")),
    };
    Problem::invalid_parameter(name, detail).with("known", known)
}

/// Reads a part of a query as forms write it: `+` is a space.
fn decode(text: &str) -> Result<String, Problem> {
    let spaced = if text.contains('+') { Cow::Owned(text.replace('+', " ")) } else { Cow::Borrowed(text) };
    let decoded = percent_decode_str(&spaced).decode_utf8().map(Cow::into_owned);
    decoded.map_err(|_| Problem::invalid_parameter(text, format!("{:?} in the query is not UTF-8", excerpt(text))))
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
        assert_eq!(refusal("limits=3"), "unknown parameter `limits`; known parameters are limit, tag");
        assert_eq!(refusal("limit=3&limit=4"), "`limit` is given more than once");
        assert_eq!(refusal("tag=%FF"), "\"%FF\" in the query is not UTF-8");
    }

    #[test]
    fn filters_with_few_values_know_them() {
        let known: Vec<&str> = filters().chain(["format"]).collect();
        let filters =
            |query: &str| Parameters::parse_query(query, &known).and_then(|parameters| parameters.filters("format"));
        assert_eq!(filters("format=td&format=a2a").unwrap().format, ["td", "a2a"]);
        let refusal = filters("format=a2").unwrap_err().to_string();
        assert!(
            refusal.starts_with("`format` is \"a2\", but must be one of td, ") && refusal.contains("a2a"),
            "{refusal}"
        );
        let chosen = filters("status=stale&status=current&signature=unsigned").unwrap();
        assert_eq!(
            (chosen.status, chosen.signature),
            (vec!["stale".into(), "current".into()], vec!["unsigned".into()])
        );
        for (query, known) in [
            ("status=stale&status=Stale", "current, stale, deprecated, deleted"),
            ("status=", "current, stale, deprecated, deleted"),
            ("signature=none", "valid, invalid, untrusted, unsigned"),
        ] {
            let refusal = filters(query).unwrap_err().to_string();
            assert!(refusal.ends_with(&format!("must be one of {known}")), "{refusal}");
        }
    }

    #[test]
    fn values_are_decoded_as_forms_write_them() {
        let parameters =
            Parameters::parse_query("tag=a+b&tag=c%2Bd&limit=7", &["limit", "tag"]).ok().unwrap_or_default();
        assert_eq!(parameters.filters("format").unwrap().tag, ["a b", "c+d"]);
        assert_eq!(parameters.number("limit", 1).ok().flatten(), Some(7));
        assert!(parameters.number("limit", 8).is_err());
    }
}
