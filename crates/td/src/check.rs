//! Validation: JSON Schemas, then semantic checks, with all findings in a single report.

use serde_json::Value;

use super::{CONTEXT_1_1, Document, LmosKind, Report, Version, Violation, schema, semantics};

/// Layers of validation to run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Layers {
    /// Only the JSON Schemas.
    Schema,
    /// The JSON Schemas and the semantic checks.
    #[default]
    All,
}

/// Treatment of documents with fixable problems.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Fixable problems are fixed, with a warning.
    #[default]
    Lenient,
    /// Documents with fixable problems are refused.
    Strict,
}

/// Validates a document without fixing it. Problems that lenient admission fixes are violations if they make the
/// document invalid.
///
/// ```
/// use agentdex_td::{Document, Layers, validate};
///
/// let document = Document::parse(br#"{"@context": "https://www.w3.org/2022/wot/td/v1.1"}"#)?;
/// let report = validate(&document, Layers::All);
/// assert_eq!(report.violations[0].message, "`title` is missing");
/// # Ok::<(), agentdex_td::Error>(())
/// ```
pub fn validate(document: &Document, layers: Layers) -> Report {
    match document.value() {
        Value::Object(_) => check(document.value(), &document.duplicates, layers),
        other => not_an_object(other),
    }
}

/// Validates the value of a document; `duplicates` are pointers to repeated members.
pub(super) fn check(thing: &Value, duplicates: &[String], layers: Layers) -> Report {
    let mut report = Report { version: Version::of(thing), ..Report::default() };
    if report.version.is_none() {
        let message = format!("`@context` doesn't name a version of the TD specification; add {CONTEXT_1_1:?}");
        report.violations.push(Violation::new("/@context", "td-context-missing", message));
    }
    schema::check(thing, report.version.unwrap_or(Version::V1_1), &mut report.violations);
    if report.version.is_none() {
        // What the schema says of the context was said above.
        report.violations.retain(|found| found.rule == "td-context-missing" || !is_about_context(found));
    }
    if LmosKind::of(thing).is_some() {
        schema::check_lmos(thing, &mut report.warnings);
    }
    if layers == Layers::All {
        semantics::check(thing, duplicates, &mut report);
    }
    report
}

fn is_about_context(violation: &Violation) -> bool {
    violation.pointer.starts_with("/@context") || violation.message == "`@context` is missing"
}

/// The report on a document that isn't even an object.
pub(super) fn not_an_object(value: &Value) -> Report {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array; validate or register its elements one by one",
        Value::Object(_) => "an object",
    };
    let message = format!("a Thing Description is a JSON object, but this is {found}");
    Report { violations: vec![Violation::new("", "no-object", message)], ..Report::default() }
}
