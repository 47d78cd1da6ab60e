//! The agents that a policy, or a rule of it, is about.

/// The agent to which a policy is applied.
#[derive(Debug, Clone, Copy, Default)]
pub struct Who<'a> {
    /// The id of the agent.
    pub id: &'a str,
    /// Its tags.
    pub tags: &'a [String],
    /// Its vendor.
    pub vendor: Option<&'a str>,
}

impl Who<'_> {
    pub(super) fn fits(&self, agent: Option<&str>, tag: Option<&str>, vendor: Option<&str>) -> bool {
        agent.is_none_or(|id| id == self.id)
            && tag.is_none_or(|tag| self.tags.iter().any(|own| own.eq_ignore_ascii_case(tag)))
            && vendor.is_none_or(|vendor| self.vendor.is_some_and(|own| own.eq_ignore_ascii_case(vendor)))
    }
}
