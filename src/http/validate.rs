//! `/validate`: what is wrong with a document, without storing it.

use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Data},
};
use serde_json::json;

use super::{Context, body, parameters::Parameters, problem::Problem};
use crate::Error;

/// `POST /validate`
pub(super) async fn document(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    body::check_type(&request, &body::DESCRIPTIONS)?;
    let json = body::read(&request, payload, context.options.body_limit).await?;
    let registry = context.registry.clone();
    let report = web::block(move || registry.validate(&json)).await.unwrap_or(Err(Error::ShuttingDown))?;
    Ok(HttpResponse::Ok().json(json!({
        "valid": report.is_valid(),
        "version": report.version,
        "violations": report.violations,
        "warnings": report.warnings,
    })))
}
