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
mod host;
mod import;
mod imports;
mod limits;
mod lines;
mod listing;
mod metrics;
mod mount;
#[cfg(feature = "mqtt")]
mod mqtt;
mod negotiation;
mod network;
mod observe;
mod openapi;
mod options;
mod own_description;
mod page_token;
mod parameters;
mod problem;
mod process;
mod progress;
mod query_languages;
mod schemas;
mod search;
mod selection;
mod server;
mod stop;
mod thing;
mod things;
mod validate;

use std::sync::Arc;

use actix_web::{
    HttpRequest, HttpResponse, Resource,
    web::{self, Data, ServiceConfig},
};

use self::{host::Hosts, limits::Places, metrics::Metrics, mount::Mount, network::Network, problem::Problem};
pub use self::{
    host::name_in_listen_address, limits::Limits, openapi::openapi, options::Options, server::Server, stop::Stop,
};
use crate::Registry;

/// What all handlers share.
struct Context {
    registry: Registry,
    options: Options,
    hosts: Hosts,
    /// Those of a [`Server`].
    connections: Arc<Places>,
    /// Event streams, long polls, and MQTT over WebSocket.
    streams: Arc<Places>,
    metrics: Metrics,
    network: Network,
}

impl Context {
    fn shared(registry: &Registry, options: Options) -> Data<Context> {
        Data::new(Context {
            registry: registry.clone(),
            hosts: Hosts::of(&options),
            connections: options.limits.connection_places(),
            streams: options.limits.stream_places(),
            metrics: Metrics::new(),
            network: Network::default(),
            options,
        })
    }
}

/// Mounts the API into an actix-web application, at its root or in a scope.
///
/// Paths that the API doesn't know are left to the application, as is the server and with it the limits on
/// connections: body limits, time-outs of bodies, checks of `Host` and `Origin`, problem documents, compression
/// and CORS are the API's own. Give [`Options::stop`] when the
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
    let context = Context::shared(registry, options);
    move |config| Mount { context: &context }.all(config)
}

/// As [`configure`] for an application that serves nothing else: unknown paths are the API's as well.
fn configure_alone(context: Data<Context>) -> impl Fn(&mut ServiceConfig) {
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
