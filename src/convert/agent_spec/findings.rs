//! What is found wrong with a configuration, gathered from reading and from the rules.

use crate::td::{Report, Violation};

/// More than anybody reads.
const MAX_FINDINGS: usize = 1000;
/// The same for the bytes of a list: a pointer repeats member names, which may be as long as a document.
const MAX_FINDING_BYTES: usize = 256 * 1024;
/// The longest message in bytes: what it quotes may be as long as a document.
const MAX_MESSAGE_BYTES: usize = 1024;

/// Errors and warnings so far, as many as anybody reads of each.
#[derive(Debug, Default)]
pub(super) struct Findings {
    errors: List,
    warnings: List,
}

#[derive(Debug, Default)]
struct List {
    entries: Vec<Violation>,
    bytes: usize,
}

/// Where something was found: a JSON Pointer, and the document that it points into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) pointer: String,
    /// 0 is the main document, then come the documents of components beside it.
    pub(super) document: usize,
}

impl Spot {
    /// The member `name` of this.
    pub(super) fn member(mut self, name: &str) -> Spot {
        crate::td::push_token(&mut self.pointer, name);
        self
    }

    /// The element at `index` of this.
    pub(super) fn index(self, index: usize) -> Spot {
        self.member(&index.to_string())
    }
}

impl Findings {
    /// Something that makes the configuration invalid. `spot` and `message` are made only if there is
    /// room for them.
    pub(super) fn error<M: Into<String>>(
        &mut self,
        spot: impl FnOnce() -> Spot,
        rule: &'static str,
        message: impl FnOnce() -> M,
    ) {
        self.errors.push(spot, rule, message);
    }

    /// Something that is allowed, but probably not meant.
    pub(super) fn warning<M: Into<String>>(
        &mut self,
        spot: impl FnOnce() -> Spot,
        rule: &'static str,
        message: impl FnOnce() -> M,
    ) {
        self.warnings.push(spot, rule, message);
    }

    /// Whether nothing makes the configuration invalid.
    pub(super) fn is_valid(&self) -> bool {
        self.errors.entries.is_empty()
    }

    /// The report.
    pub(super) fn into_report(self) -> Report {
        Report { version: None, violations: self.errors.entries, warnings: self.warnings.entries }
    }
}

impl List {
    fn push<M: Into<String>>(&mut self, spot: impl FnOnce() -> Spot, rule: &'static str, message: impl FnOnce() -> M) {
        if self.entries.len() >= MAX_FINDINGS || self.bytes >= MAX_FINDING_BYTES {
            return;
        }
        let (spot, mut message) = (spot(), message().into());
        if message.len() > MAX_MESSAGE_BYTES {
            message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES));
            message.push('…');
        }
        if spot.document > 0 {
            message.push_str(&format!(" (in component document {})", spot.document));
        }
        self.bytes += spot.pointer.len() + message.len();
        self.entries.push(Violation::new(spot.pointer, rule, message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_bounded() {
        let mut findings = Findings::default();
        for _ in 0..5 * MAX_FINDINGS {
            findings.error(|| Spot { pointer: "/a".into(), document: 0 }, "rule", || "wrong");
        }
        findings.warning(|| Spot { pointer: "/b".into(), document: 2 }.member("c/d").index(1), "odd", || "strange");
        let report = findings.into_report();
        assert_eq!(report.violations.len(), MAX_FINDINGS);
        assert_eq!(report.warnings[0].pointer, "/b/c~1d/1");
        assert_eq!(report.warnings[0].message, "strange (in component document 2)");
    }
}
