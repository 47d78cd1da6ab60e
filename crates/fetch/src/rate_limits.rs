//! Limits of concurrent fetches: in total, and from one host or address, which others may want to see overrun.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

/// Look-ups that may be under way at once; one that takes long can't be called off.
const LOOKUPS_AT_ONCE: usize = 64;
/// Maximum number of hosts and addresses to remember before those that nobody fetches from are forgotten.
const MAX_IDLE_HOSTS: usize = 1024;

/// Concurrency and rate limits of a fetcher.
pub(super) struct RateLimits {
    pace: Pace,
    all: Arc<Semaphore>,
    lookups: Arc<Semaphore>,
    hosts: Mutex<HashMap<Key, Arc<Host>>>,
}

/// The bounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Fetches at once.
    pub at_once: usize,
    /// Fetches at once from one host.
    pub at_once_per_host: usize,
    /// The pause between requests to one host or address after [`Pace::burst`] of them.
    pub interval: Duration,
    /// Requests to one host or address without a pause.
    pub burst: u32,
    /// Maximum time to wait for each part of a permit.
    pub patience: Duration,
}

/// Key of a limit: a host by its name, or an address, which many names may stand for.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Name(String),
    Address(IpAddr),
}

struct Host {
    places: Arc<Semaphore>,
    /// When the next request would be due if they came evenly: the generic cell rate algorithm.
    due: Mutex<Instant>,
}

/// A permit for one request, released on drop.
pub struct Permit {
    _host: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl RateLimits {
    pub fn new(pace: Pace) -> RateLimits {
        let places = |count| Arc::new(Semaphore::new(count));
        RateLimits { pace, all: places(pace.at_once), lookups: places(LOOKUPS_AT_ONCE), hosts: Mutex::default() }
    }

    /// Waits until a name may be resolved; none if that takes too long.
    pub async fn lookup(&self) -> Option<OwnedSemaphorePermit> {
        let place = self.lookups.clone().acquire_owned();
        tokio::time::timeout(self.pace.patience, place).await.ok()?.ok()
    }

    /// Waits for a place at a host; none if that takes too long. It must be taken before the overall
    /// place, so that requests that wait for a busy host don't block others.
    pub async fn at_host(&self, name: &str) -> Option<OwnedSemaphorePermit> {
        let host = self.host(Key::Name(name.to_owned()));
        let place = async {
            let place = host.places.clone().acquire_owned().await.ok()?;
            tokio::time::sleep_until(host.next(Instant::now(), &self.pace)?).await;
            Some(place)
        };
        tokio::time::timeout(self.pace.patience, place).await.ok().flatten()
    }

    /// Turns a place at a host into a permit for a request to one of its addresses; none if that takes
    /// too long. Addresses have limits too, since one address can have any number of names.
    pub async fn take(&self, place: OwnedSemaphorePermit, addresses: &[IpAddr]) -> Option<Permit> {
        let permit = async {
            let now = Instant::now();
            let next = |address: &IpAddr| self.host(Key::Address(address.to_canonical())).next(now, &self.pace);
            let moments: Vec<Instant> = addresses.iter().map(next).collect::<Option<_>>()?;
            tokio::time::sleep_until(moments.into_iter().max().unwrap_or(now)).await;
            let all = self.all.clone().acquire_owned().await.ok()?;
            Some(Permit { _host: place, _all: all })
        };
        tokio::time::timeout(self.pace.patience, permit).await.ok().flatten()
    }

    fn host(&self, key: Key) -> Arc<Host> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() >= MAX_IDLE_HOSTS && !hosts.contains_key(&key) {
            let now = Instant::now();
            hosts.retain(|_, host| Arc::strong_count(host) > 1 || host.is_busy(now, self.pace.at_once_per_host));
        }
        let new =
            || Host { places: Arc::new(Semaphore::new(self.pace.at_once_per_host)), due: Mutex::new(Instant::now()) };
        hosts.entry(key).or_insert_with(|| Arc::new(new())).clone()
    }
}

impl Host {
    /// The moment of the next request, which is taken by asking; none if it is too far.
    fn next(&self, now: Instant, pace: &Pace) -> Option<Instant> {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let at = (*due).max(now);
        let tolerance = pace.interval * pace.burst.saturating_sub(1);
        let moment = at.checked_sub(tolerance).map_or(now, |earlier| earlier.max(now));
        let is_near = moment - now < pace.patience;
        is_near.then(|| {
            *due = at + pace.interval;
            moment
        })
    }

    /// True if forgetting it would let more requests through.
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

    async fn permit(limits: &RateLimits, host: &str) -> Option<Permit> {
        limits.take(limits.at_host(host).await?, &[]).await
    }

    async fn waits(limits: &RateLimits, host: &str) -> bool {
        permit(limits, host).await.is_none()
    }

    #[test]
    fn busy_host_holds_up_nobody_else() {
        run(async {
            let limits = RateLimits::new(PACE);
            let (first, _second) = (permit(&limits, "a").await, permit(&limits, "a").await);
            assert!(waits(&limits, "a").await);
            assert!(!waits(&limits, "b").await);
            drop(first);
            assert!(!waits(&limits, "a").await);
        });
    }

    #[test]
    fn there_is_a_bound_in_all() {
        run(async {
            let limits = RateLimits::new(PACE);
            let _three = (permit(&limits, "a").await, permit(&limits, "b").await, permit(&limits, "c").await);
            assert!(waits(&limits, "d").await);
        });
    }

    #[test]
    fn requests_to_a_host_come_evenly_after_a_burst() {
        run(async {
            let limits = RateLimits::new(PACE);
            let host = limits.host(Key::Name("a".into()));
            let now = Instant::now() + PACE.interval;
            let waits: Vec<Duration> = (0..9).map_while(|_| host.next(now, &PACE)).map(|moment| moment - now).collect();
            // Who would wait too long isn't counted, so that many of them don't keep everybody out.
            assert_eq!(waits, [0, 0, 0, 1, 2].map(|intervals| PACE.interval * intervals));
            assert_eq!(host.next(now + PACE.interval, &PACE), Some(now + PACE.interval * 3));
        });
    }

    #[test]
    fn addresses_are_spared_whatever_they_are_called() {
        run(async {
            let limits = RateLimits::new(Pace { interval: Duration::from_secs(3600), ..PACE });
            let take = async |name: String, address: &str| {
                limits.take(limits.at_host(&name).await?, &["8.8.8.8".parse().unwrap(), address.parse().unwrap()]).await
            };
            for number in 0..PACE.burst {
                assert!(take(format!("host-{number}"), "1.1.1.1").await.is_some());
            }
            assert!(take("another".into(), "::ffff:1.1.1.1").await.is_none());
        });
    }

    #[test]
    fn hosts_are_forgotten_once_they_are_idle() {
        run(async {
            let limits = RateLimits::new(Pace { interval: Duration::ZERO, ..PACE });
            let _permit = permit(&limits, "busy").await;
            for number in 0..2 * MAX_IDLE_HOSTS {
                drop(permit(&limits, &format!("host-{number}")).await);
            }
            let hosts = limits.hosts.lock().unwrap();
            assert!(hosts.len() <= MAX_IDLE_HOSTS && hosts.contains_key(&Key::Name("busy".into())), "{}", hosts.len());
        });
    }
}
