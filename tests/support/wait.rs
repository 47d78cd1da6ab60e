//! Waiting for what other threads and processes bring about.

use std::time::{Duration, Instant};

/// Waits until something holds, for a long time if need be, and fails after that.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "{what} did not come to pass");
        std::thread::sleep(Duration::from_millis(20));
    }
}
