//! Assembly of a message from the events of a call, within the size limit of an answer.

use std::{collections::HashMap, mem::size_of};

use serde_json::Value;

use super::{Artifact, Content, Error, Event, Media, Message, Part, Reply, Result, ToolCall, ToolResult};

/// Memory per part in addition to its content, in bytes. It counts twice, since a growing list is copied.
const PART: usize = 2 * size_of::<Part>();
/// Memory per object in addition to names and values, in bytes: a node of the tree in `serde_json::Map`.
const OBJECT: usize = 640;
/// Memory that an entry of the index of artifacts occupies beside the id, in bytes.
const INDEXED: usize = 64;
/// Texts and binary content count in full, the structures around them by this divisor: an answer occupies at most as many
/// times its limit.
const STRUCTURE_DIVISOR: usize = 5;

/// Content of the events so far. A million empty events are not free: the structures in memory count, too.
#[derive(Debug)]
pub(super) struct AnswerBuilder {
    parts: Vec<Part>,
    /// Positions of artifacts in the parts, by their ids.
    artifacts: HashMap<String, usize>,
    budget: Budget,
}

impl AnswerBuilder {
    /// Gathers at most `limit` bytes; `source` names the agent in the error.
    pub(super) fn new(source: impl Into<String>, limit: usize) -> AnswerBuilder {
        let budget = Budget { source: source.into(), limit, used: 0 };
        AnswerBuilder { parts: Vec::new(), artifacts: HashMap::new(), budget }
    }

    /// Adds an event, joining pieces of text and of artifacts. Empty events count, too, so that a stream of them
    /// ends.
    ///
    /// # Errors
    /// [`Error::AnswerTooLarge`] if the content exceeds the limit.
    pub(super) fn push(&mut self, event: &Event) -> Result<()> {
        if adds_nothing(event) {
            self.budget.take(structure(PART))?;
        }
        let part = match event {
            Event::Text(text) => Part::text(text.as_str()),
            Event::Thinking(text) => Part::Thinking { text: text.clone() },
            Event::Data(data) => Part::Data { data: data.clone() },
            Event::ToolCall(call) => Part::ToolCall(call.clone()),
            Event::ToolResult(result) => Part::ToolResult(result.clone()),
            Event::Media(part) => part.clone(),
            Event::Artifact(artifact) => return self.push_artifact(artifact),
            Event::Status(_) | Event::Notification(_) | Event::InputRequired(_) | Event::Done(_) => return Ok(()),
        };
        join(&mut self.parts, part, &mut self.budget)
    }

    fn push_artifact(&mut self, artifact: &Artifact) -> Result<()> {
        let index = match self.artifacts.get(&artifact.id) {
            Some(index) => *index,
            None => self.begin_artifact(&artifact.id)?,
        };
        let Some(Part::Artifact(known)) = self.parts.get_mut(index) else { return Ok(()) };
        if !artifact.append {
            self.budget.release(known.parts.iter().map(size_of_part).sum());
            known.parts.clear();
        }
        for part in &artifact.parts {
            join(&mut known.parts, part.clone(), &mut self.budget)?;
        }
        if artifact.name.is_some() {
            self.budget.release(length(known.name.as_deref()));
            self.budget.take(length(artifact.name.as_deref()))?;
            known.name.clone_from(&artifact.name);
        }
        Ok(())
    }

    fn begin_artifact(&mut self, id: &str) -> Result<usize> {
        // The id is stored in the artifact and in the index.
        self.budget.take(structure(PART + INDEXED) + 2 * id.len())?;
        let index = self.parts.len();
        self.artifacts.insert(id.to_owned(), index);
        self.parts.push(Part::Artifact(Artifact { id: id.to_owned(), ..Artifact::default() }));
        Ok(index)
    }

    /// The message.
    pub(super) fn into_message(mut self) -> Message {
        self.take_message()
    }

    /// The artifact of an id, as far as it came.
    pub(super) fn artifact(&self, id: &str) -> Option<&Artifact> {
        match self.parts.get(*self.artifacts.get(id)?)? {
            Part::Artifact(artifact) => Some(artifact),
            _ => None,
        }
    }

    /// Completes a reply with all preceding pieces. A reply with a message is already complete, unless the message is
    /// the question or the reason that ends the pieces.
    pub(super) fn complete(&mut self, mut reply: Reply) -> Reply {
        let is_whole = reply.message.parts.iter().any(|part| matches!(part, Part::Artifact(_)));
        let follows_pieces = reply.state.is_failure() || reply.state.needs_input();
        if reply.message.is_empty() {
            reply.message = self.take_message();
        } else if follows_pieces && !is_whole {
            let last = std::mem::take(&mut reply.message.parts);
            reply.message.parts = self.take_message().parts.into_iter().chain(last).collect();
        }
        reply
    }

    /// Returns the message so far. The next event starts another message.
    pub(super) fn take_message(&mut self) -> Message {
        self.artifacts.clear();
        self.budget.used = 0;
        Message::agent(std::mem::take(&mut self.parts))
    }
}

/// Memory limit of an answer, with the amount used.
#[derive(Debug)]
struct Budget {
    /// The agent, for the error.
    source: String,
    limit: usize,
    used: usize,
}

impl Budget {
    fn take(&mut self, bytes: usize) -> Result<()> {
        self.used = self.used.saturating_add(bytes);
        if self.used > self.limit {
            return Err(Error::AnswerTooLarge { url: self.source.clone(), limit: self.limit });
        }
        Ok(())
    }

    fn release(&mut self, bytes: usize) {
        self.used = self.used.saturating_sub(bytes);
    }
}

/// True if an event leaves the message as it is.
fn adds_nothing(event: &Event) -> bool {
    match event {
        Event::Text(text) | Event::Thinking(text) => text.is_empty(),
        Event::Artifact(Artifact { name, parts, .. }) => name.is_none() && parts.iter().all(is_empty_text),
        Event::Status(_) | Event::Notification(_) => true,
        _ => false,
    }
}

fn is_empty_text(part: &Part) -> bool {
    matches!(part, Part::Text { text } | Part::Thinking { text } if text.is_empty())
}

/// Appends a part; text continues the text before it.
fn join(parts: &mut Vec<Part>, part: Part, budget: &mut Budget) -> Result<()> {
    match (parts.last_mut(), &part) {
        (Some(Part::Text { text: before }), Part::Text { text })
        | (Some(Part::Thinking { text: before }), Part::Thinking { text }) => {
            budget.take(text.len())?;
            before.push_str(text);
        }
        _ => {
            budget.take(size_of_part(&part))?;
            parts.push(part);
        }
    }
    Ok(())
}

fn size_of_part(part: &Part) -> usize {
    let content = match part {
        Part::Text { text } | Part::SystemPrompt { text } | Part::Thinking { text } => text.len(),
        Part::Image(media) | Part::Audio(media) | Part::Document(media) | Part::Video(media) | Part::Binary(media) => {
            size_of_media(media)
        }
        Part::Data { data } => size_of_value(data),
        Part::ToolCall(ToolCall { id, name, arguments }) => id.len() + name.len() + size_of_value(arguments),
        Part::ToolResult(ToolResult { id, name, result }) => id.len() + length(name.as_deref()) + size_of_value(result),
        Part::Artifact(Artifact { id, name, parts, .. }) => {
            id.len() + length(name.as_deref()) + parts.iter().map(size_of_part).sum::<usize>()
        }
    };
    structure(PART) + content
}

fn size_of_media(media: &Media) -> usize {
    let content = match &media.content {
        Content::Url(url) => url.len(),
        Content::Bytes(bytes) => bytes.len(),
    };
    content + length(media.media_type.as_deref()) + length(media.name.as_deref())
}

fn size_of_value(value: &Value) -> usize {
    let content = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size_of_value).sum(),
        Value::Object(members) if !members.is_empty() => {
            structure(OBJECT) + members.iter().map(|(name, value)| name.len() + size_of_value(value)).sum::<usize>()
        }
        _ => 0,
    };
    structure(size_of::<Value>()) + content
}

/// Returns the weight of a structure of `bytes` bytes.
fn structure(bytes: usize) -> usize {
    bytes.div_ceil(STRUCTURE_DIVISOR)
}

fn length(text: Option<&str>) -> usize {
    text.map_or(0, str::len)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn artifact(id: &str, text: &str, append: bool) -> Event {
        Event::Artifact(Artifact { id: id.into(), name: None, parts: vec![Part::text(text)], append })
    }

    /// The number of events that fit into `limit` bytes, at most 200,000.
    fn fitting(limit: usize, event: impl Fn(usize) -> Event) -> usize {
        let mut builder = AnswerBuilder::new("urn:a", limit);
        (0..200_000).take_while(|number| builder.push(&event(*number)).is_ok()).count()
    }

    #[test]
    fn pieces_are_joined() {
        let mut builder = AnswerBuilder::new("urn:a", 1000);
        for event in [
            Event::Text("It ".into()),
            Event::Text("rains".into()),
            artifact("a", "x", false),
            artifact("a", "y", true),
        ] {
            builder.push(&event).unwrap();
        }
        let message = builder.into_message();
        assert_eq!(message.text(), "It rains\nxy");
        assert_eq!(message.parts.len(), 2);
    }

    #[test]
    fn text_counts_as_its_length_however_it_is_cut() {
        for piece in ["x", "xxxxxxxx"] {
            let text = |_| Event::Text(piece.into());
            let held = fitting(100_000, text) * piece.len();
            assert!((99_000..=100_000).contains(&held), "{held}");
        }
        let held = fitting(100_000, |_| artifact("a", "x", true));
        assert!((99_000..=100_000).contains(&held), "{held}");
    }

    #[test]
    fn events_without_content_are_not_free() {
        let alternating = |number: usize| match number % 2 {
            0 => Event::Text(String::new()),
            _ => Event::Thinking(String::new()),
        };
        assert!(fitting(1 << 20, alternating) < 100_000);
        let status = Event::Status(crate::Status { state: crate::State::Working, message: None, progress: None });
        for event in [Event::Text(String::new()), Event::Thinking(String::new()), status] {
            assert!(fitting(1 << 20, |_| event.clone()) < 100_000, "{event:?}");
        }
        for append in [false, true] {
            assert!(fitting(1 << 20, |_| artifact("a", "", append)) < 100_000);
            let without_parts = Artifact { id: "a".into(), append, ..Artifact::default() };
            assert!(fitting(1 << 20, |_| Event::Artifact(without_parts.clone())) < 100_000);
        }
        for data in [json!(null), json!({}), json!([]), json!(""), json!({"": {}})] {
            assert!(fitting(1 << 20, |_| Event::Data(data.clone())) < 100_000, "{data}");
        }
        assert!(fitting(1 << 20, |number| artifact(&number.to_string(), "", false)) < 50_000);
        assert!(fitting(1 << 20, |_| Event::Media(Part::of_media(Media::bytes("", [])))) < 100_000);
    }

    #[test]
    fn artifact_that_is_sent_again_counts_once() {
        let text = "x".repeat(1000);
        assert_eq!(fitting(10_000, |number| artifact(&(number % 2).to_string(), &text, false)), 200_000);
        let renamed =
            |number: usize| Event::Artifact(Artifact { name: Some(number.to_string()), ..Artifact::default() });
        assert_eq!(fitting(10_000, renamed), 200_000);
    }

    #[test]
    fn error_names_agent_and_limit() {
        let mut builder = AnswerBuilder::new("urn:a", 10);
        let error = builder.push(&Event::Text("x".repeat(11))).unwrap_err();
        assert!(matches!(&error, Error::AnswerTooLarge { url, limit: 10 } if url == "urn:a"), "{error}");
    }
}
