//! Actions that answer in the Standard Agent Communication Protocol (SACP).

/// Name of the Standard Agent Communication Protocol in search filters.
pub const SACP: &str = "sacp";

/// The `@type` of such an output.
const RESPONSE: &str = "sacp:Response";
/// The members of a response (SACP, section 2).
const MEMBERS: [&str; 4] = ["thought", "status", "data", "message"];

/// True if the `output` of an action is an SACP response: its `@type` is `sacp:Response`, or it requires the members
/// `thought`, `status`, `data`, and `message`. `types` are the values of its `@type`, and `requires` tells whether its
/// `required` contains a name.
pub fn answers_in_sacp<'a>(mut types: impl Iterator<Item = &'a str>, requires: impl Fn(&str) -> bool) -> bool {
    types.any(|name| name == RESPONSE) || MEMBERS.into_iter().all(requires)
}
