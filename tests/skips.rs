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
    match invocation == skip_log::invocation() {
        true => println!("{}", skip_log::summary(lines)),
        false => println!("skipped: unknown, since the tests of `main` left no record in this run"),
    }
    // None where `main` didn't run.
    let _ = fs::remove_file(skip_log::path());
}
