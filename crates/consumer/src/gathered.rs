//! Events gathered into the message that they make up.

use super::{Artifact, Event, Message, Part};

/// The content of the events so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Gathered {
    parts: Vec<Part>,
}

impl Gathered {
    /// Takes an event; pieces of text, and of an artifact, are joined.
    pub(super) fn push(&mut self, event: &Event) {
        let part = match event {
            Event::Text(text) => return self.push_text(text),
            Event::Thinking(text) => {
                if let Some(Part::Thinking { text: before }) = self.parts.last_mut() {
                    return before.push_str(text);
                }
                Part::Thinking { text: text.clone() }
            }
            Event::Data(data) => Part::Data { data: data.clone() },
            Event::ToolCall(call) => Part::ToolCall(call.clone()),
            Event::ToolResult(result) => Part::ToolResult(result.clone()),
            Event::Media(part) => part.clone(),
            Event::Artifact(artifact) => return self.push_artifact(artifact),
            Event::Status(_) | Event::Notification(_) | Event::InputRequired(_) | Event::Done(_) => return,
        };
        self.parts.push(part);
    }

    fn push_text(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(Part::Text { text: before }) => before.push_str(text),
            _ => self.parts.push(Part::text(text)),
        }
    }

    fn push_artifact(&mut self, artifact: &Artifact) {
        let known = self.parts.iter_mut().find_map(|part| match part {
            Part::Artifact(known) if known.id == artifact.id => Some(known),
            _ => None,
        });
        let Some(known) = known else {
            return self.parts.push(Part::Artifact(Artifact { append: false, ..artifact.clone() }));
        };
        if !artifact.append {
            known.parts.clear();
        }
        for part in &artifact.parts {
            match (known.parts.last_mut(), part) {
                (Some(Part::Text { text: before }), Part::Text { text }) => before.push_str(text),
                (_, part) => known.parts.push(part.clone()),
            }
        }
        known.name = artifact.name.clone().or(known.name.take());
    }

    /// True if nothing came.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The message.
    pub(super) fn into_message(self) -> Message {
        Message::agent(self.parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_joined() {
        let artifact = |text: &str, append| {
            Event::Artifact(Artifact { id: "a".into(), name: None, parts: vec![Part::text(text)], append })
        };
        let mut gathered = Gathered::default();
        for event in [Event::Text("It ".into()), Event::Text("rains".into()), artifact("x", false), artifact("y", true)]
        {
            gathered.push(&event);
        }
        let message = gathered.into_message();
        assert_eq!(message.text(), "It rains\nxy");
        assert_eq!(message.parts.len(), 2);
    }
}
