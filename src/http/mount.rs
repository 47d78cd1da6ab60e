//! Which paths there are, and what answers them.

use actix_cors::Cors;
use actix_web::{
    FromRequest, Handler, HttpRequest, Resource, Responder, Route, guard,
    http::Method,
    web::{self, Data, ServiceConfig},
};

use super::{
    Context, batch, changes, compression::CompressIfAsked, events, health, history, home, import, metrics,
    observe::Observe, openapi, original, own_description, problem::Problem, query_languages, search, thing, things,
    validate,
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

const POST: &[Method; 1] = &[Method::POST];

/// Registers resources. What is asked for most comes first, since the router tries one after the other.
pub(super) struct Mount<'a> {
    pub(super) context: &'a Data<Context>,
}

impl Mount<'_> {
    pub(super) fn all(&self, config: &mut ServiceConfig) {
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

    pub(super) fn observed(&self, config: &mut ServiceConfig, path: &'static str, resource: Resource) {
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
}
