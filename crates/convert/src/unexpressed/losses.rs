//! Collection of warnings about a document, limited in number.

use crate::td::{Violation, internal::Path};

/// The rule of the warnings.
pub(super) const RULE: &str = "not-expressed";
/// The most warnings of one document.
pub(super) const MOST: usize = 50;

/// The warnings, as many as one document may have.
pub(super) struct Losses {
    noun: &'static str,
    found: Vec<Violation>,
    /// The number of those that there is no room for.
    further: usize,
}

impl Losses {
    /// None yet, of a document that is called so.
    pub(super) fn of(noun: &'static str) -> Losses {
        Losses { noun, found: Vec::new(), further: 0 }
    }

    pub(super) fn add(&mut self, at: &Path<'_>) {
        self.push(|noun| absent(noun, at.to_pointer()));
    }

    pub(super) fn add_missing(&mut self, missing: Missing) {
        missing.pointers.into_iter().for_each(|pointer| self.push(|noun| absent(noun, pointer)));
        self.further += missing.further;
    }

    pub(super) fn add_change(&mut self, at: &Path<'_>, change: &str) {
        self.push(|noun| Violation::new(at.to_pointer(), RULE, format!("{noun} {change}")));
    }

    fn push(&mut self, warning: impl FnOnce(&str) -> Violation) {
        match self.found.len() < MOST {
            true => self.found.push(warning(self.noun)),
            false => self.further += 1,
        }
    }

    pub(super) fn add_unless(&mut self, is_expressed: bool, at: &Path<'_>) {
        if !is_expressed {
            self.add(at);
        }
    }

    pub(super) fn finish(mut self) -> Vec<Violation> {
        if self.further > 0 {
            self.found.pop();
            let message = format!("{} leaves out or changes {} more members", self.noun, self.further + 1);
            self.found.push(Violation::new("", RULE, message));
        }
        self.found
    }
}

/// What a document lacks of a value.
#[derive(Default)]
pub(super) struct Missing {
    /// JSON Pointers, as many as there may be warnings.
    pub(super) pointers: Vec<String>,
    /// The number of those that there is no room for.
    pub(super) further: usize,
}

impl Missing {
    pub(super) fn add(&mut self, at: &Path<'_>) {
        match self.pointers.len() < MOST {
            true => self.pointers.push(at.to_pointer()),
            false => self.further += 1,
        }
    }
}

fn absent(noun: &str, pointer: String) -> Violation {
    Violation::new(pointer, RULE, format!("{noun} leaves this out, or changes its value"))
}
