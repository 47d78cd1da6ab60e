//! Rate limits, in requests a second: the generic cell rate algorithm, one number for each client.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use actix_web::http::{StatusCode, header::RETRY_AFTER};

use super::{limits::network_of, problem::Problem};

/// The most clients that have a number of their own. Beyond these, new ones share one until others are idle.
const MAX_CLIENTS: usize = 64 * 1024;
/// A request with credentials that aren't valid counts as so many: guessing is slow.
const INVALID: u32 = 10;

/// A sender of requests, as the rate limit distinguishes them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Client {
    /// The holder of an API key.
    Key(String),
    /// Somebody without one; of an IPv6 network of 64 bits all together.
    Address(IpAddr),
    /// Somebody whose address isn't known, or who comes when too many others have a number of their own.
    Other,
}

impl Client {
    pub(super) fn at(address: Option<IpAddr>) -> Client {
        address.map_or(Client::Other, |address| Client::Address(network_of(address)))
    }
}

/// The rate limit of requests, for each client.
#[derive(Debug)]
pub(super) struct Rates {
    /// The time that a request takes up; none: there is no limit.
    interval: Option<Duration>,
    /// Maximum time that a client may be ahead of its rate: a burst of twice what it may send in a second.
    tolerance: Duration,
    began: Instant,
    clients: Mutex<Clients>,
}

#[derive(Debug, Default)]
struct Clients {
    /// When each client would have sent what it has sent at its rate.
    due: HashMap<Client, Duration>,
    /// When those that are idle were last removed.
    swept: Duration,
}

impl Rates {
    /// With so many requests a second; none: as many as they like.
    pub(super) fn new(a_second: Option<u32>) -> Rates {
        let interval = a_second.map(|count| Duration::from_secs(1) / count.max(1));
        Rates { interval, tolerance: Duration::from_secs(2), began: Instant::now(), clients: Mutex::default() }
    }

    /// Counts a request, one with `is_valid` credentials or none.
    ///
    /// # Errors
    /// 429 with `Retry-After` where that is one too many.
    pub(super) fn take(&self, client: Client, is_valid: bool) -> Result<(), Problem> {
        let wait = self.take_at(client, if is_valid { 1 } else { INVALID }, self.began.elapsed());
        let Err(wait) = wait else { return Ok(()) };
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let detail = format!("too many requests from this client; wait {seconds} s before the next request");
        Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate-limited", detail)
            .with_header(RETRY_AFTER, seconds.to_string()))
    }

    /// The time to wait, where it is one too many.
    fn take_at(&self, client: Client, cost: u32, now: Duration) -> Result<(), Duration> {
        let Some(interval) = self.interval else { return Ok(()) };
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let client = clients.limited(client, now);
        let due = clients.due.get(&client).copied().unwrap_or_default().max(now);
        let next = due + interval * cost;
        match next.checked_sub(now + self.tolerance) {
            Some(wait) if !wait.is_zero() && due > now => Err(wait),
            _ => {
                clients.due.insert(client, next);
                Ok(())
            }
        }
    }
}

impl Clients {
    /// Returns the client to count a request for: itself, or the shared entry if too many are counted already.
    fn limited(&mut self, client: Client, now: Duration) -> Client {
        if self.due.len() < MAX_CLIENTS || self.due.contains_key(&client) {
            return client;
        }
        // What is in the past says nothing. It is looked for once a second: a request from yet another address is to cost
        // no more than others.
        if now.saturating_sub(self.swept) >= Duration::from_secs(1) {
            self.swept = now;
            self.due.retain(|_, due| *due > now);
        }
        if self.due.len() < MAX_CLIENTS { client } else { Client::Other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(number: u32) -> Client {
        Client::Address(IpAddr::from(number.to_be_bytes()))
    }

    fn at(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_burst_is_taken_and_then_so_many_a_second() {
        let rates = Rates::new(Some(10));
        let burst = (0..100).filter(|_| rates.take_at(client(1), 1, at(0)).is_ok()).count();
        assert_eq!(burst, 20);
        assert_eq!(rates.take_at(client(1), 1, at(0)), Err(at(100)));
        assert!(rates.take_at(client(2), 1, at(0)).is_ok(), "another client isn't held up");
        let later = (1..=1000).filter(|now| rates.take_at(client(1), 1, at(*now)).is_ok()).count();
        assert_eq!(later, 10);
        // Who waits as it is asked to is let in.
        let wait = rates.take_at(client(1), 1, at(1001)).unwrap_err();
        assert!(rates.take_at(client(1), 1, at(1001) + wait).is_ok());
        // Who was silent has a burst again.
        assert_eq!((0..100).filter(|_| rates.take_at(client(1), 1, at(60_000)).is_ok()).count(), 20);
    }

    #[test]
    fn wrong_credentials_count_more() {
        let rates = Rates::new(Some(10));
        let taken = (0..100).filter(|_| rates.take_at(client(1), INVALID, at(0)).is_ok()).count();
        assert_eq!(taken, 2);
    }

    #[test]
    fn clients_that_are_counted_are_bounded() {
        let rates = Rates::new(Some(1));
        for number in 0..MAX_CLIENTS as u32 + 1000 {
            let _ = rates.take_at(client(number), 1, at(0));
        }
        assert!(rates.clients.lock().unwrap().due.len() <= MAX_CLIENTS + 1);
        // The others share a number, until those before are idle.
        assert!(rates.take_at(client(u32::MAX), 1, at(0)).is_err());
        assert!(rates.take_at(client(u32::MAX), 1, at(1_000_000)).is_ok());
        assert_eq!(rates.clients.lock().unwrap().due.len(), 1);
    }

    #[test]
    fn without_a_limit_all_is_taken() {
        let rates = Rates::new(None);
        assert!((0..1000).all(|_| rates.take(Client::Other, true).is_ok()));
        assert!(rates.clients.lock().unwrap().due.is_empty());
    }
}
