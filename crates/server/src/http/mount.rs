//! Routes: the paths of the API and their handlers.

use actix_cors::Cors;
use actix_web::{
    FromRequest, Handler, HttpRequest, HttpResponse, Resource, Responder, Route, guard,
    http::Method,
    web::{self, Data, ServiceConfig},
};

use super::a2a;
use super::announcements;
use super::aos;
use super::conversation;
use super::mqtt;
use super::sacp;
use super::{
    address::affordance_before,
    agent_events, agent_property, audit, backup, batch, changes, clock, cluster, compatible, compose,
    compression::CompressIfAsked,
    connect,
    context::Context,
    convert, cors, demo, docs, events, exposition,
    formats::{EXPORTS, IMPORTS},
    guide, health, history, home, import, imports, jsonpath, keys, mcp, mcp_registry, namespaces,
    observe::Observe,
    openapi, own_description, page,
    problem::Problem,
    protected_resource, queries, query_languages, records, search, thing, thing_access, things, validate, versions,
};

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

/// Answers the methods that are allowed, where no [`Resource`] refuses all others.
fn alone<F, Answer>(allowed: &'static str, handler: F) -> Route
where
    F: Fn(Data<Context>, HttpRequest) -> Answer + Clone + 'static,
    Answer: Future<Output = Result<HttpResponse, Problem>> + 'static,
{
    web::to(move |context: Data<Context>, request: HttpRequest| {
        let method = request.method().as_str();
        let answer = match allowed.split(", ").any(|allowed| allowed == method) {
            true => Ok(handler(context, request)),
            false => Err(Problem::method_not_allowed(method, allowed)),
        };
        async move { answer?.await }
    })
}

/// Answers PATCH, where no [`Resource`] refuses all other methods.
fn only_patch<F, Answer>(handler: F) -> Route
where
    F: Fn(Data<Context>, HttpRequest, web::Payload) -> Answer + Clone + 'static,
    Answer: Future<Output = Result<HttpResponse, Problem>> + 'static,
{
    web::to(move |context: Data<Context>, request: HttpRequest, payload: web::Payload| {
        let method = request.method().as_str();
        let answer = match method {
            "PATCH" => Ok(handler(context, request, payload)),
            _ => Err(Problem::method_not_allowed(method, "PATCH")),
        };
        async move { answer?.await }
    })
}

const POST: &[Method; 1] = &[Method::POST];
const PUT: &[Method; 1] = &[Method::PUT];
const DELETE: &[Method; 1] = &[Method::DELETE];

/// Registers resources. What is asked for most comes first, since the router tries one after the other.
pub(super) struct Mount<'a> {
    pub(super) context: &'a Data<Context>,
}

impl Mount<'_> {
    pub(super) fn all(&self, config: &mut ServiceConfig) {
        config.app_data(self.context.clone());
        self.things(config);
        self.events(config);
        self.guardian(config);
        self.about(config);
        self.demo(config);
    }

    fn things(&self, config: &mut ServiceConfig) {
        self.resource(config, "/things", "/things", vec![read(things::list), on(POST, things::create)]);
        self.below(config, "/things", "/things/{id}", is_thing, web::to(thing::any));
        self.of_thing(config, "/things/{id}/history", history::END, alone("GET, HEAD", history::of_thing));
        self.of_thing(config, "/things/{id}/versions", versions::END, alone("GET, HEAD", versions::of_thing));
        self.of_thing(config, "/things/{id}/access", thing_access::END, web::to(thing_access::any));
        self.of_thing(config, "/things/{id}/conversation", conversation::END, web::to(conversation::any));
        self.of_thing(config, "/things/{id}/compatible", compatible::END, alone("GET, HEAD", compatible::of_thing));
        self.of_thing(config, "/things/{id}/connect", connect::END, alone("GET, HEAD", connect::to_server));
        self.below(config, "/things", "/things/batch", is_batch, web::to(batch::any));
        self.of_affordance(config, "/things/{id}/actions/{name}/sacp", sacp::ENDS, web::to(sacp::any));
        let value = web::to(agent_property::any);
        self.of_affordance(config, "/things/{id}/properties/{name}/value", agent_property::ENDS, value);
        let notifications = alone("GET, HEAD", agent_events::subscribe);
        self.of_affordance(config, "/things/{id}/events/{name}/notifications", agent_events::ENDS, notifications);
        self.resource(config, "/convert", "/convert", vec![on(POST, convert::document)]);
        self.resource(config, "/validate", "/validate", vec![on(POST, validate::document)]);
        self.resource(config, "/search", "/search", vec![read(search::things)]);
        self.resource(config, "/search/compatible", "/search/compatible", vec![on(POST, compatible::capabilities)]);
        self.resource(config, "/search/compose", "/search/compose", vec![on(POST, compose::chains)]);
        self.resource(config, "/search/jsonpath", "/search/jsonpath", vec![read(jsonpath::descriptions)]);
        let sparql = vec![read(super::sparql::get), on(POST, super::sparql::post)];
        self.resource(config, "/search/sparql", "/search/sparql", sparql);
        let unoffered = || vec![read(query_languages::not_offered), on(POST, query_languages::not_offered)];
        self.resource(
            config,
            "/search/{language}",
            &format!("/search/{{language:{}}}", query_languages::NOT_OFFERED),
            unoffered(),
        );
        self.at(config, protected_resource::MCP, vec![on(POST, mcp::message)]);
        self.agent(config);
        self.at(config, connect::PATH, vec![read(connect::to_registry)]);
        self.formats(config);
        self.mcp_registry(config);
    }

    /// Registers the API of MCP registries, and its alias.
    fn mcp_registry(&self, config: &mut ServiceConfig) {
        for prefix in mcp_registry::PREFIXES {
            let servers = format!("{prefix}/servers");
            self.resource(config, mcp_registry::SERVERS, &servers, vec![read(mcp_registry::list::servers)]);
            let publish = vec![on(POST, mcp_registry::publish::server)];
            self.resource(config, mcp_registry::PUBLISH, &format!("{prefix}/publish"), publish);
            for route in mcp_registry::Route::ALL {
                let handler = match route {
                    mcp_registry::Route::Versions => alone("GET, HEAD", mcp_registry::read::versions),
                    mcp_registry::Route::Version => alone("GET, HEAD", mcp_registry::read::version),
                    mcp_registry::Route::VersionStatus => only_patch(mcp_registry::status::of_version),
                    mcp_registry::Route::Status => only_patch(mcp_registry::status::of_all_versions),
                };
                self.below(config, &servers, route.template(), move |path| route.is_at(path), handler);
            }
        }
    }

    /// The registry as an A2A agent.
    fn agent(&self, config: &mut ServiceConfig) {
        self.at(config, a2a::RPC, vec![on(POST, a2a::rpc)]);
        self.at(config, a2a::SEND, vec![on(POST, a2a::send)]);
        self.at(config, "/a2a/tasks", vec![read(a2a::tasks)]);
        self.observed(config, a2a::OTHER, Resource::new(a2a::OTHERS).default_service(web::to(a2a::other)));
        self.resource(config, "/a2a/tasks/{id}", "/a2a/tasks/{id:[^/]+}", vec![read(a2a::task)]);
    }

    /// Other formats, in and out, and tracked sources.
    fn formats(&self, config: &mut ServiceConfig) {
        for export in EXPORTS.iter() {
            let route = alone("GET, HEAD", |context, request| export.export(context, request));
            self.of_thing(config, &export.path, &export.end, route);
        }
        self.of_thing(config, "/things/{id}/refresh", imports::REFRESH, alone("POST", imports::refresh));
        for import in IMPORTS.iter() {
            let handler = |context, request, payload| import.import(context, request, payload);
            self.resource(config, &import.path, &import.path, vec![on(POST, handler)]);
        }
        self.resource(config, import::PATH, import::PATH, vec![on(POST, import::from_url)]);
        self.resource(config, "/imports", "/imports", vec![read(imports::list)]);
        self.below(config, "/imports", "/imports/{id}", |_| true, web::to(imports::any));
    }

    fn events(&self, config: &mut ServiceConfig) {
        self.resource(config, "/changes", "/changes", vec![read(changes::after)]);
        self.resource(config, "/events", "/events", vec![read(events::all)]);
        self.resource(config, "/queries", "/queries", vec![read(queries::list)]);
        let verbs = vec![read(queries::retrieve), on(PUT, queries::save), on(DELETE, queries::remove)];
        self.resource(config, "/queries/{name}", "/queries/{name:[^/]+}", verbs);
        let events = vec![read(queries::subscribe)];
        self.resource(config, "/queries/{name}/events", "/queries/{name:[^/]+}/events", events);
        self.resource(config, "/events/{kind}", "/events/{kind:[^/]+}", vec![read(events::of_type)]);
    }

    fn guardian(&self, config: &mut ServiceConfig) {
        self.resource(config, "/aos", "/aos", vec![on(POST, aos::answer)]);
        self.resource(config, "/aos/sessions", "/aos/sessions", vec![read(aos::sessions)]);
        self.resource(config, "/aos/sessions/{id}", "/aos/sessions/{id:[^/]+}", vec![read(aos::session)]);
        self.resource(config, "/aos/decisions", "/aos/decisions", vec![read(aos::decisions)]);
        self.resource(config, "/aos/events", "/aos/events", vec![read(aos::events)]);
    }

    fn about(&self, config: &mut ServiceConfig) {
        self.resource(config, "/health/live", "/health/live", vec![read(health::live)]);
        self.resource(config, "/health/ready", "/health/ready", vec![read(health::ready)]);
        self.resource(config, "/keys", "/keys", vec![read(keys::list), on(POST, keys::create)]);
        self.resource(config, "/clock/accept", "/clock/accept", vec![on(POST, clock::accept)]);
        self.resource(config, cluster::PATH, cluster::PATH, vec![read(cluster::state)]);
        self.resource(config, cluster::VERIFICATION, cluster::VERIFICATION, vec![on(POST, cluster::verify)]);
        self.resource(config, "/audit", "/audit", vec![read(audit::read)]);
        self.resource(config, "/namespaces", "/namespaces", vec![read(namespaces::list)]);
        let namespace = vec![on(PUT, namespaces::claim), on(DELETE, namespaces::give_up)];
        self.resource(config, "/namespaces/{name}", "/namespaces/{name:[^/]+}", namespace);
        self.resource(config, "/keys/{id}", "/keys/{id:[^/]+}", vec![on(DELETE, keys::revoke)]);
        self.resource(config, "/metrics", "/metrics", vec![read(exposition::metrics)]);
        self.resource(config, "/backup", "/backup", vec![read(backup::take)]);
        self.resource(config, "/records", "/records", vec![read(records::list), on(POST, records::write)]);
        self.resource(config, "/mqtt", "/mqtt", vec![read(mqtt::connect)]);
        self.at(config, protected_resource::PATH, vec![read(protected_resource::metadata)]);
        self.at(config, protected_resource::OF_MCP, vec![read(protected_resource::metadata_of_mcp)]);
        self.at(config, announcements::AGENT_CARD, vec![read(announcements::agent_card)]);
        self.at(config, announcements::SERVER_CARD, vec![read(announcements::mcp_server_card)]);
        self.at(config, announcements::OLD_SERVER_CARD, vec![read(announcements::mcp_server_card)]);
        self.at(config, announcements::LLMS_TXT, vec![read(announcements::llms_txt)]);
        self.resource(config, "/.well-known/wot", "/.well-known/wot", vec![read(own_description::page)]);
        self.resource(config, "/openapi.json", "/openapi.json", vec![read(openapi::document)]);
        self.resource(config, "/docs", "/docs", vec![read(docs::redirect)]);
        self.resource(config, "/docs/guide", "/docs/guide", vec![read(docs::redirect)]);
        self.resource(config, "/docs/guide/{page}", "/docs/guide/{page:.*}", vec![read(guide::page)]);
        self.resource(config, "/docs/{file}", "/docs/{file:.*}", vec![read(docs::file)]);
        self.resource(config, "/page/{file}", "/page/{version:[^/]+}/{file:[^/]+}", vec![read(page::file)]);
        self.observed(config, "other", Resource::new(page::AGENT).default_service(web::to(page::view)));
        self.resource(config, "/", "/", vec![read(home::page)]);
        // Only where it is mounted under a path.
        self.resource(config, "/", "", vec![read(page::with_slash)]);
    }

    fn demo(&self, config: &mut ServiceConfig) {
        let Some(demo) = &self.context.options.demo else { return };
        config.app_data(Data::new(demo.clone()));
        self.at(config, "/demo/agents/clock/time", vec![on(POST, demo::time)]);
        self.at(config, "/demo/agents/clock/cities", vec![read(demo::cities)]);
        self.at(config, "/demo/agents/clock/hour", vec![read(demo::hour)]);
        self.at(config, "/demo/agents/units", vec![on(POST, demo::message)]);
        self.at(config, "/demo/agents/units/.well-known/agent-card.json", vec![read(demo::card)]);
        // The protocol's own answers to other methods.
        let dice = Resource::new("/demo/agents/dice").default_service(web::to(demo::call));
        self.observed(config, "/demo/agents/dice", dice);
    }

    /// One resource at a path without parameters.
    fn at(&self, config: &mut ServiceConfig, path: &'static str, verbs: Vec<Verb>) {
        self.resource(config, path, path, verbs);
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

    /// Registers a resource that a Thing has in addition to its description, at its path with `end` behind it.
    fn of_thing(&self, config: &mut ServiceConfig, path: &'static str, end: &'static str, route: Route) {
        self.below(config, "/things", path, move |path| end_of(path) == Some(end), route);
    }

    /// Registers a resource that an affordance of a Thing has.
    fn of_affordance(
        &self,
        config: &mut ServiceConfig,
        path: &'static str,
        ends: (&'static str, &'static str),
        route: Route,
    ) {
        self.below(config, "/things", path, move |path| is_of_affordance(path, ends), route);
    }

    /// One resource below `/things` or `/imports`, for the paths that are its own.
    ///
    /// An id is the rest of the path, whatever it is made of. A pattern for that would be a regular
    /// expression, which costs as much as the read behind it; so the prefix is compared as text, what
    /// the rest is for shows at its end, and `route` answers all methods.
    fn below(
        &self,
        config: &mut ServiceConfig,
        prefix: &str,
        path: &'static str,
        is_own: impl Fn(&str) -> bool + 'static,
        route: Route,
    ) {
        let (compress, cors, observe) = self.middleware(path);
        let own = guard::fn_guard(move |context| is_own(context.head().uri.path()));
        let scope = web::scope(prefix).guard(own).default_service(route).wrap(compress);
        match cors {
            Some(cors) => config.service(scope.wrap(cors).wrap(observe)),
            None => config.service(scope.wrap(observe)),
        };
    }

    fn middleware(&self, path: &'static str) -> (CompressIfAsked, Option<Cors>, Observe) {
        let origins = &self.context.options.cors_origins;
        // What is sent while it is made isn't compressed: an encoder a stream costs more than it saves.
        let is_live = path.starts_with("/events")
            || matches!(
                path,
                "/backup"
                    | "/records"
                    | "/things/batch"
                    | "/mcp"
                    | "/mqtt"
                    | "/queries/{name}/events"
                    | "/aos/events"
                    | "/things/{id}/events/{name}/notifications"
                    | "/things/{id}/conversation"
                    | "/demo/agents/clock/hour"
                    | "/demo/agents/units"
                    | "/demo/agents/dice"
            );
        let cors = match announcements::PATHS.contains(&path) || mcp_registry::is_open_to_pages(path) {
            true => Some(cors::for_all_to_read()),
            false => (!origins.is_empty()).then(|| cors::middleware(origins)),
        };
        (CompressIfAsked { is_offered: !is_live }, cors, Observe::new(self.context, path, !is_live))
    }
}

/// As [`super::configure`] for an application that serves nothing else: unknown paths are the API's as well.
pub(super) fn configure_alone(context: Data<Context>) -> impl Fn(&mut ServiceConfig) {
    move |config| {
        let mount = Mount { context: &context };
        mount.all(config);
        mount.observed(config, "other", Resource::new(page::VIEWS).default_service(web::to(page::view)));
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

/// True if a path is that of the batch, or of the Thing called `batch`.
fn is_batch(path: &str) -> bool {
    path.ends_with("/things/batch")
}

/// True if a path is that of a Thing itself.
fn is_thing(path: &str) -> bool {
    let of_affordances = [sacp::ENDS, agent_property::ENDS, agent_events::ENDS];
    !is_batch(path) && end_of(path).is_none() && !of_affordances.into_iter().any(|ends| is_of_affordance(path, ends))
}

/// True if a path is that of a resource of an affordance.
fn is_of_affordance(path: &str, (list, suffix): (&str, &str)) -> bool {
    affordance_before(path, list, suffix)
        .is_some_and(|(end, _)| !path.strip_suffix(end).is_some_and(|thing| thing.ends_with("/things")))
}

/// Returns the path suffixes of the resources that a Thing has in addition to its description.
fn ends() -> impl Iterator<Item = &'static str> {
    [history::END, versions::END, imports::REFRESH, compatible::END, thing_access::END, conversation::END, connect::END]
        .into_iter()
        .chain(EXPORTS.iter().map(|export| export.end.as_str()))
}

/// Returns the path suffix of a resource that a Thing has in addition to its description; none for other paths. The
/// slash of an id that ends like one is escaped.
fn end_of(path: &str) -> Option<&'static str> {
    ends().find(|end| path.strip_suffix(end).is_some_and(|thing| !thing.ends_with("/things")))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_may_be_called_history() {
        assert_eq!(end_of("/things/urn:x:a/history"), Some("/history"));
        assert_eq!(end_of("/registry/things/http://example.org/a/history"), Some("/history"));
        assert_eq!(end_of("/things/history"), None);
        assert_eq!(end_of("/things/http:%2F%2Fexample.org%2Fhistory"), None);
        assert_eq!(end_of("/things/urn:x:a/agent-card"), Some("/agent-card"));
        assert!(is_thing("/things/refresh") && !is_thing("/things/urn:x:a/refresh"));
    }
}
