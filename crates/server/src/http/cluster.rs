//! `/cluster`: the nodes of a cluster, and whether this node has kept up with the others.

use std::time::Duration;

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        StatusCode,
        header::{HeaderName, RETRY_AFTER},
    },
    web::Data,
};
use agentdex_api::Verification;

use super::{blocking::blocking, context::Context, parameters::Parameters, problem::Problem};
use crate::Position;

/// The path.
pub(super) const PATH: &str = "/cluster";

/// The path of verifications.
pub(super) const VERIFICATION: &str = "/cluster/verification";

/// Maximum time for which a request waits until this node has reached a position.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Maximum time for which an event stream waits until this node has reached the stream's start. Its client could only reconnect.
pub(super) const PATIENCE_OF_STREAMS: Duration = Duration::from_secs(60);

/// Header with the position that a node must have reached before it answers a request.
const MIN_POSITION: HeaderName = HeaderName::from_static("agentdex-min-position");

/// Routes served in any case, for operators and load balancers.
const ALWAYS_SERVED: [&str; 4] = ["/health/live", "/health/ready", "/metrics", PATH];

/// Routes with requests other than reads that write nothing to the log of a cluster, or don't wait for it. A revoked key is refused
/// at once by the node that is asked, even if the log can't be reached.
const INDEPENDENT_OF_LOG: [&str; 5] =
    ["/aos", "/things/{id}/conversation", "/things/{id}/properties/{name}/value", "/keys", "/keys/{id}"];

/// Get the state of the cluster
///
/// Requires the role `admin`. The answer contains the running nodes, as known to this node, and whether this node has
/// kept up with the others.
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/cluster",
    operation_id = "cluster",
    tag = "about",
    responses(
        (status = 200, description = "The state", body = agentdex_api::Cluster),
        (status = 404, description = "This registry is not a node of a cluster", body = super::schemas::Problem, content_type = "application/problem+json"),
        super::schemas::Refusals,
    )
))]
pub(super) async fn state(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let cluster = context.admin(&request)?.cluster().ok_or_else(not_clustered)?;
    Ok(HttpResponse::Ok().json(cluster))
}

/// Begin a comparison of the nodes of the cluster
///
/// Requires the role `admin`. All running nodes compute digests of their whole content at the same commit. Each node reads
/// its data once, while requests and writes continue. The comparison is complete once `verified` in `GET /cluster` is at
/// least the returned `commit`; `differs` of a node then names the parts that differ. A cluster also does this daily by
/// itself.
#[cfg_attr(debug_assertions, utoipa::path(
    post,
    path = "/cluster/verification",
    operation_id = "verify_cluster",
    tag = "about",
    responses(
        (status = 202, description = "The comparison has begun", body = agentdex_api::Verification),
        (status = 404, description = "This registry is not a node of a cluster", body = super::schemas::Problem, content_type = "application/problem+json"),
        super::schemas::Refusals,
        super::schemas::WriteRefusals,
    )
))]
pub(super) async fn verify(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let registry = context.admin(&request)?;
    let commit = blocking(move || registry.verify_cluster()).await?.ok_or_else(not_clustered)?;
    Ok(HttpResponse::Accepted().json(Verification { commit }))
}

fn not_clustered() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "not-clustered", "this registry is not a node of a cluster")
}

/// Waits until a node of a cluster has reached the position in the header `Agentdex-Min-Position` of a request, if there is
/// such a header. It is the position of an earlier answer, perhaps of another node.
///
/// # Errors
/// 400 for something other than a position; 409 `other-epoch` for a position in another log; 503 `position-ahead` if the
/// node doesn't reach it in time.
pub(super) async fn reach_minimum(context: &Data<Context>, request: &HttpRequest) -> Result<(), Problem> {
    let Some(given) = request.headers().get(MIN_POSITION) else { return Ok(()) };
    let position = given.to_str().ok().and_then(|given| given.trim().parse::<Position>().ok());
    let Some(position) = position else {
        let detail =
            "the header Agentdex-Min-Position must be EPOCH-SEQ, as in the header Agentdex-Position of an answer";
        return Err(Problem::new(StatusCode::BAD_REQUEST, "malformed-request", detail));
    };
    if position.epoch != context.epoch() {
        let last = Position { epoch: context.epoch(), seq: context.last_seq() };
        let detail = format!("{position} is a position in another log; the log of this registry is at {last}");
        return Err(Problem::new(StatusCode::CONFLICT, "other-epoch", detail));
    }
    reach(context, request, position, PATIENCE).await
}

/// Waits until a node of a cluster contains everything that another node has acknowledged, so that a write isn't refused based
/// on an earlier state.
///
/// # Errors
/// 503 `log-unavailable` if the node can't find out or doesn't catch up.
pub(super) async fn catch_up(context: &Context, path: &str) -> Result<(), Problem> {
    match INDEPENDENT_OF_LOG.contains(&path) {
        true => Ok(()),
        false => Ok(context.catch_up().await?),
    }
}

/// Waits until a node of a cluster has reached a position that a client got from another node.
///
/// # Errors
/// 503 `position-ahead` if that takes longer than `patience`.
pub(super) async fn reach(
    context: &Data<Context>,
    request: &HttpRequest,
    position: Position,
    patience: Duration,
) -> Result<(), Problem> {
    if !context.is_node() || position.epoch != context.epoch() || position.seq <= context.last_seq() {
        return Ok(());
    }
    let (mut end, mut stopped) = (context.durable(), Context::stopped(context, request));
    tokio::select! {
        Ok(_) = end.wait_for(|last| *last >= position.seq) => return Ok(()),
        () = stopped.wait() => {}
        () = tokio::time::sleep(patience) => {}
    }
    let last = Position { seq: context.last_seq(), ..position };
    let detail = format!(
        "the request contains the position {position}, but this node has only reached {last}; try again, or ask another node"
    );
    Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "position-ahead", detail).with_header(RETRY_AFTER, "1"))
}

/// Refuses requests while this node may serve stale data, such as revoked keys, except for the routes that are always
/// served.
pub(super) fn check(context: &Context, path: &str) -> Result<(), Problem> {
    let Some(behind) = context.cut_off_for() else { return Ok(()) };
    if ALWAYS_SERVED.contains(&path) {
        return Ok(());
    }
    let detail = format!(
        "this node has not kept up with the cluster for {} s, and may serve stale data; ask another node",
        behind.as_secs()
    );
    Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "cut-off", detail).with_header(RETRY_AFTER, "2"))
}
