//! Authentication and authorization of requests: the one table of the role that each route requires, and the check
//! before each handler.

use std::borrow::Cow;

use actix_web::{
    HttpRequest,
    http::{
        Method, StatusCode,
        header::{AUTHORIZATION, RETRY_AFTER, WWW_AUTHENTICATE},
    },
};

use agentdex_api::CallerAccess;

use super::{
    announcements,
    caller::{self, ByConnection},
    cluster,
    context::Context,
    problem::Problem,
    protected_resource,
};
use crate::{
    Timestamp,
    access::{Caller, Need, Refusal, Role, Token, Unauthenticated},
};

/// A deviation of a route from the role that the method of a request implies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exception {
    /// Needs nothing.
    Open,
    /// Needs another role; GET reads, the other methods write.
    Of(Role),
    /// POST reads.
    PostReads,
}

use Exception::{Of, Open, PostReads};

/// The routes whose requirements aren't the default for reads and writes.
const EXCEPTIONS: [(&str, Exception); 39] = [
    ("/", Open),
    ("/page/{file}", Open),
    ("/docs", Open),
    ("/docs/{file}", Open),
    ("/docs/guide", Open),
    ("/docs/guide/{page}", Open),
    ("/openapi.json", Open),
    ("/.well-known/wot", Open),
    (announcements::AGENT_CARD, Open),
    (announcements::SERVER_CARD, Open),
    (announcements::OLD_SERVER_CARD, Open),
    (announcements::LLMS_TXT, Open),
    (protected_resource::PATH, Open),
    (protected_resource::OF_MCP, Open),
    ("/health/live", Open),
    ("/health/ready", Open),
    // CONNECT has the credentials.
    ("/mqtt", Open),
    // It has everything, the hashes of keys too.
    ("/backup", Of(Role::Admin)),
    ("/records", Of(Role::Admin)),
    ("/audit", Of(Role::Admin)),
    (cluster::PATH, Of(Role::Admin)),
    (cluster::VERIFICATION, Of(Role::Admin)),
    ("/clock/accept", Of(Role::Admin)),
    ("/keys", Of(Role::Admin)),
    ("/keys/{id}", Of(Role::Admin)),
    // Tools that write check the role themselves.
    (protected_resource::MCP, PostReads),
    ("/a2a", PostReads),
    ("/a2a/message:send", PostReads),
    ("/a2a/{operation}", PostReads),
    ("/validate", PostReads),
    ("/convert", PostReads),
    ("/search/compatible", PostReads),
    ("/search/compose", PostReads),
    ("/search/sparql", PostReads),
    ("/search/{language}", PostReads),
    ("/things/{id}/actions/{name}/sacp", PostReads),
    // Reads call agents, as conversations do.
    ("/things/{id}/properties/{name}/value", Of(Role::Register)),
    ("/things/{id}/events/{name}/notifications", Of(Role::Register)),
    // A path that isn't served: 404 says nothing that the documentation doesn't.
    ("other", Open),
];

/// The roles that one resource requires, by method: `read` for reads and `register` for writes, or `admin` to read what
/// the guardian stores, unless the route is one of the exceptions.
#[derive(Clone, Copy)]
pub(super) struct Needs {
    read: Need,
    post: Need,
    other: Need,
}

impl Needs {
    pub(super) fn of(path: &str) -> Needs {
        let exception = EXCEPTIONS.iter().find(|(known, _)| *known == path).map(|(_, exception)| *exception);
        let by_method =
            |read, write| Needs { read: Need::Read(read), post: Need::Write(write), other: Need::Write(write) };
        match exception {
            Some(Open) => Needs { read: Need::Nothing, post: Need::Nothing, other: Need::Nothing },
            Some(Of(role)) => by_method(role, role),
            Some(PostReads) => Needs { post: Need::Read(Role::Read), ..by_method(Role::Read, Role::Register) },
            None if path.starts_with("/aos/") => by_method(Role::Admin, Role::Register),
            None => by_method(Role::Read, Role::Register),
        }
    }

    /// The role that a method needs; `None` for what is open to everybody.
    #[cfg(debug_assertions)]
    pub(super) fn role(self, method: &Method) -> Option<Role> {
        match self.of_method(method) {
            Need::Nothing => None,
            Need::Read(role) | Need::Write(role) => Some(role),
        }
    }

    /// True if a request with this method may write.
    pub(super) fn may_write(self, method: &Method) -> bool {
        matches!(self.of_method(method), Need::Write(_))
    }

    fn of_method(self, method: &Method) -> Need {
        match *method {
            // Browsers ask without credentials what they may ask.
            Method::OPTIONS => Need::Nothing,
            Method::GET | Method::HEAD => self.read,
            Method::POST => self.post,
            _ => self.other,
        }
    }
}

/// Finds out who asks, and whether it may. No caller: somebody without credentials.
pub(super) async fn check(
    context: &Context,
    path: &str,
    needs: Needs,
    request: &HttpRequest,
) -> (Option<Caller>, Result<(), Problem>) {
    let rules = &context.options.access;
    let need = needs.of_method(request.method());
    if !rules.authentication {
        let decided = rules.decide(&Caller::Trusted, need);
        return (None, decided.map_err(|refusal| refused(refusal, &Caller::Trusted, "")));
    }
    // What tells clients where they get tokens.
    let metadata = || protected_resource::challenge(context, request, path);
    let known = match authenticate(context, request, need).await {
        Ok(known) => known,
        Err(NotKnown::Unavailable(reason)) => return (None, Err(unavailable(&reason))),
        Err(NotKnown::Invalid(detail)) => return (None, Err(invalid_credentials(&detail, &metadata()))),
    };
    let caller = known.clone().unwrap_or_else(|| rules.without_credentials());
    let decided = rules.decide(&caller, need).map_err(|refusal| refused(refusal, &caller, &metadata()));
    (known, decided)
}

/// Why credentials stand for nobody.
enum NotKnown {
    Invalid(String),
    Unavailable(String),
}

/// Returns the caller that the API key or token of a request stands for; without an `Authorization` header, the holder
/// of the certificate that the connection was opened with. Credentials that aren't valid are refused even where none
/// are needed, except by routes that answer in any case.
async fn authenticate(context: &Context, request: &HttpRequest, need: Need) -> Result<Option<Caller>, NotKnown> {
    let Some(credentials) = request.headers().get(AUTHORIZATION) else {
        let holder = request.conn_data::<ByConnection>().map(|ByConnection(holder)| holder);
        let now = Timestamp::now();
        return Ok(holder.filter(|holder| holder.is_valid_at(now)).cloned());
    };
    let bearer = credentials.to_str().ok().and_then(|text| text.split_once(' '));
    let token = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim());
    let kinds = if context.issuer().is_some() { "an API key or a token from its issuer" } else { "an API key" };
    let refusal = match token {
        Some(token) => match context.authenticate(token).await {
            Ok(caller) => return Ok(Some(caller)),
            Err(Unauthenticated::Unavailable(reason)) => NotKnown::Unavailable(reason),
            Err(Unauthenticated::Invalid(reason)) if Token::parse(token).is_some() => {
                NotKnown::Invalid(format!("the API key is not valid: {reason}"))
            }
            Err(Unauthenticated::Invalid(reason)) => {
                NotKnown::Invalid(format!("the token in `Authorization: Bearer` is not valid: {reason}"))
            }
        },
        None => NotKnown::Invalid(format!("this registry accepts only {kinds}, sent as `Authorization: Bearer <key>`")),
    };
    if need == Need::Nothing { Ok(None) } else { Err(refusal) }
}

fn invalid_credentials(detail: &str, metadata: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, "invalid-credentials", detail)
        .with_header(WWW_AUTHENTICATE, format!("Bearer realm=\"agentdex\", error=\"invalid_token\"{metadata}"))
}

fn unavailable(reason: &str) -> Problem {
    let detail = format!("the token can't be verified at the moment: {reason}");
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "issuer-unavailable", detail).with_header(RETRY_AFTER, "5")
}

fn refused(refusal: Refusal, caller: &Caller, metadata: &str) -> Problem {
    match refusal {
        Refusal::Unauthenticated => {
            let detail =
                "this operation requires credentials, such as an API key sent as `Authorization: Bearer <key>`";
            Problem::new(StatusCode::UNAUTHORIZED, "unauthenticated", detail)
                .with_header(WWW_AUTHENTICATE, format!("Bearer realm=\"agentdex\"{metadata}"))
        }
        Refusal::Forbidden(role) => {
            let owner =
                caller.owner().map_or(Cow::Borrowed("the caller"), |owner| Cow::Owned(format!("{:?}", owner.as_str())));
            let detail =
                format!("this operation requires the role `{role}`, which {owner} doesn't have with these credentials");
            let challenge =
                format!("Bearer realm=\"agentdex\", error=\"insufficient_scope\", scope=\"{role}\"{metadata}");
            Problem::new(StatusCode::FORBIDDEN, "forbidden", detail)
                .with("role", role.as_str())
                .with_header(WWW_AUTHENTICATE, challenge)
        }
        Refusal::ReadOnly => {
            Problem::new(StatusCode::FORBIDDEN, "read-only", "this server is read-only (`--read-only`)")
        }
    }
}

/// True if who asks may read, where a response shows more to those who may.
pub(super) fn may_read(context: &Context, request: &HttpRequest) -> bool {
    context.options.access.decide(&caller::of(request, &context.options.access), Need::Read(Role::Read)).is_ok()
}

/// The permissions of the caller of a request, as clients show them.
pub(super) fn shown(context: &Context, request: &HttpRequest) -> CallerAccess {
    let (rules, caller) = (&context.options.access, caller::of(request, &context.options.access));
    let sign_in = context.sign_in().filter(|_| rules.authentication);
    CallerAccess {
        admin_stays_signed_in: context.options.admin_stays_signed_in,
        authentication: rules.authentication,
        owner: caller.owner().cloned(),
        read_only: rules.read_only,
        role: Role::ALL.into_iter().rfind(|role| rules.decide(&caller, Need::Read(*role)).is_ok()),
        sign_in: sign_in.map(|sign_in| (*sign_in).clone()),
    }
}
