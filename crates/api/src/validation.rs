//! The result of a validation.

use agentdex_td::{Report, Version, Violation};
use serde::{Deserialize, Serialize};

/// The result of validating a description: the answer of `POST /validate`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Report))]
pub struct ValidationReport {
    /// True if the document is valid.
    pub valid: bool,
    /// `1.0` or `1.1`, according to the `@context` of the document.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub version: Option<Version>,
    /// Faults that make the document invalid.
    pub violations: Vec<Violation>,
    /// Warnings, and problems that were or would be fixed.
    pub warnings: Vec<Violation>,
}

impl From<Report> for ValidationReport {
    fn from(report: Report) -> ValidationReport {
        let valid = report.is_valid();
        let Report { version, violations, warnings } = report;
        ValidationReport { valid, version, violations, warnings }
    }
}
