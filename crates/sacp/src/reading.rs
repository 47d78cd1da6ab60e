//! Finding the response in what a model wrote (SACP, section 7).
//!
//! The stages: the text as a whole; its fenced code blocks; the objects in its prose; each first as it
//! stands, then repaired (see `repair`). Every stage reads the text a bounded number of
//! times, so the work is linear in its length.

#[doc(inline)]
pub use agentdex_api::Found;
use agentdex_api::SacpReading;
use serde_json::{Map, Value};

use super::{contract::DataContract, repair, response::Response};
use crate::td::Violation;

/// The longest text that is searched for a response; a longer one is unreadable.
pub const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;
/// Maximum number of objects of a text that are tried in a stage, the last ones first.
const MAX_CANDIDATES: usize = 64;
/// Maximum number of times that a scan for objects starts again after an opening brace that nothing closes.
const MAX_RESTARTS: usize = 16;

/// The result of reading a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The response, or what stands for it.
    pub response: Response,
    /// Place of the response in the text.
    pub found: Found,
    /// True if comments or trailing commas had to be taken out, or line breaks in strings escaped.
    pub is_repaired: bool,
    /// Violations in the response. If none was found: in the object that came nearest, or in the text.
    pub violations: Vec<Violation>,
}

impl Reading {
    /// Adds what is wrong with the data by what an action declares.
    pub fn hold_to(&mut self, contract: &DataContract) {
        if self.found != Found::Nowhere {
            self.violations.extend(contract.check(&self.response));
        }
    }

    /// True if there is a response and nothing is wrong with it.
    pub fn is_valid(&self) -> bool {
        self.violations.is_empty() && self.found != Found::Nowhere
    }

    /// The reading as it goes over the wire.
    pub fn report(&self) -> SacpReading {
        SacpReading {
            found: self.found,
            repaired: self.is_repaired,
            response: self.response.to_value(),
            valid: self.is_valid(),
            violations: self.violations.clone(),
        }
    }
}

/// Reads what an agent wrote. Never fails: what can't be read becomes the fallback of section 7.2, with
/// the text as it came.
pub fn read(text: &str) -> Reading {
    let mut nearest = Vec::new();
    if text.len() > MAX_TEXT_BYTES {
        let message = format!("the text exceeds the limit of {MAX_TEXT_BYTES} bytes");
        nearest.push(Violation::new("", "sacp/too-long", message));
    } else if let Some(reading) = read_stages(text, &mut nearest) {
        return reading;
    }
    if nearest.is_empty() {
        let message = "the text has no JSON object; answer with one, and with nothing around it";
        nearest.push(Violation::new("", "sacp/no-object", message));
    }
    Reading { response: Response::unreadable(text), found: Found::Nowhere, is_repaired: false, violations: nearest }
}

fn read_stages(text: &str, nearest: &mut Vec<Violation>) -> Option<Reading> {
    let trimmed = text.trim();
    // A model that was asked for a string of JSON escapes it once more.
    let unescaped = serde_json::from_str::<String>(trimmed).ok();
    let whole = unescaped.as_deref().unwrap_or(trimmed).trim();
    let fenced = fenced_blocks(whole);
    let embedded = objects(whole);
    let stages: [(Found, &[&str]); 3] =
        [(Found::Whole, &[whole]), (Found::Fenced, &fenced), (Found::Embedded, &embedded)];
    for (found, candidates) in stages {
        for is_repaired in [false, true] {
            let readings = candidates.iter().rev().take(MAX_CANDIDATES);
            let mut readings = readings.filter_map(|candidate| read_object(candidate, is_repaired, nearest));
            if let Some((response, violations)) = readings.next() {
                return Some(Reading { response, found, is_repaired, violations });
            }
        }
    }
    None
}

fn read_object(candidate: &str, repaired: bool, nearest: &mut Vec<Violation>) -> Option<(Response, Vec<Violation>)> {
    let object: Map<String, Value> = if repaired {
        serde_json::from_str(&repair::repaired(candidate)?).ok()?
    } else {
        serde_json::from_str(candidate.trim()).ok()?
    };
    match Response::from_object(object) {
        Ok(read) => Some(read),
        Err(violations) => {
            // The last candidate is tried first: what is wrong with it is what its author wants to know.
            if nearest.is_empty() {
                *nearest = violations;
            }
            None
        }
    }
}

/// The contents of the fenced code blocks (CommonMark, section 4.5), a last unclosed one included.
fn fenced_blocks(text: &str) -> Vec<&str> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, usize)> = None;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let (start, end) = (offset, offset + line.len());
        offset = end;
        let unindented = line.trim_start();
        match open {
            None => {
                if let Some(fence) = fence(unindented) {
                    open = Some((fence, end));
                }
            }
            Some((fence_text, from)) => {
                let closes = fence(unindented).is_some_and(|fence| {
                    fence.len() >= fence_text.len()
                        && fence.starts_with(fence_text)
                        && unindented[fence.len()..].trim().is_empty()
                });
                if closes {
                    blocks.push(&text[from..start]);
                    open = None;
                }
            }
        }
    }
    if let Some((_, from)) = open {
        blocks.push(&text[from..]);
    }
    blocks
}

/// The run of three or more backticks or tildes that a line starts with.
fn fence(line: &str) -> Option<&str> {
    let character = line.chars().next().filter(|character| matches!(character, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(character).len();
    (length >= 3).then(|| &line[..length])
}

/// The outermost objects of a text, by their braces; quotes count inside of objects only.
fn objects(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let (mut objects, mut restarts, mut from) = (Vec::new(), 0, 0);
    while let Some(start) = bytes[from..].iter().position(|byte| *byte == b'{').map(|found| from + found) {
        match end_of_object(bytes, start) {
            Some(end) => {
                objects.push(&text[start..end]);
                from = end;
            }
            None if restarts < MAX_RESTARTS => {
                restarts += 1;
                from = start + 1;
            }
            None => break,
        }
    }
    objects
}

/// The offset after the brace that closes the object which starts at `start`.
fn end_of_object(bytes: &[u8], start: usize) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (offset, byte) in bytes.iter().enumerate().skip(start) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(offset + 1);
                }
            }
            _ => {}
        }
    }
    None
}
