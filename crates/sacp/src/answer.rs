//! `read_answer`: the one function that says what an agent's answer is.
//!
//! The order: a response of SACP, where the agent declares it or the answer is one as a whole; else data and text as they
//! came. Then the schema that is declared: that of a response is checked against the response, that of its data against the
//! data, any other against the value. Values are coerced only where exactly one interpretation exists.

use agentdex_api::{Repair, SacpReading};
use serde_json::{Map, Value};

use super::{
    expected::{Checked, Expected, Sacp},
    fences::only_block,
    reading::{Found, Latitude, Reading, find, find_in_data},
    response::Response,
};
use crate::td::Violation;

/// The output of an agent, in order.
#[derive(Debug, Clone, Default)]
pub struct Given<'a> {
    /// The texts.
    pub texts: Vec<Piece<'a>>,
    /// The structured data.
    pub data: Vec<&'a Value>,
}

/// A text of an answer.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// The text.
    pub text: &'a str,
    /// The artifact to which it belongs. Texts of one artifact are one text.
    pub artifact: Option<&'a str>,
}

/// The result of reading an answer.
///
/// A caller goes on by three questions: [`Answer::mismatches`] tells whether the answer can be used at all, the status of
/// [`Answer::response`] whether it is a result, a failure or a question, and [`Answer::kind`] what it was.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The response: as read, created from an answer of another kind, or the fallback of section
    /// 7.2.
    pub response: Response,
    /// The kind of the answer.
    pub kind: Kind,
    /// The structured payload of an answer that isn't a SACP response: its only value, or a list of several. `None`
    /// if it is only text.
    pub value: Option<Value>,
    /// The text for people: the message of a response, or the text. Empty if the text was read as data.
    pub text: String,
    /// Repairs and coercions.
    pub repairs: Vec<Repair>,
    /// Violations of the protocol: in the response, in the most similar object, or in the text.
    pub violations: Vec<Violation>,
    /// Violations of the declared schema.
    pub mismatches: Vec<Violation>,
    /// The original answer: its text, then its data.
    pub raw: String,
}

/// The kind of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A SACP response, and its place.
    Response(Found),
    /// Text and data of an agent that doesn't answer in SACP.
    Plain,
    /// The agent declares SACP, but its answer has no response.
    Unreadable,
}

impl<'a> Given<'a> {
    /// A text.
    pub fn text(text: &'a str) -> Given<'a> {
        Given { texts: vec![Piece { text, artifact: None }], data: Vec::new() }
    }

    /// Structured data.
    pub fn data(data: &'a Value) -> Given<'a> {
        Given { texts: Vec::new(), data: vec![data] }
    }

    /// All texts: those of one artifact joined by nothing, others by line breaks.
    fn joined(&self) -> String {
        let mut joined = String::with_capacity(self.texts.iter().map(|piece| piece.text.len() + 1).sum());
        for (index, piece) in self.texts.iter().enumerate() {
            let continues = index > 0 && piece.artifact.is_some() && self.texts[index - 1].artifact == piece.artifact;
            if index > 0 && !continues {
                joined.push('\n');
            }
            joined.push_str(piece.text);
        }
        joined
    }

    /// The texts that stand alone: those of one artifact joined, each other one by itself.
    fn separate(&self) -> Vec<String> {
        let mut texts: Vec<(Option<&str>, String)> = Vec::new();
        for Piece { text, artifact } in &self.texts {
            match texts.last_mut() {
                Some((last, before)) if artifact.is_some() && last == artifact => before.push_str(text),
                _ => texts.push((*artifact, (*text).to_owned())),
            }
        }
        texts.into_iter().map(|(_, text)| text).collect()
    }

    fn joined_by(&self, separator: &str) -> String {
        self.texts.iter().map(|piece| piece.text).collect::<Vec<_>>().join(separator)
    }

    fn raw(&self, text: &str) -> String {
        let mut raw = text.to_owned();
        for data in &self.data {
            if !raw.is_empty() {
                raw.push('\n');
            }
            raw.push_str(&data.to_string());
        }
        raw
    }
}

/// Reads an answer. Never fails: an answer without the required response becomes the fallback of section 7.2, with
/// the original answer. The work is linear in the length of the answer.
///
/// ```
/// use agentdex_sacp::{Expected, Given, Kind, Sacp, Status, read_answer};
/// use serde_json::json;
///
/// let response = json!({"thought": "", "status": "success", "data": {"mm": "3"}, "message": "It rains."});
/// let action = json!({"output": {"@type": "sacp:Response", "properties": {"data": {"properties": {"mm": {"type": "integer"}}}}}});
/// let declared = Expected::of_action(&action, Sacp::Allowed)?;
///
/// let answer = read_answer(&Given::text(&format!("Here you are:\n```json\n{response}\n```")), &declared);
/// assert_eq!((answer.response.status, &answer.response.data["mm"]), (Status::Success, &json!(3)));
/// assert_eq!(answer.repairs[0].to_string(), "/data/mm: \"3\" was read as 3");
///
/// let answer = read_answer(&Given::data(&json!({"status": "success", "rain": true})), &Expected::any(Sacp::Allowed));
/// assert_eq!((answer.kind, answer.value), (Kind::Plain, Some(json!({"status": "success", "rain": true}))));
/// # Ok::<(), agentdex_sacp::SchemaError>(())
/// ```
pub fn read_answer(given: &Given<'_>, expected: &Expected) -> Answer {
    let text = given.joined();
    let latitude = match expected.sacp() {
        Sacp::Off => return plain(given, text, expected),
        Sacp::Allowed => Latitude::Whole,
        Sacp::Required => Latitude::Anywhere,
    };
    match find_response(given, &text, latitude) {
        Ok(reading) => of_reading(reading, given.raw(&text), expected),
        Err(_) if expected.sacp() == Sacp::Allowed => plain(given, text, expected),
        Err(violations) => unreadable(given.raw(&text), violations),
    }
}

/// The last datum that is a response, else that of the texts.
fn find_response(given: &Given<'_>, text: &str, latitude: Latitude) -> Result<Reading, Vec<Violation>> {
    let mut nearest = Vec::new();
    for data in given.data.iter().rev() {
        let found = match data {
            Value::String(text) => find(text, latitude),
            data => find_in_data(data, latitude),
        };
        match found {
            Ok(reading) => return Ok(reading),
            Err(violations) if nearest.is_empty() => nearest = violations,
            Err(_) => {}
        }
    }
    if given.texts.is_empty() && !given.data.is_empty() {
        if nearest.is_empty() {
            let message = "the data is not an SACP response; respond with an object with `thought`, `status`, `data`, \
                           and `message`";
            nearest.push(Violation::new("", "sacp/no-object", message));
        }
        return Err(nearest);
    }
    let violations = match find(text, latitude) {
        Ok(reading) => return Ok(reading),
        Err(violations) => violations,
    };
    if given.texts.len() > 1 {
        // Pieces of a stream that came as parts of their own, or parts that one artifact has.
        for joined in [given.joined_by(""), given.joined_by("\n")] {
            if joined != text
                && let Ok(reading) = find(&joined, latitude)
            {
                return Ok(reading);
            }
        }
        // An artifact or a message that is one, beside others: the last says how the work ended.
        if let Some(reading) = given.separate().iter().rev().find_map(|text| find(text, latitude).ok()) {
            return Ok(reading);
        }
    }
    Err(if nearest.is_empty() { violations } else { nearest })
}

fn of_reading(reading: Reading, raw: String, expected: &Expected) -> Answer {
    let Reading { mut response, found, mut repairs, violations } = reading;
    let (coercions, mismatches) = expected.check_response(&mut response);
    repairs.extend(coercions);
    Answer {
        value: None,
        text: response.message.clone(),
        kind: Kind::Response(found),
        response,
        repairs,
        violations,
        mismatches,
        raw,
    }
}

fn unreadable(raw: String, violations: Vec<Violation>) -> Answer {
    let response = Response::unreadable(&raw);
    Answer {
        value: None,
        text: response.message.clone(),
        kind: Kind::Unreadable,
        response,
        repairs: Vec::new(),
        violations,
        mismatches: Vec::new(),
        raw,
    }
}

/// An answer that isn't one of SACP.
fn plain(given: &Given<'_>, text: String, expected: &Expected) -> Answer {
    let raw = given.raw(&text);
    let Content { value, text, repairs, mismatches } = match (given.data.as_slice(), expected.has_schema()) {
        ([], true) => checked_text(text, !given.texts.is_empty(), expected),
        ([], false) => match object_in(&text) {
            Some(object) => Content { value: Some(object), ..Content::default() },
            None => Content { text, ..Content::default() },
        },
        ([data], _) => Content::of(expected.check_value((*data).clone()), text),
        (several, _) => several_data(several, text, expected),
    };
    let data = match &value {
        Some(Value::Object(data)) => data.clone(),
        Some(other) => Map::from_iter([("result".to_owned(), other.clone())]),
        None => Map::new(),
    };
    let response = Response::success(text.clone(), data);
    Answer { response, kind: Kind::Plain, value, text, repairs, violations: Vec::new(), mismatches, raw }
}

/// Value and text of a plain answer.
#[derive(Default)]
struct Content {
    value: Option<Value>,
    text: String,
    repairs: Vec<Repair>,
    mismatches: Vec<Violation>,
}

impl Content {
    fn of(checked: Checked, text: String) -> Content {
        let Checked { value, repairs, violations } = checked;
        Content { value: Some(value), text, repairs, mismatches: violations }
    }
}

/// A text that should satisfy a schema: as it is, or as the JSON that it holds, in a fence or alone. Null if none is given.
fn checked_text(text: String, is_given: bool, expected: &Expected) -> Content {
    let as_text = if is_given { Value::String(text.clone()) } else { Value::Null };
    let Checked { value, repairs, violations } = expected.check_value(as_text.clone());
    if violations.is_empty() && repairs.is_empty() {
        return match value == as_text {
            true => Content { text, ..Content::default() },
            // The value of the only output.
            false => Content { value: Some(value), text, ..Content::default() },
        };
    }
    let mut mismatches = violations;
    for candidate in [Some(text.as_str()), only_block(&text)].into_iter().flatten() {
        let Ok(parsed) = serde_json::from_str::<Value>(candidate.trim()) else { continue };
        let is_structured = parsed.is_object() || parsed.is_array();
        let mut checked = expected.check_value(parsed);
        if checked.violations.is_empty() || is_structured {
            checked.repairs.insert(0, Repair::new("", "sacp/text", "the text was read as JSON"));
            return Content::of(checked, String::new());
        }
        mismatches = checked.violations;
    }
    match repairs.is_empty() {
        true => Content { text, mismatches, ..Content::default() },
        false => Content { value: Some(value), repairs, ..Content::default() },
    }
}

/// Several data: a list, or values that each satisfy the schema.
fn several_data(data: &[&Value], text: String, expected: &Expected) -> Content {
    let list = Value::Array(data.iter().map(|data| (*data).clone()).collect());
    let checked = expected.check_value(list.clone());
    if checked.violations.is_empty() {
        return Content::of(checked, text);
    }
    let mut each = data.iter().map(|data| expected.check_value((*data).clone()));
    let mismatches = each.find_map(|checked| Some(checked.violations).filter(|violations| !violations.is_empty()));
    Content { value: Some(list), text, mismatches: mismatches.unwrap_or_default(), ..Content::default() }
}

/// The object that a whole text is as JSON.
fn object_in(text: &str) -> Option<Value> {
    let text = text.trim();
    (text.starts_with('{')).then(|| serde_json::from_str(text).ok()).flatten()
}

impl Answer {
    /// True if the answer is a response without faults.
    pub fn is_valid(&self) -> bool {
        matches!(self.kind, Kind::Response(_)) && self.violations.is_empty() && self.mismatches.is_empty()
    }

    /// The place of the response.
    pub fn found(&self) -> Found {
        match self.kind {
            Kind::Response(found) => found,
            Kind::Plain | Kind::Unreadable => Found::Nowhere,
        }
    }

    /// A failure for this reason with the original answer, as in section 7.2.
    pub fn rejected(&self, reason: impl Into<String>) -> Response {
        let data = Map::from_iter([("raw_output".to_owned(), Value::from(self.raw.as_str()))]);
        Response { data, ..Response::failure(reason) }
    }

    /// The answer in the form in which it is sent.
    pub fn report(&self) -> SacpReading {
        SacpReading {
            found: self.found(),
            repaired: !self.repairs.is_empty(),
            repairs: self.repairs.clone(),
            response: self.response.to_value(),
            valid: self.is_valid(),
            violations: self.violations.iter().chain(&self.mismatches).cloned().collect(),
        }
    }
}
