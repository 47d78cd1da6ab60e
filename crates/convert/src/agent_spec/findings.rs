//! Errors and warnings about a configuration, collected while parsing it and checking the rules.

use crate::{
    shape,
    td::{Report, Violation},
};

/// The longest message in bytes: what it quotes may be as long as a document.
const MAX_MESSAGE_BYTES: usize = 1024;

/// Errors and warnings so far, as many as anybody reads of each.
#[derive(Debug, Default)]
pub(super) struct Findings {
    errors: shape::Findings,
    warnings: shape::Findings,
}

/// The place of a finding: a JSON Pointer, and the document that it points into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) pointer: String,
    /// 0 is the main document, then come the documents of components beside it.
    pub(super) document: usize,
}

impl Spot {
    /// The member `name` of this.
    pub(super) fn member(mut self, name: &str) -> Spot {
        crate::td::internal::push_token(&mut self.pointer, name);
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
        self.errors.push(|| found(spot(), rule, message().into()));
    }

    /// Something that is allowed, but probably not meant.
    pub(super) fn warning<M: Into<String>>(
        &mut self,
        spot: impl FnOnce() -> Spot,
        rule: &'static str,
        message: impl FnOnce() -> M,
    ) {
        self.warnings.push(|| found(spot(), rule, message().into()));
    }

    /// True if nothing makes the configuration invalid.
    pub(super) fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }

    /// The report.
    pub(super) fn into_report(self) -> Report {
        Report { version: None, violations: self.errors.into_list(), warnings: self.warnings.into_list() }
    }
}

fn found(spot: Spot, rule: &'static str, mut message: String) -> Violation {
    if message.len() > MAX_MESSAGE_BYTES {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES));
        message.push('…');
    }
    if spot.document > 0 {
        message.push_str(&format!(" (in component document {})", spot.document));
    }
    Violation::new(spot.pointer, rule, message)
}
