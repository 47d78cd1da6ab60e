//! `/docs`: Swagger UI, which shows the OpenAPI document.

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

/// The files of Swagger UI, without its settings (`build.rs`).
const FILES: [(&str, Gzipped); 7] = [
    file!("favicon-16x16.png", "image/png"),
    file!("favicon-32x32.png", "image/png"),
    file!("index.css", "text/css; charset=utf-8"),
    file!("index.html", "text/html; charset=utf-8"),
    file!("swagger-ui-bundle.js", "text/javascript; charset=utf-8"),
    file!("swagger-ui-standalone-preset.js", "text/javascript; charset=utf-8"),
    file!("swagger-ui.css", "text/css; charset=utf-8"),
];

/// The settings of Swagger UI.
const INITIALIZER: &str = r##"window.onload = function() {
  window.ui = SwaggerUIBundle({
    dom_id: "#swagger-ui",
    url: "../openapi.json",
    deepLinking: true,
    layout: "StandaloneLayout",
    presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
    plugins: [SwaggerUIBundle.plugins.DownloadUrl],
  });
};
"##;

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
    let mut response = if name == "swagger-initializer.js" {
        HttpResponse::Ok().content_type("text/javascript; charset=utf-8").body(INITIALIZER)
    } else {
        let file = FILES.iter().find(|(file, _)| *file == name);
        let (_, file) = file.ok_or_else(|| Problem::unknown_path(request.path()))?;
        file.response(&request)?
    };
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    Ok(response)
}
