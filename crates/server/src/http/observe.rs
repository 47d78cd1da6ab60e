//! Around every request: whether its sender may send it, its id, metrics and log line, headers that protect
//! browsers, and the promise that every failure is a problem document. A request is measured to the end of the response's body.
//!
//! One small middleware instead of several: it is on the path of every read.

use std::{
    future::{Ready, ready},
    pin::Pin,
    rc::Rc,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    task::{Poll, ready as ready_or_pending},
    time::Instant,
};

use actix_web::{
    Error, HttpMessage, HttpRequest, ResponseError,
    body::{BodySize, BoxBody, MessageBody},
    dev::{Service, ServiceRequest, ServiceResponse, Transform, forward_ready},
    http::{
        Method, StatusCode,
        header::{
            AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap,
            HeaderName, HeaderValue, STRICT_TRANSPORT_SECURITY, VARY, X_CONTENT_TYPE_OPTIONS,
        },
    },
    web::{Bytes, Data},
};
use futures_util::future::LocalBoxFuture;

use super::{
    a2a, access, audit, cluster,
    context::Context,
    cors, cross_site, mcp_registry,
    metrics::RouteMetrics,
    problem::{PROBLEM_JSON, Problem},
    protected_resource::MCP,
    rates::Client,
    since,
};
use crate::access::Caller;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Default content security policy of responses, unless the handler sets another one: it allows nothing.
const NO_CONTENT_POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
/// For a year, browsers that came over TLS don't come without it.
const TLS_ONLY: HeaderValue = HeaderValue::from_static("max-age=31536000");
/// The longest request id that is accepted from a client.
const MAX_REQUEST_ID: usize = 128;

/// The middleware of one resource.
pub(super) struct Observe {
    context: Data<Context>,
    /// The name of the resource in the table of what is needed.
    path: &'static str,
    needs: access::Needs,
    route: Arc<RouteMetrics>,
    /// True if responses are compressed for clients that accept it.
    is_compressed: bool,
}

impl Observe {
    pub(super) fn new(context: &Data<Context>, path: &'static str, is_compressed: bool) -> Observe {
        Observe {
            context: context.clone(),
            path,
            needs: access::Needs::of(path),
            route: context.metrics.route(path),
            is_compressed,
        }
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
        let (context, route, is_compressed) = (self.context.clone(), self.route.clone(), self.is_compressed);
        let (path, needs) = (self.path, self.needs);
        ready(Ok(Observed { service: Rc::new(service), context, path, needs, route, is_compressed }))
    }
}

/// A resource that is observed.
pub(super) struct Observed<S> {
    service: Rc<S>,
    context: Data<Context>,
    path: &'static str,
    needs: access::Needs,
    route: Arc<RouteMetrics>,
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
        let (service, context, route, path, needs) =
            (self.service.clone(), self.context.clone(), self.route.clone(), self.path, self.needs);
        let is_write = !request.method().is_safe();
        let is_compressed = self.is_compressed && matches!(*request.method(), Method::GET | Method::HEAD);
        Box::pin(async move {
            let response = match prepare(&context, path, needs, &request).await {
                Ok(()) => service.call(request).await?.map_into_boxed_body(),
                Err(problem) => refuse(&context, path, request, problem),
            };
            let (request, status) = (response.request().clone(), response.status());
            audit::note(&context, &request, path, status);
            let exchange = Exchange { route, request, status, request_id: request_id.clone(), started };
            let mut response = mcp_registry::complete(path, exchange.observe(response));
            let headers = response.headers_mut();
            headers.insert(REQUEST_ID, request_id);
            if is_write && status.is_success() {
                since::show_position(&context, headers);
            }
            headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
            if !headers.contains_key(CONTENT_SECURITY_POLICY) {
                headers.insert(CONTENT_SECURITY_POLICY, NO_CONTENT_POLICY);
            }
            if context.options.is_encrypted() {
                headers.insert(STRICT_TRANSPORT_SECURITY, TLS_ONLY);
            }
            if is_compressed {
                vary_by_coding(headers);
            }
            Ok(response)
        })
    }
}

/// Checks a request, and waits until this node of a cluster is far enough to handle it.
async fn prepare(
    context: &Data<Context>,
    path: &str,
    needs: access::Needs,
    request: &ServiceRequest,
) -> Result<(), Problem> {
    admit(context, path, needs, request).await?;
    cluster::reach_minimum(context, request.request()).await?;
    match needs.may_write(request.method()) && context.is_node() {
        true => cluster::catch_up(context, path).await,
        false => Ok(()),
    }
}

/// Checks the host and origin of a request, the role of its caller, and the rate of its client. A caller that proved
/// its identity is stored in the extensions of the request.
async fn admit(context: &Context, path: &str, needs: access::Needs, request: &ServiceRequest) -> Result<(), Problem> {
    if path == MCP {
        context.hosts.check_strictly(request.head(), &context.options)?;
    }
    context.hosts.check(request.head(), &context.options)?;
    cross_site::check(path, request.head(), &context.hosts, &context.options)?;
    cluster::check(context, path)?;
    let (caller, allowed) = access::check(context, path, needs, request.request()).await;
    let client = match &caller {
        Some(Caller::Principal(principal)) => Client::Key(principal.key.clone()),
        _ => Client::at(request.peer_addr().map(|peer| peer.ip())),
    };
    let is_valid = caller.is_some() || allowed.is_ok() || !request.headers().contains_key(AUTHORIZATION);
    if let Some(caller) = caller {
        request.extensions_mut().insert(caller);
    }
    // Whether a server lives is answered whoever asks how often.
    if path != "/health/live" {
        context.rates.take(client, is_valid)?;
    }
    allowed
}

/// The response to a request that isn't let through, which pages of other origins may read where they may use the API.
fn refuse(context: &Context, path: &str, request: ServiceRequest, problem: Problem) -> ServiceResponse {
    let problem = if path.starts_with(a2a::REST) { a2a::with_status(problem) } else { problem };
    let mut response = problem.error_response();
    cors::allow_to_read(&context.options.cors_origins, request.headers(), response.headers_mut());
    request.into_response(response)
}

/// A request and its response, until the body of the response has ended.
struct Exchange {
    route: Arc<RouteMetrics>,
    request: HttpRequest,
    status: StatusCode,
    request_id: HeaderValue,
    started: Instant,
}

impl Exchange {
    /// Ends with the body of the response: at once where that is in memory.
    fn observe<B: MessageBody + 'static>(self, response: ServiceResponse<B>) -> ServiceResponse {
        if self.status.is_client_error() || self.status.is_server_error() {
            let failure = response.response().error().and_then(|error| error.as_error::<Problem>());
            self.end(true, failure.and_then(Problem::internal));
            return with_problem_document(response);
        }
        response.map_body(|_, body| {
            let body = body.boxed();
            if *self.request.method() == Method::HEAD || body.size() == BodySize::None {
                self.end(true, None);
                return body;
            }
            match body.try_into_bytes() {
                Ok(bytes) => {
                    self.end(true, None);
                    BoxBody::new(bytes)
                }
                Err(body) => BoxBody::new(ObservedBody { body, exchange: self, is_complete: false }),
            }
        })
    }

    /// Counts and logs it: what failed inside as an error, the rest for debugging.
    fn end(&self, is_complete: bool, internal: Option<&crate::Error>) {
        let elapsed = self.started.elapsed();
        let (request, status) = (&self.request, self.status);
        self.route.count(request.method(), status, elapsed);
        macro_rules! line {
            ($level:expr $(, $field:ident = $value:expr)*) => {
                tracing::event!(
                    target: "agentdex::access", $level,
                    method = %request.method(), path = request.path(), status = status.as_u16(),
                    milliseconds = elapsed.as_micros() as f64 / 1000.0, complete = is_complete,
                    request_id = self.request_id.to_str().unwrap_or_default(), trace_id = trace_id(request.headers()),
                    $($field = $value,)* "request"
                )
            };
        }
        match internal {
            Some(error) => line!(tracing::Level::ERROR, error = error as &dyn std::error::Error),
            None => line!(tracing::Level::DEBUG),
        }
    }
}

/// A body that is made while it is sent. Its exchange ends when it has ended, or the client has left.
struct ObservedBody {
    body: BoxBody,
    exchange: Exchange,
    is_complete: bool,
}

impl MessageBody for ObservedBody {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        let chunk = ready_or_pending!(Pin::new(&mut self.body).poll_next(context));
        self.is_complete = chunk.is_none();
        Poll::Ready(chunk)
    }
}

impl Drop for ObservedBody {
    fn drop(&mut self) {
        self.exchange.end(self.is_complete, None);
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

/// Tells caches that the response depends on `Accept-Encoding`, also where it is not compressed.
fn vary_by_coding(headers: &mut HeaderMap) {
    let names = |value: &HeaderValue| value.to_str().is_ok_and(|names| names.ends_with("accept-encoding"));
    if !headers.get_all(VARY).any(names) {
        headers.append(VARY, HeaderValue::from_static("accept-encoding"));
    }
}

/// Adds a problem document to failures that have none: those of actix and its middleware.
fn with_problem_document<B: MessageBody + 'static>(response: ServiceResponse<B>) -> ServiceResponse {
    let status = response.status();
    let is_failure = status.is_client_error() || status.is_server_error();
    // An error of JSON-RPC says itself what is wrong.
    let says_why = |kind: &HeaderValue| kind == PROBLEM_JSON || kind == "application/json";
    let is_problem = || response.headers().get(CONTENT_TYPE).is_some_and(says_why);
    if !is_failure || is_problem() {
        return response.map_into_boxed_body();
    }
    let (request, bare) = response.into_parts();
    let mut failure = Problem::of_status(status).error_response();
    for (name, value) in bare.headers() {
        if ![CONTENT_TYPE, CONTENT_LENGTH, CONTENT_ENCODING].contains(name) {
            failure.headers_mut().append(name.clone(), value.clone());
        }
    }
    ServiceResponse::new(request, failure)
}

/// The trace id of a W3C `traceparent`: `00-<32 digits>-<16 digits>-<2 digits>`.
fn trace_id(headers: &HeaderMap) -> Option<&str> {
    let parent = headers.get("traceparent")?.to_str().ok()?;
    let mut parts = parent.split('-');
    let (version, trace) = (parts.next()?, parts.next()?);
    let sane = version.len() == 2 && trace.len() == 32 && trace.bytes().all(|byte| byte.is_ascii_hexdigit());
    sane.then_some(trace)
}
