//! Hiding of private members in the description of an agent: its instructions, and the content of its resources.

use crate::redaction::{Mark, Marks, Place};

/// Redaction marks for the private members of an Agent object; none if prompts are published.
pub(super) struct AgentMarks {
    pub(super) publish_prompts: bool,
}

impl Marks for AgentMarks {
    fn mark(&self, member: &Place<'_, '_>) -> Mark {
        if self.publish_prompts {
            return Mark::None;
        }
        let names: Vec<&str> = member.names().take(4).collect();
        match names.as_slice() {
            ["instructions"] | ["content", "", "resources"] => Mark::Prompt,
            _ => Mark::None,
        }
    }
}
