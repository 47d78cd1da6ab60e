//! `/things/{id}/history`: the changes of one Thing that the log still holds.

use actix_web::{HttpRequest, HttpResponse, http::header::LINK, web::Data};
use agentdex_api::History;

use super::{
    address::{base_path, path_below, thing_id_before, thing_path},
    blocking::blocking,
    changes::ENOUGH,
    context::Context,
    parameters::Parameters,
    problem::Problem,
    since::Since,
};
use crate::{Change, Error, Position, Registry, Seq, registry::Presence};

/// Changes of an answer without `limit`.
const DEFAULT_LIMIT: usize = 100;
/// The most changes of an answer.
const MAX_LIMIT: usize = 1000;
/// Maximum number of changes that are read at once.
const AT_ONCE: usize = 16;

/// Path suffix after the id of a Thing.
pub(super) const END: &str = "/history";

/// List the changes of a Thing that are still in the log
#[cfg_attr(debug_assertions, utoipa::path(
    get,
    path = "/things/{id}/history",
    operation_id = "thing_history",
    tag = "changes",
    params(
        super::schemas::ThingId,
        ("since" = Option<String>, Query, description = "Only changes after this position (`<epoch>-<position>`), or all if it belongs to another log. A number without an epoch causes a warning"),
        ("limit" = Option<u64>, Query, description = "Maximum number of changes (default 100); values over 1,000 are reduced to 1,000. Fewer are returned if they are large"),
    ),
    responses(
        (status = 200, description = "Oldest first", body = History, headers(("Agentdex-Warnings" = u64, description = "1 if `since` is a number without an epoch"), ("Warning", description = "Form of `since` to use instead"), ("Link"))),
        super::schemas::Refusals,
        super::schemas::ThingRefusals,
    )
))]
pub(super) async fn of_thing(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &["since", "limit"])?;
    let epoch = context.epoch();
    let since = Since::of(&parameters)?.checked(&context)?;
    // Of a position in another log nothing is known: all of it is shown.
    let start = if since.is_foreign(epoch) { Seq::ZERO } else { since.seq() };
    let limit = parameters.number("limit", 1)?.and_then(|limit| usize::try_from(limit).ok());
    let limit = limit.unwrap_or(DEFAULT_LIMIT).min(MAX_LIMIT);
    let id = thing_id_before(&request, &context.options, END)?;
    let registry = context.registry(&request);
    let tail = format!("/things{}", path_below(&request));
    let path = thing_path(base_path(&request, &context.options, &tail), &id);
    let read = move || changes(&registry, id, start, limit);
    let (changes, next) = blocking(read).await?;
    let mut response = HttpResponse::Ok();
    since.warn(epoch, &mut response);
    if let Some(next) = next {
        let next = Position { epoch, seq: next };
        response.insert_header((LINK, format!("<{path}/history?since={next}&limit={limit}>; rel=\"next\"")));
    }
    Ok(response.json(History { epoch, changes }))
}

/// The changes of an answer, and the position that the next one goes on from, if there are more.
fn changes(registry: &Registry, id: String, since: Seq, limit: usize) -> crate::Result<(Vec<Change>, Option<Seq>)> {
    let presence = Presence::new(since, registry.last_seq());
    let (mut changes, mut size, mut position) = (Vec::new(), 0, since);
    while changes.len() < limit && size < ENOUGH {
        let read = registry.history_after(&id, position, AT_ONCE.min(limit - changes.len()), presence)?;
        let Some(last) = read.last() else { break };
        position = last.seq;
        size += read.iter().map(Change::weight).sum::<usize>();
        changes.extend(read);
    }
    // Gone and forgotten is not found; gone and remembered has a history.
    let is_known = || Ok::<_, Error>(registry.find(&id)?.is_some() || !registry.history(&id, Seq::ZERO, 1)?.is_empty());
    if changes.is_empty() && !is_known()? {
        return Err(Error::NotFound { id });
    }
    let is_cut = !changes.is_empty() && !registry.history(&id, position, 1)?.is_empty();
    Ok((changes, is_cut.then_some(position)))
}
