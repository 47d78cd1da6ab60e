//! Finding the response in what a model wrote (SACP, section 7).
//!
//! The text as a whole comes first, then the objects in it by their place: the last one that is a response counts, however
//! well it is formed. Each object is parsed strictly, and then leniently (see [`lenient`]). What an agent thinks
//! in `<think>` is not its answer. All parsing of a text shares one budget of bytes, so that the work is linear in its length.

#[doc(inline)]
pub use agentdex_api::{Found, Repair};
use serde_json::{Map, Value};

use super::{
    fences::{Block, block_at, fenced_blocks},
    lenient::{self, Cut, Deviation, Deviations, Parsed},
    member_repair::repair_members,
    notation,
    response::{Response, Status},
};
use crate::td::Violation;

/// Maximum length of a text that is searched for a response; longer texts are unreadable.
pub const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;
/// How often each byte of a text may be parsed, on average: strictly, leniently, and again in a wrapper.
const PASSES: usize = 8;
/// Bytes that may be parsed of any text, however short.
const FREE_BYTES: usize = 4096;
/// Bytes that an attempt to parse an object counts as, beside those that it reads.
const ATTEMPT: usize = 64;
/// Maximum depth of objects and strings around a response.
const MAX_WRAPPERS: usize = 10;
/// Maximum length of what may label an answer in an answer that is nothing else, in bytes and in words.
const MAX_LABEL: (usize, usize) = (40, 6);

/// The place where a response is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Latitude {
    /// Anywhere: the agent declares that it answers in SACP.
    Anywhere,
    /// The answer as a whole, but for a fence and a label. Prose that quotes a response is prose.
    Whole,
}

/// The result of reading a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The response, or its fallback.
    pub response: Response,
    /// Place of the response in the text.
    pub found: Found,
    /// Repairs that were necessary to read it.
    pub repairs: Vec<Repair>,
    /// Violations in the response; if no response was found, in the most similar object, or in the
    /// text.
    pub violations: Vec<Violation>,
}

/// Reads the text of an agent that answers in SACP. Never fails: an unreadable text becomes the fallback of section
/// 7.2, with the original text. [`read_answer`](crate::read_answer) reads whole answers, by what their action
/// declares.
pub fn read(text: &str) -> Reading {
    find(text, Latitude::Anywhere).unwrap_or_else(|violations| Reading {
        response: Response::unreadable(text),
        found: Found::Nowhere,
        repairs: Vec::new(),
        violations,
    })
}

/// Finds the response in a text.
///
/// # Errors
/// Violations in the object that came nearest, or in the text.
pub(super) fn find(text: &str, latitude: Latitude) -> Result<Reading, Vec<Violation>> {
    if text.len() > MAX_TEXT_BYTES {
        let message = format!("the text exceeds the limit of {MAX_TEXT_BYTES} bytes");
        return Err(vec![Violation::new("", "sacp/too-long", message)]);
    }
    let mut search = Search::new(latitude, text.len());
    search.text(text, 0).ok_or_else(|| search.into_violations())
}

/// Finds the response in data: the data itself, or what it wraps.
///
/// # Errors
/// Violations in the object that came nearest.
pub(super) fn find_in_data(data: &Value, latitude: Latitude) -> Result<Reading, Vec<Violation>> {
    let Value::Object(object) = data else { return Err(Vec::new()) };
    let is_wrapper = !has_member(object, "status");
    if is_wrapper && latitude == Latitude::Whole {
        return Err(Vec::new());
    }
    let mut search = Search::new(latitude, size_of_texts(data));
    let found = match is_wrapper {
        true => search.wrapper(object.values(), 0),
        false => search.object(object.clone(), 0),
    };
    found.map(|reading| Reading { found: Found::Whole, ..reading }).ok_or(search.nearest)
}

/// Number of bytes of the strings in a value.
fn size_of_texts(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(elements) => elements.iter().map(size_of_texts).sum(),
        Value::Object(members) => members.values().map(size_of_texts).sum(),
        _ => 0,
    }
}

/// A search for one response.
struct Search {
    latitude: Latitude,
    /// Number of bytes that may still be parsed.
    budget: usize,
    /// Violations in the last object that was nearly a response.
    nearest: Vec<Violation>,
}

impl Search {
    fn new(latitude: Latitude, length: usize) -> Search {
        Search { latitude, budget: PASSES * length + FREE_BYTES, nearest: Vec::new() }
    }

    fn into_violations(mut self) -> Vec<Violation> {
        if self.nearest.is_empty() {
            let message = "the text contains no JSON object; respond with a JSON object, and nothing else";
            self.nearest.push(Violation::new("", "sacp/no-object", message));
        }
        self.nearest
    }

    fn text(&mut self, text: &str, depth: usize) -> Option<Reading> {
        let whole = trimmed(text);
        let mentions = |name: &[u8]| memchr::memmem::find(whole.as_bytes(), name).is_some();
        if self.latitude == Latitude::Whole && !mentions(b"status") {
            return None;
        }
        if whole.starts_with('{') {
            match serde_json::from_str::<Map<String, Value>>(whole) {
                Ok(object) => {
                    return self.object(object, depth).map(|reading| Reading { found: Found::Whole, ..reading });
                }
                Err(_) => self.budget = self.budget.saturating_sub(whole.len()),
            }
        }
        // A model that was asked for a string of JSON escapes it once more.
        if whole.starts_with('"')
            && depth < MAX_WRAPPERS
            && let Ok(unescaped) = serde_json::from_str::<String>(whole)
        {
            return self.text(&unescaped, depth + 1);
        }
        let found = self.embedded(whole, depth);
        if found.is_some() || self.latitude == Latitude::Whole {
            return found;
        }
        self.other_notation(whole, depth)
    }

    /// The last object in a text that is a response.
    fn embedded(&mut self, text: &str, depth: usize) -> Option<Reading> {
        let blocks = fenced_blocks(text);
        let mut found: Option<(Reading, Place<'_>)> = None;
        let (mut at, mut cut_until) = (0, 0);
        let mut thoughts = Thoughts::default();
        while let Some(next) = memchr::memchr2(b'{', b'<', &text.as_bytes()[at..]).map(|offset| at + offset) {
            if text.as_bytes()[next] == b'<' {
                at = thoughts.end(text, next).unwrap_or(next + 1);
                if thoughts.is_end(text, next) {
                    found = None;
                }
                continue;
            }
            at = next + 1;
            let block = block_at(&blocks, next);
            for candidate in self.candidates(text, next, block) {
                let (end, is_cut) = (candidate.end, candidate.cut.is_some());
                if !is_cut {
                    at = end;
                }
                let Some(reading) = self.candidate(candidate, depth) else { continue };
                // What is within a response that is cut off is a part of it, unless it is one itself.
                if next >= cut_until || missing(&reading) == 0 {
                    found = Some((reading, Place { text, block, start: next, end }));
                    cut_until = if is_cut { end } else { 0 };
                }
                break;
            }
            if self.budget < ATTEMPT {
                break;
            }
        }
        let (reading, place) = found?;
        let is_read = self.latitude == Latitude::Anywhere || place.is_all(&mut self.budget);
        is_read.then(|| Reading { found: place.found(&mut self.budget), ..reading })
    }

    /// The object at an offset: up to its end in the text, or in its fenced block.
    fn candidates(&mut self, text: &str, start: usize, block: Option<&Block>) -> Vec<Parsed> {
        if let Some(parsed) = self.strict(&text[start..]) {
            return vec![Parsed { end: start + parsed.end, ..parsed }];
        }
        let parsed = self.lenient(text, start);
        let is_whole = parsed.as_ref().is_some_and(|parsed| parsed.cut.is_none());
        let inside = block.filter(|_| !is_whole).and_then(|block| self.lenient(&text[..block.content.end], start));
        inside.into_iter().chain(parsed).collect()
    }

    fn strict(&mut self, text: &str) -> Option<Parsed> {
        self.budget = self.budget.checked_sub(ATTEMPT)?;
        let mut objects = serde_json::Deserializer::from_str(text).into_iter::<Map<String, Value>>();
        match objects.next()? {
            Ok(object) => {
                let end = objects.byte_offset();
                self.budget = self.budget.saturating_sub(end);
                Some(Parsed { object, end, deviations: Deviations::default(), cut: None })
            }
            Err(error) => {
                self.budget = self.budget.saturating_sub(offset_of(text, error.line(), error.column()));
                None
            }
        }
    }

    fn lenient(&mut self, text: &str, start: usize) -> Option<Parsed> {
        let parsed = lenient::object_at(text, start, &mut self.budget);
        if parsed.is_some() || self.budget < text.len() {
            return parsed;
        }
        let unescaped = unescaped(&text[start..])?;
        self.budget -= text.len() - start;
        let parsed = lenient::object_at(&unescaped, 0, &mut self.budget)?;
        Some(Parsed { end: text.len(), ..parsed })
    }

    /// Reads an object of a text as a response.
    fn candidate(&mut self, candidate: Parsed, depth: usize) -> Option<Reading> {
        let Parsed { object, deviations, cut, .. } = candidate;
        let is_complete = cut.as_ref().is_none_or(|cut| !lacks_what_decides(cut, &object));
        if !is_complete {
            self.nearest = vec![cut_off("the text ends before `status` and `data` are complete")];
            return None;
        }
        let mut reading = self.object(object, depth)?;
        let repairs = deviations.iter().map(repair);
        reading.repairs.splice(0..0, repairs);
        match cut {
            Some(Cut { member: None, expects_more: false }) => {
                reading.repairs.push(repair(Deviation::MissingBrace));
            }
            Some(_) => reading.violations.push(cut_off("the text ends before the response is complete")),
            None => {}
        }
        Some(reading)
    }

    /// Reads an object as a response, or what it wraps.
    fn object(&mut self, mut object: Map<String, Value>, depth: usize) -> Option<Reading> {
        if self.latitude == Latitude::Anywhere && !has_status(&object) {
            let wrapped = self.wrapper(object.values(), depth);
            if wrapped.is_some() {
                return wrapped;
            }
        }
        if !has_member(&object, "status") {
            return None;
        }
        let repairs = repair_members(&mut object, &mut self.budget);
        let is_enough = match self.latitude {
            Latitude::Anywhere => object.contains_key("data") || object.contains_key("message"),
            Latitude::Whole => ["thought", "data", "message"].iter().all(|name| object.contains_key(*name)),
        };
        if is_placeholder(&object) {
            let message = "the object is an example of the format: its strings are placeholders";
            self.nearest = vec![Violation::new("", "sacp/placeholder", message)];
            return None;
        }
        match Response::from_object(object) {
            Ok((response, violations)) if is_enough => {
                Some(Reading { response, found: Found::Embedded, repairs, violations })
            }
            // The last candidate says what its author wants to know.
            Ok((_, violations)) | Err(violations) => {
                self.nearest = violations;
                None
            }
        }
    }

    /// The only response in the values of an object.
    fn wrapper<'v>(&mut self, values: impl IntoIterator<Item = &'v Value>, depth: usize) -> Option<Reading> {
        if depth >= MAX_WRAPPERS {
            return None;
        }
        let mut wrapped = self.wrapped(values, depth + 1).into_iter();
        wrapped.next().filter(|_| wrapped.next().is_none())
    }

    /// The responses in values, at most two.
    fn wrapped<'v>(&mut self, values: impl IntoIterator<Item = &'v Value>, depth: usize) -> Vec<Reading> {
        let mut found = Vec::new();
        for value in values {
            let nearest = std::mem::take(&mut self.nearest);
            let reading = match value {
                Value::Object(object) if has_status(object) => self.object(object.clone(), depth),
                Value::Object(members) if depth < MAX_WRAPPERS => {
                    found.extend(self.wrapped(members.values(), depth + 1));
                    None
                }
                Value::Array(elements) if depth < MAX_WRAPPERS => {
                    found.extend(self.wrapped(elements, depth + 1));
                    None
                }
                Value::String(text) if is_likely(text) && depth < MAX_WRAPPERS && self.budget > text.len() => {
                    self.budget -= text.len();
                    self.text(text, depth + 1)
                }
                _ => None,
            };
            self.nearest = nearest;
            // Much else has a status and data or a message: what is wrapped has all but one of the members.
            found.extend(reading.filter(|reading| missing(reading) <= 1));
            if found.len() > 1 {
                break;
            }
        }
        found
    }

    /// Responses without braces: members alone, elements of XML, YAML.
    fn other_notation(&mut self, whole: &str, depth: usize) -> Option<Reading> {
        let blocks = fenced_blocks(whole);
        let last = blocks.last().map(|block| whole[block.content.clone()].trim());
        for (text, found) in std::iter::once((whole, Found::Whole)).chain(last.map(|last| (last, Found::Fenced))) {
            let nearest = std::mem::take(&mut self.nearest);
            if let Some((object, repair)) = notation::object_of(text, &mut self.budget)
                && let Some(mut reading) = self.object(object, depth)
            {
                reading.repairs.insert(0, repair);
                return Some(Reading { found, ..reading });
            }
            self.nearest = nearest;
        }
        None
    }
}

/// The place of an object in a text.
struct Place<'t> {
    text: &'t str,
    block: Option<&'t Block>,
    start: usize,
    end: usize,
}

impl Place<'_> {
    fn found(&self, budget: &mut usize) -> Found {
        if self.start == 0 && lenient::is_end(self.text, self.end, budget) {
            return Found::Whole;
        }
        let fills = |block: &Block| {
            let end = self.end.min(block.content.end);
            self.text[block.content.start..self.start].trim().is_empty()
                && lenient::is_end(&self.text[..block.content.end], end, budget)
        };
        if self.block.is_some_and(fills) { Found::Fenced } else { Found::Embedded }
    }

    /// True if the text is nothing but the object, in a fence or after a label.
    fn is_all(&self, budget: &mut usize) -> bool {
        let Some(block) = self.block else {
            let (before, after) = (&self.text[..self.start], self.text[self.end..].trim());
            // A fence may begin and end on the line of the object.
            return match before.trim_end().trim_end_matches("json").strip_suffix("```") {
                Some(before) => after == "```" && is_label(before),
                None => is_label(before) && lenient::is_end(self.text, self.end, budget),
            };
        };
        let is_filled = self.found(budget) == Found::Fenced;
        is_filled && self.text[block.end..].trim().is_empty() && is_label(&self.text[..block.start])
    }
}

/// True if what stands before an answer says nothing but that it comes, such as `**Answer:**`; thoughts aside.
fn is_label(text: &str) -> bool {
    let text = text.rfind("</think").map_or(text, |end| text[end..].split_once('>').map_or("", |(_, after)| after));
    let label = text.trim_matches(|character: char| character.is_whitespace() || matches!(character, '*' | '#' | '_'));
    let (bytes, words) = MAX_LABEL;
    label.is_empty()
        || label == "json"
        || (label.ends_with(':')
            && label.len() <= bytes
            && label.split_whitespace().count() <= words
            && !label.contains('\n'))
}

/// The parts of a text that are thoughts rather than an answer.
#[derive(Default)]
struct Thoughts {
    /// True if no element is closed after the current place.
    is_unclosed: bool,
}

impl Thoughts {
    const NAMES: [&'static str; 3] = ["think", "thinking", "reasoning"];

    /// The end of the element of thoughts that begins at an offset.
    fn end(&mut self, text: &str, offset: usize) -> Option<usize> {
        let name = element_name(text[offset..].strip_prefix('<')?)?;
        if self.is_unclosed || !Thoughts::NAMES.contains(&name) {
            return None;
        }
        let closing = memchr::memmem::find(&text.as_bytes()[offset..], format!("</{name}").as_bytes());
        self.is_unclosed = closing.is_none();
        // What comes after it begins at the tag: its end is not a brace.
        Some(offset + closing? + 2)
    }

    /// True if an element of thoughts ends at an offset: nothing before it is the answer.
    fn is_end(&self, text: &str, offset: usize) -> bool {
        let name = text[offset..].strip_prefix("</").and_then(element_name);
        name.is_some_and(|name| Thoughts::NAMES.contains(&name))
    }
}

fn element_name(text: &str) -> Option<&str> {
    let length = text.bytes().take(16).take_while(u8::is_ascii_alphabetic).count();
    text.as_bytes().get(length).filter(|next| matches!(next, b'>' | b' '))?;
    Some(&text[..length])
}

/// True if an object's text ended in a part that decides how the chain goes on.
fn lacks_what_decides(cut: &Cut, object: &Map<String, Value>) -> bool {
    let has = |name: &str| has_member(object, name);
    let is_cut = |name: &str| cut.member.as_ref().is_some_and(|member| member.eq_ignore_ascii_case(name));
    // A brace that is missing before them would have moved the last members into `data`.
    let is_moved = |name: &&str| {
        let data = object.get("data").and_then(Value::as_object);
        !has(name) && data.is_some_and(|data| data.contains_key(*name))
    };
    !(has("status") && has("data")) || is_cut("status") || is_cut("data") || ["thought", "message"].iter().any(is_moved)
}

fn repair(deviation: Deviation) -> Repair {
    let (rule, message) = deviation.describe();
    Repair::new("", rule, message)
}

fn cut_off(message: &'static str) -> Violation {
    Violation::new("", "sacp/cut-off", message)
}

fn has_member(object: &Map<String, Value>, name: &str) -> bool {
    object.contains_key(name) || object.keys().any(|key| key.trim().eq_ignore_ascii_case(name))
}

/// True if the status of an object is one of a response.
fn has_status(object: &Map<String, Value>) -> bool {
    let in_other_letters = || object.iter().find(|(key, _)| key.trim().eq_ignore_ascii_case("status"));
    let status = object.get("status").or_else(|| in_other_letters().map(|(_, status)| status));
    status.and_then(Value::as_str).is_some_and(|status| Status::from_any_name(status).is_some())
}

/// Number of required members that a response lacks.
fn missing(reading: &Reading) -> usize {
    reading.violations.iter().filter(|violation| violation.rule == "sacp/required").count()
}

/// True if a text may hold a response.
fn is_likely(text: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), b"status").is_some() && text.contains(['{', '"'])
}

/// True if thought and message are placeholders: the format is shown, not used.
fn is_placeholder(object: &Map<String, Value>) -> bool {
    let is_placeholder = |name| {
        let text = object.get(name).and_then(Value::as_str).map(str::trim).unwrap_or_default();
        let inner = text.strip_prefix('<').and_then(|text| text.strip_suffix('>'));
        matches!(text, "..." | "…") || inner.is_some_and(|inner| !inner.contains(['<', '>']))
    };
    is_placeholder("thought") && is_placeholder("message")
}

/// An object whose quotes are escaped, without that: `{\"thought\": …}` or `{&quot;thought&quot;: …}`.
fn unescaped(object: &str) -> Option<String> {
    let inner = object.strip_prefix('{')?.trim_start();
    if inner.starts_with("\\\"") {
        return Some(object.replace("\\\"", "\"").replace("\\\\", "\\"));
    }
    inner.starts_with("&quot;").then(|| notation::without_entities(object))
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(|character: char| character.is_whitespace() || character == '\u{feff}')
}

/// The offset of a place in a text, by line and column from 1.
fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let line_breaks = || memchr::memchr_iter(b'\n', text.as_bytes());
    let start = line.checked_sub(2).and_then(|before| line_breaks().nth(before)).map_or(0, |end| end + 1);
    start + column
}
