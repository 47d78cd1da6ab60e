//! Progress of long work: a bar with a total on a terminal, and nothing elsewhere.

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressStyle};

/// Interval at which a bar is drawn while nothing is counted.
const TICK: Duration = Duration::from_millis(100);

/// A bar of things that are counted, such as agents. Without a total, only the count is shown.
pub(super) fn of_count(total: Option<u64>, unit: &str) -> ProgressBar {
    match total {
        Some(total) => {
            start(ProgressBar::new(total), &format!("{{bar:40}} {{pos}}/{{len}} {unit}, {{per_sec}}, {{eta}} left"))
        }
        None => start(ProgressBar::new_spinner(), &format!("{{spinner}} {{pos}} {unit}, {{per_sec}}")),
    }
}

/// A bar of bytes. Without a total, only the number of bytes is shown.
pub(super) fn of_bytes(total: Option<u64>) -> ProgressBar {
    match total {
        Some(total) => start(ProgressBar::new(total), "{bar:40} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left"),
        None => start(ProgressBar::new_spinner(), "{spinner} {bytes} ({bytes_per_sec})"),
    }
}

/// A bar of steps, each with a message.
pub(super) fn of_steps(total: u64) -> ProgressBar {
    start(ProgressBar::new(total), "{spinner} {pos}/{len} {msg} ({elapsed})")
}

fn start(bar: ProgressBar, template: &str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = bar.with_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    // At once: short work is over before the first tick.
    bar.tick();
    bar.enable_steady_tick(TICK);
    bar
}
