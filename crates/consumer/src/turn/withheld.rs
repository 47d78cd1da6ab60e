//! Parts of an answer held back because they aren't meant for people.

use serde_json::Value;

use crate::{Artifact, Event, Part, sacp::Sacp};

/// Maximum size in bytes of a possible SACP response that is held back, unless the agent declares SACP.
const MAX_HELD: usize = 64 * 1024;

/// Memory that an event occupies beside its content, in bytes.
const EVENT: usize = size_of::<Event>();

/// Pieces of an answer that are held back because they may be a response of SACP.
#[derive(Debug)]
pub(super) struct Withheld {
    events: Vec<Event>,
    /// Total size of the events in bytes.
    bytes: usize,
    /// Maximum size in bytes if the agent declares SACP.
    limit: usize,
    /// True if there is text among the events, other than space.
    has_text: bool,
    /// True if something of the answer was passed on.
    pub(super) has_passed: bool,
    /// True if text was already forwarded, so the following text can't be a response.
    is_prose: bool,
}

impl Withheld {
    pub(super) fn new(limit: usize) -> Withheld {
        Withheld { events: Vec::new(), bytes: 0, limit, has_text: false, has_passed: false, is_prose: false }
    }

    /// Takes the next event, and returns those that are passed on.
    pub(super) fn pass(&mut self, event: Event, sacp: Sacp) -> Vec<Event> {
        let is_content = matches!(event, Event::Text(_) | Event::Data(_) | Event::Artifact(_));
        if !is_content || sacp == Sacp::Off {
            self.has_passed |= is_content || matches!(event, Event::Media(_));
            return vec![event];
        }
        let limit = if sacp == Sacp::Required { self.limit } else { MAX_HELD };
        let size = size_of_event(&event);
        let is_held = self.bytes + size <= limit && (sacp == Sacp::Required || self.may_be_response(&event));
        if is_held {
            self.bytes += size;
            self.has_text |= match &event {
                Event::Text(text) => !text.trim_start().is_empty(),
                event => matches!(event, Event::Artifact(_)),
            };
            match (self.events.last_mut(), event) {
                (Some(Event::Text(before)), Event::Text(text)) => before.push_str(&text),
                (_, event) => self.events.push(event),
            }
            return Vec::new();
        }
        self.is_prose |= matches!(event, Event::Text(_) | Event::Artifact(_));
        let mut passed = self.take();
        self.has_passed = true;
        passed.push(event);
        passed
    }

    /// Takes the events held back.
    pub(super) fn take(&mut self) -> Vec<Event> {
        (self.bytes, self.has_text) = (0, false);
        self.has_passed |= !self.events.is_empty();
        std::mem::take(&mut self.events)
    }

    /// Returns the events held back, without releasing them.
    pub(super) fn events(&self) -> &[Event] {
        &self.events
    }

    fn may_be_response(&self, event: &Event) -> bool {
        match event {
            Event::Data(data) => is_like_response(data),
            Event::Text(text) => self.may_go_on_with(text),
            Event::Artifact(artifact) => {
                let texts: Option<String> = artifact.parts.iter().map(text_of).collect();
                let has_response =
                    || artifact.parts.iter().any(|part| matches!(part, Part::Data { data } if is_like_response(data)));
                texts.map_or_else(has_response, |text| self.may_go_on_with(&text))
            }
            _ => false,
        }
    }

    /// True if the text so far, extended by this text, may be a response: it starts like a response, or all of it
    /// arrived at once.
    fn may_go_on_with(&self, text: &str) -> bool {
        let text = text.trim_start();
        let begins = text.is_empty() || text.starts_with(['{', '<']) || text.starts_with("```");
        let holds_one = || text.contains('{') && text.contains("status");
        !self.is_prose && (self.has_text || begins || holds_one())
    }
}

fn text_of(part: &Part) -> Option<&str> {
    match part {
        Part::Text { text } => Some(text),
        _ => None,
    }
}

/// True for an object with the members of a response, in any case, or its text.
fn is_like_response(data: &Value) -> bool {
    let has = |name: &str| match data {
        Value::Object(members) => members.keys().any(|known| known.eq_ignore_ascii_case(name)),
        Value::String(text) => text.contains(name),
        _ => false,
    };
    has("status") && ["thought", "data", "message"].iter().filter(|name| has(name)).count() >= 2
}

fn size_of_event(event: &Event) -> usize {
    let of_part = |part: &Part| match part {
        Part::Text { text } => EVENT + text.len(),
        Part::Data { data } => EVENT + data.to_string().len(),
        _ => EVENT,
    };
    match event {
        // Joined with the text before it.
        Event::Text(text) => text.len(),
        Event::Data(data) => EVENT + data.to_string().len(),
        Event::Artifact(Artifact { id, name, parts, .. }) => {
            EVENT + id.len() + name.as_ref().map_or(0, String::len) + parts.iter().map(of_part).sum::<usize>()
        }
        _ => EVENT,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn passed(sacp: Sacp, events: Vec<Event>) -> Vec<Event> {
        let mut withheld = Withheld::new(100_000);
        events.into_iter().flat_map(|event| withheld.pass(event, sacp)).collect()
    }

    fn text(text: &str) -> Event {
        Event::Text(text.into())
    }

    #[test]
    fn what_may_be_a_response_is_held_and_all_else_passes_at_once() {
        let response = || vec![text("{\"thought\": \"t\","), text(" \"status\": \"success\"}")];
        assert_eq!(passed(Sacp::Allowed, response()), []);
        assert_eq!(passed(Sacp::Off, response()), response());
        let response = json!({"thought": "t", "status": "success", "data": {}, "message": "m"});
        assert_eq!(passed(Sacp::Allowed, vec![Event::Data(response.clone())]), []);
        assert_eq!(passed(Sacp::Allowed, vec![text(&format!("Here:\n```json\n{response}\n```"))]), []);
        assert_eq!(passed(Sacp::Required, vec![text("It "), text("rains.")]), []);
        for events in [
            vec![text("It "), text("{rains}")],
            vec![text("Run `make` first."), text(" Then `{}`.")],
            vec![Event::Data(json!({"status": "running", "step": 1}))],
            vec![Event::Data(json!({"mm": 3}))],
        ] {
            assert_eq!(passed(Sacp::Allowed, events.clone()), events);
        }
    }

    #[test]
    fn what_is_held_is_bounded() {
        let response = json!({"thought": "t", "status": "success", "data": {}, "message": "m"});
        let artifact = |_| {
            let parts = vec![Part::text("{")];
            Event::Artifact(Artifact { id: "x".repeat(1000), name: None, parts, append: true })
        };
        let kinds: [&dyn Fn(usize) -> Event; 4] =
            [&|_| text(&"{".repeat(100)), &|_| text(" "), &|_| Event::Data(response.clone()), &artifact];
        for (kind, event) in kinds.into_iter().enumerate() {
            for (sacp, limit) in [(Sacp::Allowed, MAX_HELD), (Sacp::Required, 100_000)] {
                let mut withheld = Withheld::new(100_000);
                let passed = (0..200_000).any(|number| !withheld.pass(event(number), sacp).is_empty());
                assert!(passed && withheld.bytes <= limit, "{kind} {sacp:?}");
            }
        }
    }
}
