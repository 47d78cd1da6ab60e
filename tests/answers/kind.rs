//! Kinds of answers, and what each command shows of them.

use std::process::Output;

use serde_json::Value;

/// How a turn ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Result,
    Question,
    Failure,
    /// An error of the protocol: there is no answer.
    Error,
}

/// A kind of answer.
#[derive(Debug, Clone)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Its input, unless that is the text that is said.
    pub(super) input: Option<Value>,
    end: End,
    text: String,
    data: Vec<Value>,
    /// The text of a stream, if its pieces are another.
    streamed: Option<String>,
    /// What was done before a failure.
    before: String,
}

/// What came of a command.
#[derive(Debug)]
pub(super) struct Cell {
    pub(super) code: i32,
    pub(super) out: String,
    pub(super) err: String,
}

impl Cell {
    pub(super) fn of(output: &Output) -> Cell {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Cell { code: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

impl Kind {
    fn new(name: &'static str, end: End, text: &str) -> Kind {
        let (text, before) = (text.to_owned(), String::new());
        Kind { name, input: None, end, text, data: Vec::new(), streamed: None, before }
    }

    pub(super) fn result(name: &'static str, text: &str) -> Kind {
        Kind::new(name, End::Result, text)
    }

    pub(super) fn question(name: &'static str, text: &str) -> Kind {
        Kind::new(name, End::Question, text)
    }

    pub(super) fn failure(name: &'static str, text: &str) -> Kind {
        Kind::new(name, End::Failure, text)
    }

    pub(super) fn error(name: &'static str, text: &str) -> Kind {
        Kind::new(name, End::Error, text)
    }

    pub(super) fn with(mut self, data: Value) -> Kind {
        self.data.push(data);
        self
    }

    pub(super) fn given(self, input: Value) -> Kind {
        Kind { input: Some(input), ..self }
    }

    pub(super) fn streamed(self, text: &str) -> Kind {
        Kind { streamed: Some(text.to_owned()), ..self }
    }

    /// Of a failure: the text of what was done before it.
    pub(super) fn after(self, text: &str) -> Kind {
        Kind { before: text.to_owned(), ..self }
    }

    /// What is wrong with a cell; none if it is right.
    pub(super) fn wrong(&self, command: &str, cell: &Cell) -> Option<String> {
        if cell.out.contains("thought") {
            return Some("a thought is shown".to_owned());
        }
        match command {
            "conversation" => self.wrong_json(cell, cell.code == i32::from(self.end == End::Error)),
            "ask --json" if self.end == End::Error => self.wrong_end(command, cell),
            "ask --json" => self.wrong_json(cell, cell.code == self.code()),
            _ if cell.code != self.code() => Some(format!("exit status {}", cell.code)),
            _ if self.end == End::Result => self.wrong_result(command, cell),
            _ => self.wrong_end(command, cell),
        }
    }

    fn code(&self) -> i32 {
        match self.end {
            End::Result => 0,
            End::Failure | End::Error => 1,
            End::Question => 2,
        }
    }

    fn wrong_json(&self, cell: &Cell, is_code_right: bool) -> Option<String> {
        if !is_code_right {
            return Some(format!("status {}", cell.code));
        }
        let answer: Value = match serde_json::from_str(&cell.out) {
            Ok(answer) => answer,
            Err(error) => return Some(format!("no JSON: {error}")),
        };
        let states: &[&str] = match self.end {
            End::Error => return (!cell.out.contains(&self.text)).then(|| "another reason".to_owned()),
            End::Result => &["completed"],
            End::Question => &["input-required", "auth-required"],
            End::Failure => &["failed", "rejected", "cancelled"],
        };
        if !states.iter().any(|state| answer["state"] == **state) {
            return Some(format!("the state {}", answer["state"]));
        }
        let (mut texts, mut data) = (Vec::new(), Vec::new());
        for part in answer["message"]["parts"].as_array().into_iter().flatten() {
            let inner = part["parts"].as_array().map_or_else(|| vec![part], |parts| parts.iter().collect());
            let is_text = |part: &&Value| part["kind"] == "text";
            let own: String = inner.iter().copied().filter(is_text).filter_map(|part| part["text"].as_str()).collect();
            texts.extend((!own.is_empty()).then_some(own));
            data.extend(inner.iter().filter(|part| part["kind"] == "data").map(|part| part["data"].clone()));
        }
        let expected: Vec<&str> =
            [self.before.as_str(), self.text.as_str()].into_iter().filter(|text| !text.is_empty()).collect();
        match (texts.join("\n") == expected.join("\n"), is_same(&data, &self.data)) {
            (false, _) => Some(format!("the texts {texts:?}")),
            (_, false) => Some(format!("the data {data:?}")),
            (true, true) => None,
        }
    }

    fn wrong_result(&self, command: &str, cell: &Cell) -> Option<String> {
        let streams = matches!(command, "ask --stream" | "call --stream" | "chat");
        let text = self.streamed.as_ref().filter(|_| streams).unwrap_or(&self.text);
        if text.is_empty() && self.data.is_empty() {
            let is_said = cell.out.is_empty() && cell.err.contains("(no answer)");
            return (!is_said).then(|| "nothing says that there is no answer".to_owned());
        }
        // Data for programs, and the text for people.
        let is_split = command == "call" && !self.data.is_empty();
        if is_split && !cell.err.contains(text) {
            return Some("the text is dropped".to_owned());
        }
        let text =
            if is_split || text.is_empty() { String::new() } else { format!("{}\n", text.trim_end_matches('\n')) };
        let Some(rest) = cell.out.strip_prefix(&text) else { return Some("another text".to_owned()) };
        let is_ended = rest.is_empty() || rest.ends_with('\n') && !rest.ends_with("\n\n");
        let data: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(rest).into_iter().collect();
        match data {
            _ if !is_ended => Some("line breaks".to_owned()),
            Ok(data) if is_same(&data, &self.data) => None,
            Ok(data) => Some(format!("the data {data:?}")),
            Err(error) => Some(format!("more than the data: {error}")),
        }
    }

    fn wrong_end(&self, command: &str, cell: &Cell) -> Option<String> {
        let is_spoken = command == "chat" && self.end == End::Question;
        let shown = if is_spoken { &cell.out } else { &cell.err };
        // A run reports pieces as they come, and goes on with the reason.
        let before = if command == "run" { "" } else { &self.before };
        let all = format!("{}{}", cell.out, cell.err);
        match () {
            () if !shown.contains(self.text.as_str()) => Some("the reason or the question is missing".to_owned()),
            () if !all.contains(before) => Some("something is missing".to_owned()),
            () if !is_spoken && self.before.is_empty() && !cell.out.is_empty() => Some("standard output".to_owned()),
            () => None,
        }
    }
}

/// True if the data are those expected, or their list; `3` and `3.0` are one number.
fn is_same(data: &[Value], expected: &[Value]) -> bool {
    fn same(a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
            (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
            (Value::Object(a), Value::Object(b)) => {
                a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
            }
            (a, b) => a == b,
        }
    }
    let each = data.len() == expected.len() && data.iter().zip(expected).all(|(a, b)| same(a, b));
    each || matches!(data, [Value::Array(all)] if all.len() == expected.len() && all.iter().zip(expected).all(|(a, b)| same(a, b)))
}
