//! Reads a query text into clauses. Nothing is an error.

use super::{Clause, Occur, Pattern, Target, words};
use crate::search::{FacetField, schema::ExactField, text};

/// The clauses of a text, in its order.
pub(in crate::search) fn parse(text: &str) -> Vec<Clause> {
    let mut parser = Parser { rest: text };
    let mut clauses = Vec::new();
    while let Some(clause) = parser.next_clause() {
        clauses.extend(clause);
    }
    clauses
}

/// Parses a text that is still being typed. Its last word may be a prefix, unless it is followed by a delimiter. Next
/// to other words, a single letter is ignored, and a common word is considered complete.
pub(in crate::search) fn parse_typed(text: &str) -> Vec<Clause> {
    let mut clauses = parse(text);
    let is_alone = clauses.len() == 1;
    let Some(last) = clauses.last_mut() else { return clauses };
    let Pattern::Word(word) = &last.pattern else { return clauses };
    if last.occur == Occur::Not || !text.ends_with(text::is_of_word) {
        return clauses;
    }
    match last.target {
        Target::Id | Target::Exact(_) => last.pattern = Pattern::Prefix(word.clone()),
        _ if !is_alone && word.chars().count() == 1 => drop(clauses.pop()),
        _ if words::may_be_id(word) || !is_alone && words::is_filler(word) => {}
        _ => last.pattern = Pattern::Begun(word.clone()),
    }
    clauses
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    /// Returns the next clause, or `None` at the end. The inner `None` is text without meaning, such as a lone `*`.
    fn next_clause(&mut self) -> Option<Option<Clause>> {
        self.rest = self.rest.trim_start();
        if self.rest.is_empty() {
            return None;
        }
        let occur = self.occur();
        if let Some(phrase) = self.phrase() {
            return Some(Some(Clause { occur, target: Target::Text, pattern: Pattern::Phrase(phrase.to_owned()) }));
        }
        if let Some((target, after)) = field(self.rest) {
            self.rest = after;
            let pattern = match self.phrase() {
                Some(phrase) => Pattern::Phrase(phrase.to_owned()),
                None => pattern(self.word()),
            };
            return Some(Some(Clause { occur, target, pattern }));
        }
        let word = self.word();
        let says_nothing = word.trim_matches('*').is_empty();
        Some((!says_nothing).then(|| Clause { occur, target: Target::Text, pattern: pattern(word) }))
    }

    /// A single sign directly before a word.
    fn occur(&mut self) -> Occur {
        let occur = match self.rest.as_bytes() {
            [_, next, ..] if next.is_ascii_whitespace() || matches!(next, b'+' | b'-') => Occur::Any,
            [b'+', _, ..] => Occur::Must,
            [b'-', _, ..] => Occur::Not,
            _ => Occur::Any,
        };
        if occur != Occur::Any {
            self.rest = self.rest.get(1..).unwrap_or_default();
        }
        occur
    }

    /// Reads a quoted text with a closing quote.
    fn phrase(&mut self) -> Option<&'a str> {
        let (phrase, rest) = self.rest.strip_prefix('"')?.split_once('"')?;
        self.rest = rest;
        Some(phrase)
    }

    /// Reads up to white space.
    fn word(&mut self) -> &'a str {
        let (word, rest) = self.rest.split_at(self.rest.find(char::is_whitespace).unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }
}

/// Fields without a filter of the same name.
pub(super) const FIELDS: [&str; 4] = ["title", "description", "id", "language"];

/// True if a field has this name.
pub(super) fn is_field(name: &str) -> bool {
    target(name).is_some()
}

/// Returns the known field at the beginning of a text, if its colon is followed by a value.
fn field(text: &str) -> Option<(Target, &str)> {
    let (name, after) = text.split_once(':')?;
    if !after.starts_with(|next: char| !next.is_whitespace()) || after == "\"" {
        return None;
    }
    Some((target(name)?, after))
}

fn target(name: &str) -> Option<Target> {
    Some(match name {
        "title" => Target::Title,
        "description" => Target::Description,
        "id" => Target::Id,
        "language" | "lang" => Target::Exact(ExactField::Language),
        name => Target::Exact(ExactField::Facet(FacetField::from_name(name)?)),
    })
}

fn pattern(word: &str) -> Pattern {
    match word.strip_suffix('*') {
        Some(prefix)
            if prefix.ends_with(|last: char| {
                text::is_of_word(last) || text::is_hyphen(last) || matches!(last, ':' | '.' | '/')
            }) =>
        {
            Pattern::Prefix(prefix.to_owned())
        }
        _ => Pattern::Word(word.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any(pattern: Pattern) -> Clause {
        Clause { occur: Occur::Any, target: Target::Text, pattern }
    }

    fn word(text: &str) -> Pattern {
        Pattern::Word(text.into())
    }

    #[test]
    fn each_form_is_read() {
        let vendor = Target::Exact(ExactField::Facet(FacetField::Vendor));
        assert_eq!(
            parse(r#"weather "long range" +must -not pre* title:x -vendor:"Acme Inc" id:urn:a:b"#),
            [
                any(word("weather")),
                any(Pattern::Phrase("long range".into())),
                Clause { occur: Occur::Must, ..any(word("must")) },
                Clause { occur: Occur::Not, ..any(word("not")) },
                any(Pattern::Prefix("pre".into())),
                Clause { target: Target::Title, ..any(word("x")) },
                Clause { occur: Occur::Not, target: vendor, pattern: Pattern::Phrase("Acme Inc".into()) },
                Clause { target: Target::Id, ..any(word("urn:a:b")) },
            ]
        );
    }

    #[test]
    fn stray_operators_are_text() {
        assert_eq!(parse(r#""open"#), [any(word(r#""open"#))]);
        assert_eq!(parse("- foo"), [any(word("-")), any(word("foo"))]);
        assert_eq!(parse("--verbose c++"), [any(word("--verbose")), any(word("c++"))]);
        assert_eq!(parse("title: x"), [any(word("title:")), any(word("x"))]);
        assert_eq!(parse("http://x urn:a"), [any(word("http://x")), any(word("urn:a"))]);
    }

    #[test]
    fn the_last_word_that_is_typed_may_go_on() {
        let begun = |text: &str| any(Pattern::Begun(text.into()));
        assert_eq!(parse_typed("weath"), [begun("weath")]);
        assert_eq!(parse_typed("the"), [begun("the")]);
        assert_eq!(parse_typed("weather ag"), [any(word("weather")), begun("ag")]);
        assert_eq!(parse_typed("weather a"), [any(word("weather"))]);
        for ended in
            ["weather agent ", "weather agent?", "weather for", "weather \"long range\"", "weather -ag", "urn:a:b", ""]
        {
            assert_eq!(parse_typed(ended), parse(ended), "{ended}");
        }
        assert_eq!(parse_typed("+weath"), [Clause { occur: Occur::Must, ..begun("weath") }]);
        let tag = Target::Exact(ExactField::Facet(FacetField::Tag));
        assert_eq!(parse_typed("tag:be"), [Clause { target: tag, ..any(Pattern::Prefix("be".into())) }]);
    }

    #[test]
    fn a_lone_star_says_nothing() {
        assert_eq!(parse(" * "), []);
    }
}
