//! Tests that lack a counterpart, such as an SDK, a program or a collection of documents: they end early, or do without
//! a part, and are recorded. The target `skips` counts them.

use std::{
    fs::File,
    io::Write,
    sync::{LazyLock, Mutex, PoisonError},
    thread,
};

use super::skip_log;

/// The log of this run; none where it can't be written, which one test says and none else fails by.
static LOG: LazyLock<Mutex<Option<File>>> = LazyLock::new(|| {
    let started =
        File::create(skip_log::path()).and_then(|mut file| writeln!(file, "{}", skip_log::invocation()).map(|()| file));
    Mutex::new(started.ok())
});

/// Records that this test lacks a counterpart. `remedy` names what would be there, and where.
pub fn skipped(counterpart: &str, remedy: &str) {
    println!("skipped: there is no {counterpart}: {remedy}");
    let mut log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(file) = log.as_mut() {
        let _ = writeln!(file, "{}\t{counterpart}", thread::current().name().unwrap_or("a test"));
    }
}

/// Starts the log where no test is skipped, so that `skips` can tell that from a log that is lost.
#[test]
fn skips_are_recorded() {
    assert!(
        LOG.lock().unwrap_or_else(PoisonError::into_inner).is_some(),
        "{} can't be written",
        skip_log::path().display()
    );
}

#[test]
fn skips_are_counted_by_test_and_by_counterpart() {
    assert_eq!(skip_log::summary(""), "skipped: none");
    let remedy = "; CONTRIBUTING.md says what to install and to set";
    let counted = |lines: &str| skip_log::summary(lines).strip_suffix(remedy).map(str::to_owned);
    assert_eq!(counted("a\tnode-wot\na\tnode-wot\n").as_deref(), Some("skipped: 1 test (node-wot 1)"));
    let lines = "a\tmosquitto\nb\tnode-wot\nc\tmosquitto\nc\topenssl\n";
    assert_eq!(counted(lines).as_deref(), Some("skipped: 3 tests (mosquitto 2, node-wot 1, openssl 1)"));
}
