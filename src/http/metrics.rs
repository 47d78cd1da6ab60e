//! Counters for Prometheus, with label sets that no client can make grow.

use std::{
    fmt::Write,
    sync::{
        LazyLock,
        atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use actix_web::{
    HttpRequest, HttpResponse,
    http::{Method, StatusCode},
    web::Data,
};

use super::{
    Context,
    blocking::blocking,
    formats::{EXPORTS, IMPORTS},
    limits::Places,
    parameters::Parameters,
    problem::Problem,
    process,
};
use crate::registry::FollowerStatus;

/// The paths that are counted apart; everything else is counted under the last.
const FIXED_PATHS: [&str; 23] = [
    "/things",
    "/things/{id}",
    "/things/{id}/history",
    "/things/{id}/refresh",
    "/things/batch",
    "/imports",
    "/imports/{id}",
    "/validate",
    "/search",
    "/search/{language}",
    "/changes",
    "/events",
    "/events/{type}",
    "/health/live",
    "/health/ready",
    "/metrics",
    "/.well-known/wot",
    "/openapi.json",
    "/docs",
    "/docs/{file}",
    "/",
    "/mqtt",
    "other",
];
/// Those of all formats first.
static PATHS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let imports = IMPORTS.iter().map(|import| import.path.as_str());
    let exports = EXPORTS.iter().map(|export| export.path.as_str());
    imports.chain(exports).chain(FIXED_PATHS).collect()
});
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "other"];
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
/// Upper bounds of the latency buckets in microseconds.
const BOUNDS: [u64; 10] = [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 50_000, 250_000, 1_000_000];

/// What has been counted since the start.
pub(super) struct Metrics {
    routes: Vec<RouteMetrics>,
    event_streams: AtomicI64,
    long_polls: AtomicI64,
}

#[derive(Default)]
struct RouteMetrics {
    requests: [[AtomicU64; CLASSES.len()]; METHODS.len()],
    buckets: [AtomicU64; BOUNDS.len()],
    microseconds: AtomicU64,
}

/// A path, as an index into what is counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct CountedPath(usize);

impl CountedPath {
    pub(super) fn of(path: &str) -> CountedPath {
        CountedPath(PATHS.iter().position(|known| *known == path).unwrap_or(PATHS.len() - 1))
    }
}

impl Metrics {
    pub(super) fn new() -> Metrics {
        Metrics {
            routes: PATHS.iter().map(|_| RouteMetrics::default()).collect(),
            event_streams: AtomicI64::new(0),
            long_polls: AtomicI64::new(0),
        }
    }

    /// Counts a request that was answered.
    pub(super) fn count(&self, path: CountedPath, method: &Method, status: StatusCode, elapsed: Duration) {
        let Some(route) = self.routes.get(path.0) else { return };
        let method = METHODS.iter().position(|known| *known == method.as_str()).unwrap_or(METHODS.len() - 1);
        let class = usize::from(status.as_u16() / 100).saturating_sub(1);
        if let Some(counter) = route.requests.get(method).and_then(|classes| classes.get(class)) {
            counter.fetch_add(1, Relaxed);
        }
        let microseconds = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
        route.microseconds.fetch_add(microseconds, Relaxed);
        if let Some(bucket) = BOUNDS.iter().position(|bound| microseconds <= *bound).and_then(|i| route.buckets.get(i))
        {
            bucket.fetch_add(1, Relaxed);
        }
    }

    /// Counts an event stream for as long as the guard lives.
    pub(super) fn event_stream(context: &Data<Context>) -> Counted {
        Counted::new(context, |metrics| &metrics.event_streams)
    }

    /// Counts a request that waits for a change for as long as the guard lives.
    pub(super) fn long_poll(context: &Data<Context>) -> Counted {
        Counted::new(context, |metrics| &metrics.long_polls)
    }

    fn write_requests(&self, text: &mut String) {
        let requests = "agentdex_http_requests_total";
        head(text, requests, "counter", "Requests answered.");
        for (path, route) in PATHS.iter().zip(&self.routes) {
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
        for (path, route) in PATHS.iter().zip(&self.routes) {
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
pub(super) struct Counted {
    context: Data<Context>,
    counter: fn(&Metrics) -> &AtomicI64,
}

impl Counted {
    fn new(context: &Data<Context>, counter: fn(&Metrics) -> &AtomicI64) -> Counted {
        counter(&context.metrics).fetch_add(1, Relaxed);
        Counted { context: context.clone(), counter }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.counter)(&self.context.metrics).fetch_sub(1, Relaxed);
    }
}

/// `GET /metrics`
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "about",
    summary = "Give numbers to Prometheus",
    responses(
        (status = 200, description = "Text exposition format", body = String, content_type = "text/plain"), super::schemas::Refusals,
    )
)]
pub(super) async fn exposition(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let mut text = String::new();
    let registry = context.registry.clone();
    let read = move || Ok((registry.status(), process::resident_bytes(), process::open_descriptors()));
    let (status, memory, descriptors) = blocking(read).await?;
    let last = context.registry.last_seq().0;
    gauge(&mut text, "agentdex_things", "Things that are registered.", status.things);
    gauge(&mut text, "agentdex_log_seq", "Durable end of the change log.", last);
    write_followers(&mut text, last, &status.followers);
    gauge(&mut text, "agentdex_writable", "Whether writes are taken.", u64::from(status.closed_to_writes.is_none()));
    let open = |counter: &AtomicI64| u64::try_from(counter.load(Relaxed)).unwrap_or_default();
    gauge(&mut text, "agentdex_event_streams", "Event streams that are open.", open(&context.metrics.event_streams));
    gauge(&mut text, "agentdex_long_polls", "Requests that wait for a change.", open(&context.metrics.long_polls));
    write_places(&mut text, "connections", "HTTP connections", &context.connections);
    write_places(&mut text, "streams", "Event streams, long polls and WebSockets", &context.streams);
    let of_process = [
        ("process_open_fds", "Number of open file descriptors.", descriptors),
        ("process_max_fds", "Maximum number of open file descriptors.", process::descriptor_limit()),
        ("process_resident_memory_bytes", "Resident memory size in bytes.", memory.map(|(resident, _)| resident)),
        ("process_anonymous_memory_bytes", "Resident memory that belongs to no file.", memory.map(|(_, own)| own)),
    ];
    for (name, help, value) in of_process {
        if let Some(value) = value {
            gauge(&mut text, name, help, value);
        }
    }
    context.metrics.write_requests(&mut text);
    context.metrics.write_latencies(&mut text);
    Ok(HttpResponse::Ok().content_type("text/plain; version=0.0.4; charset=utf-8").body(text))
}

fn write_followers(text: &mut String, last: u64, followers: &[FollowerStatus]) {
    let shown = |follower: &FollowerStatus| follower.seq.map_or(0, |seq| seq.0);
    let mut write = |name: &str, kind: &str, help: &str, value: &dyn Fn(&FollowerStatus) -> u64| {
        head(text, name, kind, help);
        for follower in followers {
            let _ = writeln!(text, "{name}{{follower=\"{}\"}} {}", follower.name, value(follower));
        }
    };
    write("agentdex_follower_lag", "gauge", "Changes that a follower of the log lacks.", &|follower| {
        last.saturating_sub(shown(follower))
    });
    write("agentdex_follower_ready", "gauge", "Whether a follower answers and keeps up with the log.", &|follower| {
        u64::from(follower.is_ready())
    });
    write("agentdex_follower_failures_total", "counter", "Failures of a follower since the start.", &|follower| {
        follower.failures
    });
    write("agentdex_follower_rebuilds_total", "counter", "Rebuilds of a follower since the start.", &|follower| {
        follower.rebuilds
    });
}

/// How many places are taken, how many there are, and how many clients got none.
fn write_places(text: &mut String, name: &str, what: &str, places: &Places) {
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    gauge(text, &format!("agentdex_http_{name}"), &format!("{what} that are open."), number(places.taken()));
    let limit = format!("agentdex_http_{name}_limit");
    gauge(text, &limit, &format!("{what} that may be open."), number(places.maximum()));
    let refused = format!("agentdex_http_{name}_refused_total");
    head(text, &refused, "counter", &format!("{what} that were refused."));
    let _ = writeln!(text, "{refused} {}", places.refused());
}

fn gauge(text: &mut String, name: &str, help: &str, value: u64) {
    head(text, name, "gauge", help);
    let _ = writeln!(text, "{name} {value}");
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn seconds(microseconds: u64) -> f64 {
    Duration::from_micros(microseconds).as_secs_f64()
}
