//! Limits on what clients may use: connections, streams and time.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use actix_web::{
    HttpRequest,
    http::{
        StatusCode,
        header::{CONNECTION, RETRY_AFTER},
    },
};

use super::{problem::Problem, process, progress};

/// The most connections, however many descriptors there are.
const MAX_CONNECTIONS: usize = 16 * 1024;

/// Limits of the resources that clients can use. Connections and streams beyond a limit get a 503 with `Retry-After`.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Maximum number of simultaneous connections; by default, half of the file descriptors that the
    /// process may open, at most 16,384. Requests for health and metrics are answered even beyond it.
    pub max_connections: Option<usize>,
    /// Maximum number of connections per client address, except for loopback; by default, half of all.
    /// The addresses of an IPv6 /64 network count as one client.
    pub max_connections_per_client: Option<usize>,
    /// Maximum number of simultaneous event streams, long polls, and MQTT connections over
    /// WebSocket; by default, three quarters of all connections.
    pub max_streams: Option<usize>,
    /// Maximum number of requests per second and client, with bursts of twice as many; `None` for no limit. A client
    /// is the holder of an API key, token, or certificate, or else an address or IPv6 /64 network. Requests beyond it
    /// get a 429 with `Retry-After`. A request with invalid credentials counts as ten; `/health/live` doesn't count.
    pub requests_per_second: Option<u32>,
    /// Maximum time for a client to send the head of a request.
    pub head_timeout: Duration,
    /// Maximum time to wait for a client that sends no body, or less than 512 bytes of it.
    pub body_timeout: Duration,
    /// Maximum time during which a client may read nothing of a response.
    pub write_timeout: Duration,
    /// Maximum time for running requests to finish once the server stops.
    pub stop_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_connections: None,
            max_connections_per_client: None,
            max_streams: None,
            requests_per_second: None,
            head_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(60),
            stop_timeout: Duration::from_secs(5),
        }
    }
}

impl Limits {
    /// The most connections at a time.
    pub(super) fn connections(&self) -> usize {
        self.max_connections.unwrap_or_else(|| {
            let descriptors = process::descriptor_limit().unwrap_or(u64::MAX);
            usize::try_from(descriptors / 2).unwrap_or(usize::MAX).min(MAX_CONNECTIONS)
        })
    }

    pub(super) fn connection_places(&self) -> Arc<Places> {
        let maximum = self.connections();
        Places::new(maximum, self.max_connections_per_client.unwrap_or(maximum.div_ceil(2)))
    }

    pub(super) fn stream_places(&self) -> Arc<Places> {
        let connections = self.connections();
        let maximum = self.max_streams.unwrap_or(connections - connections / 4);
        Places::new(maximum, maximum)
    }
}

/// Places that clients take up, of which there is a maximum in all and for one client.
pub(super) struct Places {
    maximum: usize,
    per_client: usize,
    taken: AtomicUsize,
    refused: AtomicUsize,
    clients: Mutex<HashMap<IpAddr, usize>>,
}

impl Places {
    fn new(maximum: usize, per_client: usize) -> Arc<Places> {
        let (taken, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Places { maximum, per_client, taken, refused, clients: Mutex::default() })
    }

    /// Takes a place for a client; a full one says why there is none.
    pub(super) fn take(self: &Arc<Places>, client: Option<IpAddr>) -> Place {
        let client = client.filter(|client| !client.to_canonical().is_loopback()).map(network_of);
        let of_client = client.map_or(0, |client| {
            let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
            let count = clients.entry(client).or_default();
            *count += 1;
            *count
        });
        let number = self.taken.fetch_add(1, Ordering::Relaxed) + 1;
        let place = Place { places: self.clone(), client, over: number.saturating_sub(self.maximum), of_client };
        if place.is_refused() {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        place
    }

    /// Takes a place for a stream that answers a request.
    ///
    /// # Errors
    /// 503 where there is none.
    pub(super) fn take_for_stream(self: &Arc<Places>, request: &HttpRequest) -> Result<Place, Problem> {
        let place = self.take(request.peer_addr().map(|peer| peer.ip()));
        place.check("event streams, long polls, and WebSockets")?;
        progress::expect_client(request);
        Ok(place)
    }

    /// Returns the number of places that are taken.
    pub(super) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Returns the maximum number of places.
    pub(super) fn maximum(&self) -> usize {
        self.maximum
    }

    /// Returns the number of refusals since the start.
    pub(super) fn refused(&self) -> usize {
        self.refused.load(Ordering::Relaxed)
    }
}

/// A place, free again when dropped.
pub(super) struct Place {
    places: Arc<Places>,
    client: Option<IpAddr>,
    /// Number of places that are taken beyond the maximum, this one included.
    over: usize,
    of_client: usize,
}

impl Place {
    /// True if the client gets nothing for it.
    pub(super) fn is_refused(&self) -> bool {
        self.over > 0 || self.of_client > self.places.per_client
    }

    /// Why the client gets nothing for it; `what` are the places, as in "connections".
    pub(super) fn check(&self, what: &str) -> Result<(), Problem> {
        let detail = match self.over {
            0 if !self.is_refused() => return Ok(()),
            0 => format!("at most {} {what} are allowed per client at a time; try again later", self.places.per_client),
            _ => format!("at most {} {what} are allowed at a time; try again later", self.places.maximum),
        };
        let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "too-many-clients", detail);
        // The connection is what there are too few of.
        Err(problem.with_header(RETRY_AFTER, "5").with_header(CONNECTION, "close"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.taken.fetch_sub(1, Ordering::Relaxed);
        let Some(client) = self.client else { return };
        let mut clients = self.places.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = clients.get_mut(&client) {
            *count -= 1;
            if *count == 0 {
                clients.remove(&client);
            }
        }
    }
}

/// An address that stands for all that one client can easily have.
pub(super) fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX))),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Option<IpAddr> {
        text.parse().ok()
    }

    #[test]
    fn places_are_limited_in_all_and_for_a_client() {
        let places = Places::new(3, 2);
        let mut taken = Vec::new();
        let mut take = |client: &str| {
            let place = places.take(address(client));
            let over = (place.is_refused(), place.over);
            taken.push(place);
            over
        };
        assert_eq!(take("2001:db8::1"), (false, 0));
        assert_eq!(take("2001:db8::2"), (false, 0));
        assert_eq!(take("2001:db8::3"), (true, 0), "the third of one network");
        assert_eq!(take("192.0.2.1"), (true, 1), "the fourth in all");
        drop(taken);
        assert_eq!((places.taken(), places.refused()), (0, 2));
        assert!(places.clients.lock().unwrap().is_empty());
    }

    #[test]
    fn clients_on_this_machine_are_not_told_apart() {
        let places = Places::new(9, 1);
        let taken: Vec<_> =
            ["127.0.0.1", "127.0.0.1", "::1", "::ffff:127.0.0.1"].map(|ip| places.take(address(ip))).into();
        assert!(taken.iter().all(|place| !place.is_refused()));
    }
}
