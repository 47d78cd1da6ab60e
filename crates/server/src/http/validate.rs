//! `/validate`: what is wrong with a document, without storing it.

use actix_web::{
    HttpRequest, HttpResponse,
    web::{self, Data},
};
use agentdex_api::ValidationReport;
use serde_json::json;

use super::{
    blocking::blocking, body, context::Context, formats::other_format, parameters::Parameters, problem::Problem,
};
use crate::{convert::Format, td::Violation};

/// Validate a description without registering it
#[cfg_attr(debug_assertions, utoipa::path(
    post,
    path = "/validate",
    operation_id = "validate",
    tag = "things",
    request_body(content((super::schemas::ThingDescription = "application/td+json"), (super::schemas::ThingDescription = "application/ld+json"), (super::schemas::ThingDescription = "application/json"))),
    responses(
        (status = 200, description = "Result of the validation, even if the document is invalid", body = ValidationReport),
        super::schemas::Refusals,
        super::schemas::BodyRefusals,
    )
))]
pub(super) async fn document(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    body::check_type(&request, &body::DESCRIPTIONS)?;
    let json = body::read(&request, payload, context.options.body_limit).await?;
    let registry = context.registry(&request);
    let report = blocking(move || {
        let mut report = registry.validate(&json)?;
        if !report.is_valid()
            && let Some(other) = other_format(&json, Format::ThingDescription)
        {
            let message = format!("{other}; with `dry_run=true`, the import only validates it");
            report.violations.insert(0, Violation::new("", "other-format", message));
        }
        crate::Result::Ok(report)
    });
    let report = report.await?;
    Ok(HttpResponse::Ok().json(json!(ValidationReport::from(report))))
}
