//! What is private in the description of an agent: its instructions, and what its resources say.

use crate::redaction::{Mark, Marks, Place};

/// Which members of an Agent object are private.
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
