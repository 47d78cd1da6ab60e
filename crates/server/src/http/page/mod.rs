//! The web page at `/`: hand-written HTML, CSS and ES modules, compiled in.
//!
//! The files are below `/page/<version>/`, where the version is a hash of all of them: browsers may store them for
//! good, and never mix those of two versions. The document itself is revalidated by its entity tag. Every URL in it is
//! relative, so that it works where the API is mounted under a path.

mod compact;

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::LazyLock,
};

use actix_web::{
    HttpRequest, HttpResponse, HttpResponseBuilder,
    body::BoxBody,
    http::{
        Method, StatusCode,
        header::{
            CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, LOCATION,
            REFERRER_POLICY, VARY,
        },
    },
    web::Bytes,
};

use super::{
    conditions::{Conditions, Verdict},
    context::Context,
    negotiation::preferred,
    parameters::Parameters,
    problem::Problem,
};

/// A file of the page, as it is written.
struct File {
    name: &'static str,
    media_type: &'static str,
    text: &'static str,
}

impl File {
    /// The text as it is served: without what only its readers need.
    fn served(&self) -> String {
        let text = without_comments(self.text);
        match self.media_type {
            JAVASCRIPT => compact::compact(&text),
            _ if self.name.ends_with(".css") => without_spaces(&text),
            _ => text,
        }
    }
}

/// A style sheet without spaces that mean nothing: beside braces and `>`, behind `:`, `;` and `,`, and between lines.
fn without_spaces(style: &str) -> String {
    let spaces = [
        (": ", ":"),
        (" {", "{"),
        ("{ ", "{"),
        ("; ", ";"),
        (" }", "}"),
        (";}", "}"),
        (", ", ","),
        (" > ", ">"),
        ("\n", ""),
    ];
    spaces.iter().fold(style.to_owned(), |text, (with, without)| text.replace(with, without))
}

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

const fn module(name: &'static str, text: &'static str) -> File {
    File { name, media_type: JAVASCRIPT, text }
}

const FILES: [File; 32] = [
    File { name: "style.css", media_type: "text/css; charset=utf-8", text: include_str!("style.css") },
    File { name: "views.css", media_type: "text/css; charset=utf-8", text: include_str!("views.css") },
    File { name: "icon.svg", media_type: "image/svg+xml", text: include_str!("icon.svg") },
    module("access.js", include_str!("access.js")),
    module("action.js", include_str!("action.js")),
    module("add.js", include_str!("add.js")),
    module("admin.js", include_str!("admin.js")),
    module("agent.js", include_str!("agent.js")),
    module("answer.js", include_str!("answer.js")),
    module("api.js", include_str!("api.js")),
    module("app.js", include_str!("app.js")),
    module("call.js", include_str!("call.js")),
    module("chains.js", include_str!("chains.js")),
    module("chat.js", include_str!("chat.js")),
    module("compose.js", include_str!("compose.js")),
    module("description.js", include_str!("description.js")),
    module("difference.js", include_str!("difference.js")),
    module("dom.js", include_str!("dom.js")),
    module("drafts.js", include_str!("drafts.js")),
    module("effects.js", include_str!("effects.js")),
    module("examples.js", include_str!("examples.js")),
    module("find.js", include_str!("find.js")),
    module("flow.js", include_str!("flow.js")),
    module("form.js", include_str!("form.js")),
    module("guardian.js", include_str!("guardian.js")),
    module("live.js", include_str!("live.js")),
    module("locate.js", include_str!("locate.js")),
    module("merge.js", include_str!("merge.js")),
    module("metrics.js", include_str!("metrics.js")),
    module("queries.js", include_str!("queries.js")),
    module("schema.js", include_str!("schema.js")),
    module("status.js", include_str!("status.js")),
];

const DOCUMENT: &str = include_str!("index.html");
/// Placeholder of the version in the document.
const VERSION: &str = "{version}";

/// Content security policy of the page: it may run and show its own files, and call this API. Scripts can't write HTML.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
    trusted-types 'none'";

/// The document with the version of its files, and these as they are served.
struct Page {
    version: String,
    html: Bytes,
    /// In the order of [`FILES`].
    files: Vec<Bytes>,
}

static PAGE: LazyLock<Page> = LazyLock::new(|| {
    let mut hasher = DefaultHasher::new();
    DOCUMENT.hash(&mut hasher);
    for file in &FILES {
        (file.name, file.text).hash(&mut hasher);
    }
    let version = format!("{:016x}", hasher.finish());
    let html = Bytes::from(DOCUMENT.replace(VERSION, &version));
    let files = FILES.iter().map(|file| Bytes::from(file.served())).collect();
    Page { version, html, files }
});

/// A text without indentation, and without lines that are a comment, which take a tenth of it.
fn without_comments(text: &str) -> String {
    let lines = text.lines().map(str::trim_start);
    let is_comment = |line: &&str| line.starts_with("//") || (line.starts_with("/*") && line.ends_with("*/"));
    lines.filter(|line| !line.is_empty() && !is_comment(line)).flat_map(|line| [line, "\n"]).collect()
}

/// The media types at the root of the API.
pub(super) const OFFERED: [&str; 2] = ["application/json", "text/html"];

/// True if a client prefers a page for people: browsers name `text/html`, programs don't.
pub(super) fn is_preferred(request: &HttpRequest) -> bool {
    preferred(request, &OFFERED) == Some("text/html")
}

/// The document.
pub(super) fn document(context: &Context, request: &HttpRequest) -> HttpResponse {
    let mut response = served(request, &format!("page-{}", PAGE.version), "no-cache");
    if let Some(sign_in) = context.sign_in() {
        // The page gets the token there.
        let policy = POLICY.replace("connect-src 'self'", &format!("connect-src 'self' {}", sign_in.token_origin()));
        response.insert_header((CONTENT_SECURITY_POLICY, policy));
    }
    response.insert_header((VARY, "accept"));
    with_body(response, "text/html; charset=utf-8", PAGE.html.clone())
}

/// `GET /page/{version}/{file}`
pub(super) async fn file(request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let segment = |name| request.match_info().get(name).unwrap_or_default();
    let mut files = FILES.iter().zip(&PAGE.files);
    let found = files.find(|(file, _)| file.name == segment("file") && segment("version") == PAGE.version);
    let (file, text) = found.ok_or_else(|| Problem::unknown_path(request.path()))?;
    let response = served(&request, &PAGE.version, "public, max-age=31536000, immutable");
    Ok(with_body(response, file.media_type, text.clone()))
}

/// The head of a response, by the conditions of the request.
fn served(request: &HttpRequest, tag: &str, stored: &'static str) -> HttpResponseBuilder {
    let mut response = match Conditions::of(request).verdict(tag) {
        Verdict::NotModified => HttpResponse::NotModified(),
        Verdict::Proceed | Verdict::Failed => HttpResponse::Ok(),
    };
    response
        .insert_header((ETAG, format!("\"{tag}\"")))
        .insert_header((CACHE_CONTROL, stored))
        .insert_header((CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((HeaderName::from_static("cross-origin-opener-policy"), "same-origin"))
        .insert_header((REFERRER_POLICY, "no-referrer"));
    response
}

/// The response with its body, unless it says that the client has that already.
fn with_body(mut response: HttpResponseBuilder, media_type: &'static str, body: Bytes) -> HttpResponse {
    let head = response.finish();
    if head.status() == StatusCode::NOT_MODIFIED {
        return head;
    }
    let mut whole = head.set_body(BoxBody::new(body));
    whole.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    whole
}

/// What people make of the address of an agent.
pub(super) const AGENT: &str = "/{view:agent}{rest:/.*}";
/// The other views that have no resource of the same name.
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

/// The root of the API without its slash, where the API is mounted under a path: to the URL that relative URLs are
/// relative to.
pub(super) async fn with_slash(request: HttpRequest) -> HttpResponse {
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    // Relative to the last segment, so that it is right behind a proxy too that adds to the path.
    let last = request.uri().path().rsplit('/').next().unwrap_or_default();
    HttpResponse::PermanentRedirect().insert_header((LOCATION, format!("{last}/{query}"))).finish()
}
