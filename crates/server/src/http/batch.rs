//! `/things/batch`: many descriptions as lines in, one result a line out, both as streams.
//!
//! Lines are validated and written in groups, on threads that may block: however large a batch is, other
//! requests don't wait for it, and its writes share commits. Results come in the order of the lines, and
//! so do the writes. A bad line spoils nothing but itself. A client has to read while it sends: when its
//! results pile up, no more of its lines are taken. It ends once too many lines in a row have failed, or its results are out of
//! all proportion to what was received.

use std::{cell::Cell, future::poll_fn, rc::Rc, sync::Arc, task::Poll};

use actix_web::{
    HttpRequest, HttpResponse,
    error::PayloadError,
    http::StatusCode,
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
    backpressure::Pacer,
    blocking::blocking,
    body::{self, FREE_EXPANSION, MAX_EXPANSION},
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
/// Maximum number of lines that may fail in a row: beyond it, the sender doesn't read what it is answered.
const MAX_FAILURES: usize = 1000;

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

/// Register many descriptions, one per line
///
/// A batch ends after 1,000 failed lines in a row, and once its results, or the lines of a compressed body, exceed
/// both 64 MiB and 32 times the bytes received; the last result then has a problem with the reason.
#[cfg_attr(debug_assertions, utoipa::path(
    post,
    path = "/things/batch",
    operation_id = "write_batch",
    tag = "things",
    params(
        ("dry_run" = Option<bool>, Query, description = "Check everything without writing anything"),
        super::schemas::AccessParameters,
    ),
    request_body(content((super::schemas::ThingDescription = "application/x-ndjson"))),
    responses(
        (status = 200, description = "One result line for each line, in the same order", body = agentdex_api::BatchResult, content_type = "application/x-ndjson"),
        super::schemas::Refusals,
        super::schemas::BodyRefusals,
    )
))]
pub(super) async fn write(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let parameters = Parameters::parse(&request, &["dry_run", "visibility", "namespace", "versions"])?;
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
    let tally = Rc::new(Tally::default());
    let pacer = Pacer::new(&context, request);
    let groups = Groups::new(body::decoded(request, payload)?, line_limit, tally.clone(), pacer);
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
    let results = results.buffered(GROUPS_AT_ONCE).map(move |group| {
        let results = group?;
        tally.end(&results);
        Ok::<Bytes, Error>(results.text.into())
    });
    Ok(HttpResponse::Ok().content_type(body::NDJSON).streaming(results))
}

/// The results of a group, in its order.
#[derive(Default)]
struct Results {
    text: String,
    lines: usize,
    /// Number of failed lines at its end.
    failed: usize,
}

impl Results {
    fn add(&mut self, number: u64, result: Result<Written, Problem>, dry_run: bool) {
        self.failed = if result.is_err() { self.failed + 1 } else { 0 };
        self.lines += 1;
        self.text += &result_line(number, result, dry_run);
    }
}

/// Counts of the results up to the last line whose result is known, and of the lines whose results aren't.
#[derive(Default)]
struct Tally {
    failed_in_a_row: Cell<usize>,
    /// Number of bytes of the results.
    answered: Cell<u64>,
    unknown: Cell<usize>,
}

impl Tally {
    /// Returns the number of lines that may be processed now without processing one too many, should all of them fail.
    /// Waits while that depends on results that aren't known; these are awaited by whoever polls this.
    async fn room(&self) -> usize {
        poll_fn(|_| match MAX_FAILURES.saturating_sub(self.failed_in_a_row.get() + self.unknown.get()) {
            0 if self.unknown.get() > 0 => Poll::Pending,
            room => Poll::Ready(room),
        })
        .await
    }

    /// Notes that lines are processed.
    fn begin(&self, lines: usize) {
        self.unknown.update(|unknown| unknown + lines);
    }

    /// Notes the results of the lines that began first.
    fn end(&self, Results { text, lines, failed }: &Results) {
        self.unknown.update(|unknown| unknown.saturating_sub(*lines));
        self.failed_in_a_row.update(|before| if failed == lines { before + failed } else { *failed });
        self.answered.update(|answered| answered + text.len() as u64);
    }
}

fn too_many_failures() -> Problem {
    let detail = format!(
        "{MAX_FAILURES} lines in a row have failed; this line and all after it are not processed. Correct the failed \
         lines, and send all these lines again"
    );
    Problem::new(StatusCode::BAD_REQUEST, "too-many-failures", detail)
}

fn excessive_results() -> Problem {
    let detail = format!(
        "the results exceed both {FREE_EXPANSION} bytes and {MAX_EXPANSION} times the received bytes; this line and \
         all after it are not processed. Send them as another batch"
    );
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "excessive-results", detail)
}

/// Writes the lines of a group; `turn` is over once all of them are submitted.
async fn write_group(
    registry: &Registry,
    group: Vec<Line>,
    dry_run: bool,
    store: &impl AsyncFn(&Registry, Bytes) -> Result<Written, Problem>,
    turn: impl Sized,
) -> Results {
    let writes = group.into_iter().map(|(number, line)| async move {
        let result = match line {
            Ok(json) => store(registry, json).await,
            Err(problem) => Err(problem),
        };
        (number, result)
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
    let mut results = Results::default();
    for (number, result) in writes.iter_mut().filter_map(|write| write.as_mut().take_output()) {
        results.add(number, result, dry_run);
    }
    results
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
    tally: Rc<Tally>,
    /// True if nothing more arrives.
    ended: bool,
    /// True if no further lines are processed, whether they have arrived or not.
    stopped: bool,
    /// Holds up a batch of whoever holds up the searches of others.
    pacer: Pacer,
}

impl Groups {
    fn new(payload: body::Decoded, maximum: usize, tally: Rc<Tally>, pacer: Pacer) -> Groups {
        Groups { payload, buffer: LineBuffer::new(maximum), tally, ended: false, stopped: false, pacer }
    }

    fn into_stream(self) -> impl Stream<Item = Vec<Line>> {
        stream::unfold(self, |mut groups| async move { groups.next().await.map(|group| (group, groups)) })
    }

    /// Returns the next group; waits for the first of its lines, and until it may be written. At the end of a batch that doesn't
    /// go on it is one line, with the problem that says why.
    async fn next(&mut self) -> Option<Vec<Line>> {
        if self.stopped {
            return None;
        }
        let room = self.tally.room().await;
        let mut group = self.read(room.clamp(1, GROUP_LINES)).await;
        let refusal = match room {
            0 => Some(too_many_failures()),
            _ if !self.payload.allows(self.tally.answered.get()) => Some(excessive_results()),
            _ => None,
        };
        if let (Some(problem), Some((_, line))) = (refusal, group.first_mut()) {
            *line = Err(problem);
            group.truncate(1);
            self.stopped = true;
        }
        if group.is_empty() {
            return None;
        }
        self.tally.begin(group.len());
        self.pacer.wait().await;
        Some(group)
    }

    /// Reads at most this many lines; waits only for the first of them.
    async fn read(&mut self, most: usize) -> Vec<Line> {
        let (mut group, mut bytes) = (Vec::new(), 0);
        while group.len() < most && bytes < GROUP_BYTES {
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
        group
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

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn lines_are_processed_as_long_as_none_is_too_many() {
        let tally = Tally::default();
        let room = || tally.room().now_or_never();
        let end = |lines, failed| tally.end(&Results { text: "12345".to_owned(), lines, failed });
        assert_eq!(room(), Some(MAX_FAILURES));
        tally.begin(128);
        assert_eq!(room(), Some(MAX_FAILURES - 128));
        tally.begin(MAX_FAILURES - 128);
        assert_eq!(room(), None, "it depends on the results of all of them");
        end(128, 128);
        assert_eq!(room(), None);
        end(MAX_FAILURES - 128, 1);
        assert_eq!(room(), Some(MAX_FAILURES - 1), "one line was written");
        tally.begin(MAX_FAILURES - 1);
        end(MAX_FAILURES - 1, MAX_FAILURES - 1);
        assert_eq!((room(), tally.answered.get()), (Some(0), 15));
    }
}
