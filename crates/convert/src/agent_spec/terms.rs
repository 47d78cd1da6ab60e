//! Member names used by several modules.

/// The term of a form for the parts of a request that are made of inputs.
pub(crate) const REQUEST: &str = "agentspec:request";
/// The term of an action or capability that is called only once its user agrees.
pub(crate) const REQUIRES_CONFIRMATION: &str = "agentspec:requiresConfirmation";
/// The member of a configuration's metadata that the description is kept in.
pub(crate) const DESCRIPTION: &str = "thingDescription";
