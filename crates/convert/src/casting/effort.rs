//! A limit on the work that comparing schemas may take, for the whole of a document.
//!
//! Comparing two unions visits every pair of their parts, and a property may be compared as often as
//! something is connected to it, so a small document can ask for a lot. Real ones use a fraction.

use std::cell::Cell;

/// The reason why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The SDK raises an error: `allOf` and `oneOf` anywhere, `true` and `false` in some places.
    Unsupported,
    /// The document's [`Effort`] is spent.
    TooComplex,
}

/// Yes, no, or neither.
pub type Answer = Result<bool, Refusal>;

/// The remaining budget for comparing schemas, in steps.
#[derive(Debug)]
pub struct Effort {
    left: Cell<u64>,
    is_spent: Cell<bool>,
}

impl Effort {
    /// About a second on a slow machine; a flow of 4,000 nodes with ten properties each takes a twentieth
    /// of it.
    pub const DOCUMENT: u64 = 8_000_000;

    pub fn for_document() -> Effort {
        Effort::of_steps(Effort::DOCUMENT)
    }

    /// A budget for something smaller than a document.
    pub fn of_steps(steps: u64) -> Effort {
        Effort { left: Cell::new(steps), is_spent: Cell::new(false) }
    }

    /// Spends `steps`, if enough are left.
    pub fn spend(&self, steps: usize) -> Result<(), Refusal> {
        match self.left.get().checked_sub(steps as u64) {
            Some(left) if !self.is_spent.get() => {
                self.left.set(left);
                Ok(())
            }
            _ => {
                self.is_spent.set(true);
                Err(Refusal::TooComplex)
            }
        }
    }

    /// True if the budget was exceeded; nothing is compared from then on.
    pub fn is_spent(&self) -> bool {
        self.is_spent.get()
    }
}
