//! Server-Sent Events (HTML Living Standard, section 9.2), read in pieces.

/// The longest id of an event; a longer one is ignored.
const MAX_ID_BYTES: usize = 4096;

/// An event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    /// Last id received on the stream.
    pub id: String,
    /// Type of the event; empty if the stream gave no type.
    pub kind: String,
    /// Data of the event.
    pub data: String,
    /// Time of the event, which a registry sends in an additional field.
    pub time: Option<String>,
    /// Reason for the event, which a registry sends in an additional field.
    pub reason: Option<String>,
}

/// Parser of an event stream (HTML Living Standard, section 9.2.6) that arrives in pieces. Events are parsed on
/// demand, so that only a single event is in memory besides the current piece.
#[derive(Default)]
pub struct Parser {
    /// Pieces that aren't read completely, up to `read`.
    unread: Vec<u8>,
    read: usize,
    line: Vec<u8>,
    after_return: bool,
    event: Block,
    has_data: bool,
    last_id: String,
    /// The id up to which everything is complete.
    taken_id: Option<String>,
}

impl Parser {
    /// Returns the next complete event, or `None` if there is none yet.
    pub fn next_block(&mut self) -> Option<Block> {
        while let Some(byte) = self.unread.get(self.read).copied() {
            self.read += 1;
            match byte {
                b'\n' if self.after_return => self.after_return = false,
                b'\n' | b'\r' => {
                    self.after_return = byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    if let Some(event) = self.end_line(&String::from_utf8_lossy(&line)) {
                        return Some(event);
                    }
                }
                other => {
                    self.after_return = false;
                    self.line.push(other);
                }
            }
        }
        self.unread.clear();
        self.read = 0;
        None
    }

    /// Returns the number of buffered bytes of incomplete or unread events.
    pub fn held(&self) -> usize {
        let Block { id, kind, data, time, reason } = &self.event;
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let event = id.len() + kind.len() + data.len() + length(time) + length(reason);
        self.unread.len() - self.read + self.line.len() + event + self.last_id.len()
    }

    /// True if an event has begun but isn't complete.
    pub fn is_incomplete(&self) -> bool {
        !self.line.is_empty() || !self.event.data.is_empty()
    }

    /// Returns the id after which a reader can resume.
    pub fn into_position(mut self) -> Option<String> {
        while self.next_block().is_some() {}
        self.taken_id
    }

    /// Adds the next piece of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        self.unread.drain(..std::mem::take(&mut self.read));
        self.unread.extend_from_slice(bytes);
    }

    /// Reads a line, and returns the event that it completes.
    fn end_line(&mut self, line: &str) -> Option<Block> {
        if line.is_empty() {
            let mut event = std::mem::take(&mut self.event);
            self.taken_id = Some(self.last_id.clone()).filter(|id| !id.is_empty());
            if !std::mem::take(&mut self.has_data) {
                return None;
            }
            event.id.clone_from(&self.last_id);
            return Some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event.kind = value.into(),
            // A longer one fits into no request that would resume after it, and would be copied into each event.
            "id" if value.len() <= MAX_ID_BYTES => self.last_id = value.into(),
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
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events_of(pieces: &[&str]) -> Vec<Block> {
        let mut parser = Parser::default();
        let mut events = Vec::new();
        for piece in pieces {
            parser.push(piece.as_bytes());
            events.extend(std::iter::from_fn(|| parser.next_block()));
        }
        events
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
        assert_eq!(parser.next_block(), None);
        assert_eq!(parser.into_position().as_deref(), Some("e-7"));
    }

    #[test]
    fn everything_that_is_held_counts() {
        let long = "x".repeat(1000);
        for field in ["id", "event", "time", "reason", "data", ""] {
            let mut parser = Parser::default();
            parser.push(format!("{field}: {long}").as_bytes());
            assert!(parser.held() >= 1000, "unread {field}");
            assert_eq!(parser.next_block(), None);
            assert!(parser.held() >= 1000, "line of {field}");
            parser.push(b"\n");
            assert_eq!((parser.next_block(), parser.held() >= 1000), (None, !field.is_empty()), "{field}");
        }
    }

    #[test]
    fn events_of_a_piece_are_read_one_by_one() {
        let mut parser = Parser::default();
        parser.push(format!("id: {}\ndata\n\n", "x".repeat(1000)).as_bytes());
        parser.push("data\n\n".repeat(1000).as_bytes());
        let held = parser.held();
        let read = std::iter::from_fn(|| parser.next_block()).inspect(|block| assert_eq!(block.id.len(), 1000)).count();
        // The id is repeated by each event, but not for those that are still to be read.
        assert_eq!((read, held), (1001, 1000 + "id: \ndata\n\n".len() + 6000));
    }

    #[test]
    fn id_that_is_too_long_is_ignored() {
        let long = "x".repeat(MAX_ID_BYTES + 1);
        let text = format!("id: e-1\ndata: 1\n\nid: {long}\ndata: 2\n\n");
        assert_eq!(events_of(&[&text]), [event("e-1", "", "1"), event("e-1", "", "2")]);
    }

    #[test]
    fn unfinished_event_is_not_returned() {
        assert!(events_of(&["id: e-1\ndata: {}\n"]).is_empty());
        assert!(events_of(&["id: e-1\nevent: thing_created\n\n"]).is_empty());
        for (text, expected) in [("data: {}\n", true), ("data: {}\n\nda", true), ("id: e-1\ndata: {}\n\n", false)] {
            let mut parser = Parser::default();
            parser.push(text.as_bytes());
            while parser.next_block().is_some() {}
            assert_eq!(parser.is_incomplete(), expected, "{text:?}");
        }
    }
}
