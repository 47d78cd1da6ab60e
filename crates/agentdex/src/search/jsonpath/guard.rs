//! Checks on the text of a query before parsing.
//!
//! The parser's running time doubles with each nested filter, and its stack overflows at several hundred parentheses.
//! Both are limited here, as are constructs that multiply the cost of evaluation.

use std::collections::BTreeSet;

use super::functions;
use crate::{Error, Result};

/// The longest query in bytes.
const MAX_BYTES: usize = 1024;
/// The deepest nesting of brackets and parentheses.
const MAX_NESTING: usize = 32;
/// The deepest nesting of filters.
const MAX_FILTERS: usize = 6;
/// The most `..`.
const MAX_DESCENTS: u32 = 2;
/// Maximum product of the numbers of selectors in brackets.
const MAX_SELECTORS: usize = 16;

/// Properties of a query that determine its cost.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outline {
    /// Number of `..` segments.
    pub descents: u32,
    /// Product of the numbers of selectors in all brackets. Evaluation visits up to this many times as many nodes.
    pub selectors: usize,
    /// Texts that a description must contain for the query to have a result.
    pub required: Vec<String>,
    /// Name and string value of a member that a description must have for the query to have a result.
    pub equality: Option<(String, String)>,
    /// Members of a description read by the query, or `None` if the query may read all members.
    pub members: Option<BTreeSet<String>>,
}

/// True if the text of a description contains escaped letters, so that its content can't be found in the text.
pub(super) fn has_escaped_letters(description: &str) -> bool {
    ["\\u", "\\/"].iter().any(|escape| memchr::memmem::find(description.as_bytes(), escape.as_bytes()).is_some())
}

/// Checks a query.
pub(super) fn check(text: &str) -> Result<Outline> {
    if text.len() > MAX_BYTES {
        return Err(limit("length of a JSONPath in bytes", MAX_BYTES));
    }
    let tokens = tokens(text)?;
    let Some(Token { kind: Kind::Symbol('$'), .. }) = tokens.first() else {
        return Err(invalid("a JSONPath must start with `$`, which refers to the list of all descriptions".to_owned()));
    };
    check_root(&tokens)?;
    let mut outline = nesting(&tokens)?;
    if !has_alternatives(&tokens) {
        outline.required = required(&tokens);
        outline.equality = equality(&tokens);
    }
    outline.members = members(&tokens);
    Ok(outline)
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Token<'a> {
    kind: Kind<'a>,
    /// Position of the first character, starting at 1.
    at: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind<'a> {
    /// The text between quotes.
    Text(&'a str),
    /// A name, a keyword or a number.
    Word(&'a str),
    /// `..`, `==`, `!=`, `&&`, `||`.
    Pair(&'a str),
    Symbol(char),
}

fn tokens(text: &str) -> Result<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    let position = |rest: &str| text.len() - rest.len();
    let character = |rest: &str| text.get(..position(rest)).map_or(0, |before| before.chars().count()) + 1;
    while let Some(first) = rest.chars().next() {
        let at = character(rest);
        let length = match first {
            '\'' | '"' => {
                let Some(end) = end_of_text(rest, first) else {
                    return Err(invalid(format!("unterminated string at character {at}")));
                };
                end
            }
            _ if is_in_word(first) => rest.find(|next| !is_in_word(next)).unwrap_or(rest.len()),
            _ if ["..", "==", "!=", "&&", "||"].iter().any(|pair| rest.starts_with(pair)) => 2,
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        let kind = match first {
            '\'' | '"' => Kind::Text(token.get(1..length - 1).unwrap_or_default()),
            _ if is_in_word(first) => Kind::Word(token),
            _ if length == 2 && first.is_ascii() => Kind::Pair(token),
            _ => Kind::Symbol(first),
        };
        if !first.is_whitespace() {
            tokens.push(Token { kind, at });
        }
        rest = after;
    }
    Ok(tokens)
}

fn is_in_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-')
}

/// The length of a text with its quotes.
fn end_of_text(rest: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (index, character) in rest.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if character == quote => return Some(index + 1),
            _ => {}
        }
    }
    None
}

/// The first segment may not select by position, and nothing else may start from the root.
fn check_root(tokens: &[Token<'_>]) -> Result<()> {
    if let Some(other) = tokens.iter().skip(1).find(|token| token.kind == Kind::Symbol('$')) {
        let message = format!(
            "the `$` at character {} refers to the list of all descriptions, but each description is searched \
             separately; compare with `@`",
            other.at
        );
        return Err(invalid(message));
    }
    if tokens.len() == 1 {
        return Err(invalid("`$` alone selects all descriptions; use GET /things instead".to_owned()));
    }
    let descent = usize::from(tokens.get(1).is_some_and(|token| token.kind == Kind::Pair("..")));
    if tokens.get(1 + descent).is_none_or(|token| token.kind != Kind::Symbol('[')) {
        return Ok(());
    }
    let mut depth = 0_usize;
    for (before, token) in tokens.iter().skip(1 + descent).zip(tokens.iter().skip(2 + descent)) {
        match before.kind {
            Kind::Symbol('[' | '(') => depth += 1,
            Kind::Symbol(']' | ')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        let starts_selector = depth == 1 && matches!(before.kind, Kind::Symbol('[' | ','));
        let is_position = matches!(token.kind, Kind::Symbol(':'))
            || matches!(token.kind, Kind::Word(word) if word.starts_with(|first: char| first == '-' || first.is_ascii_digit()));
        if starts_selector && is_position {
            let message = format!(
                "descriptions can't be selected by position, as at character {}; use a filter, such as \
                 $[?@.title=='Weather'], or $[*] for all",
                token.at
            );
            return Err(invalid(message));
        }
        if depth == 0 {
            break;
        }
    }
    Ok(())
}

/// Something that is open.
struct Open {
    symbol: char,
    at: usize,
    /// True if it is a pair of brackets with a filter.
    is_filter: bool,
    /// True if it holds the arguments of `match` or `search`.
    is_pattern: bool,
    selectors: usize,
}

fn nesting(tokens: &[Token<'_>]) -> Result<Outline> {
    let mut open: Vec<Open> = Vec::new();
    let mut outline = Outline { descents: 0, selectors: 1, ..Outline::default() };
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Symbol(symbol @ ('[' | '(')) => {
                let before = index.checked_sub(1).and_then(|before| tokens.get(before)).map(|token| &token.kind);
                let is_pattern = matches!(before, Some(Kind::Word("match" | "search")));
                open.push(Open { symbol, at: token.at, is_filter: false, is_pattern, selectors: 1 });
                if open.len() > MAX_NESTING {
                    return Err(limit("nesting of brackets and parentheses in a JSONPath", MAX_NESTING));
                }
            }
            Kind::Symbol(symbol @ (']' | ')')) => {
                let opening = if symbol == ']' { '[' } else { '(' };
                let Some(closed) = open.pop().filter(|closed| closed.symbol == opening) else {
                    return Err(invalid(format!("unmatched `{symbol}` at character {}", token.at)));
                };
                outline.selectors = outline.selectors.saturating_mul(closed.selectors);
            }
            Kind::Symbol('?') => {
                if let Some(last) = open.last_mut() {
                    last.is_filter = true;
                }
                if open.iter().filter(|open| open.is_filter).count() > MAX_FILTERS {
                    return Err(limit("nesting of filters in a JSONPath", MAX_FILTERS));
                }
            }
            Kind::Symbol(',') => match open.last_mut() {
                Some(last) if last.is_pattern => check_pattern(tokens.get(index + 1), token.at)?,
                Some(last) if last.symbol == '[' => last.selectors += 1,
                _ => {}
            },
            Kind::Pair("..") => outline.descents += 1,
            _ => {}
        }
    }
    if let Some(open) = open.last() {
        return Err(invalid(format!("the `{}` at character {} is never closed", open.symbol, open.at)));
    }
    if outline.descents > MAX_DESCENTS {
        return Err(limit("number of `..` in a JSONPath", MAX_DESCENTS as usize));
    }
    if outline.selectors > MAX_SELECTORS {
        return Err(limit("product of the selector counts of all brackets in a JSONPath", MAX_SELECTORS));
    }
    Ok(outline)
}

/// Checks that a pattern is a literal of the query, since a pattern from a description could be crafted to take long.
/// A number or keyword in its place matches nothing.
fn check_pattern(pattern: Option<&Token<'_>>, comma: usize) -> Result<()> {
    let (pattern, at) = match pattern {
        Some(Token { kind: Kind::Text(pattern), at }) => (pattern, at),
        Some(Token { kind: Kind::Word(_), .. }) => return Ok(()),
        _ => return Err(invalid(format!("expected a pattern in quotes after character {comma}"))),
    };
    // What has escape sequences that don't exist is refused by the parser.
    let Some(pattern) = unescaped(pattern) else { return Ok(()) };
    functions::compile(&pattern).map(drop).map_err(|error| {
        let reason = error.to_string();
        let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
        invalid(format!("the pattern at character {at} is not a valid regular expression (RFC 9485): {reason}"))
    })
}

/// Decodes a text between quotes. Its escape sequences are those of JSON and `\'` (RFC 9535, section 2.3.1).
fn unescaped(text: &str) -> Option<String> {
    let mut json = String::with_capacity(text.len() + 2);
    let mut is_escaped = false;
    json.push('"');
    for character in text.chars() {
        match character {
            '\'' if is_escaped => {
                json.pop();
                json.push('\'');
            }
            '"' if !is_escaped => json.push_str("\\\""),
            _ => json.push(character),
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    json.push('"');
    serde_json::from_str(&json).ok()
}

/// True if parts of the query are optional: alternatives, a negation, or a function that counts missing nodes.
fn has_alternatives(tokens: &[Token<'_>]) -> bool {
    tokens.iter().any(|token| {
        matches!(
            token.kind,
            Kind::Pair("||" | "!=") | Kind::Symbol('!' | ',') | Kind::Word("count" | "length" | "value")
        )
    })
}

/// Returns the first member compared by `==` with a text in a filter of the root, as in `$[?@.title=='x']`.
fn equality(tokens: &[Token<'_>]) -> Option<(String, String)> {
    // After `$`, `[` and `?` the filter begins, which ends with the bracket of its own.
    let [dollar, open, filter, rest @ ..] = tokens else { return None };
    let begins = [dollar, open, filter].map(|token| &token.kind);
    if begins != [&Kind::Symbol('$'), &Kind::Symbol('['), &Kind::Symbol('?')] {
        return None;
    }
    let mut depth = 0;
    for (index, token) in rest.iter().enumerate() {
        match token.kind {
            Kind::Symbol('[' | '(') => depth += 1,
            Kind::Symbol(']' | ')') if depth == 0 => return None,
            Kind::Symbol(']' | ')') => depth -= 1,
            // Another filter, which is about something else than a description.
            Kind::Symbol('?') => return None,
            Kind::Symbol('@') => {
                let path = rest.get(index + 1..)?;
                let name = member(path)?;
                let after = if path.first()?.kind == Kind::Symbol('.') { 2 } else { 3 };
                let compared = (path.get(after).map(|token| &token.kind), path.get(after + 1).map(|token| &token.kind));
                if let (Some(Kind::Pair("==")), Some(Kind::Text(text))) = compared {
                    return Some((name, unescaped(text)?));
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns the texts compared by `==`.
fn required(tokens: &[Token<'_>]) -> Vec<String> {
    let is_equality = |index: Option<usize>| {
        index.and_then(|index| tokens.get(index)).is_some_and(|token| token.kind == Kind::Pair("=="))
    };
    let compared = tokens.iter().enumerate().filter_map(|(index, token)| match token.kind {
        Kind::Text(text) if is_equality(index.checked_sub(1)) || is_equality(Some(index + 1)) => Some(text),
        _ => None,
    });
    // What has to be escaped in JSON isn't found as it is.
    let is_plain = |text: &&str| !text.contains(['\\', '"']) && !text.chars().any(char::is_control);
    compared.filter(is_plain).map(str::to_owned).collect()
}

/// Returns the members named wherever the query enters a description: after the first segment, and after the `@` of
/// filters in it. Returns `None` if the query may enter by other ways.
fn members(tokens: &[Token<'_>]) -> Option<BTreeSet<String>> {
    let mut members = BTreeSet::new();
    let mut open: Vec<bool> = Vec::new();
    for (index, token) in tokens.iter().enumerate().skip(1) {
        match token.kind {
            Kind::Symbol('[' | '(') => open.push(false),
            Kind::Symbol('?') => open.last_mut().into_iter().for_each(|is_filter| *is_filter = true),
            Kind::Symbol(']' | ')') => drop(open.pop()),
            Kind::Symbol('@') if open.iter().filter(|is_filter| **is_filter).count() == 1 => {
                members.insert(member(tokens.get(index + 1..)?)?);
            }
            _ => {}
        }
        if open.is_empty() {
            // The first segment ends here; `$.name` has no elements to go into, and `$..` goes everywhere.
            let rest = tokens.get(index + 1..).filter(|_| token.kind == Kind::Symbol(']'))?;
            if !rest.is_empty() {
                members.insert(member(rest)?);
            }
            break;
        }
    }
    Some(members)
}

/// Returns the only member named by a segment.
fn member(segment: &[Token<'_>]) -> Option<String> {
    let kinds: Vec<&Kind<'_>> = segment.iter().take(3).map(|token| &token.kind).collect();
    match kinds.as_slice() {
        // Names have letters that are no words here.
        [Kind::Symbol('.'), Kind::Word(_), Kind::Symbol(next)] if !next.is_ascii() => None,
        [Kind::Symbol('.'), Kind::Word(name), ..] => Some((*name).to_owned()),
        [Kind::Symbol('['), Kind::Text(name), Kind::Symbol(']')] => unescaped(name),
        _ => None,
    }
}

fn invalid(message: String) -> Error {
    Error::InvalidQuery { message }
}

fn limit(what: &'static str, maximum: usize) -> Error {
    Error::LimitExceeded { what, maximum: maximum as u64 }
}
