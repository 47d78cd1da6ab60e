//! Limits on the cost of a query, enforced during evaluation.
//!
//! Between two requests for statements, the evaluator may do much work: products of intermediate results grow without
//! reading data. But every result consists of copies of terms. So each term counts its copies, and aborts the
//! evaluation by unwinding its thread if the time is over or if there are more copies than the memory limit allows.

use std::{
    cell::Cell,
    hash::{Hash, Hasher},
    time::{Duration, Instant},
};

use crate::Error;

/// Maximum time for a query.
pub(super) const TIME_BUDGET: Duration = Duration::from_secs(5);
/// The most terms of intermediate results at a time. With their containers they take 16 to 300 bytes each.
const MAX_TERMS: u64 = 2_000_000;
/// Maximum total size of compared, concatenated, and sorted texts in bytes.
const MAX_TEXT_BYTES: u64 = 256 * 1024 * 1024;
/// Number of steps between readings of the clock.
const STEPS: u32 = 1024;

/// Exceeded limit of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the query exceeds a limit")]
pub(super) enum Exceeded {
    Time,
    Terms,
    Texts,
    Value,
}

impl Exceeded {
    /// Converts the exceeded limit to an error.
    pub fn into_error(self) -> Error {
        let message = match self {
            Exceeded::Time => {
                format!("it takes longer than {} s; use more specific patterns, or add a LIMIT", TIME_BUDGET.as_secs())
            }
            Exceeded::Terms => format!(
                "its intermediate results have more than {MAX_TERMS} terms; connect its patterns by shared variables, \
                 or use more specific patterns"
            ),
            Exceeded::Texts => {
                format!("it compares more than {MAX_TEXT_BYTES} bytes of strings; use fewer string filters")
            }
            Exceeded::Value => "one of its expressions uses a string of more than 64 KiB".to_owned(),
        };
        Error::QueryTooCostly { message }
    }
}

#[derive(Default)]
struct Meter {
    deadline: Cell<Option<Instant>>,
    steps: Cell<u32>,
    terms: Cell<u64>,
    texts: Cell<u64>,
}

thread_local! {
    static METER: Meter = Meter::default();
}

/// Starts counting on a thread that evaluates a query.
pub(super) fn start() {
    METER.with(|meter| {
        meter.deadline.set(Some(Instant::now() + TIME_BUDGET));
        meter.steps.set(0);
        meter.terms.set(0);
        meter.texts.set(0);
    });
}

/// Counts a step.
pub(super) fn step() -> Result<(), Exceeded> {
    METER.with(|meter| {
        let steps = meter.steps.get().wrapping_add(1);
        meter.steps.set(steps);
        let is_over = steps.is_multiple_of(STEPS) && meter.deadline.get().is_some_and(|end| Instant::now() > end);
        if is_over { Err(Exceeded::Time) } else { Ok(()) }
    })
}

/// Counts a text that is computed with.
pub(super) fn text(bytes: usize) -> Result<(), Exceeded> {
    step()?;
    METER.with(|meter| {
        meter.texts.set(meter.texts.get() + bytes as u64);
        if meter.texts.get() > MAX_TEXT_BYTES { Err(Exceeded::Texts) } else { Ok(()) }
    })
}

/// A term by its number. Within a query, equal terms have equal numbers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TermId(u32);

impl TermId {
    pub fn new(number: u32) -> TermId {
        METER.with(|meter| meter.terms.set(meter.terms.get() + 1));
        TermId(number)
    }

    pub fn number(&self) -> u32 {
        self.0
    }
}

impl Clone for TermId {
    fn clone(&self) -> TermId {
        let copy = TermId::new(self.0);
        if !std::thread::panicking() {
            let terms = METER.with(|meter| meter.terms.get());
            let counted = if terms > MAX_TERMS { Err(Exceeded::Terms) } else { step() };
            if let Err(exceeded) = counted {
                // Nothing is printed, and the caller of the evaluator gets what is thrown.
                std::panic::resume_unwind(Box::new(exceeded));
            }
        }
        copy
    }
}

impl Drop for TermId {
    fn drop(&mut self) {
        METER.with(|meter| meter.terms.set(meter.terms.get().saturating_sub(1)));
    }
}

impl Hash for TermId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}
