//! Around every request: its id, its place in the metrics, its log line, and the promise that every
//! failure is a problem document.
//!
//! One small middleware instead of several: it is on the path of every read.

use std::{
    future::{Ready, ready},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use actix_web::{
    Error, ResponseError,
    body::MessageBody,
    dev::{Service, ServiceRequest, ServiceResponse, Transform, forward_ready},
    http::{
        Method,
        header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, VARY},
    },
    web::Data,
};
use futures_util::future::LocalBoxFuture;

use super::{
    Context,
    metrics::CountedPath,
    problem::{PROBLEM_JSON, Problem},
};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest request id that is taken over from a client.
const MAX_REQUEST_ID: usize = 128;

/// The middleware of one resource.
pub(super) struct Observe {
    context: Data<Context>,
    path: CountedPath,
    /// Whether answers are compressed for those who accept it.
    is_compressed: bool,
}

impl Observe {
    pub(super) fn new(context: &Data<Context>, path: &str, is_compressed: bool) -> Observe {
        Observe { context: context.clone(), path: CountedPath::of(path), is_compressed }
    }
}

impl<S, B> Transform<S, ServiceRequest> for Observe
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error> + 'static,
    B: MessageBody + 'static,
{
    type Response = ServiceResponse;
    type Error = Error;
    type Transform = Observed<S>;
    type InitError = ();
    type Future = Ready<Result<Observed<S>, ()>>;

    fn new_transform(&self, service: S) -> Self::Future {
        let (context, path, is_compressed) = (self.context.clone(), self.path, self.is_compressed);
        ready(Ok(Observed { service, context, path, is_compressed }))
    }
}

/// A resource that is observed.
pub(super) struct Observed<S> {
    service: S,
    context: Data<Context>,
    path: CountedPath,
    is_compressed: bool,
}

impl<S, B> Service<ServiceRequest> for Observed<S>
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error> + 'static,
    B: MessageBody + 'static,
{
    type Response = ServiceResponse;
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self::Response, Error>>;

    forward_ready!(service);

    fn call(&self, request: ServiceRequest) -> Self::Future {
        let started = Instant::now();
        let request_id = request_id(request.headers());
        let (context, path) = (self.context.clone(), self.path);
        let is_compressed = self.is_compressed && matches!(*request.method(), Method::GET | Method::HEAD);
        let answer = self.service.call(request);
        Box::pin(async move {
            let response = answer.await?;
            let elapsed = started.elapsed();
            context.metrics.count(path, response.request().method(), response.status(), elapsed);
            log(&response, &request_id, elapsed);
            let mut response = with_problem_document(response);
            response.headers_mut().insert(REQUEST_ID, request_id);
            if is_compressed {
                vary_by_coding(response.headers_mut());
            }
            Ok(response)
        })
    }
}

/// The id that the client gave, if it is fit for logs and headers, else a new one.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    static PROCESS: LazyLock<u32> = LazyLock::new(|| uuid::Uuid::new_v4().as_fields().0);
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let sane =
        |id: &&HeaderValue| (1..=MAX_REQUEST_ID).contains(&id.len()) && id.as_bytes().iter().all(u8::is_ascii_graphic);
    match headers.get(REQUEST_ID).filter(sane) {
        Some(given) => given.clone(),
        None => {
            let mut id = *b"00000000-0000000000";
            let (process, number) = (*PROCESS, NEXT.fetch_add(1, Ordering::Relaxed));
            put_hexadecimal(&mut id[..8], process.into());
            put_hexadecimal(&mut id[9..], number);
            HeaderValue::from_bytes(&id).unwrap_or(HeaderValue::from_static("none"))
        }
    }
}

fn put_hexadecimal(digits: &mut [u8], mut number: u64) {
    for digit in digits.iter_mut().rev() {
        *digit = b"0123456789abcdef"[(number % 16) as usize];
        number /= 16;
    }
}

/// Tells caches that the answer depends on `Accept-Encoding`, also if it happens not to be compressed.
fn vary_by_coding(headers: &mut HeaderMap) {
    let names = |value: &HeaderValue| value.to_str().is_ok_and(|names| names.ends_with("accept-encoding"));
    if !headers.get_all(VARY).any(names) {
        headers.append(VARY, HeaderValue::from_static("accept-encoding"));
    }
}

/// Answers that fail without a problem document come from actix or its middleware; they get one.
fn with_problem_document<B: MessageBody + 'static>(response: ServiceResponse<B>) -> ServiceResponse {
    let status = response.status();
    let is_failure = status.is_client_error() || status.is_server_error();
    let is_problem = || response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == PROBLEM_JSON);
    if !is_failure || is_problem() {
        return response.map_into_boxed_body();
    }
    let (request, bare) = response.into_parts();
    let mut answer = Problem::of_status(status).error_response();
    for (name, value) in bare.headers() {
        if ![CONTENT_TYPE, CONTENT_LENGTH, CONTENT_ENCODING].contains(name) {
            answer.headers_mut().append(name.clone(), value.clone());
        }
    }
    ServiceResponse::new(request, answer)
}

/// One line a request: what failed inside as an error, writes and refusals as information, the rest
/// for those who look closely.
fn log<B>(response: &ServiceResponse<B>, request_id: &HeaderValue, elapsed: Duration) {
    let failure = response.response().error();
    let internal = failure.and_then(|error| error.as_error::<Problem>()).and_then(Problem::internal);
    let status = response.status();
    macro_rules! line {
        ($level:expr $(, $field:ident = $value:expr)*) => {
            tracing::event!(
                target: "agentdex::access", $level,
                method = %response.request().method(), path = response.request().path(), status = status.as_u16(),
                milliseconds = elapsed.as_micros() as f64 / 1000.0,
                request_id = request_id.to_str().unwrap_or_default(), trace_id = trace_id(response.request().headers()),
                $($field = $value,)* "request"
            )
        };
    }
    let is_read = matches!(*response.request().method(), Method::GET | Method::HEAD);
    match internal {
        Some(error) => line!(tracing::Level::ERROR, error = error as &dyn std::error::Error),
        None if is_read && !status.is_client_error() => line!(tracing::Level::DEBUG),
        None => line!(tracing::Level::INFO),
    }
}

/// The trace id of a W3C `traceparent`: `00-<32 digits>-<16 digits>-<2 digits>`.
fn trace_id(headers: &HeaderMap) -> Option<&str> {
    let parent = headers.get("traceparent")?.to_str().ok()?;
    let mut parts = parent.split('-');
    let (version, trace) = (parts.next()?, parts.next()?);
    let sane = version.len() == 2 && trace.len() == 32 && trace.bytes().all(|byte| byte.is_ascii_hexdigit());
    sane.then_some(trace)
}
