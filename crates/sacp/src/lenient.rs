//! JSON as models write it: with comments, with other quotes or none, with the words of Python, cut off.
//!
//! A parser rather than a series of replacements, so that the content of strings is never changed. It reads each
//! character once, and what it reads ahead is taken from the same budget; nesting is bounded.

use serde_json::{Map, Number, Value};

/// Maximum nesting depth of a value, as in serde_json.
const MAX_DEPTH: usize = 128;
/// Maximum number of bytes that are read ahead to tell whether a quote closes its string.
const MAX_LOOKAHEAD: usize = 160;
/// Maximum length of a text without quotes, in bytes.
const MAX_BARE_TEXT: usize = 1000;

/// A deviation from JSON that has exactly one interpretation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deviation {
    Comment,
    Quotes,
    BareName,
    BareText,
    Comma,
    Separator,
    Word,
    Number,
    NotANumber,
    Escape,
    ControlCharacter,
    Tuple,
    MissingBrace,
}

impl Deviation {
    const ALL: [Deviation; 13] = [
        Deviation::Comment,
        Deviation::Quotes,
        Deviation::BareName,
        Deviation::BareText,
        Deviation::Comma,
        Deviation::Separator,
        Deviation::Word,
        Deviation::Number,
        Deviation::NotANumber,
        Deviation::Escape,
        Deviation::ControlCharacter,
        Deviation::Tuple,
        Deviation::MissingBrace,
    ];

    /// The rule of the repair, and what it did.
    pub(super) fn describe(self) -> (&'static str, &'static str) {
        match self {
            Deviation::Comment => ("sacp/comment", "comments were removed"),
            Deviation::Quotes => ("sacp/quotes", "quotes were replaced or escaped"),
            Deviation::BareName => ("sacp/name", "names without quotes were quoted"),
            Deviation::BareText => ("sacp/text", "strings without quotes were quoted"),
            Deviation::Comma => ("sacp/comma", "missing commas were inserted, and superfluous commas removed"),
            Deviation::Separator => ("sacp/separator", "`=` and `=>` were read as colons, and `;` as commas"),
            Deviation::Word => ("sacp/word", "keywords of other languages were read as true, false, or null"),
            Deviation::Number => ("sacp/number", "numbers were converted to JSON notation"),
            Deviation::NotANumber => ("sacp/not-a-number", "numbers that JSON cannot represent became null"),
            Deviation::Escape => ("sacp/escape", "unknown escape sequences were taken literally"),
            Deviation::ControlCharacter => ("sacp/control-character", "control characters in strings were escaped"),
            Deviation::Tuple => ("sacp/tuple", "tuples were read as arrays"),
            Deviation::MissingBrace => ("sacp/brace", "missing braces were inserted"),
        }
    }
}

/// A set of deviations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Deviations(u16);

impl Deviations {
    fn add(&mut self, deviation: Deviation) {
        self.0 |= 1 << deviation as u16;
    }

    pub(super) fn iter(self) -> impl Iterator<Item = Deviation> {
        Deviation::ALL.into_iter().filter(move |deviation| self.0 & (1 << *deviation as u16) != 0)
    }
}

/// An object, as far as the text has it.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) object: Map<String, Value>,
    /// The offset after the object.
    pub(super) end: usize,
    pub(super) deviations: Deviations,
    /// Set if the text ends within the object.
    pub(super) cut: Option<Cut>,
}

/// The place at which a text ends within an object.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Cut {
    /// The member whose value is incomplete; `None` between members.
    pub(super) member: Option<String>,
    /// True if another member was announced by a comma, or begun.
    pub(super) expects_more: bool,
}

/// Parses the object whose opening brace is at `start`. Every byte that is read is taken from `budget`.
pub(super) fn object_at(text: &str, start: usize, budget: &mut usize) -> Option<Parsed> {
    let mut parser = Parser::new(text, start, *budget);
    parser.at += 1;
    let parsed = parser.members(Closing::Required);
    parser.into_parsed(parsed, budget)
}

/// Parses the members of an object whose opening brace is missing, and perhaps its closing one, too.
pub(super) fn members_of(text: &str, budget: &mut usize) -> Option<Parsed> {
    let mut parser = Parser::new(text, 0, *budget);
    parser.deviations.add(Deviation::MissingBrace);
    let parsed = parser.members(Closing::Optional);
    parser.into_parsed(parsed, budget)
}

/// True if nothing but space and comments follows the offset.
pub(super) fn is_end(text: &str, offset: usize, budget: &mut usize) -> bool {
    let mut parser = Parser::new(text, offset, *budget);
    let is_end = parser.skip_space().is_some() && parser.at == text.len();
    *budget = parser.budget;
    is_end
}

/// Whether the end of the text may stand for the closing brace.
#[derive(Clone, Copy, PartialEq)]
enum Closing {
    Required,
    Optional,
}

/// The list that a string is an element of, by which a quote is known to close it.
#[derive(Clone, Copy, PartialEq)]
enum Within {
    Name,
    Object,
    Array,
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    budget: usize,
    deviations: Deviations,
    cut: Option<Cut>,
}

/// `None` ends the parsing: the text is not an object, or the budget is used up.
impl<'t> Parser<'t> {
    fn new(text: &'t str, at: usize, budget: usize) -> Parser<'t> {
        Parser { text, at, depth: 0, budget, deviations: Deviations::default(), cut: None }
    }

    fn into_parsed(self, object: Option<Map<String, Value>>, budget: &mut usize) -> Option<Parsed> {
        *budget = self.budget;
        Some(Parsed { object: object?, end: self.at, deviations: self.deviations, cut: self.cut })
    }

    fn spend(&mut self, bytes: usize) -> Option<()> {
        self.budget = self.budget.checked_sub(bytes)?;
        Some(())
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn advance(&mut self, character: char) -> Option<()> {
        self.at += character.len_utf8();
        self.spend(character.len_utf8())
    }

    /// True at the end of the text; a code fence that closes is one.
    fn is_at_end(&self) -> bool {
        self.at >= self.text.len() || self.rest().starts_with("```")
    }

    fn cut_off(&mut self, expects_more: bool) {
        self.cut = Some(Cut { member: None, expects_more });
    }

    /// Skips space and comments.
    fn skip_space(&mut self) -> Option<()> {
        while let Some(character) = self.peek() {
            let rest = self.rest();
            if is_space(character) {
                self.advance(character)?;
            } else if character == '#' || rest.starts_with("//") {
                self.skip_comment(rest.find('\n').unwrap_or(rest.len()))?;
            } else if rest.starts_with("/*") {
                self.skip_comment(rest.find("*/").map_or(rest.len(), |end| end + 2))?;
            } else {
                break;
            }
        }
        Some(())
    }

    fn skip_comment(&mut self, length: usize) -> Option<()> {
        self.deviations.add(Deviation::Comment);
        self.at += length;
        self.spend(length)
    }

    fn members(&mut self, closing: Closing) -> Option<Map<String, Value>> {
        let mut object = Map::new();
        // True after a comma, and before the first member.
        let mut is_separated = true;
        let mut has_comma = false;
        loop {
            self.skip_space()?;
            if self.is_at_end() {
                if closing == Closing::Required {
                    self.cut_off(has_comma);
                }
                return Some(object);
            }
            let character = self.peek()?;
            match character {
                '}' => {
                    if has_comma {
                        self.deviations.add(Deviation::Comma);
                    }
                    self.advance(character)?;
                    return Some(object);
                }
                ',' | ';' => {
                    self.deviation_of_comma(character, is_separated);
                    self.advance(character)?;
                    (is_separated, has_comma) = (true, true);
                    continue;
                }
                _ if !is_separated => self.deviations.add(Deviation::Comma),
                _ => {}
            }
            let Some(name) = self.name()? else {
                self.cut_off(true);
                return Some(object);
            };
            let value = self.value(Within::Object)?;
            if let Some(cut) = &mut self.cut {
                cut.member = Some(name.clone());
                cut.expects_more = true;
            }
            object.extend(value.map(|value| (name, value)));
            if self.cut.is_some() {
                return Some(object);
            }
            (is_separated, has_comma) = (false, false);
        }
    }

    fn deviation_of_comma(&mut self, character: char, is_separated: bool) {
        if is_separated {
            self.deviations.add(Deviation::Comma);
        }
        if character == ';' {
            self.deviations.add(Deviation::Separator);
        }
    }

    /// The name of a member and what separates it from the value; `Some(None)` where the text ends before the value.
    fn name(&mut self) -> Option<Option<String>> {
        let character = self.peek()?;
        let name = if closers(character).is_some() {
            let name = self.string(Within::Name)?;
            if self.cut.take().is_some() {
                return Some(None);
            }
            name
        } else {
            let length = identifier_length(self.rest());
            if length == 0 {
                return None;
            }
            let name = self.rest()[..length].to_owned();
            self.at += length;
            self.spend(length)?;
            self.deviations.add(Deviation::BareName);
            name
        };
        self.skip_space()?;
        match self.peek() {
            None => return Some(None),
            Some(':') => self.advance(':')?,
            Some('=') => {
                self.deviations.add(Deviation::Separator);
                self.advance('=')?;
                if self.peek() == Some('>') {
                    self.advance('>')?;
                }
            }
            Some(_) => return None,
        }
        self.skip_space()?;
        Some((!self.is_at_end()).then_some(name))
    }

    /// A value; `Some(None)` where the text ends before it.
    fn value(&mut self, within: Within) -> Option<Option<Value>> {
        self.skip_space()?;
        let Some(character) = self.peek() else {
            self.cut_off(true);
            return Some(None);
        };
        let value = match character {
            '{' => self.nested(character, |parser| Some(Value::Object(parser.members(Closing::Required)?)))?,
            '[' => self.nested(character, |parser| parser.elements(']'))?,
            '(' => {
                self.deviations.add(Deviation::Tuple);
                self.nested(character, |parser| parser.elements(')'))?
            }
            _ if closers(character).is_some() => Value::String(self.string(within)?),
            '0'..='9' | '-' | '+' | '.' => self.number()?,
            _ if character.is_alphabetic() => self.word(within)?,
            _ => return None,
        };
        Some(Some(value))
    }

    fn nested(&mut self, opening: char, read: impl FnOnce(&mut Self) -> Option<Value>) -> Option<Value> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        self.advance(opening)?;
        let value = read(self)?;
        self.depth -= 1;
        Some(value)
    }

    fn elements(&mut self, closing: char) -> Option<Value> {
        let mut elements = Vec::new();
        let mut is_separated = true;
        loop {
            self.skip_space()?;
            if self.is_at_end() {
                self.cut_off(true);
                return Some(Value::Array(elements));
            }
            match self.peek()? {
                character if character == closing => {
                    if is_separated && !elements.is_empty() {
                        self.deviations.add(Deviation::Comma);
                    }
                    self.advance(character)?;
                    return Some(Value::Array(elements));
                }
                character @ (',' | ';') if !is_separated => {
                    self.deviation_of_comma(character, is_separated);
                    self.advance(character)?;
                    is_separated = true;
                    continue;
                }
                _ if !is_separated => return None,
                _ => {}
            }
            elements.extend(self.value(Within::Array)?);
            if self.cut.is_some() {
                return Some(Value::Array(elements));
            }
            is_separated = false;
        }
    }

    fn number(&mut self) -> Option<Value> {
        let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '+' | '-' | '.' | '_');
        let length = self.rest().find(|character| !is_part(character)).unwrap_or(self.rest().len());
        let token = &self.rest()[..length];
        self.spend(length)?;
        self.at += length;
        if let Ok(number) = token.parse::<Number>() {
            return Some(Value::Number(number));
        }
        let (sign, digits) = match token.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None => ("", token.strip_prefix('+').unwrap_or(token)),
        };
        if is_not_a_number(digits) {
            self.deviations.add(Deviation::NotANumber);
            return Some(Value::Null);
        }
        if !digits.starts_with(['.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) {
            return None;
        }
        self.deviations.add(Deviation::Number);
        let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
        if let Some(hexadecimal) = hexadecimal {
            let number = i64::from_str_radix(&format!("{sign}{hexadecimal}"), 16).ok()?;
            return Some(Value::Number(number.into()));
        }
        let digits = digits.replace('_', "");
        let (whole, fraction) = digits.split_once('.').map_or((&*digits, None), |(whole, after)| (whole, Some(after)));
        let whole = whole.trim_start_matches('0');
        let whole = if whole.starts_with(|digit: char| digit.is_ascii_digit()) {
            whole.to_owned()
        } else {
            format!("0{whole}")
        };
        let fraction = fraction.map(|after| match after.starts_with(|digit: char| digit.is_ascii_digit()) {
            true => format!(".{after}"),
            false => format!(".0{after}"),
        });
        format!("{sign}{whole}{}", fraction.unwrap_or_default()).parse::<Number>().ok().map(Value::Number)
    }

    /// A word: one of JSON, of Python or JavaScript, or a text without quotes.
    fn word(&mut self, within: Within) -> Option<Value> {
        let rest = self.rest();
        let length = identifier_length(rest);
        let (word, next) = (&rest[..length], rest[length..].chars().next());
        // Prefixes of strings in Python.
        if matches!(word, "r" | "b" | "u" | "f") && matches!(next, Some('"' | '\'')) {
            self.deviations.add(Deviation::Quotes);
            self.advance(word.chars().next()?)?;
            return self.string(within).map(Value::String);
        }
        let (value, deviation) = match word {
            "true" => (Value::Bool(true), None),
            "false" => (Value::Bool(false), None),
            "null" => (Value::Null, None),
            "True" => (Value::Bool(true), Some(Deviation::Word)),
            "False" => (Value::Bool(false), Some(Deviation::Word)),
            "None" | "undefined" => (Value::Null, Some(Deviation::Word)),
            word if is_not_a_number(word) => (Value::Null, Some(Deviation::NotANumber)),
            _ => return self.bare_text(),
        };
        if !next.is_none_or(|next| is_space(next) || matches!(next, ',' | ';' | '}' | ']' | ')' | '#' | '/')) {
            return self.bare_text();
        }
        self.at += length;
        self.spend(length)?;
        if let Some(deviation) = deviation {
            self.deviations.add(deviation);
        }
        Some(value)
    }

    fn bare_text(&mut self) -> Option<Value> {
        let rest = self.rest();
        let length = rest.find([',', ';', '}', ']', ')', '\n']).filter(|length| *length <= MAX_BARE_TEXT)?;
        self.spend(length)?;
        let text = rest[..length].trim_end();
        let is_plain = |character: char| {
            character.is_alphanumeric() || matches!(character, ' ' | '.' | '!' | '?' | '-' | '_' | '\'')
        };
        if !text.chars().all(is_plain) {
            return None;
        }
        self.at += length;
        self.deviations.add(Deviation::BareText);
        Some(text.into())
    }

    /// A string, in whatever quotes; one that the text ends in is cut off.
    fn string(&mut self, within: Within) -> Option<String> {
        let opening = self.peek()?;
        let closers = closers(opening)?;
        if opening != '"' {
            self.deviations.add(Deviation::Quotes);
        }
        let triple: String = std::iter::repeat_n(opening, 3).collect();
        if matches!(opening, '"' | '\'') && self.rest().starts_with(&triple) {
            return self.triple_quoted(&triple);
        }
        self.advance(opening)?;
        let mut text = String::new();
        while let Some(character) = self.peek() {
            self.advance(character)?;
            match character {
                '\\' => self.escape(&mut text)?,
                _ if closers.contains(character) => match self.quote(within, character)? {
                    Quote::Closes => return Some(text),
                    Quote::IsText => {
                        self.deviations.add(Deviation::Quotes);
                        text.push(character);
                    }
                    Quote::IsAmbiguous => return None,
                },
                _ => {
                    if character < ' ' {
                        self.deviations.add(Deviation::ControlCharacter);
                    }
                    text.push(character);
                }
            }
        }
        self.cut_off(true);
        Some(text)
    }

    fn triple_quoted(&mut self, triple: &str) -> Option<String> {
        let rest = &self.rest()[triple.len()..];
        let end = rest.find(triple);
        self.deviations.add(Deviation::Quotes);
        self.spend(end.unwrap_or(rest.len()))?;
        let text = rest[..end?].to_owned();
        self.at += 2 * triple.len() + text.len();
        Some(text)
    }

    /// What follows a backslash.
    fn escape(&mut self, text: &mut String) -> Option<()> {
        let Some(character) = self.peek() else { return Some(()) };
        let meant = match character {
            '"' | '\\' | '/' => character,
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => return self.unicode_escape(text),
            _ if closers(character).is_some() => character,
            _ => {
                self.deviations.add(Deviation::Escape);
                text.push('\\');
                character
            }
        };
        text.push(meant);
        self.advance(character)
    }

    fn unicode_escape(&mut self, text: &mut String) -> Option<()> {
        let unit = |rest: &str| {
            let digits = rest.strip_prefix('u')?.get(..4)?;
            u32::from_str_radix(digits, 16).ok()
        };
        let rest = self.rest();
        let first = unit(rest);
        let second = rest.get(5..).and_then(|rest| rest.strip_prefix('\\')).and_then(unit);
        let pair =
            first.zip(second).filter(|(high, low)| (0xd800..0xdc00).contains(high) && (0xdc00..0xe000).contains(low));
        let (code, length) = match (pair, first) {
            (Some((high, low)), _) => (Some(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)), 11),
            (None, Some(unit)) => (Some(unit), 5),
            (None, None) => (None, 1),
        };
        match code {
            Some(code) => text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)),
            None => {
                self.deviations.add(Deviation::Escape);
                text.push_str("\\u");
            }
        }
        self.at += length;
        self.spend(length)
    }

    /// Tells what a quote that was just read is: it closes its string if what follows goes on as JSON would.
    fn quote(&mut self, within: Within, quote: char) -> Option<Quote> {
        let mut ahead = Lookahead { rest: self.rest(), has_space: false, has_line_break: false, left: MAX_LOOKAHEAD };
        let is_ambiguous = within != Within::Name && ahead.continues_an_expression(quote);
        let closes = ahead.closes(within, quote);
        self.spend(self.rest().len() - ahead.rest.len())?;
        Some(match (closes, is_ambiguous) {
            (true, _) => Quote::Closes,
            (false, true) => Quote::IsAmbiguous,
            (false, false) => Quote::IsText,
        })
    }
}

/// A quote within a string.
enum Quote {
    Closes,
    IsText,
    /// Alternatives of a template, or texts that a program joins.
    IsAmbiguous,
}

/// The text after a quote.
struct Lookahead<'t> {
    rest: &'t str,
    has_space: bool,
    has_line_break: bool,
    /// Number of bytes of a name that may still be read.
    left: usize,
}

impl Lookahead<'_> {
    fn next(&mut self) -> Option<char> {
        let character = self.rest.chars().next()?;
        self.left = self.left.checked_sub(character.len_utf8())?;
        self.rest = &self.rest[character.len_utf8()..];
        Some(character)
    }

    fn skip_space(&mut self) {
        let rest = self.rest.trim_start_matches(is_space);
        self.has_space |= rest.len() < self.rest.len();
        self.has_line_break |= self.rest[..self.rest.len() - rest.len()].contains('\n');
        self.rest = rest;
    }

    /// True for `"a" | "b"`, `"a" + "b"` and `"a" "b"`.
    fn continues_an_expression(&self, quote: char) -> bool {
        let rest = self.rest.trim_start_matches(' ');
        match rest.strip_prefix(['|', '+']) {
            Some(after) => after.trim_start_matches(' ').starts_with(quote),
            None => rest.len() < self.rest.len() && rest.starts_with(quote),
        }
    }

    fn closes(&mut self, within: Within, quote: char) -> bool {
        self.skip_space();
        let fence = self.rest.starts_with("```") && quote != '`';
        match self.rest.chars().next() {
            None => true,
            Some(':' | '=') if within == Within::Name => true,
            _ if within == Within::Name => false,
            _ if fence => true,
            Some('}') if within == Within::Object => {
                self.next();
                // `"the brace "}" closes"` is one text.
                !self.rest.starts_with(quote)
            }
            Some(']' | ')') if within == Within::Array => true,
            Some('#') => true,
            Some('/') => self.rest.starts_with("//") || self.rest.starts_with("/*"),
            Some(',' | ';') => {
                self.next();
                self.skip_space();
                self.begins_next(within)
            }
            // A comma is missing.
            Some(next) => {
                let is_apart = self.has_line_break || (self.has_space && closers(next).is_some());
                within == Within::Object && is_apart && self.begins_member(next)
            }
        }
    }

    /// True if a member, an element, or the end of the list follows.
    fn begins_next(&mut self, within: Within) -> bool {
        let Some(character) = self.rest.chars().next() else { return true };
        match within {
            _ if matches!(character, '#' | '/' | '}' | ',' | ';') => true,
            Within::Array => {
                matches!(character, ']' | ')' | '{' | '[' | '(' | '-' | '+' | '.')
                    || character.is_ascii_digit()
                    || closers(character).is_some()
                    || ["true", "false", "null", "True", "False", "None"].iter().any(|word| self.rest.starts_with(word))
            }
            _ => self.begins_member(character),
        }
    }

    /// True if a name and a colon follow; a name that is longer than the lookahead counts as one.
    fn begins_member(&mut self, character: char) -> bool {
        if let Some(closers) = closers(character) {
            self.next();
            loop {
                match self.next() {
                    None => return true,
                    Some('\n') => return false,
                    Some(quote) if closers.contains(quote) => break,
                    Some(_) => {}
                }
            }
        } else {
            let length = identifier_length(self.rest);
            if length == 0 {
                return false;
            }
            self.left = self.left.saturating_sub(length);
            self.rest = &self.rest[length..];
        }
        self.skip_space();
        self.rest.starts_with([':', '=']) || self.rest.is_empty()
    }
}

fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{feff}' | '\u{200b}')
}

/// The quotes that close a string which this one opens.
fn closers(opening: char) -> Option<&'static str> {
    Some(match opening {
        '"' => "\"",
        '\'' => "'",
        '`' => "`",
        '“' | '”' | '„' | '‟' | '″' => "”“‟″\"",
        '‘' | '’' | '‚' | '‛' => "’‘‛'",
        '«' => "»",
        '»' => "«",
        _ => return None,
    })
}

fn is_not_a_number(word: &str) -> bool {
    matches!(word, "NaN" | "nan" | "Infinity" | "inf")
}

/// The length of the name without quotes that a text starts with.
fn identifier_length(text: &str) -> usize {
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$' | '-');
    match text.chars().next().filter(|first| first.is_alphabetic() || matches!(first, '_' | '$')) {
        Some(_) => text.find(|character| !is_part(character)).unwrap_or(text.len()),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(text: &str) -> Option<Parsed> {
        object_at(text, 0, &mut 100_000)
    }

    fn value(text: &str) -> Option<Value> {
        parsed(text).filter(|parsed| parsed.cut.is_none()).map(|parsed| parsed.object.into())
    }

    #[test]
    fn deviations_with_one_interpretation_are_read() {
        for (text, expected) in [
            (
                "{ \"a\": [1, 2,], // first\n \"b\": /* second */ {\"c\": 1 , } , # third\n }",
                json!({"a": [1, 2], "b": {"c": 1}}),
            ),
            ("{\"a\":\n\"one\r\n\ttwo\u{1}\"}", json!({"a": "one\r\n\ttwo\u{1}"})),
            ("{'a': 'It\\'s', 'b': \"it's\", 'c': 'It's so.'}", json!({"a": "It's", "b": "it's", "c": "It's so."})),
            (
                "{'a': True, 'b': None, 'c': (1, 2), 'd': undefined}",
                json!({"a": true, "b": null, "c": [1, 2], "d": null}),
            ),
            ("{a: 1, $b-c: `x`, “d”: „y“, «e»: ‚z‘}", json!({"a": 1, "$b-c": "x", "d": "y", "e": "z"})),
            ("{\"a\"=1; \"b\"=>2}", json!({"a": 1, "b": 2})),
            ("{\"a\":\"t\"\n\"b\":{\"c\":3}\n\"d\":1}", json!({"a": "t", "b": {"c": 3}, "d": 1})),
            (
                "{\"a\":007,\"b\":0x10,\"c\":+1,\"d\":-.5,\"e\":1.,\"f\":1_000,\"g\":-Infinity}",
                json!({"a": 7, "b": 16, "c": 1, "d": -0.5, "e": 1.0, "f": 1000, "g": null}),
            ),
            (
                "{\"a\": \"C:\\Temp\\x\", \"b\": \"\\u00e9\\ud83d\\ude00\\u12\"}",
                json!({"a": "C:\\Temp\\x", "b": "é😀\\u12"}),
            ),
            (
                "{\"a\": \"He said \"yes\", then \"no\".\", \"b\": \"\"x\"\"}",
                json!({"a": "He said \"yes\", then \"no\".", "b": "\"x\""}),
            ),
            ("{\"a\": \"\"\"x\n\"y\" z\"\"\"}", json!({"a": "x\n\"y\" z"})),
            ("{a: plain text, b: x}", json!({"a": "plain text", "b": "x"})),
        ] {
            assert_eq!(value(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn texts_with_several_interpretations_are_refused() {
        for text in [
            "{\"a\": \"x\" | \"y\"}",
            "{\"a\": \"x\" \"y\"}",
            "{\"a\": 'x' + 'y'}",
            "{\"a\": <value>}",
            "{...}",
            "{\"a\": 1 2}",
            "{\"a\" 1}",
            "{\"a\": date(2026, 1)}",
            "{\"a\": 2026-01-01}",
            "{ to open. {\"a\": 1}",
            "{1}",
            "{\"a\": [1 2]}",
        ] {
            assert_eq!(value(text), None, "{text}");
        }
    }

    #[test]
    fn end_of_the_text_is_reported_with_its_place() {
        let cut = |text| parsed(text).and_then(|parsed| parsed.cut);
        let at = |member: &str| Some(Cut { member: Some(member.to_owned()), expects_more: true });
        assert_eq!(cut("{\"a\": {\"b\": \"x"), at("a"));
        assert_eq!(cut("{\"a\": \"x"), at("a"));
        assert_eq!(cut("{\"a\": [1, "), at("a"));
        assert_eq!(cut("{\"a\": 1, \"b"), Some(Cut { member: None, expects_more: true }));
        assert_eq!(cut("{\"a\": 1,"), Some(Cut { member: None, expects_more: true }));
        assert_eq!(cut("{\"a\": 1\n```"), Some(Cut::default()));
        assert_eq!(
            parsed("{\"a\": \"three fo").map(|parsed| parsed.object),
            json!({"a": "three fo"}).as_object().cloned()
        );
    }

    #[test]
    fn reading_ends_with_its_budget() {
        let text = format!("{{\"a\": \"{}\"}}", "x\" ".repeat(10_000));
        assert!(object_at(&text, 0, &mut 1000).is_none());
        let mut budget = 1_000_000;
        assert!(object_at(&"{\"a\":".repeat(1000), 0, &mut budget).is_none());
        assert!(budget > 990_000, "the depth is bounded");
    }
}
