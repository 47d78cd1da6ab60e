//! `AgentDocument`: a parsed description of an agent.

use serde_json::{Map, Value};

use super::{agent::Agent, redaction::AgentMarks};
use crate::{
    Error, Format, Result,
    looks::look_of,
    redacted_json::RedactedJson,
    td::{Report, Violation},
};

type Object = Map<String, Value>;

/// An AOS agent, parsed strictly, without its secrets.
#[derive(Debug, Clone)]
pub struct AgentDocument {
    bytes: Vec<u8>,
    members: Object,
    warnings: Vec<Violation>,
    shows_prompts: bool,
}

impl AgentDocument {
    /// Parses an Agent object (section 3.1). Its `instructions` and the `content` of its resources are private: they
    /// are hidden unless `publish_prompts` is set.
    ///
    /// ```
    /// use agentdex_convert::aos::{AgentDocument, Options};
    ///
    /// let agent = AgentDocument::parse(br#"{
    ///     "id": "urn:example:travel", "name": "Travel", "version": "1.0.0", "instructions": "Book trips.",
    ///     "provider": {"name": "Example", "url": "https://example.org"}
    /// }"#, false)?;
    /// let conversion = agent.to_thing(&Options::default())?;
    /// assert_eq!(conversion.things[0].id, "urn:example:travel");
    /// assert!(!conversion.things[0].description.text().contains("Book trips"));
    /// # Ok::<(), agentdex_convert::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidSource`] with all faults of the object; the errors of
    /// [`Document::parse`](crate::td::Document::parse).
    pub fn parse(json: &[u8], publish_prompts: bool) -> Result<AgentDocument> {
        let RedactedJson { bytes, value, warnings, .. } = RedactedJson::parse(json, &AgentMarks { publish_prompts })?;
        let violations = match Agent::read(&value) {
            Ok(_) => Vec::new(),
            Err(violations) => violations,
        };
        match value {
            Value::Object(members) if violations.is_empty() => {
                Ok(AgentDocument { bytes, members, warnings, shows_prompts: publish_prompts })
            }
            Value::Object(members) => Err(refused(named(&members).into_iter().chain(violations).collect())),
            _ => Err(refused(vec![not_an_agent("it is not an object")])),
        }
    }

    pub(super) fn members(&self) -> &Object {
        &self.members
    }

    pub(super) fn text(&self, name: &str) -> &str {
        self.members.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// True if what is private is shown.
    pub(super) fn shows_prompts(&self) -> bool {
        self.shows_prompts
    }

    /// Returns the original document without hidden values.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns warnings about hidden values and repeated names. Pointers refer to the document.
    pub fn warnings(&self) -> &[Violation] {
        &self.warnings
    }
}

/// Returns the violation that names what a document looks like, if that is not an AOS agent.
fn named(members: &Object) -> Option<Violation> {
    let look = look_of(members).filter(|look| look.format != Some(Format::Aos))?;
    Some(not_an_agent(&format!("it looks like {}", look.words_with_format(members))))
}

fn not_an_agent(reason: &str) -> Violation {
    Violation::new("", "not-an-aos-agent", format!("not {}: {reason}", Format::Aos.descriptor().noun))
}

fn refused(violations: Vec<Violation>) -> Error {
    Error::InvalidSource { format: Format::Aos.name(), report: Report { violations, ..Report::default() } }
}
