//! Server-Sent Events (HTML Living Standard, section 9.2), read in pieces.

use std::collections::VecDeque;

/// One event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    /// The last id that the stream gave.
    pub id: String,
    /// Its type; empty where none is given.
    pub kind: String,
    /// Its data.
    pub data: String,
    /// The moment when it happened, which a registry sends in a field of its own.
    pub time: Option<String>,
    /// The reason why it happened, likewise.
    pub reason: Option<String>,
}

/// Reads an event stream (HTML Living Standard, section 9.2.6) in pieces.
#[derive(Default)]
pub struct Parser {
    line: Vec<u8>,
    after_return: bool,
    event: Block,
    has_data: bool,
    last_id: String,
    /// The id up to which everything is complete.
    taken_id: Option<String>,
    events: VecDeque<Block>,
}

impl Parser {
    /// The next complete event.
    pub fn next_block(&mut self) -> Option<Block> {
        self.events.pop_front()
    }

    /// The bytes that are held of events that aren't complete or taken.
    pub fn held(&self) -> usize {
        let complete: usize = self.events.iter().map(|event| event.data.len()).sum();
        self.line.len() + self.event.data.len() + complete
    }

    /// The id to resume after.
    pub fn into_position(self) -> Option<String> {
        self.taken_id
    }

    /// Takes the next piece of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\n' if self.after_return => self.after_return = false,
                b'\n' | b'\r' => {
                    self.after_return = *byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    self.end_line(&String::from_utf8_lossy(&line));
                }
                other => {
                    self.after_return = false;
                    self.line.push(*other);
                }
            }
        }
    }

    fn end_line(&mut self, line: &str) {
        if line.is_empty() {
            let mut event = std::mem::take(&mut self.event);
            self.taken_id = Some(self.last_id.clone()).filter(|id| !id.is_empty());
            if std::mem::take(&mut self.has_data) {
                event.id.clone_from(&self.last_id);
                self.events.push_back(event);
            }
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event.kind = value.into(),
            "id" => self.last_id = value.into(),
            "time" => self.event.time = Some(value.into()),
            "reason" => self.event.reason = Some(value.into()),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events_of(pieces: &[&str]) -> Vec<Block> {
        let mut parser = Parser::default();
        pieces.iter().for_each(|piece| parser.push(piece.as_bytes()));
        parser.events.into()
    }

    fn event(id: &str, kind: &str, data: &str) -> Block {
        Block { id: id.into(), kind: kind.into(), data: data.into(), ..Block::default() }
    }

    #[test]
    fn stream_is_read_wherever_it_is_cut() {
        let text = ": hello\n\nid: e-1\nevent: thing_created\ndata: {\"id\":\ndata: \"ä\"}\n\nevent:thing_deleted\r\nid:e-2\r\ndata:{}\r\n\r\n";
        let expected = [event("e-1", "thing_created", "{\"id\":\n\"ä\"}"), event("e-2", "thing_deleted", "{}")];
        assert_eq!(events_of(&[text]), expected);
        for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            assert_eq!(events_of(&[&text[..cut], &text[cut..]]), expected, "cut at {cut}");
        }
    }

    #[test]
    fn position_without_an_event_is_remembered() {
        let mut parser = Parser::default();
        parser.push(b": alive\nid: e-7\n\nid: e-8\ndata: {}\n");
        assert_eq!(parser.taken_id.as_deref(), Some("e-7"));
        assert!(parser.events.is_empty());
    }

    #[test]
    fn unfinished_event_is_not_returned() {
        assert!(events_of(&["id: e-1\ndata: {}\n"]).is_empty());
        assert!(events_of(&["id: e-1\nevent: thing_created\n\n"]).is_empty());
    }
}
