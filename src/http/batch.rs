//! `/things/batch`: many descriptions as lines in, one result a line out, both as streams.
//!
//! Many writes are in flight at once, so that they share group commits; results come in the order of
//! the lines. A bad line spoils nothing but itself. A client has to read while it sends: when its
//! results pile up, no more of its lines are taken.

use std::rc::Rc;

use actix_web::{
    HttpRequest, HttpResponse, rt,
    web::{self, Bytes, BytesMut, Data},
};
use futures_util::{Stream, StreamExt, stream};
use serde_json::{Value, json};

use super::{Context, body, formats::explain, parameters::Parameters, problem::Problem, thing};
use crate::{
    Error, Registry,
    convert::Format,
    registry::{Effect, Write, Written},
};

/// How many writes are in flight at once.
const IN_FLIGHT: usize = 64;

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

/// `POST /things/batch`
#[utoipa::path(
    post,
    path = "/things/batch",
    tag = "things",
    summary = "Register many descriptions, one a line",
    params(
        ("dry_run" = Option<bool>, Query, description = "Check everything and write nothing"),
    ),
    request_body(content((super::schemas::ThingDescription = "application/x-ndjson"))),
    responses(
        (status = 200, description = "One line for each line, in its order", body = super::schemas::BatchResult, content_type = "application/x-ndjson"),
        super::schemas::Refusals,
        super::schemas::BodyRefusals,
    )
)]
pub(super) async fn write(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let dry_run = Parameters::parse(&request, &["dry_run"])?.flag("dry_run")?;
    body::check_type(&request, &body::LINES)?;
    let lines = Lines::new(body::decoded(&request, payload)?, context.options.body_limit);
    let registry = Rc::new(context.registry.clone());
    let results = lines.into_stream().map(move |(number, line)| {
        let registry = registry.clone();
        // A task each: they take turns with the requests of others.
        rt::spawn(async move {
            let result = match line {
                Ok(json) => store(&registry, json, dry_run).await,
                Err(problem) => Err(problem),
            };
            result_line(number, result, dry_run)
        })
    });
    let answer = results.buffered(IN_FLIGHT).map(|line| line.map_err(|_| Error::ShuttingDown));
    Ok(HttpResponse::Ok().content_type("application/x-ndjson").streaming(answer))
}

/// Creates or replaces what has an id, creates what has none.
async fn store(registry: &Registry, json: Bytes, dry_run: bool) -> Result<Written, Problem> {
    let large = json.len() > thing::LARGE;
    match thing::commit(registry, Write::put(json.clone()).dry_run(dry_run), large).await {
        Err(Error::MissingId) => thing::commit(registry, Write::create(json.clone()).dry_run(dry_run), large).await,
        written => written,
    }
    .map_err(|error| explain(error, &json, Format::ThingDescription))
}

fn result_line(number: u64, result: Result<Written, Problem>, dry_run: bool) -> Bytes {
    let result: Value = match result {
        Ok(written) if dry_run => {
            let mut foreseen = thing::foreseen(&written);
            foreseen["line"] = number.into();
            foreseen["status"] = 200.into();
            foreseen
        }
        Ok(written) => json!({
            "line": number,
            "id": written.id,
            "status": if written.effect == Effect::Created { 201 } else { 204 },
            "etag": format!("\"{}\"", written.seq),
            "warnings": written.warnings,
        }),
        Err(problem) => json!({"line": number, "status": problem.status().as_u16(), "problem": problem.document()}),
    };
    format!("{result}\n").into()
}

/// Lines of a body, each of at most `maximum` bytes.
struct Lines {
    payload: body::Decoded,
    buffer: BytesMut,
    maximum: usize,
    number: u64,
    /// Whether the rest of a line that is too long is being passed over.
    skipping: bool,
    ended: bool,
}

type Line = (u64, Result<Bytes, Problem>);

impl Lines {
    fn new(payload: body::Decoded, maximum: usize) -> Lines {
        Lines { payload, buffer: BytesMut::new(), maximum, number: 0, skipping: false, ended: false }
    }

    fn into_stream(self) -> impl Stream<Item = Line> {
        stream::unfold(self, |mut lines| async move { lines.next().await.map(|line| (line, lines)) })
    }

    /// The next line that isn't blank.
    async fn next(&mut self) -> Option<Line> {
        loop {
            if let Some(line) = self.take_line() {
                return Some(line);
            }
            if self.ended {
                return None;
            }
            match self.payload.next().await {
                Some(Ok(chunk)) => self.buffer.extend_from_slice(&chunk),
                Some(Err(error)) => {
                    self.ended = true;
                    self.buffer.clear();
                    return Some((self.number + 1, Err(body::broken(&error))));
                }
                None => {
                    self.ended = true;
                    self.buffer.extend_from_slice(b"\n");
                }
            }
        }
    }

    /// A line that is completely in the buffer, or too long to ever be.
    fn take_line(&mut self) -> Option<Line> {
        while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
            let line = self.buffer.split_to(end + 1).freeze();
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            self.number += 1;
            if line.len() > self.maximum + 1 {
                return Some((self.number, Err(Problem::body_too_large(self.maximum))));
            }
            if !line.trim_ascii().is_empty() {
                return Some((self.number, Ok(line)));
            }
        }
        if self.skipping {
            self.buffer.clear();
        } else if self.buffer.len() > self.maximum {
            self.buffer.clear();
            self.skipping = true;
            self.number += 1;
            return Some((self.number, Err(Problem::body_too_large(self.maximum))));
        }
        None
    }
}
