//! How much is fetched at once: in all, and from one host, which others may want to see overrun.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

/// How many hosts are remembered before those that nobody fetches from are forgotten.
const MAX_IDLE_HOSTS: usize = 1024;

/// Hands out turns.
pub(super) struct Turns {
    pace: Pace,
    all: Arc<Semaphore>,
    hosts: Mutex<HashMap<String, Arc<Host>>>,
}

/// The bounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Fetches at once.
    pub at_once: usize,
    /// Fetches at once from one host.
    pub at_once_per_host: usize,
    /// The pause between requests to one host, once it got [`Pace::burst`] of them.
    pub interval: Duration,
    /// Requests to one host without a pause.
    pub burst: u32,
    /// How long a turn is waited for.
    pub patience: Duration,
}

struct Host {
    places: Arc<Semaphore>,
    /// When the next request would be due if they came evenly: the generic cell rate algorithm.
    due: Mutex<Instant>,
}

/// A request may be under way as long as this lives.
pub(super) struct Turn {
    _host: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Turns {
    pub fn new(pace: Pace) -> Turns {
        Turns { pace, all: Arc::new(Semaphore::new(pace.at_once)), hosts: Mutex::default() }
    }

    /// Waits until a request to the host may be made; none where that takes too long.
    pub async fn take(&self, host: &str) -> Option<Turn> {
        let host = self.host(host);
        let turn = async {
            // The host's first: who waits for a busy host takes no place from the others.
            let place = host.places.clone().acquire_owned().await.ok()?;
            tokio::time::sleep_until(host.next(Instant::now(), &self.pace)?).await;
            let all = self.all.clone().acquire_owned().await.ok()?;
            Some(Turn { _host: place, _all: all })
        };
        tokio::time::timeout(self.pace.patience, turn).await.ok().flatten()
    }

    fn host(&self, name: &str) -> Arc<Host> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() >= MAX_IDLE_HOSTS && !hosts.contains_key(name) {
            let now = Instant::now();
            hosts.retain(|_, host| Arc::strong_count(host) > 1 || host.is_busy(now, self.pace.at_once_per_host));
        }
        let new =
            || Host { places: Arc::new(Semaphore::new(self.pace.at_once_per_host)), due: Mutex::new(Instant::now()) };
        hosts.entry(name.to_owned()).or_insert_with(|| Arc::new(new())).clone()
    }
}

impl Host {
    /// The moment of the next request, which is taken by asking; none if it is too far.
    fn next(&self, now: Instant, pace: &Pace) -> Option<Instant> {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let at = (*due).max(now);
        let lead = pace.interval * pace.burst.saturating_sub(1);
        let moment = at.checked_sub(lead).map_or(now, |earlier| earlier.max(now));
        let is_near = moment - now < pace.patience;
        is_near.then(|| {
            *due = at + pace.interval;
            moment
        })
    }

    /// Whether forgetting it would let more requests through.
    fn is_busy(&self, now: Instant, places: usize) -> bool {
        let due = *self.due.lock().unwrap_or_else(PoisonError::into_inner);
        due > now || self.places.available_permits() < places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace {
        at_once: 3,
        at_once_per_host: 2,
        interval: Duration::from_millis(100),
        burst: 3,
        patience: Duration::from_millis(250),
    };

    fn run<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
    }

    async fn waits(turns: &Turns, host: &str) -> bool {
        turns.take(host).await.is_none()
    }

    #[test]
    fn busy_host_holds_up_nobody_else() {
        run(async {
            let turns = Turns::new(PACE);
            let (first, _second) = (turns.take("a").await, turns.take("a").await);
            assert!(waits(&turns, "a").await);
            assert!(!waits(&turns, "b").await);
            drop(first);
            assert!(!waits(&turns, "a").await);
        });
    }

    #[test]
    fn there_is_a_bound_in_all() {
        run(async {
            let turns = Turns::new(PACE);
            let _three = (turns.take("a").await, turns.take("b").await, turns.take("c").await);
            assert!(waits(&turns, "d").await);
        });
    }

    #[test]
    fn requests_to_a_host_come_evenly_after_a_burst() {
        run(async {
            let turns = Turns::new(PACE);
            let host = turns.host("a");
            let now = Instant::now() + PACE.interval;
            let waits: Vec<Duration> = (0..9).map_while(|_| host.next(now, &PACE)).map(|moment| moment - now).collect();
            // Who would wait too long isn't counted, so that many of them don't keep everybody out.
            assert_eq!(waits, [0, 0, 0, 1, 2].map(|intervals| PACE.interval * intervals));
            assert_eq!(host.next(now + PACE.interval, &PACE), Some(now + PACE.interval * 3));
        });
    }

    #[test]
    fn hosts_are_forgotten_once_they_are_idle() {
        run(async {
            let turns = Turns::new(Pace { interval: Duration::ZERO, ..PACE });
            let _turn = turns.take("busy").await;
            for number in 0..2 * MAX_IDLE_HOSTS {
                drop(turns.take(&format!("host-{number}")).await);
            }
            let hosts = turns.hosts.lock().unwrap();
            assert!(hosts.len() <= MAX_IDLE_HOSTS && hosts.contains_key("busy"), "{}", hosts.len());
        });
    }
}
