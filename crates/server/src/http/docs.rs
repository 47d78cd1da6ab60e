//! `/docs`: a page with Swagger UI, which shows the OpenAPI document.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{CONTENT_SECURITY_POLICY, HeaderValue, LOCATION},
};

use super::{gzipped::Gzipped, parameters::Parameters, problem::Problem};

macro_rules! file {
    ($name:literal, $media_type:literal) => {
        ($name, Gzipped { media_type: $media_type, bytes: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".gz")) })
    };
}

/// The files of Swagger UI that the page loads (`build.rs`).
const FILES: [(&str, Gzipped); 2] = [
    file!("swagger-ui-bundle.js", "text/javascript; charset=utf-8"),
    file!("swagger-ui.css", "text/css; charset=utf-8"),
];

/// The page around Swagger UI: name, media type, and text of each file.
const OWN_FILES: [(&str, &str, &str); 4] = [
    ("index.html", "text/html; charset=utf-8", include_str!("docs/index.html")),
    ("docs.css", "text/css; charset=utf-8", include_str!("docs/docs.css")),
    ("swagger-initializer.js", "text/javascript; charset=utf-8", include_str!("docs/initializer.js")),
    ("icon.svg", "image/svg+xml", include_str!("page/icon.svg")),
];

/// Content security policy of the documentation: it may load its own files and call this API. Swagger UI sets styles
/// from its script.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// `GET /docs`: to the URL that its relative links are relative to.
pub(super) async fn redirect(request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let path = format!("{}/", request.uri().path());
    Ok(HttpResponse::PermanentRedirect().insert_header((LOCATION, path)).finish())
}

/// `GET /docs/{file}`
pub(super) async fn file(request: HttpRequest) -> Result<HttpResponse, Problem> {
    let name = match request.match_info().get("file") {
        None | Some("") => "index.html",
        Some(name) => name,
    };
    let own = OWN_FILES.iter().find(|(file, ..)| *file == name);
    let mut response = if let Some((_, media_type, text)) = own {
        HttpResponse::Ok().content_type(*media_type).body(*text)
    } else {
        let file = FILES.iter().find(|(file, _)| *file == name);
        let (_, file) = file.ok_or_else(|| Problem::unknown_path(request.path()))?;
        file.response(&request)?
    };
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    Ok(response)
}
