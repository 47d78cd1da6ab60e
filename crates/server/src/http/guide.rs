//! `/docs/guide/`: the documentation as pages, which `build/guide.rs` makes from Markdown.

use actix_web::{HttpRequest, HttpResponse};

use super::{gzipped::Gzipped, page, parameters::Parameters, problem::Problem};

/// Pages and linked files, by path.
static PAGES: &[(&str, Gzipped)] = include!(concat!(env!("OUT_DIR"), "/guide.rs"));

/// `GET /docs/guide/{page}`
pub(super) async fn page(request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let path = request.match_info().get("page").unwrap_or_default();
    let found = PAGES.iter().find(|(page, _)| *page == path);
    let (_, file) = found.ok_or_else(|| Problem::unknown_path(request.path()))?;
    page::served(&request, file, &format!("guide-{}", page::VERSION), "no-cache")
}
