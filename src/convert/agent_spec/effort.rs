//! A limit on the work that comparing schemas may take, for the whole of a document.
//!
//! Comparing two unions visits every pair of their parts, and a property may be compared as often as
//! something is connected to it, so a small document can ask for a lot. Real ones use a fraction.

use std::cell::Cell;

use super::sdk_types::Refusal;

/// About a second on a slow machine; a flow of 4,000 nodes with ten properties each takes a twentieth.
const DOCUMENT: u64 = 8_000_000;

/// What is left of it.
#[derive(Debug)]
pub(super) struct Effort {
    left: Cell<u64>,
}

impl Effort {
    pub(super) fn for_document() -> Effort {
        Effort { left: Cell::new(DOCUMENT) }
    }

    /// Takes `steps` off, as long as there are any left.
    pub(super) fn spend(&self, steps: usize) -> Result<(), Refusal> {
        let left = self.left.get().checked_sub(steps as u64);
        self.left.set(left.unwrap_or(0));
        left.map(drop).ok_or(Refusal::TooComplex)
    }
}
