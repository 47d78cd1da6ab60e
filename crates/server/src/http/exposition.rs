//! `GET /metrics`: the numbers of the registry, the process and the API for Prometheus.

use std::fmt::Write;

use actix_web::{HttpRequest, HttpResponse, web::Data};
use agentdex_api::Cluster;

use super::{
    blocking::blocking,
    context::Context,
    limits::Places,
    metrics::{gauge, head},
    parameters::Parameters,
    problem::Problem,
    process,
};
use crate::registry::{AppendCounts, FollowerStatus};

/// Read metrics for Prometheus
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/metrics",
    operation_id = "read_metrics",
    tag = "about",
    responses(
        (status = 200, description = "Text exposition format", body = String, content_type = "text/plain"), super::schemas::Refusals,
    )
))]
pub(super) async fn metrics(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let mut text = String::new();
    let registry = context.registry(&request);
    let last = registry.last_seq().0;
    let sees_everything = registry.grants().is_none();
    let appends = registry.append_counts();
    let read = move || Ok((registry.status(), registry.metrics(), process::memory(), process::open_descriptors()));
    let (status, metrics, memory, descriptors) = blocking(read).await?;
    head(
        &mut text,
        "agentdex_build_info",
        "gauge",
        "Version of the program, in the label `version`; the value is always 1.",
    );
    let _ = writeln!(text, "agentdex_build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION"));
    gauge(&mut text, "agentdex_things", "Registered Things.", status.things);
    gauge(&mut text, "agentdex_log_seq", "Position of the last durable change.", last);
    write_followers(&mut text, &status.followers);
    gauge(
        &mut text,
        "agentdex_writable",
        "Whether writes are accepted.",
        u64::from(status.closed_to_writes.is_none() && status.disk_full.is_none()),
    );
    if let Some((cluster, appends)) = status.cluster.as_ref().zip(appends).filter(|_| sees_everything) {
        write_cluster(&mut text, cluster);
        write_appends(&mut text, &appends);
    }
    write_places(&mut text, "connections", "HTTP connections", &context.connections);
    write_places(&mut text, "streams", "event streams, long polls, and WebSockets", &context.streams);
    let of_process = [
        ("process_open_fds", "Number of open file descriptors.", descriptors),
        ("process_max_fds", "Maximum number of open file descriptors.", process::descriptor_limit()),
        ("process_resident_memory_bytes", "Resident memory size in bytes.", memory.as_ref().map(|all| all.resident)),
    ];
    for (name, help, value) in of_process {
        if let Some(value) = value {
            gauge(&mut text, name, help, value);
        }
    }
    if let Some(memory) = memory {
        let name = "agentdex_memory_bytes";
        head(&mut text, name, "gauge", "Resident memory: `anonymous` was allocated, `file` is mapped from files.");
        let _ = writeln!(text, "{name}{{kind=\"anonymous\"}} {}", memory.anonymous);
        let _ = writeln!(text, "{name}{{kind=\"file\"}} {}", memory.file);
    }
    if let Some(tls) = &context.options.tls {
        write_tls(&mut text, &tls.status());
    }
    if let Some(dropped) = context.options.log_lines_dropped {
        let name = "agentdex_log_lines_dropped_total";
        head(&mut text, name, "counter", "Lines of the program's log that could not be written.");
        let _ = writeln!(text, "{name} {}", dropped());
    }
    for metric in metrics {
        let kind = if metric.is_counter() { "counter" } else { "gauge" };
        head(&mut text, metric.name, kind, metric.help);
        let _ = writeln!(text, "{} {}", metric.name, metric.value);
    }
    context.metrics.write(&mut text);
    Ok(HttpResponse::Ok().content_type("text/plain; version=0.0.4; charset=utf-8").body(text))
}

fn write_tls(text: &mut String, status: &crate::tls::Status) {
    let expires = u64::try_from(status.expires.0 / 1000).unwrap_or_default();
    let help = "Expiry of the certificate, in seconds since 1970.";
    gauge(text, "agentdex_tls_certificate_expiry_timestamp_seconds", help, expires);
    let counters = [
        ("agentdex_tls_reloads_total", "Successful reloads of the certificate.", status.reloads),
        ("agentdex_tls_reload_failures_total", "Failed reloads of the certificate.", status.reload_failures),
        (
            "agentdex_tls_handshake_failures_total",
            "Connections that failed before the TLS handshake was complete.",
            status.handshake_failures,
        ),
    ];
    for (name, help, value) in counters {
        head(text, name, "counter", help);
        let _ = writeln!(text, "{name} {value}");
    }
}

fn write_cluster(text: &mut String, cluster: &Cluster) {
    let name = "agentdex_cluster_behind_seconds";
    head(text, name, "gauge", "Time since this node last had all commits of the cluster.");
    let _ = writeln!(text, "{name} {}", cluster.behind_for);
    // Without an answer of etcd, the nodes and the leader are those of the last answer.
    let is_connected = cluster.own().is_some() && cluster.has_kept_up();
    let is_leader = is_connected && cluster.leader.as_ref() == Some(&cluster.node);
    let nodes = u64::try_from(cluster.nodes.len()).unwrap_or(u64::MAX);
    let differs = cluster.own().map_or(0, |own| own.differs.len() as u64);
    let connected = "Whether etcd lists this node, and the node has kept up with the cluster in the last 10 s.";
    for (name, help, value) in [
        ("commit", "Sequence number of the last commit in this node.", cluster.commit),
        ("end", "Sequence number of the last commit in the log of the cluster.", cluster.log_end),
        ("connected", connected, u64::from(is_connected)),
        ("leader", "Whether this node leads the cluster.", u64::from(is_leader)),
        ("differs", "Parts in which this node differs from most other nodes.", differs),
        ("log_full", "Whether etcd has no space for further commits.", u64::from(cluster.log_full)),
        ("nodes", "Running nodes.", nodes),
    ] {
        gauge(text, &format!("agentdex_cluster_{name}"), help, value);
    }
}

fn write_appends(text: &mut String, appends: &AppendCounts) {
    let AppendCounts { appended, lost_races, unknown, time } = *appends;
    for (name, help, value) in [
        ("appended", "Commits of this node that the log confirmed.", appended),
        (
            "lost_races",
            "Commits of this node that were retried, because the commit of another node came first.",
            lost_races,
        ),
        ("unknown", "Commits of this node whose outcome was unknown at first.", unknown),
    ] {
        let name = format!("agentdex_cluster_{name}_total");
        head(text, &name, "counter", help);
        let _ = writeln!(text, "{name} {value}");
    }
    let name = "agentdex_cluster_append_seconds";
    head(text, name, "summary", "Time until the log confirmed or rejected a commit of this node.");
    let _ = writeln!(text, "{name}_sum {}\n{name}_count {}", time.as_secs_f64(), appended + lost_races);
}

fn write_followers(text: &mut String, followers: &[FollowerStatus]) {
    let mut write = |name: &str, kind: &str, help: &str, value: &dyn Fn(&FollowerStatus) -> u64| {
        head(text, name, kind, help);
        for follower in followers {
            let _ = writeln!(text, "{name}{{follower=\"{}\"}} {}", follower.name, value(follower));
        }
    };
    write("agentdex_follower_lag", "gauge", "Changes that a follower of the log hasn't processed yet.", &|follower| {
        follower.lag
    });
    write("agentdex_follower_ready", "gauge", "Whether a follower responds and keeps up with the log.", &|follower| {
        u64::from(follower.is_ready())
    });
    write("agentdex_follower_failures_total", "counter", "Failures of a follower since the start.", &|follower| {
        follower.failures
    });
    write("agentdex_follower_rebuilds_total", "counter", "Rebuilds of a follower since the start.", &|follower| {
        follower.rebuilds
    });
}

/// Writes the number of places that are taken, their maximum, and the number of clients that were refused one.
fn write_places(text: &mut String, name: &str, what: &str, places: &Places) {
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    gauge(text, &format!("agentdex_http_{name}"), &format!("Open {what}."), number(places.taken()));
    let limit = format!("agentdex_http_{name}_limit");
    gauge(text, &limit, &format!("Maximum number of {what}."), number(places.maximum()));
    let refused = format!("agentdex_http_{name}_refused_total");
    head(text, &refused, "counter", &format!("Refused {what}."));
    let _ = writeln!(text, "{refused} {}", places.refused());
}
