//! Conditional requests (RFC 9110, section 13): `If-Match` and `If-None-Match`.
//!
//! The entity tag of a Thing is `"<seq of its last change>"`, and where it expires `"<seq>.<expiry>.<ttl>"`, with `.f`
//! and a hash of its flags where it has some: it covers all that a response says but the time of the read. That of the
//! collection is `"<last seq>"`, or `"<last seq>-<n>"` while n Things that the caller saw are expired and not purged yet,
//! with `-f` and the position of the flags while these are behind. A compressed response has the name of the coding at the
//! end of its tag.
//!
//! Reads compare whole tags. Writes compare the seq in them: a keep-alive that moves the expiry changes
//! nothing that another writer could overwrite by mistake.

use std::hash::{DefaultHasher, Hash, Hasher};

use actix_web::{
    HttpRequest,
    http::header::{ETAG, HeaderMap, HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH},
};

use crate::{Error, Precondition, Registry, Seq};

/// The conditions that a request sets on the current state.
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
    pub(super) fn of(request: &HttpRequest) -> Conditions {
        let headers = request.headers();
        let if_none_match = tags(headers, &IF_NONE_MATCH);
        // An empty list of tags none of which may match is no condition.
        let if_none_match = if_none_match.filter(|tags| !matches!(tags, Tags::Listed(tags) if tags.is_empty()));
        Conditions { if_match: tags(headers, &IF_MATCH), if_none_match }
    }

    /// True if a write may only create (`If-None-Match: *`).
    pub(super) fn must_be_absent(&self) -> bool {
        matches!(self.if_none_match, Some(Tags::Any))
    }

    /// Evaluates the conditions of a read against the current entity tag (without quotes).
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
        self.pinned(id, registry.find(id)?.map(|thing| thing.seq()))
    }

    /// The same of a version of a Thing, where one is named.
    pub(super) fn precondition_of(
        &self,
        registry: &Registry,
        id: &str,
        version: Option<&str>,
    ) -> Result<Option<Precondition>, Error> {
        let (Some(version), true) = (version, self.if_match.is_some() || self.if_none_match.is_some()) else {
            return self.precondition(registry, id);
        };
        match (&self.if_match, &self.if_none_match) {
            (Some(Tags::Any), None) => return Ok(Some(Precondition::Present)),
            (None, Some(Tags::Any)) => return Ok(Some(Precondition::Absent)),
            _ => {}
        }
        let versions = match registry.versions(id) {
            Err(Error::NotFound { .. }) => Vec::new(),
            versions => versions?,
        };
        let found = versions.iter().find(|known| known.version.as_deref() == Some(version));
        self.pinned(id, found.map(|version| version.seq))
    }

    /// The precondition that what is there, with this last change, stays.
    fn pinned(&self, id: &str, found: Option<Seq>) -> Result<Option<Precondition>, Error> {
        let pinned = found.map_or(Precondition::Absent, Precondition::Seq);
        if self.hold(found) {
            return Ok(Some(pinned));
        }
        let expected = found.map_or(Precondition::Present, Precondition::Seq);
        Err(Error::PreconditionFailed { id: id.into(), expected, found })
    }

    /// True if they hold for a write to a Thing with this last change.
    fn hold(&self, found: Option<Seq>) -> bool {
        let tag = found.map(|seq| seq.to_string());
        let is_found = |tag: &Tag, found: &str| tag.seq() == found;
        self.if_match
            .as_ref()
            .is_none_or(|tags| tags.match_by(tag.as_deref(), |tag, found| !tag.weak && is_found(tag, found)))
            && !self.if_none_match.as_ref().is_some_and(|tags| tags.match_by(tag.as_deref(), is_found))
    }
}

/// Returns the entity tag of a document that the server makes itself (without quotes): a hash.
pub(super) fn tag_of(document: &str) -> String {
    let mut hasher = DefaultHasher::new();
    document.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Reduces the tags in the conditions of a read to those of representations with this content coding, as the
/// tags that they have without it.
pub(super) fn select_coding(headers: &mut HeaderMap, coding: &str) {
    for name in [IF_MATCH, IF_NONE_MATCH] {
        let Some(Tags::Listed(tags)) = tags(headers, &name) else { continue };
        let plain = tags.iter().filter_map(|tag| {
            let opaque = tag.opaque.strip_suffix(coding)?.strip_suffix('-')?;
            Some(format!("{}\"{opaque}\"", if tag.weak { "W/" } else { "" }))
        });
        let plain: Vec<_> = plain.collect();
        // No representation has the empty tag.
        let list = if plain.is_empty() && !tags.is_empty() { "\"\"".to_owned() } else { plain.join(", ") };
        if let Ok(list) = HeaderValue::from_str(&list) {
            headers.insert(name, list);
        }
    }
}

/// Gives the entity tag of a response the name of its content coding.
pub(super) fn add_coding(headers: &mut HeaderMap, coding: &str) {
    let tag = headers.get(ETAG).and_then(|tag| tag.to_str().ok()?.strip_suffix('"'));
    let coded = tag.and_then(|tag| HeaderValue::from_str(&format!("{tag}-{coding}\"")).ok());
    if let Some(coded) = coded {
        headers.insert(ETAG, coded);
    }
}

/// The result of the conditions of a read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The representation is sent.
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

impl Tag {
    /// The seq that the tag of a Thing begins with.
    fn seq(&self) -> &str {
        self.opaque.split(['.', '-']).next().unwrap_or_default()
    }
}

fn tags(headers: &HeaderMap, name: &HeaderName) -> Option<Tags> {
    let values: Vec<_> = headers.get_all(name).map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
    if values.is_empty() {
        return None;
    }
    if values.iter().any(|value| value.trim() == "*") {
        return Some(Tags::Any);
    }
    Some(Tags::Listed(values.iter().flat_map(|value| read_list(value)).collect()))
}

/// Reads `"a", W/"b"`; commas within the quotes belong to the tag. Tags without quotes, as some clients
/// send them, are read as well, and what is no tag at all matches none.
fn read_list(mut text: &str) -> Vec<Tag> {
    let mut tags = Vec::new();
    loop {
        text = text.trim_start_matches([' ', '\t', ',']);
        if text.is_empty() {
            return tags;
        }
        let opaque = text.strip_prefix("W/");
        let weak = opaque.is_some();
        let tag = opaque.unwrap_or(text);
        let (opaque, rest) = match tag.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => tag.split_once(',').unwrap_or((tag, "")),
        };
        tags.push(Tag { weak, opaque: opaque.trim().to_owned() });
        text = rest;
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn conditions(name: &'static str, value: &'static str) -> Conditions {
        Conditions::of(&TestRequest::default().insert_header((name, value)).to_http_request())
    }

    fn verdict(name: &'static str, value: &'static str) -> Verdict {
        conditions(name, value).verdict("17")
    }

    #[test]
    fn weak_tags_match_only_if_none_match() {
        assert_eq!(verdict("if-none-match", "W/\"17\""), Verdict::NotModified);
        assert_eq!(verdict("if-match", "W/\"17\""), Verdict::Failed);
        assert_eq!(verdict("if-match", "\"16\", \"17\""), Verdict::Proceed);
        assert_eq!(verdict("if-none-match", "\"16\" , \"a,b\""), Verdict::Proceed);
        assert_eq!(verdict("if-none-match", "*"), Verdict::NotModified);
    }

    #[test]
    fn tags_are_read_as_clients_write_them() {
        for value in ["17", "W/17", "16, 17", "\"17", " , \"17\" \"18\"", "x y,\"17\""] {
            assert_eq!(verdict("if-none-match", value), Verdict::NotModified, "{value}");
        }
        for value in ["", " ", ",", "\"\"", "\"1\"7\"", "W/", "\"17-gzip\"", "\"17.1\""] {
            assert_eq!(verdict("if-none-match", value), Verdict::Proceed, "{value}");
            assert_eq!(verdict("if-match", value), Verdict::Failed, "{value}");
        }
    }

    #[test]
    fn writes_compare_the_seq() {
        for value in ["\"3\"", "\"3-gzip\"", "\"3.18c.60\"", "\"3.18c.60-br\"", "3"] {
            assert!(conditions("if-match", value).hold(Some(Seq(3))), "{value}");
            assert!(!conditions("if-match", value).hold(Some(Seq(4))), "{value}");
            assert!(!conditions("if-none-match", value).hold(Some(Seq(3))), "{value}");
        }
        assert!(!conditions("if-match", "W/\"3\"").hold(Some(Seq(3))));
        assert!(!conditions("if-match", "").hold(Some(Seq(3))));
        assert!(conditions("if-none-match", "").hold(Some(Seq(3))));
    }

    #[test]
    fn nothing_there_matches_no_tag() {
        let conditions = conditions("if-none-match", "\"3\"");
        assert!(conditions.hold(None));
        assert!(!conditions.hold(Some(Seq(3))));
    }

    #[test]
    fn tags_of_one_coding_are_selected() {
        let mut headers = HeaderMap::new();
        headers.insert(IF_NONE_MATCH, HeaderValue::from_static("\"1\", W/\"2-gzip\", \"3-br\""));
        headers.insert(IF_MATCH, HeaderValue::from_static("\"1\""));
        select_coding(&mut headers, "gzip");
        assert_eq!(headers.get(IF_NONE_MATCH).unwrap(), "W/\"2\"");
        assert_eq!(headers.get(IF_MATCH).unwrap(), "\"\"");
        headers.insert(ETAG, HeaderValue::from_static("W/\"2\""));
        add_coding(&mut headers, "gzip");
        assert_eq!(headers.get(ETAG).unwrap(), "W/\"2-gzip\"");
    }
}
