//! Which actions answer in the Standard Agent Communication Protocol (SACP).

/// What the protocol is called in a search.
pub const SACP: &str = "sacp";

/// The `@type` of such an output.
const RESPONSE: &str = "sacp:Response";
/// What a response has (SACP, section 2).
const MEMBERS: [&str; 4] = ["thought", "status", "data", "message"];

/// True if the `output` of an action is a response in SACP: its `@type` is `sacp:Response`, or it requires `thought`,
/// `status`, `data` and `message`.
pub fn answers_in_sacp<'a>(mut types: impl Iterator<Item = &'a str>, requires: impl Fn(&str) -> bool) -> bool {
    types.any(|name| name == RESPONSE) || MEMBERS.into_iter().all(requires)
}
