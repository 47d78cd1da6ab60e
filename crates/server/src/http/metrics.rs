//! Counters for Prometheus, with label sets that no client can make grow.

use std::{
    fmt::Write,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use actix_web::http::{Method, StatusCode};

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "other"];
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
/// Upper bounds of the latency buckets in microseconds.
const BOUNDS: [u64; 10] = [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 250_000, 1_000_000];

/// Counters of requests since the start, and of the event streams and long polls that are open.
#[derive(Default)]
pub(super) struct Metrics {
    routes: Mutex<Vec<Arc<RouteMetrics>>>,
    event_streams: Arc<AtomicI64>,
    long_polls: Arc<AtomicI64>,
}

/// Counters of the requests of one route since the start, by method, status class and latency.
pub(super) struct RouteMetrics {
    path: &'static str,
    requests: [[AtomicU64; CLASSES.len()]; METHODS.len()],
    buckets: [AtomicU64; BOUNDS.len()],
    microseconds: AtomicU64,
}

impl RouteMetrics {
    fn new(path: &'static str) -> RouteMetrics {
        RouteMetrics {
            path,
            requests: Default::default(),
            buckets: Default::default(),
            microseconds: AtomicU64::new(0),
        }
    }

    /// Counts a request that was answered.
    pub(super) fn count(&self, method: &Method, status: StatusCode, elapsed: Duration) {
        let method = METHODS.iter().position(|known| *known == method.as_str()).unwrap_or(METHODS.len() - 1);
        let class = usize::from(status.as_u16() / 100).saturating_sub(1);
        if let Some(counter) = self.requests.get(method).and_then(|classes| classes.get(class)) {
            counter.fetch_add(1, Relaxed);
        }
        let microseconds = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        self.microseconds.fetch_add(microseconds, Relaxed);
        if let Some(bucket) = BOUNDS.iter().position(|bound| microseconds <= *bound).and_then(|i| self.buckets.get(i)) {
            bucket.fetch_add(1, Relaxed);
        }
    }
}

impl Metrics {
    /// Returns the counters of a route: the same ones for all servers that share these metrics.
    pub(super) fn route(&self, path: &'static str) -> Arc<RouteMetrics> {
        let mut routes = self.routes();
        if let Some(known) = routes.iter().find(|known| known.path == path) {
            return known.clone();
        }
        let route = Arc::new(RouteMetrics::new(path));
        routes.push(route.clone());
        route
    }

    /// Counts an event stream for as long as the guard lives.
    pub(super) fn event_stream(&self) -> Counted {
        Counted::new(&self.event_streams)
    }

    /// Counts a request that waits for a change for as long as the guard lives.
    pub(super) fn long_poll(&self) -> Counted {
        Counted::new(&self.long_polls)
    }

    /// Returns the number of requests that were answered, of these the refused ones (4xx), and the failed ones (5xx).
    pub(super) fn requests(&self) -> [u64; 3] {
        let routes = self.routes();
        let counters = routes.iter().flat_map(|route| &route.requests);
        counters.fold([0; 3], |[all, refused, failed], classes| {
            let [_, _, _, client, server] = classes.each_ref().map(|counter| counter.load(Relaxed));
            let of_method: u64 = classes.iter().map(|counter| counter.load(Relaxed)).sum();
            [all + of_method, refused + client, failed + server]
        })
    }

    /// Writes everything that is counted here, in the text format of Prometheus.
    pub(super) fn write(&self, text: &mut String) {
        let open = |counter: &AtomicI64| u64::try_from(counter.load(Relaxed)).unwrap_or_default();
        gauge(text, "agentdex_event_streams", "Open event streams.", open(&self.event_streams));
        gauge(text, "agentdex_long_polls", "Requests waiting for a change.", open(&self.long_polls));
        self.write_requests(text);
        self.write_latencies(text);
    }

    fn routes(&self) -> MutexGuard<'_, Vec<Arc<RouteMetrics>>> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_requests(&self, text: &mut String) {
        let requests = "agentdex_http_requests_total";
        head(text, requests, "counter", "Answered requests.");
        for route in self.routes().iter() {
            let path = route.path;
            for (method, classes) in METHODS.iter().zip(&route.requests) {
                for (class, counter) in CLASSES.iter().zip(classes) {
                    let count = counter.load(Relaxed);
                    if count > 0 {
                        let labels = format!("path=\"{path}\",method=\"{method}\",status=\"{class}\"");
                        let _ = writeln!(text, "{requests}{{{labels}}} {count}");
                    }
                }
            }
        }
    }

    fn write_latencies(&self, text: &mut String) {
        let name = "agentdex_http_request_duration_seconds";
        head(text, name, "histogram", "Time from the head of a request to the end of its response.");
        for route in self.routes().iter() {
            let path = route.path;
            let total: u64 = route.requests.iter().flatten().map(|counter| counter.load(Relaxed)).sum();
            if total == 0 {
                continue;
            }
            let mut cumulative = 0;
            for (bound, bucket) in BOUNDS.iter().zip(&route.buckets) {
                cumulative += bucket.load(Relaxed);
                let _ = writeln!(text, "{name}_bucket{{path=\"{path}\",le=\"{}\"}} {cumulative}", seconds(*bound));
            }
            let _ = writeln!(text, "{name}_bucket{{path=\"{path}\",le=\"+Inf\"}} {total}");
            let _ = writeln!(text, "{name}_sum{{path=\"{path}\"}} {}", seconds(route.microseconds.load(Relaxed)));
            let _ = writeln!(text, "{name}_count{{path=\"{path}\"}} {total}");
        }
    }
}

/// Something that is counted while it lasts.
pub(super) struct Counted(Arc<AtomicI64>);

impl Counted {
    fn new(counter: &Arc<AtomicI64>) -> Counted {
        counter.fetch_add(1, Relaxed);
        Counted(counter.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// Writes one number.
pub(super) fn gauge(text: &mut String, name: &str, help: &str, value: u64) {
    head(text, name, "gauge", help);
    let _ = writeln!(text, "{name} {value}");
}

/// Writes what stands before the numbers of a metric.
pub(super) fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn seconds(microseconds: u64) -> f64 {
    Duration::from_micros(microseconds).as_secs_f64()
}
