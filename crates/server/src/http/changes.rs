//! `/changes`: the change log by position, for readers who page or poll.

use std::{sync::Arc, time::Duration};

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        StatusCode,
        header::{ContentType, LINK},
    },
    web::Data,
};
use serde::Serialize;

use super::{
    address::{base_path, escape},
    blocking::blocking,
    cluster,
    context::Context,
    parameters::Parameters,
    problem::Problem,
    since::{POSITION, Since},
    things::SEQ,
};
use crate::{
    Epoch, Position, Registry, Seq,
    change::Cursor,
    registry::Presence,
    store::{Logged, LoggedChange, Part},
};

/// Changes of an answer without `limit`.
const DEFAULT_LIMIT: usize = 100;
/// The most changes of an answer.
const MAX_LIMIT: usize = 1000;
/// The longest that an answer is waited for.
const MAX_WAIT: u64 = 60;
/// An answer takes no more changes in once they weigh so many bytes.
pub(super) const ENOUGH: usize = 8 * 1024 * 1024;
/// Maximum number of log entries that are read at once.
const AT_ONCE: usize = 64;

/// The answer, an [`agentdex_api::Changes`] of changes that are shared.
#[derive(Serialize)]
struct Page {
    epoch: Epoch,
    changes: Vec<Arc<LoggedChange>>,
    /// Up to where the log was read: what the caller doesn't see is passed over.
    #[serde(skip)]
    read: Seq,
    /// The place to go on from, where it ends within an entry of the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<Cursor>,
    last: Seq,
    oldest: Seq,
    truncated: bool,
}

impl Page {
    /// The body. A buffer that grew by doubling would copy megabytes.
    fn to_json(&self) -> Result<Vec<u8>, Problem> {
        let room = self.changes.iter().map(|change| change.weight()).sum();
        let mut body = Vec::with_capacity(room);
        serde_json::to_writer(&mut body, self).map_err(|_| Problem::of_status(StatusCode::INTERNAL_SERVER_ERROR))?;
        Ok(body)
    }
}

/// Read the change log
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/changes",
    operation_id = "list_changes",
    tag = "changes",
    params(
        ("since" = Option<String>, Query, description = "Only changes after this position (`<epoch>-<position>`). If a response ends in the middle of a position, use its `next` here. A number without an epoch causes a warning, since it denotes another change in a restored registry"),
        ("limit" = Option<u64>, Query, description = "Maximum number of changes (default 100); values over 1,000 are reduced to 1,000"),
        ("wait" = Option<u64>, Query, description = "Seconds to wait for a change if there is none; values over 60 are reduced to 60"),
    ),
    responses(
        (status = 200, description = "In ascending order. Only changes hidden from the caller are missing. Positions can have gaps; `previous` is the position before a change", body = agentdex_api::Changes, headers(("Agentdex-Seq" = u64, description = "The end of the log"), ("Agentdex-Position", description = "The end of the log, as `<epoch>-<position>`"), ("Agentdex-Warnings" = u64, description = "1 if `since` is a number without an epoch"), ("Warning", description = "Form of `since` to use instead"), ("Link"))),
        super::schemas::Refusals,
    )
))]
pub(super) async fn after(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &["since", "limit", "wait"])?;
    let asked = Since::of(&parameters)?.checked(&context)?;
    if let Some(position) = asked.position() {
        cluster::reach(&context, &request, position, cluster::PATIENCE).await?;
    }
    let (epoch, since, within) = (context.epoch(), asked.seq(), asked.id().map(str::to_owned));
    let limit = parameters.number("limit", 1)?.and_then(|limit| usize::try_from(limit).ok());
    let limit = limit.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT);
    let wait = parameters.number("wait", 0)?.unwrap_or_default().min(MAX_WAIT);

    let foreign = asked.is_foreign(epoch);
    let presence = Presence::new(since, context.last_seq());
    if wait > 0 && !foreign && context.last_seq() == since {
        let _place = context.streams.take_for_stream(&request)?;
        wait_for_change(&context, &request, since, Duration::from_secs(wait)).await;
        let registry = context.registry(&request);
        if !registry.is_valid(registry.caller()) {
            let detail = "the credentials of this request expired or were revoked while it was waiting";
            return Err(Problem::new(StatusCode::UNAUTHORIZED, "invalid-credentials", detail));
        }
    }
    let read = {
        let registry = context.registry(&request);
        move || page(&registry, (since, within), presence, limit, foreign)
    };
    // What is further back is on disk: reading it must not hold up the other connections.
    let is_near = context.has_near(since, AT_ONCE);
    let page = if is_near { read()? } else { blocking(read).await? };
    let mut response = HttpResponse::Ok();
    response.insert_header((SEQ, page.last.0));
    response.insert_header((POSITION, Position { epoch, seq: page.last }.to_string()));
    asked.warn(epoch, &mut response);
    if page.read < page.last && !page.truncated {
        let base = base_path(&request, &context.options, "/changes");
        let next = page.next.clone().unwrap_or_else(|| Position { epoch, seq: page.read }.into()).to_string();
        let next = escape(&next);
        response.insert_header((LINK, format!("<{base}/changes?since={next}&limit={limit}>; rel=\"next\"")));
    }
    Ok(response.content_type(ContentType::json()).body(page.to_json()?))
}

/// Waits until the end of the log is another one than `since`, but no longer than `wait`.
async fn wait_for_change(context: &Data<Context>, request: &HttpRequest, since: Seq, wait: Duration) {
    let _counted = context.metrics.long_poll();
    let (mut durable, mut stopped) = (context.durable(), Context::stopped(context, request));
    tokio::select! {
        _ = durable.wait_for(|last| *last != since) => {}
        () = stopped.wait() => {}
        () = tokio::time::sleep(wait) => {}
    }
}

/// `since` is a position, and the last id of the entry after it that a former page had.
fn page(
    registry: &Registry,
    (since, mut within): (Seq, Option<String>),
    presence: Presence,
    limit: usize,
    foreign: bool,
) -> crate::Result<Page> {
    let (epoch, changes, next) = (registry.epoch(), Vec::new(), None);
    let mut page = Page { epoch, changes, read: since, next, last: since, oldest: since, truncated: foreign };
    let mut size = 0;
    loop {
        let at_once = if foreign { 1 } else { AT_ONCE.min(limit - page.changes.len()) };
        let Part { entries, last, oldest, truncated } = registry.entries(page.read, at_once)?;
        (page.last, page.oldest) = (last, oldest);
        page.truncated |= truncated;
        if page.truncated {
            page.changes.clear();
            return Ok(page);
        }
        if entries.is_empty() {
            return Ok(page);
        }
        for entry in &entries {
            let mut seen = registry.seen(entry, presence);
            if let Some(id) = within.take() {
                seen = seen.after(&id);
            }
            size += entry.weight();
            for change in seen {
                let change = change?;
                // What an entry means for many Things stays together, unless it is too much.
                if size >= ENOUGH && matches!(entry, Logged::Membership(_)) {
                    let last = page.changes.last().filter(|last| last.seq == entry.seq());
                    page.next = last.map(|last| Cursor { position: last.position(), id: Some(last.id.clone()) });
                    if page.next.is_some() {
                        return Ok(page);
                    }
                }
                size += change.weight();
                page.changes.push(change);
            }
            page.read = entry.seq();
            // Where nothing is seen yet the log is read on: who gets to know of nothing goes on at its end.
            if page.changes.len() >= limit || size >= ENOUGH && !page.changes.is_empty() {
                return Ok(page);
            }
        }
    }
}
