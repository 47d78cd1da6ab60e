//! `GET /things/{id}` as RDF.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{CONTENT_TYPE, ETAG, HeaderValue},
};

use super::{
    blocking::blocking,
    body::{DESCRIPTIONS, WARNINGS},
    conditions::{Conditions, Verdict},
    context::Context,
    negotiation::{VARY_BY_TYPE, negotiate},
    problem::Problem,
};
use crate::{registry::Thing, search::rdf::Syntax};

const SYNTAXES: [Syntax; 2] = [Syntax::NQuads, Syntax::Turtle];

/// The syntax that a client prefers to the description as JSON.
///
/// # Errors
/// 406 where it accepts neither.
pub(super) fn wanted(request: &HttpRequest) -> Result<Option<Syntax>, Problem> {
    let [first, second, third] = DESCRIPTIONS;
    let [n_quads, turtle] = SYNTAXES.map(Syntax::media_type);
    let chosen = negotiate(request, &[first, second, third, n_quads, turtle])?;
    Ok(SYNTAXES.into_iter().find(|syntax| syntax.media_type() == chosen))
}

/// The response. The entity tag is that of the description with the name of the syntax at its end.
pub(super) async fn respond(
    context: &Context,
    request: &HttpRequest,
    thing: Thing,
    etag: String,
    syntax: Syntax,
) -> Result<HttpResponse, Problem> {
    let tag = format!("{}-{}", etag.trim_matches('"'), syntax.name());
    let etag = format!("\"{tag}\"");
    match Conditions::of(request).verdict(&tag) {
        Verdict::Proceed => {}
        Verdict::NotModified => {
            return Ok(HttpResponse::NotModified().insert_header((ETAG, etag)).insert_header(VARY_BY_TYPE).finish());
        }
        Verdict::Failed => return Err(Problem::precondition_failed(&etag)),
    }
    let registry = context.registry(request);
    let read = move || {
        let statements = registry.statements(&thing)?;
        Ok((syntax.write(&statements)?, statements.ignored_contexts.len()))
    };
    let (written, ignored) = blocking(read).await?;
    let mut response = HttpResponse::Ok();
    response
        .insert_header((ETAG, etag))
        .insert_header(VARY_BY_TYPE)
        .insert_header((WARNINGS, ignored))
        .insert_header((CONTENT_TYPE, HeaderValue::from_static(syntax.media_type())));
    Ok(response.body(written))
}
