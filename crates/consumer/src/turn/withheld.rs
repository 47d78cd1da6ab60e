//! What is held back of an answer because people wouldn't read it.

use serde_json::Value;

use crate::{Event, Part, sacp::Sacp};

/// The longest text that is held back because it may be a response of SACP, in bytes, unless the agent declares SACP.
const MAX_HELD: usize = 64 * 1024;

/// What a response in a text begins with, or what stands around it.
const OPENINGS: [char; 3] = ['{', '`', '<'];

/// Pieces of an answer that are held back because they may be a response of SACP. The builder of the answer bounds them.
#[derive(Debug, Default)]
pub(super) struct Withheld {
    events: Vec<Event>,
    /// Their text, as far as it decides.
    bytes: usize,
    /// True if something of the answer was passed on.
    pub(super) has_passed: bool,
    /// True if text was passed on: what follows it is no response.
    is_prose: bool,
}

impl Withheld {
    /// Takes the next event, and returns those that are passed on.
    pub(super) fn pass(&mut self, event: Event, sacp: Sacp) -> Vec<Event> {
        let is_content = matches!(event, Event::Text(_) | Event::Data(_) | Event::Artifact(_));
        if !is_content || sacp == Sacp::Off {
            self.has_passed |= is_content || matches!(event, Event::Media(_));
            return vec![event];
        }
        if sacp == Sacp::Required || self.may_be_response(&event) {
            match (self.events.last_mut(), event) {
                (Some(Event::Text(before)), Event::Text(text)) => before.push_str(&text),
                (_, event) => self.events.push(event),
            }
            return Vec::new();
        }
        self.has_passed = true;
        self.is_prose |= matches!(event, Event::Text(_) | Event::Artifact(_));
        let mut passed = self.take();
        passed.push(event);
        passed
    }

    /// What is held.
    pub(super) fn take(&mut self) -> Vec<Event> {
        self.has_passed |= !self.events.is_empty();
        std::mem::take(&mut self.events)
    }

    fn may_be_response(&mut self, event: &Event) -> bool {
        let parts = match event {
            Event::Data(data) => return is_like_response(data),
            Event::Text(text) => return self.may_go_on_with(text),
            Event::Artifact(artifact) => &artifact.parts,
            _ => return false,
        };
        parts.iter().all(|part| match part {
            Part::Text { text } => self.may_go_on_with(text),
            Part::Data { data } => is_like_response(data),
            _ => false,
        })
    }

    /// True if the text so far, with this after it, may hold a response: an object, alone, in a fence, or after a thought.
    fn may_go_on_with(&mut self, text: &str) -> bool {
        let may_hold = self.bytes > 0 || text.contains(OPENINGS);
        if may_hold {
            self.bytes += text.len();
        }
        !self.is_prose && self.bytes <= MAX_HELD && (may_hold || text.trim_start().is_empty())
    }
}

fn is_like_response(data: &Value) -> bool {
    match data {
        Value::Object(members) => members.keys().any(|name| name.eq_ignore_ascii_case("status")),
        Value::String(text) => text.contains(OPENINGS),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn passed(sacp: Sacp, events: Vec<Event>) -> Vec<Event> {
        let mut withheld = Withheld::default();
        events.into_iter().flat_map(|event| withheld.pass(event, sacp)).collect()
    }

    fn text(text: &str) -> Event {
        Event::Text(text.into())
    }

    #[test]
    fn what_may_be_a_response_is_held_and_prose_passes_at_once() {
        let response = || vec![text("{\"thought\": \"t\","), text(" \"status\": \"success\"}")];
        assert_eq!(passed(Sacp::Allowed, response()), []);
        assert_eq!(passed(Sacp::Off, response()), response());
        assert_eq!(passed(Sacp::Allowed, vec![Event::Data(json!({"status": "success"}))]), []);
        assert_eq!(passed(Sacp::Allowed, vec![text("It "), text("{rains}")]), [text("It "), text("{rains}")]);
        assert_eq!(passed(Sacp::Required, vec![text("It "), text("rains.")]), []);
        let data = Event::Data(json!({"mm": 3}));
        assert_eq!(passed(Sacp::Allowed, vec![data.clone()]), [data]);
    }

    #[test]
    fn long_text_is_not_held_for_ever() {
        let piece = text(&"{".repeat(1000));
        let all = passed(Sacp::Allowed, vec![piece.clone(); 100]);
        let length = |event: &Event| if let Event::Text(text) = event { text.len() } else { 0 };
        assert_eq!(all.iter().map(length).sum::<usize>(), 100_000);
        let first = passed(Sacp::Allowed, vec![piece; 65]);
        assert!(first.is_empty(), "{} events", first.len());
    }
}
