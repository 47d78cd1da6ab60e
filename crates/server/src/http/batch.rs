//! `/things/batch`: many descriptions as lines in, one result a line out, both as streams.
//!
//! Lines are validated and written in groups, on threads that may block: however large a batch is, other
//! requests don't wait for it, and its writes share commits. Results come in the order of the lines, and
//! so do the writes. A bad line spoils nothing but itself. A client has to read while it sends: when its
//! results pile up, no more of its lines are taken.

use std::{future::poll_fn, sync::Arc, task::Poll};

use actix_web::{
    HttpRequest, HttpResponse,
    error::PayloadError,
    web::{self, Bytes, Data},
};
use agentdex_api::BatchResult;
use futures_util::{
    Stream, StreamExt,
    future::{join_all, maybe_done},
    stream,
};
use serde_json::json;
use tokio::sync::Mutex;

use super::{
    audit,
    blocking::blocking,
    body,
    context::Context,
    formats::explain,
    lines::{Line, LineBuffer},
    parameters::Parameters,
    problem::Problem,
    thing,
};
use crate::{
    Error, Registry,
    access::AccessRequest,
    convert::Format,
    registry::{Effect, Write, Written},
};

/// The most lines of a group, and the bytes that are enough for one.
const GROUP_LINES: usize = 128;
const GROUP_BYTES: usize = 512 * 1024;
/// Maximum number of groups that are processed at the same time: one is validated while others become durable.
const GROUPS_AT_ONCE: usize = 4;

/// Answers all methods under the path of the batch. An id may be `batch`: only POST means the batch.
pub(super) async fn any(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let method = request.method().as_str();
    match method {
        "POST" => write(context, request, payload).await,
        _ if thing::METHODS.split(", ").any(|known| known == method) => thing::any(context, request, payload).await,
        other => Err(Problem::method_not_allowed(other, &format!("{}, POST", thing::METHODS))),
    }
}

/// Register many descriptions, one a line
#[cfg_attr(debug_assertions, utoipa::path(
    post,
    path = "/things/batch",
    operation_id = "write_batch",
    tag = "things",
    params(
        ("dry_run" = Option<bool>, Query, description = "Check everything and write nothing"),
        super::schemas::AccessParameters,
    ),
    request_body(content((super::schemas::ThingDescription = "application/x-ndjson"))),
    responses(
        (status = 200, description = "One line for each line, in its order", body = agentdex_api::BatchResult, content_type = "application/x-ndjson"),
        super::schemas::Refusals,
        super::schemas::BodyRefusals,
    )
))]
pub(super) async fn write(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &["dry_run", "visibility", "namespace"])?;
    let (dry_run, access) = (parameters.flag("dry_run")?, parameters.access()?);
    let line_limit = context.options.body_limit;
    write_lines(context, &request, payload, line_limit, dry_run, async move |registry: &Registry, line| {
        store(registry, line, dry_run, &access).await
    })
}

/// Writes each line as `store` does it.
pub(super) fn write_lines(
    context: Data<Context>,
    request: &HttpRequest,
    payload: web::Payload,
    line_limit: usize,
    dry_run: bool,
    store: impl AsyncFn(&Registry, Bytes) -> Result<Written, Problem> + Send + Sync + 'static,
) -> Result<HttpResponse, Problem> {
    body::check_type(request, &body::LINES)?;
    let groups = Groups::new(body::decoded(request, payload)?, line_limit);
    let (turns, registry) = (Arc::new(Mutex::new(())), context.registry(request));
    let is_audited = context.options.access.authentication;
    let store = Arc::new(async move |registry: &Registry, line: Bytes| {
        let result = store(registry, line.clone()).await;
        if let (Err(problem), true) = (&result, is_audited) {
            audit::note_line(registry, &line, problem.status());
        }
        result
    });
    let results = groups.into_stream().map(move |group| {
        let (registry, turns, store) = (registry.clone(), turns.clone(), store.clone());
        async move {
            // Groups are submitted one after the other, in the order that they are polled in here.
            let turn = turns.lock_owned().await;
            blocking(move || Ok(pollster::block_on(write_group(&registry, group, dry_run, &*store, turn)))).await
        }
    });
    Ok(HttpResponse::Ok().content_type(body::NDJSON).streaming(results.buffered(GROUPS_AT_ONCE)))
}

/// Writes the lines of a group; `turn` is over once all of them are submitted.
async fn write_group(
    registry: &Registry,
    group: Vec<Line>,
    dry_run: bool,
    store: &impl AsyncFn(&Registry, Bytes) -> Result<Written, Problem>,
    turn: impl Sized,
) -> Bytes {
    let writes = group.into_iter().map(|(number, line)| async move {
        let result = match line {
            Ok(json) => store(registry, json).await,
            Err(problem) => Err(problem),
        };
        result_line(number, result, dry_run)
    });
    let mut writes: Vec<_> = writes.map(|write| Box::pin(maybe_done(write))).collect();
    // Each is submitted when it is polled first. `join_all` alone doesn't promise to poll all of them at once.
    let submitted = poll_fn(|context| {
        for write in &mut writes {
            let _ = write.as_mut().poll(context);
        }
        Poll::Ready(())
    });
    submitted.await;
    drop(turn);
    join_all(writes.iter_mut()).await;
    writes.iter_mut().filter_map(|write| write.as_mut().take_output()).collect::<String>().into()
}

/// Creates or replaces what has an id, creates what has none.
async fn store(registry: &Registry, json: Bytes, dry_run: bool, access: &AccessRequest) -> Result<Written, Problem> {
    let write = |write: Write| registry.write(write.dry_run(dry_run).with_access(access.clone()));
    match write(Write::put(&json[..])).await {
        Err(Error::MissingId) => write(Write::create(&json[..])).await,
        written => written,
    }
    .map_err(|error| explain(error, &json, Format::ThingDescription))
}

fn result_line(number: u64, result: Result<Written, Problem>, dry_run: bool) -> String {
    let result = match result {
        Ok(Written { id, effect, seq, warnings }) => {
            let status = match effect {
                _ if dry_run => 200,
                Effect::Created => 201,
                _ => 204,
            };
            let etag = (!dry_run).then(|| format!("\"{seq}\""));
            let (id, effect, warnings) = (Some(id), Some(effect), Some(warnings));
            BatchResult { dry_run, effect, etag, id, line: number, problem: None, status, warnings }
        }
        Err(problem) => BatchResult {
            line: number,
            status: problem.status().as_u16(),
            problem: Some(problem.document()),
            ..BatchResult::default()
        },
    };
    // Members are in the order of their names, those of a problem too.
    let result = json!(result);
    format!("{result}\n")
}

/// The lines of a body in groups: what has arrived, as long as that isn't much.
struct Groups {
    payload: body::Decoded,
    buffer: LineBuffer,
    ended: bool,
}

impl Groups {
    fn new(payload: body::Decoded, maximum: usize) -> Groups {
        Groups { payload, buffer: LineBuffer::new(maximum), ended: false }
    }

    fn into_stream(self) -> impl Stream<Item = Vec<Line>> {
        stream::unfold(self, |mut groups| async move { groups.next().await.map(|group| (group, groups)) })
    }

    /// The next group; waits only for the first of its lines.
    async fn next(&mut self) -> Option<Vec<Line>> {
        let (mut group, mut bytes) = (Vec::new(), 0);
        while group.len() < GROUP_LINES && bytes < GROUP_BYTES {
            if let Some((number, line)) = self.buffer.take() {
                bytes += line.as_ref().map_or(0, Bytes::len);
                group.push((number, line));
            } else if self.ended {
                break;
            } else if let Some(arrived) = self.payload.next_arrived() {
                group.extend(self.add(arrived));
            } else if group.is_empty() {
                let arrived = self.payload.next().await;
                group.extend(self.add(arrived));
            } else {
                break;
            }
        }
        (!group.is_empty()).then_some(group)
    }

    fn add(&mut self, arrived: Option<Result<Bytes, PayloadError>>) -> Option<Line> {
        match arrived {
            Some(Ok(chunk)) => self.buffer.push(&chunk),
            Some(Err(error)) => {
                self.ended = true;
                return Some(self.buffer.fail(body::broken(&error)));
            }
            None => {
                self.ended = true;
                self.buffer.push(b"\n");
            }
        }
        None
    }
}
