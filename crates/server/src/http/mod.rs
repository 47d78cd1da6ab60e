//! The HTTP API, on actix-web: the WoT Discovery directory API and what else users of a registry expect, with a web page
//! for people at its root.
//!
//! Handlers parse, call the registry, respond. One file a resource; [`problem`] is the one table from
//! errors to statuses. [`Server`] serves the API on a socket of its own; [`configure`] mounts it into
//! an application of yours.

mod a2a;
mod access;
mod address;
mod agent_call;
mod agent_events;
mod agent_property;
mod announcements;
mod answer;
mod aos;
mod audit;
mod backpressure;
mod backup;
mod batch;
mod blocking;
mod body;
mod caller;
mod changes;
mod clock;
mod cluster;
mod compatible;
mod compose;
mod compression;
mod conditions;
mod connect;
mod context;
mod conversation;
mod convert;
mod cors;
mod cross_site;
mod demo;
mod docs;
mod documents;
mod event_stream;
mod events;
mod export;
mod exposition;
mod feed;
mod formats;
mod guide;
mod gzipped;
mod health;
mod history;
mod home;
mod host;
mod import;
mod imports;
mod jsonpath;
mod keys;
mod limits;
mod lines;
mod listening;
mod listing;
mod mcp;
mod mcp_registry;
mod metrics;
mod mount;
mod mqtt;
mod namespaces;
mod negotiation;
mod network;
mod observe;
mod openapi;
mod options;
mod own_description;
mod pace;
mod page;
mod page_token;
mod parameters;
mod problem;
mod process;
mod progress;
mod protected_resource;
mod queries;
mod query_languages;
mod rates;
mod rdf;
mod records;
mod sacp;
#[cfg(debug_assertions)]
mod schemas;
mod search;
mod selection;
mod server;
mod since;
mod sparql;
mod stop;
mod thing;
mod thing_access;
mod things;
mod validate;
mod versions;

use actix_web::web::{Data, ServiceConfig};

#[cfg(debug_assertions)]
pub use self::schemas::openapi;
use self::{context::Context, mount::Mount};
pub use self::{
    demo::{Activity, Demo},
    host::name_in_listen_address,
    limits::Limits,
    openapi::openapi_document,
    options::Options,
    server::Server,
    stop::Stop,
};
use crate::Registry;

/// Mounts the API into an actix-web application, at its root or in a scope.
///
/// Paths that the API doesn't know are left to the application, as is the server and with it the limits on
/// connections: body limits, time-outs of bodies, checks of `Host` and `Origin`, problem documents, compression
/// and CORS are the API's own. Event streams end when the server stops: within half a second, since actix-web doesn't say
/// so and it is found out. [`Options::stop`] ends them at once.
///
/// ```
/// use actix_web::{App, test, web};
///
/// # #[actix_web::main]
/// # async fn main() -> agentdex::Result<()> {
/// # let directory = std::env::temp_dir().join(format!("agentdex-mount-{}", std::process::id()));
/// let registry = agentdex::Registry::builder(&directory).open()?;
/// let api = agentdex_server::http::configure(&registry, agentdex_server::http::Options::default());
/// let app = test::init_service(App::new().service(web::scope("/registry").configure(api))).await;
///
/// let request = test::TestRequest::get().uri("/registry/things").to_request();
/// assert_eq!(test::call_and_read_body(&app, request).await, "[]");
/// # registry.close(); drop(registry); std::fs::remove_dir_all(directory).ok();
/// # Ok(())
/// # }
/// ```
pub fn configure(registry: &Registry, options: Options) -> impl Fn(&mut ServiceConfig) + Clone + Send + 'static {
    let context = Data::new(Context::mounted(registry, options));
    move |config| Mount { context: &context }.all(config)
}
