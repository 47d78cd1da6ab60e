//! The semantic checks.

use serde_json::Value;

use super::{Report, Violation};

pub(super) fn check(_thing: &Value, duplicates: &[String], report: &mut Report) {
    report.violations.extend(duplicates.iter().map(|pointer| {
        Violation::new(pointer.clone(), "duplicate-member", "the member is there more than once; keep one")
    }));
}
