//! The bus stop: a description that changes every 15 seconds, and would expire a minute after the last change.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use agentdex::{Registry, Timestamp, registry::Write};

const ID: &str = "urn:demo:bus-stop";
/// The time between two changes.
const PERIOD: Duration = Duration::from_secs(15);
/// Minutes until the next departure, one after the other: two in a row differ by more than a minute.
const MINUTES: [u64; 4] = [8, 3, 11, 6];

/// Changes the description.
pub(super) struct BusStop {
    ticks: Interval,
    changes: usize,
}

impl BusStop {
    pub(super) fn new() -> BusStop {
        let mut ticks = interval_at(Instant::now() + PERIOD, PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        BusStop { ticks, changes: 0 }
    }

    /// Waits until it changes again.
    pub(super) async fn is_due(&mut self) {
        self.ticks.tick().await;
    }

    /// Changes it, and renews its registration. One that somebody removed stays so.
    pub(super) async fn change(&mut self, registry: &Registry) {
        let minutes = MINUTES[self.changes % MINUTES.len()];
        self.changes += 1;
        let departure = Timestamp::now().plus_seconds(minutes * 60).to_string();
        let description = format!("Line 7 to the harbor: next departure {}.", departure.get(11..16).unwrap_or("soon"));
        let patch = json!({"description": description}).to_string();
        if let Err(error) = registry.write(Write::patch(ID, patch)).await {
            tracing::debug!(%error, "the bus stop can't be changed");
        }
    }
}
