//! The id of a card's Thing: what stays the same when the card changes.

use uuid::Uuid;

use crate::convert::place::place;

/// `urn:uuid:` version 5, in the namespace of URLs, of the preferred interface's URL, its tenant and
/// the name of the agent, each on a line. Of the URL, user-info, query and fragment don't count, nor
/// how scheme and host are cased, nor a port that is the scheme's own, nor a path that is only `/`.
pub(super) fn identify(url: &str, tenant: Option<&str>, name: &str) -> String {
    let words = format!("{}\n{}\n{name}", place(url), tenant.unwrap_or_default());
    Uuid::new_v5(&Uuid::NAMESPACE_URL, words.as_bytes()).urn().to_string()
}
