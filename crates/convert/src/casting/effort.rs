//! `Effort`: a limit on the number of steps for comparing all schemas of a document.
//!
//! Comparing two unions visits every pair of their members, and a property is compared once for each of its
//! connections, so even a small document could cause a lot of work. Real documents use a fraction of the limit.

use std::cell::Cell;

/// Reason why a comparison has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The schema contains a keyword for which the SDK raises an error: `allOf` or `oneOf`, or in some places `true` or
    /// `false`.
    Unsupported,
    /// The [`Effort`] for the document is exhausted.
    TooComplex,
}

/// Result of a comparison: true, false, or a reason why there is no result.
pub type Answer = Result<bool, Refusal>;

/// Remaining number of steps for comparing schemas.
#[derive(Debug)]
pub struct Effort {
    left: Cell<u64>,
    is_spent: Cell<bool>,
}

impl Effort {
    /// Number of steps allowed for a document, which take about a second on a slow machine. A flow of 4,000 nodes with
    /// ten properties each needs a twentieth of them.
    pub const DOCUMENT: u64 = 8_000_000;

    pub fn for_document() -> Effort {
        Effort::of_steps(Effort::DOCUMENT)
    }

    /// Creates a limit for a part of a document.
    pub fn of_steps(steps: u64) -> Effort {
        Effort { left: Cell::new(steps), is_spent: Cell::new(false) }
    }

    /// Uses `steps`, if that many are left.
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

    /// True if the limit was exceeded. No further comparisons are made then.
    pub fn is_spent(&self) -> bool {
        self.is_spent.get()
    }
}
