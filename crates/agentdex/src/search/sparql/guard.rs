//! Checks on the text of a query before parsing: the parser recurses for each level of nesting and for each operator.

use crate::{Error, Result};

/// The longest query in bytes.
const MAX_BYTES: usize = 8 * 1024;
/// The deepest nesting of parentheses, brackets and braces.
const MAX_NESTING: usize = 24;
/// The most words, names, values and signs together.
const MAX_TOKENS: usize = 2000;
/// Maximum number of consecutive prefix operators: `!`, `-`, `+`, `^`.
const MAX_SIGNS: usize = 8;

/// Keywords of SPARQL Update.
const UPDATES: [&str; 10] = ["insert", "delete", "load", "clear", "drop", "create", "add", "move", "copy", "with"];

/// Checks a query.
pub(super) fn check(text: &str) -> Result<()> {
    if text.len() > MAX_BYTES {
        return Err(limit("length of a SPARQL query in bytes", MAX_BYTES));
    }
    let mut open: Vec<(char, usize)> = Vec::new();
    let (mut tokens, mut signs) = (0, 0);
    let mut rest = text;
    let mut prologue = Prologue::default();
    while let Some(first) = rest.chars().next() {
        let at = text.len() - rest.len();
        let length =
            token_length(rest).ok_or_else(|| invalid(format!("unterminated string at {}", position(text, at))))?;
        let (token, after) = rest.split_at(length);
        rest = after;
        if first.is_whitespace() || first == '#' {
            continue;
        }
        tokens += 1;
        if tokens > MAX_TOKENS {
            return Err(limit("number of tokens in a SPARQL query", MAX_TOKENS));
        }
        signs = if matches!(first, '!' | '-' | '+' | '^') { signs + 1 } else { 0 };
        if signs > MAX_SIGNS {
            return Err(limit("number of consecutive symbols (! - + ^) in a SPARQL query", MAX_SIGNS));
        }
        match first {
            '(' | '[' | '{' => {
                open.push((first, at));
                if open.len() > MAX_NESTING {
                    return Err(limit("nesting of brackets in a SPARQL query", MAX_NESTING));
                }
            }
            ')' | ']' | '}' => {
                let opening = match first {
                    ')' => '(',
                    ']' => '[',
                    _ => '{',
                };
                if open.pop().is_none_or(|(opened, _)| opened != opening) {
                    return Err(invalid(format!("unmatched `{first}` at {}", position(text, at))));
                }
            }
            _ => {}
        }
        if let Some(word) = prologue.first_word(token)
            && UPDATES.iter().any(|update| word.eq_ignore_ascii_case(update))
        {
            let message = format!(
                "{} at {} is an update, but only SELECT, ASK, CONSTRUCT, and DESCRIBE are supported; change \
                 descriptions at /things/{{id}}",
                word.to_uppercase(),
                position(text, at)
            );
            return Err(invalid(message));
        }
    }
    match open.last() {
        Some((symbol, at)) => Err(invalid(format!("the `{symbol}` at {} is never closed", position(text, *at)))),
        None => Ok(()),
    }
}

/// Finder for the keyword of a query after its prefix declarations.
#[derive(Default)]
struct Prologue {
    /// True if the IRI of a declaration is still to come.
    is_declaring: bool,
    is_over: bool,
}

impl Prologue {
    fn first_word<'a>(&mut self, token: &'a str) -> Option<&'a str> {
        if self.is_over {
            return None;
        }
        if self.is_declaring {
            self.is_declaring = !token.starts_with('<');
            return None;
        }
        self.is_declaring = ["prefix", "base"].iter().any(|word| token.eq_ignore_ascii_case(word));
        self.is_over = !self.is_declaring;
        self.is_over.then_some(token)
    }
}

/// Returns the length of the token at the beginning of a text, or `None` if the token is not terminated.
fn token_length(rest: &str) -> Option<usize> {
    let first = rest.chars().next()?;
    Some(match first {
        '#' => rest.find(['\n', '\r']).unwrap_or(rest.len()),
        '\'' | '"' => return string_length(rest, first),
        '<' => iri_length(rest).unwrap_or(1),
        _ if first.is_whitespace() => first.len_utf8(),
        _ if is_in_word(first) => rest.find(|next| !is_in_word(next)).unwrap_or(rest.len()),
        _ => first.len_utf8(),
    })
}

fn is_in_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | ':' | '.' | '?' | '$' | '@' | '%' | '\\')
}

/// Returns the length of an IRI `<…>`, or `None` if `<` is an operator.
fn iri_length(rest: &str) -> Option<usize> {
    let end = rest.find('>')?;
    let inside = rest.get(1..end)?;
    let is_iri = !inside.contains(|c: char| c <= ' ' || matches!(c, '<' | '"' | '{' | '}' | '|' | '^' | '`'));
    is_iri.then_some(end + 1)
}

fn string_length(rest: &str, quote: char) -> Option<usize> {
    let long: String = [quote; 3].iter().collect();
    let end = if rest.starts_with(&long) { long } else { quote.to_string() };
    let mut skipped = end.len();
    loop {
        let after = rest.get(skipped..)?;
        let found = after.find([quote, '\\'])?;
        let here = after.get(found..)?;
        if here.starts_with('\\') {
            let escaped = here.chars().nth(1)?;
            skipped += found + 1 + escaped.len_utf8();
        } else if here.starts_with(&end) {
            return Some(skipped + found + end.len());
        } else {
            skipped += found + 1;
        }
    }
}

/// Formats the position of a byte as line and column, counted as the parser does.
fn position(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("{line}:{column}")
}

fn limit(what: &'static str, maximum: usize) -> Error {
    Error::LimitExceeded { what, maximum: maximum as u64 }
}

fn invalid(message: String) -> Error {
    Error::InvalidQuery { message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_texts_comments_and_iris_do_not_count() {
        for query in [
            "SELECT * { ?s ?p '(((' , \"]]\", '''a'(''', \"\"\"\\\"\"\"{\"\"\" } # ((((",
            "ASK { ?s <http://e.org/(a> ?o FILTER(?o < 3 && ?o > 1) }",
            "PREFIX ex: <http://e.org/#> SELECT * { ?s ex:a ?o }",
        ] {
            assert!(check(query).is_ok(), "{query}: {:?}", check(query));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_place() {
        for (query, part) in [
            ("ASK { ?s ?p 'x }", "string at 1:13"),
            ("ASK {\n ?s ?p ?o ) }", "`)` at 2:11"),
            ("ASK { ?s ?p ?o", "`{` at 1:5"),
            ("INSERT DATA { <a:b> <a:b> 1 }", "INSERT at 1:1"),
            ("PREFIX ex: <http://e.org/>\nDELETE WHERE { ?s ?p ?o }", "DELETE at 2:1"),
            ("base <http://e.org/> clear all", "CLEAR at 1:22"),
        ] {
            let error = check(query).unwrap_err().to_string();
            assert!(error.contains(part), "{query}: {error}");
        }
    }

    #[test]
    fn deep_and_long_queries_are_refused() {
        let nested = format!("ASK {}{}", "{".repeat(1000), "}".repeat(1000));
        let parentheses = format!("ASK {{ FILTER({}1{}) }}", "(".repeat(1000), ")".repeat(1000));
        let negations = format!("ASK {{ FILTER({}true) }}", "!".repeat(1000));
        let sums = format!("ASK {{ FILTER(1{}) }}", "+1".repeat(2000));
        let long = format!("ASK {{ ?s ?p '{}' }}", "x".repeat(10_000));
        for query in [&nested, &parentheses, &negations, &sums, &long] {
            assert!(matches!(check(query), Err(Error::LimitExceeded { .. })), "{query}");
        }
    }
}
