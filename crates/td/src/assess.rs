//! Assessment of a document: whether it would be admitted, and which problems would be fixed.

use super::{Document, Identity, Report, Strictness, Version, Violation, admit};
use crate::Error;

/// Stands for the id that a registry assigns to a document without one.
const ANONYMOUS_ID: &str = "urn:uuid:00000000-0000-4000-8000-000000000000";

/// Returns a report of the result of [`admit`], with fixes as warnings and errors as violations. A missing id is not
/// reported, since a registry assigns one.
///
/// ```
/// use agentdex_td::{Document, Strictness, assess};
///
/// let json = br#"{"@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
///     "@type": "lmos:Agent", "title": "Weather agent"}"#;
/// assert!(assess(Document::parse(json)?, Strictness::Lenient).is_valid());
/// assert!(!assess(Document::parse(json)?, Strictness::Strict).is_valid());
/// # Ok::<(), agentdex_td::Error>(())
/// ```
pub fn assess(document: Document, strictness: Strictness) -> Report {
    let version = Version::of(document.value());
    let has_id = document.id().is_some();
    let identity = if has_id { Identity::Own } else { Identity::Assigned(ANONYMOUS_ID) };
    match admit(document, identity, strictness) {
        Ok(admission) => {
            let version = Version::of(admission.thing.value());
            Report { version, violations: Vec::new(), warnings: admission.warnings }
        }
        Err(Error::Invalid(report)) => report,
        Err(error) => {
            let violation = Violation { pointer: "/id".into(), rule: "invalid-id".into(), message: error.to_string() };
            Report { version, violations: vec![violation], warnings: Vec::new() }
        }
    }
}
