//! The results of many descriptions, counted.

use super::answer::Answer;
use crate::cli::{
    error_message::causes,
    output::{Results, complain, red_on_stderr, visible},
};

/// The most failures that are repeated at the end.
const REPEATED: usize = 20;

/// The sum of all answers.
#[derive(Default)]
pub(super) struct Tally {
    /// Number of documents that were tried, failures included.
    pub documents: usize,
    /// Number of documents that could not be registered.
    pub failed: usize,
    created: usize,
    replaced: usize,
    unchanged: usize,
    /// Number of warnings that weren't printed.
    pub warnings: usize,
    failures: Vec<String>,
}

impl Tally {
    pub(super) fn add(&mut self, place: &str, outcome: Result<&Answer, &anyhow::Error>) {
        self.documents += 1;
        match outcome {
            Ok(answer) => {
                let [created, replaced, unchanged] = answer.counts();
                self.created += created;
                self.replaced += replaced;
                self.unchanged += unchanged;
            }
            Err(error) => {
                self.failed += 1;
                if self.failures.len() < REPEATED {
                    self.failures.push(format!("{}: {}", visible(place), causes(error)));
                }
            }
        }
    }

    /// The last line, and under it once more what failed, which may have scrolled away.
    pub(super) fn print(&self, not_tried: usize, results: &mut Results) {
        let Tally { created, replaced, unchanged, failed, .. } = self;
        let left = if not_tried > 0 { format!(", {not_tried} not tried") } else { String::new() };
        let warnings = match self.warnings {
            0 => String::new(),
            1 => ", 1 warning (--verbose prints it)".to_owned(),
            count => format!(", {count} warnings (--verbose prints them)"),
        };
        results.print(&format!(
            "{created} created, {replaced} updated, {unchanged} unchanged, {failed} failed{left}{warnings}"
        ));
        if self.documents > self.failed && self.failed > 0 {
            complain(&red_on_stderr("failed:"));
            self.failures.iter().for_each(|failure| complain(&format!("  {failure}")));
            if let Some(more @ 1..) = self.failed.checked_sub(self.failures.len()) {
                complain(&format!("  and {more} more"));
            }
        }
    }
}
