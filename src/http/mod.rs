//! The HTTP API, on actix-web: the WoT Discovery directory API and what else users of a registry expect.
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
mod export;
mod feed;
mod formats;
mod health;
mod history;
mod home;
mod import;
mod imports;
mod listing;
mod marks;
mod metrics;
mod mount;
#[cfg(feature = "mqtt")]
mod mqtt;
mod negotiation;
mod network;
mod observe;
mod openapi;
mod origin;
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

use actix_web::{
    HttpRequest, HttpResponse, Resource,
    http::Uri,
    web::{self, Data, ServiceConfig},
};

use self::{marks::Marks, metrics::Metrics, mount::Mount, network::Network, problem::Problem};
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
    pub mqtt: Option<crate::mqtt::EndpointHandle>,
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
    marks: Marks,
    metrics: Metrics,
    network: Network,
}

impl Context {
    fn new(registry: &Registry, options: Options) -> Data<Context> {
        Data::new(Context {
            registry: registry.clone(),
            options,
            marks: Marks::default(),
            metrics: Metrics::new(),
            network: Network::default(),
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

/// Answers a path that nothing is served under.
async fn unknown_path(request: HttpRequest) -> Result<HttpResponse, Problem> {
    Err(Problem::unknown_path(request.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
