//! The web page at `/`: hand-written HTML, CSS and ES modules, compiled in compressed.
//!
//! The files are below `/page/<version>/`, where the version is a hash of all of them: browsers may store them for
//! good, and never mix those of two versions. The document itself is revalidated by its entity tag. Every URL in it is
//! relative, so that the API can be mounted under a path.

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        Method, StatusCode,
        header::{
            ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_SECURITY_POLICY, ETAG, HeaderName, HeaderValue, LINK, LOCATION,
            REFERRER_POLICY, VARY,
        },
    },
};

use super::{
    announcements,
    conditions::{Conditions, Verdict},
    context::Context,
    gzipped::Gzipped,
    negotiation::preferred,
    parameters::Parameters,
    problem::Problem,
};

/// Files of the page, with its document, by name (`build/main.rs`).
static FILES: &[(&str, Gzipped)] = include!(concat!(env!("OUT_DIR"), "/page.rs"));
const DOCUMENT: &str = "index.html";
/// Hash of these files and of the documentation.
pub(super) const VERSION: &str = env!("AGENTDEX_ASSETS");

/// Content security policy of the page: it may run and show its own files, and call this API. Scripts can't write HTML.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
    trusted-types 'none'";

/// The media types at the root of the API.
pub(super) const OFFERED: [&str; 2] = ["application/json", "text/html"];

/// True if a client prefers a page for people: browsers name `text/html`, programs don't.
pub(super) fn is_preferred(request: &HttpRequest) -> bool {
    preferred(request, &OFFERED) == Some("text/html")
}

/// The document.
pub(super) fn document(context: &Context, request: &HttpRequest) -> Result<HttpResponse, Problem> {
    let mut response = served(request, file_named(DOCUMENT, request)?, &format!("page-{VERSION}"), "no-cache")?;
    let headers = response.headers_mut();
    if let Some(sign_in) = context.sign_in() {
        // The page gets the token there.
        let policy = POLICY.replace("connect-src 'self'", &format!("connect-src 'self' {}", sign_in.token_origin()));
        HeaderValue::from_str(&policy)
            .into_iter()
            .for_each(|policy| drop(headers.insert(CONTENT_SECURITY_POLICY, policy)));
    }
    headers.insert(VARY, HeaderValue::from_static("accept, accept-encoding"));
    headers.insert(LINK, HeaderValue::from_static(announcements::LINKS));
    Ok(response)
}

/// `GET /page/{version}/{file}`
pub(super) async fn file(request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let segment = |name| request.match_info().get(name).unwrap_or_default();
    let name = if segment("version") == VERSION { segment("file") } else { "" };
    served(&request, file_named(name, &request)?, VERSION, "public, max-age=31536000, immutable")
}

fn file_named(name: &str, request: &HttpRequest) -> Result<&'static Gzipped, Problem> {
    let found = FILES.iter().find(|(file, _)| *file == name);
    found.map(|(_, file)| file).ok_or_else(|| Problem::unknown_path(request.path()))
}

/// The response with a file and the policy of the page; 304 if the client has the file.
pub(super) fn served(
    request: &HttpRequest,
    file: &Gzipped,
    tag: &str,
    stored: &'static str,
) -> Result<HttpResponse, Problem> {
    let mut response = HttpResponse::Ok();
    response
        .insert_header((ETAG, format!("\"{tag}\"")))
        .insert_header((CACHE_CONTROL, stored))
        .insert_header((CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((HeaderName::from_static("cross-origin-opener-policy"), "same-origin"))
        .insert_header((REFERRER_POLICY, "no-referrer"))
        .insert_header((VARY, ACCEPT_ENCODING.as_str()));
    match Conditions::of(request).verdict(tag) {
        Verdict::NotModified => Ok(response.status(StatusCode::NOT_MODIFIED).finish()),
        Verdict::Proceed | Verdict::Failed => file.complete(request, response),
    }
}

/// What people make of the address of an agent.
pub(super) const AGENT: &str = "/{view:agent}{rest:/.*}";
/// Views without a resource of the same name.
pub(super) const VIEWS: &str = "/{view:live|add|chains|guardian|status}{rest:(/.*)?}";

/// The address of a view as people type it: to the page, which has the name of the view in the fragment.
pub(super) async fn view(request: HttpRequest) -> Result<HttpResponse, Problem> {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    if !is_read || !is_preferred(&request) {
        return Err(Problem::unknown_path(request.path()));
    }
    let [view, rest] = ["view", "rest"].map(|name| request.match_info().get(name).unwrap_or_default());
    let depth = rest.matches('/').count();
    // As they were sent: the fragment is encoded in the same way.
    let mut segments: Vec<&str> = request.uri().path().rsplit('/').take(depth).chain([view]).collect();
    segments.reverse();
    let root = if depth == 0 { "./".to_owned() } else { "../".repeat(depth) };
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    let location = format!("{root}#/{}{query}", segments.join("/"));
    Ok(HttpResponse::TemporaryRedirect().insert_header((LOCATION, location)).insert_header((VARY, "accept")).finish())
}

/// Redirects the root of an API mounted under a path to the same URL with a slash: relative URLs depend on it.
pub(super) async fn with_slash(request: HttpRequest) -> HttpResponse {
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    // Relative to the last segment, so that it is right behind a proxy too that adds to the path.
    let last = request.uri().path().rsplit('/').next().unwrap_or_default();
    HttpResponse::PermanentRedirect().insert_header((LOCATION, format!("{last}/{query}"))).finish()
}
