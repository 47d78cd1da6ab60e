//! Checks of URI references and links. References may be templates (RFC 6570).

use std::borrow::Cow;

use fluent_uri::IriRef;
use serde_json::Value;

use super::{Object, Path, Walk};

impl<'a> Walk<'a> {
    pub(super) fn check_base(&mut self) {
        if let Some(Value::String(base)) = self.thing.get("base") {
            self.check_reference(base, &Path::ROOT.member("base"));
        }
    }

    /// Checks the `href` of a link or form.
    pub(super) fn check_href(&mut self, owner: &Object, path: &Path<'_>) {
        let Some(Value::String(href)) = owner.get("href") else {
            return;
        };
        let path = path.member("href");
        if self.check_reference(href, &path) == Some(Reference::Relative) && !self.thing.contains_key("base") {
            let message = format!("{href:?} is relative, but `base` is missing; add a `base`, or use an absolute URL");
            self.warning(&path, "relative-without-base", message);
        }
    }

    fn check_reference(&mut self, reference: &str, path: &Path<'_>) -> Option<Reference> {
        let kind = Reference::of(reference);
        if kind.is_none() {
            let message =
                format!("{reference:?} is not a URI reference; percent-encode characters that are not allowed");
            self.violation(path, "not-a-uri", message);
        }
        kind
    }

    pub(super) fn check_links(&mut self) {
        let Some(Value::Array(links)) = self.thing.get("links") else {
            return;
        };
        let path = Path::ROOT.member("links");
        let mut has_type = false;
        for (index, link) in links.iter().enumerate() {
            let Value::Object(link) = link else { continue };
            let path = path.index(index);
            self.check_href(link, &path);
            match link.get("hreflang") {
                Some(Value::String(tag)) => self.check_language_tag(&path.member("hreflang"), tag),
                Some(Value::Array(tags)) => {
                    for tag in tags.iter().filter_map(Value::as_str) {
                        self.check_language_tag(&path.member("hreflang"), tag);
                    }
                }
                _ => {}
            }
            if link.get("rel").and_then(Value::as_str) == Some("type") {
                if has_type {
                    let message = "there is another link with rel \"type\"; a Thing can be an instance of only one \
                        Thing Model";
                    self.violation(&path, "several-type-links", message.into());
                }
                has_type = true;
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reference {
    Absolute,
    Relative,
}

impl Reference {
    /// Classifies `text` as an absolute or relative reference once its template is expanded; none if it is not a
    /// reference.
    fn of(text: &str) -> Option<Reference> {
        let expanded = expand_template(text)?;
        let reference = IriRef::parse(expanded.as_ref()).ok()?;
        // What a variable in front stands for may well have a scheme.
        Some(if reference.has_scheme() || text.starts_with('{') { Reference::Absolute } else { Reference::Relative })
    }
}

/// Expands a URI template with some values. Returns `None` if its braces don't match.
fn expand_template(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains(['{', '}']) {
        return Some(text.into());
    }
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        let (literal, expression) = (&rest[..start], &rest[start + 1..]);
        let end = expression.find('}')?;
        let variables = &expression[..end];
        if literal.contains('}') || variables.is_empty() || variables.contains(['{', ' ']) {
            return None;
        }
        expanded.push_str(literal);
        if let operator @ ('?' | '&' | '#' | '/' | '.' | ';') = variables.chars().next()? {
            expanded.push(operator);
        }
        // A scheme begins with a letter, a port has digits only, in brackets is an address.
        expanded.push_str(match expanded.chars().next_back() {
            None => "a",
            Some('[') => "::1",
            Some(_) => "1",
        });
        rest = &expression[end + 1..];
    }
    if rest.contains('}') {
        return None;
    }
    expanded.push_str(rest);
    Some(expanded.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_expanded_before_they_are_judged() {
        for text in [
            "/a{?x,y}",
            "/a{?x}{&y}",
            "{scheme}://{host}:{port}/{+path}{#f}",
            "coap://[{address}]",
            "http://h/{a}b",
            "{n}/status",
            "/{;x*}",
            "/a{/p:3}",
        ] {
            assert!(Reference::of(text).is_some(), "{text}");
        }
        for text in ["/{", "/}", "/{}", "/{a", "/a}{b}", "/{a b}", "/{a{b}}", "x y", "http://[", "%zz", "a<b"] {
            assert_eq!(Reference::of(text), None, "{text}");
        }
    }

    #[test]
    fn relative_references_have_no_scheme() {
        assert_eq!(Reference::of("http://ä.example/{x}"), Some(Reference::Absolute));
        assert_eq!(Reference::of("{base}/x"), Some(Reference::Absolute));
        for text in ["", "a/b", "/a", "?q={x}", "//host/a"] {
            assert_eq!(Reference::of(text), Some(Reference::Relative), "{text}");
        }
    }
}
