//! One line after the tests of `main`: how many of them lacked a counterpart, and which. The test harness captures what
//! tests print, and has no place for such a line; cargo runs this target after `main`.

#[path = "support/skip_log.rs"]
mod skip_log;

use std::{env, fs};

fn main() {
    if env::args().any(|argument| argument == "--list") {
        return;
    }
    let text = fs::read_to_string(skip_log::path()).unwrap_or_default();
    let (invocation, lines) = text.split_once('\n').unwrap_or_default();
    let is_of_this_run = invocation == skip_log::invocation();
    println!("{}", skip_log::summary(if is_of_this_run { lines } else { "" }));
    // None where nothing was skipped.
    let _ = fs::remove_file(skip_log::path());
}
