//! The HTTP API, on actix-web: the WoT Discovery directory API and what users of a registry expect besides.
//!
//! Handlers parse, call the registry, respond. One file a resource; [`problem`] is the one table from
//! errors to statuses. [`Server`] serves the API on a socket of its own; [`configure`] mounts it into
//! an application of yours.

mod address;
mod batch;
mod blocking;
mod body;
mod changes;
mod compression;
mod conditions;
mod documents;
mod events;
mod feed;
mod health;
mod history;
mod home;
mod import;
mod listing;
mod marks;
mod metrics;
#[cfg(feature = "mqtt")]
mod mqtt;
mod observe;
mod openapi;
mod original;
mod own_description;
mod parameters;
mod problem;
mod query_languages;
mod schemas;
mod search;
mod selection;
mod server;
mod stop;
mod thing;
mod things;
mod validate;

use std::time::Duration;

use actix_cors::Cors;
use actix_web::{
    FromRequest, Handler, HttpRequest, HttpResponse, Resource, Responder, Route, guard,
    http::{Method, Uri},
    web::{self, Data, ServiceConfig},
};

use self::{
    compression::CompressIfAsked, feed::Feed, marks::Marks, metrics::Metrics, observe::Observe, problem::Problem,
};
pub use self::{openapi::openapi, server::Server, stop::Stop};
use crate::{Error, Registry, td};

/// How the API behaves. The default suits a server on one machine.
#[derive(Debug, Clone)]
pub struct Options {
    /// The origins whose pages may call the API from a browser, such as `https://example.org`; `*` is
    /// every origin. None: no CORS headers are sent. [`Options::check`] says what is none.
    pub cors_origins: Vec<String>,
    /// The largest body of a request in bytes; a batch is limited line by line.
    pub body_limit: usize,
    /// The URL that clients reach the API under, where it isn't what they put into `Host`: behind a
    /// proxy that changes it.
    pub public_url: Option<String>,
    /// Threads that serve requests; none: as many as there are cores.
    pub workers: Option<usize>,
    /// How long an event stream is silent before it says that it is alive.
    pub heartbeat: Duration,
    /// Ends event streams and long polls.
    pub stop: Stop,
    /// Where clients are brought that speak MQTT over WebSocket at `/mqtt`; none: they aren't.
    #[cfg(feature = "mqtt")]
    pub mqtt: Option<crate::mqtt::Door>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            cors_origins: Vec::new(),
            body_limit: td::MAX_DOCUMENT_BYTES,
            public_url: None,
            workers: None,
            heartbeat: Duration::from_secs(15),
            stop: Stop::new(),
            #[cfg(feature = "mqtt")]
            mqtt: None,
        }
    }
}

impl Options {
    /// Looks for what can't work. [`Server`] does that by itself; an application that mounts the API
    /// fails to start with an origin that is none.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`] for the first origin that isn't one.
    pub fn check(&self) -> crate::Result<()> {
        let is_origin = |text: &str| text == "*" || is_origin(text);
        match self.cors_origins.iter().find(|origin| !is_origin(origin)) {
            Some(other) => Err(Error::InvalidSetting {
                origin: "CORS origins".to_owned(),
                message: format!("{other:?} is no origin: write https://example.org, with a port if need be, or *"),
            }),
            None => Ok(()),
        }
    }
}

/// Whether a text is what browsers send as `Origin`: scheme, host in small letters, perhaps a port, and
/// no path.
fn is_origin(text: &str) -> bool {
    let Some((scheme, authority)) = text.split_once("://") else { return false };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let is_host_byte = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-_[]:".contains(&byte);
    !host.is_empty()
        && host.bytes().all(is_host_byte)
        && port.is_none_or(|port| port.parse::<u16>().is_ok())
        && text.parse::<Uri>().is_ok_and(|uri| uri.scheme_str() == Some(scheme))
}

/// What all handlers share.
struct Context {
    registry: Registry,
    options: Options,
    feed: Feed,
    marks: Marks,
    metrics: Metrics,
}

impl Context {
    fn new(registry: &Registry, options: Options) -> Data<Context> {
        Data::new(Context {
            registry: registry.clone(),
            options,
            feed: Feed::new(registry.clone()),
            marks: Marks::default(),
            metrics: Metrics::new(),
        })
    }
}

/// Mounts the API into an actix-web application, at its root or in a scope.
///
/// Paths that the API doesn't know are left to the application, as is the server: body limits,
/// problem documents, compression and CORS are the API's own. Give [`Options::stop`] when the
/// application stops, so that event streams end.
///
/// ```
/// use actix_web::{App, test, web};
///
/// # #[actix_web::main]
/// # async fn main() -> agentdex::Result<()> {
/// # let directory = std::env::temp_dir().join(format!("agentdex-mount-{}", std::process::id()));
/// let registry = agentdex::Registry::builder(&directory).open()?;
/// let api = agentdex::http::configure(&registry, agentdex::http::Options::default());
/// let app = test::init_service(App::new().service(web::scope("/registry").configure(api))).await;
///
/// let request = test::TestRequest::get().uri("/registry/things").to_request();
/// assert_eq!(test::call_and_read_body(&app, request).await, "[]");
/// # registry.close(); drop(registry); std::fs::remove_dir_all(directory).ok();
/// # Ok(())
/// # }
/// ```
pub fn configure(registry: &Registry, options: Options) -> impl Fn(&mut ServiceConfig) + Clone + Send + 'static {
    let context = Context::new(registry, options);
    move |config| Mount { context: &context }.all(config)
}

/// As [`configure`] for an application that serves nothing else: unknown paths are the API's as well.
fn configure_alone(registry: &Registry, options: Options) -> impl Fn(&mut ServiceConfig) + Clone + Send + 'static {
    let context = Context::new(registry, options);
    move |config| {
        let mount = Mount { context: &context };
        mount.all(config);
        let rest = Resource::new("/{path:.*}").default_service(web::to(unknown_path));
        mount.observed(config, "other", rest);
        // What has no path at all: `OPTIONS *`.
        config.default_service(web::to(unknown_path));
    }
}

/// A method of a resource and what answers it.
type Verb = (&'static [Method], Route);

/// Answers GET, and HEAD in the same way without a body.
fn read<F, Args>(handler: F) -> Verb
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    let either = guard::Any(guard::Get()).or(guard::Head());
    (&[Method::GET, Method::HEAD], web::route().guard(either).to(handler))
}

/// Answers one method.
fn on<F, Args>(method: &'static [Method; 1], handler: F) -> Verb
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    let [only] = method;
    (method, web::method(only.clone()).to(handler))
}

const POST: &[Method; 1] = &[Method::POST];

/// Registers resources. What is asked for most comes first, since the router tries one after the other.
struct Mount<'a> {
    context: &'a Data<Context>,
}

impl Mount<'_> {
    fn all(&self, config: &mut ServiceConfig) {
        config.app_data(self.context.clone());
        self.things(config);
        self.events(config);
        self.about(config);
    }

    fn things(&self, config: &mut ServiceConfig) {
        self.resource(config, "/things", "/things", vec![read(things::list), on(POST, things::create)]);
        self.below_things(config, "/things/{id}", is_thing, web::to(thing::any));
        self.below_things(config, "/things/{id}/history", is_history, web::to(history::any));
        self.below_things(config, "/things/{id}/agent-spec", is_agent_spec, web::to(original::any_agent_spec));
        self.below_things(config, "/things/batch", is_batch, web::to(batch::any));
        self.resource(config, "/import/agent-spec", "/import/agent-spec", vec![on(POST, import::agent_spec)]);
        self.resource(config, "/validate", "/validate", vec![on(POST, validate::document)]);
        self.resource(config, "/search", "/search", vec![read(search::things)]);
        let unoffered = || vec![read(query_languages::not_offered), on(POST, query_languages::not_offered)];
        self.resource(config, "/search/{language}", "/search/{language:jsonpath|xpath|sparql}", unoffered());
    }

    fn events(&self, config: &mut ServiceConfig) {
        self.resource(config, "/changes", "/changes", vec![read(changes::after)]);
        self.resource(config, "/events", "/events", vec![read(events::all)]);
        self.resource(config, "/events/{type}", "/events/{type:[^/]+}", vec![read(events::of_type)]);
    }

    fn about(&self, config: &mut ServiceConfig) {
        self.resource(config, "/health/live", "/health/live", vec![read(health::live)]);
        self.resource(config, "/health/ready", "/health/ready", vec![read(health::ready)]);
        self.resource(config, "/metrics", "/metrics", vec![read(metrics::exposition)]);
        #[cfg(feature = "mqtt")]
        self.resource(config, "/mqtt", "/mqtt", vec![read(mqtt::connect)]);
        self.resource(config, "/.well-known/wot", "/.well-known/wot", vec![read(own_description::page)]);
        self.resource(config, "/openapi.json", "/openapi.json", vec![read(openapi::document)]);
        self.resource(config, "/docs", "/docs", vec![read(openapi::docs_redirect)]);
        self.resource(config, "/docs/{file}", "/docs/{file:.*}", vec![read(openapi::docs)]);
        self.resource(config, "/", "/", vec![read(home::page)]);
    }

    /// One resource under a pattern; `path` is its name in the metrics.
    fn resource(&self, config: &mut ServiceConfig, path: &'static str, pattern: &str, verbs: Vec<Verb>) {
        self.observed(config, path, with_verbs(Resource::new(pattern), verbs));
    }

    fn observed(&self, config: &mut ServiceConfig, path: &'static str, resource: Resource) {
        let (compress, cors, observe) = self.middleware(path);
        match cors {
            Some(cors) => config.service(resource.wrap(compress).wrap(cors).wrap(observe)),
            None => config.service(resource.wrap(compress).wrap(observe)),
        };
    }

    /// One resource below `/things`, for the paths that are its own.
    ///
    /// An id is the rest of the path, whatever it is made of. A pattern for that would be a regular
    /// expression, which costs as much as the read behind it; so the prefix is compared as text, what
    /// the rest is for is told by its end, and `route` answers all methods.
    fn below_things(&self, config: &mut ServiceConfig, path: &'static str, is_own: fn(&str) -> bool, route: Route) {
        let (compress, cors, observe) = self.middleware(path);
        let own = guard::fn_guard(move |context| is_own(context.head().uri.path()));
        let scope = web::scope("/things").guard(own).default_service(route).wrap(compress);
        match cors {
            Some(cors) => config.service(scope.wrap(cors).wrap(observe)),
            None => config.service(scope.wrap(observe)),
        };
    }

    fn middleware(&self, path: &'static str) -> (CompressIfAsked, Option<Cors>, Observe) {
        let origins = &self.context.options.cors_origins;
        // What is sent while it is made isn't compressed: an encoder a stream costs more than it saves.
        let is_live = path.starts_with("/events") || matches!(path, "/things/batch" | "/mqtt");
        let cors = (!origins.is_empty()).then(|| cors(origins));
        (CompressIfAsked { is_offered: !is_live }, cors, Observe::new(self.context, path, !is_live))
    }
}

/// Whether a path is that of the batch, or of the Thing called `batch`.
fn is_batch(path: &str) -> bool {
    path.ends_with("/things/batch")
}

fn is_history(path: &str) -> bool {
    is_of_thing(path, "/history")
}

fn is_agent_spec(path: &str) -> bool {
    is_of_thing(path, "/agent-spec")
}

/// Whether a path is that of something of a Thing. The slash of an id that ends like it is escaped.
fn is_of_thing(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|thing| !thing.ends_with("/things"))
}

/// Whether a path is that of a Thing itself.
fn is_thing(path: &str) -> bool {
    !is_batch(path) && !is_history(path) && !is_agent_spec(path)
}

/// A resource with what answers its methods, and what refuses all others.
fn with_verbs(resource: Resource, verbs: Vec<Verb>) -> Resource {
    let allowed: Vec<&str> = verbs.iter().flat_map(|(methods, _)| methods.iter()).map(Method::as_str).collect();
    let allowed = allowed.join(", ");
    let refuse = move |request: HttpRequest| {
        let refusal = Problem::method_not_allowed(request.method().as_str(), &allowed);
        async move { Err::<&str, _>(refusal) }
    };
    let resource = verbs.into_iter().fold(resource, |resource, (_, route)| resource.route(route));
    resource.default_service(web::to(refuse))
}

/// What browsers are told about pages of other origins.
fn cors(origins: &[String]) -> Cors {
    let exposed =
        ["etag", "link", "location", "agentdex-seq", "agentdex-warnings", "preference-applied", "x-request-id"];
    let cors = Cors::default()
        .allowed_methods(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
        .allow_any_header()
        .expose_headers(exposed)
        .max_age(3600);
    if origins.iter().any(|origin| origin == "*") {
        return cors.allow_any_origin().send_wildcard();
    }
    origins.iter().fold(cors, |cors, origin| cors.allowed_origin(origin))
}

/// Answers a path that nothing is served under.
async fn unknown_path(request: HttpRequest) -> Result<HttpResponse, Problem> {
    Err(Problem::unknown_path(request.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_may_be_called_history() {
        assert!(is_history("/things/urn:x:a/history"));
        assert!(is_history("/registry/things/http://example.org/a/history"));
        assert!(!is_history("/things/history"));
        assert!(!is_history("/things/http:%2F%2Fexample.org%2Fhistory"));
        assert!(is_thing("/things/agent-spec") && !is_thing("/things/urn:x:a/agent-spec"));
    }

    #[test]
    fn origins_are_what_browsers_send() {
        for origin in ["https://example.org", "http://localhost:3000", "http://[::1]:80", "http://[::1]", "app://x"] {
            assert!(is_origin(origin), "{origin}");
        }
        for other in ["", "*", "null", "example.org", "https://", "https://a.example/", "https://A.example", "a b://c"]
        {
            assert!(!is_origin(other), "{other}");
        }
    }
}
