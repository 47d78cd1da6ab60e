//! Conditional requests (RFC 9110, section 13): `If-Match` and `If-None-Match`.
//!
//! The entity tag of a Thing is `"<seq of its last change>"`, that of the collection `"<last seq>"`,
//! or `"<last seq>-<n>"` while n Things are expired and not purged yet.

use actix_web::{
    HttpRequest,
    http::header::{HeaderMap, HeaderName, IF_MATCH, IF_NONE_MATCH},
};

use super::problem::Problem;
use crate::{Error, Precondition, Registry, Seq};

/// What a client expects of the current state.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    if_match: Option<Tags>,
    if_none_match: Option<Tags>,
}

#[derive(Debug)]
enum Tags {
    Any,
    Listed(Vec<Tag>),
}

#[derive(Debug)]
struct Tag {
    weak: bool,
    opaque: String,
}

impl Conditions {
    /// Reads the headers of a request.
    pub(super) fn of(request: &HttpRequest) -> Result<Conditions, Problem> {
        let headers = request.headers();
        Ok(Conditions { if_match: tags(headers, &IF_MATCH)?, if_none_match: tags(headers, &IF_NONE_MATCH)? })
    }

    /// Whether a read of what has this tag (without quotes) isn't to be answered with the whole.
    pub(super) fn verdict(&self, tag: &str) -> Verdict {
        if self.if_match.as_ref().is_some_and(|tags| !tags.match_strongly(Some(tag))) {
            return Verdict::Failed;
        }
        match &self.if_none_match {
            Some(tags) if tags.match_weakly(Some(tag)) => Verdict::NotModified,
            _ => Verdict::Proceed,
        }
    }

    /// The precondition that a write of `id` carries into the log.
    pub(super) fn precondition(&self, registry: &Registry, id: &str) -> Result<Option<Precondition>, Error> {
        match (&self.if_match, &self.if_none_match) {
            (None, None) => return Ok(None),
            (Some(Tags::Any), None) => return Ok(Some(Precondition::Present)),
            (None, Some(Tags::Any)) => return Ok(Some(Precondition::Absent)),
            _ => {}
        }
        let found = registry.find_by_id(id)?.map(|thing| thing.seq());
        let pinned = found.map_or(Precondition::Absent, Precondition::Seq);
        if self.hold(found) {
            return Ok(Some(pinned));
        }
        Err(Error::PreconditionFailed { id: id.into(), expected: pinned, found })
    }

    fn hold(&self, found: Option<Seq>) -> bool {
        let tag = found.map(|seq| seq.to_string());
        self.if_match.as_ref().is_none_or(|tags| tags.match_strongly(tag.as_deref()))
            && !self.if_none_match.as_ref().is_some_and(|tags| tags.match_weakly(tag.as_deref()))
    }
}

/// What becomes of a conditional read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is answered.
    Proceed,
    /// 304
    NotModified,
    /// 412
    Failed,
}

impl Tags {
    fn match_strongly(&self, found: Option<&str>) -> bool {
        self.match_by(found, |tag, found| !tag.weak && tag.opaque == found)
    }

    fn match_weakly(&self, found: Option<&str>) -> bool {
        self.match_by(found, |tag, found| tag.opaque == found)
    }

    fn match_by(&self, found: Option<&str>, matches: impl Fn(&Tag, &str) -> bool) -> bool {
        match (self, found) {
            (_, None) => false,
            (Tags::Any, Some(_)) => true,
            (Tags::Listed(tags), Some(found)) => tags.iter().any(|tag| matches(tag, found)),
        }
    }
}

fn tags(headers: &HeaderMap, name: &HeaderName) -> Result<Option<Tags>, Problem> {
    let mut listed = Vec::new();
    for value in headers.get_all(name) {
        let malformed = || {
            let detail = format!("{name} must be * or a list of entity tags in double quotes");
            Problem::invalid_parameter(name.as_str(), detail)
        };
        let text = value.to_str().map_err(|_| malformed())?.trim();
        if text == "*" {
            return Ok(Some(Tags::Any));
        }
        let listed_before = listed.len();
        read_list(text, &mut listed).filter(|()| listed.len() > listed_before).ok_or_else(malformed)?;
    }
    Ok(if listed.is_empty() { None } else { Some(Tags::Listed(listed)) })
}

/// Reads `"a", W/"b"`; commas within the quotes belong to the tag.
fn read_list(mut text: &str, tags: &mut Vec<Tag>) -> Option<()> {
    while !text.is_empty() {
        let weak = text.starts_with("W/");
        let quoted = text.strip_prefix("W/").unwrap_or(text).strip_prefix('"')?;
        let (opaque, rest) = quoted.split_once('"')?;
        tags.push(Tag { weak, opaque: opaque.to_owned() });
        let rest = rest.trim_start();
        text = match rest.strip_prefix(',') {
            Some(rest) => rest.trim_start(),
            None if rest.is_empty() => rest,
            None => return None,
        };
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn conditions(name: &'static str, value: &'static str) -> Result<Conditions, Problem> {
        Conditions::of(&TestRequest::default().insert_header((name, value)).to_http_request())
    }

    fn verdict(name: &'static str, value: &'static str) -> Option<Verdict> {
        conditions(name, value).ok().map(|conditions| conditions.verdict("17"))
    }

    #[test]
    fn weak_tags_match_only_if_none_match() {
        assert_eq!(verdict("if-none-match", "W/\"17\""), Some(Verdict::NotModified));
        assert_eq!(verdict("if-match", "W/\"17\""), Some(Verdict::Failed));
        assert_eq!(verdict("if-match", "\"16\", \"17\""), Some(Verdict::Proceed));
        assert_eq!(verdict("if-none-match", "\"16\" , \"a,b\""), Some(Verdict::Proceed));
        assert_eq!(verdict("if-none-match", "*"), Some(Verdict::NotModified));
    }

    #[test]
    fn malformed_tags_are_refused() {
        for value in ["", " ", "17", "\"17", "\"17\" \"18\""] {
            assert!(conditions("if-match", value).is_err(), "{value} was read");
        }
    }

    #[test]
    fn nothing_there_matches_no_tag() {
        let conditions = conditions("if-none-match", "\"3\"").unwrap_or_default();
        assert!(conditions.hold(None));
        assert!(!conditions.hold(Some(Seq(3))));
    }
}
