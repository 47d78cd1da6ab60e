//! Waiting for what other threads, processes and the clock bring about.

use std::time::{Duration, Instant};

use agentdex::Timestamp;

/// The longest wait: only what never comes takes it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until something holds, for a long time if need be, and fails after that.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let mut pauses = Pauses::start();
    while !holds() {
        std::thread::sleep(pauses.next(what));
    }
}

/// The same where others run on the thread that waits.
pub async fn eventually_async(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let mut pauses = Pauses::start();
    while !holds().await {
        tokio::time::sleep(pauses.next(what)).await;
    }
}

/// Waits until timestamps differ from those given so far.
pub fn next_millisecond() {
    let now = Timestamp::now();
    eventually("the next millisecond", || Timestamp::now() > now);
}

/// The pauses between two checks: short at first, for what takes a moment.
struct Pauses {
    deadline: Instant,
    pause: Duration,
}

impl Pauses {
    fn start() -> Pauses {
        Pauses { deadline: Instant::now() + PATIENCE, pause: Duration::from_millis(1) }
    }

    fn next(&mut self, what: &str) -> Duration {
        assert!(Instant::now() < self.deadline, "{what} did not come to pass");
        let pause = self.pause;
        self.pause = (pause * 2).min(Duration::from_millis(20));
        pause
    }
}
