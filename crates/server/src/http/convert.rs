//! `/convert`: what a document of any format would be registered as, without registering it.

use std::collections::BTreeSet;

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::CONTENT_TYPE,
    web::{self, Data},
};
use agentdex_api::Converted;
use serde_json::value::RawValue;

use super::{
    blocking::blocking, body, context::Context, documents::YAML, formats::path_of_import, parameters::Parameters,
    problem::Problem,
};
use crate::{
    Error, Registry,
    convert::{Conversion, Format, ImportOptions, Input, InvalidOption, Syntax, detect},
    td::{self, Report, Violation},
};

/// The media types of JSON that a document of any format may have.
const JSON: [&str; 5] = [
    "application/json",
    "application/td+json",
    "application/ld+json",
    "application/a2a+json",
    "application/mcp-server-card+json",
];

/// Detect the format of a document, and convert it to descriptions without registering them
///
/// The import parameters of the detected format are accepted, too.
#[cfg_attr(debug_assertions, utoipa::path(
    post,
    path = "/convert",
    operation_id = "convert",
    tag = "import",
    params(("id" = Option<String>, Query, description = "Id of the Thing, if documents of the format can lack one")),
    request_body(content((super::schemas::AnyDocument = "application/json"), (super::schemas::AnyDocument = "application/td+json"), (super::schemas::AnyDocument = "application/yaml"))),
    responses(
        (status = 200, description = "Result of the validation, even if the document is invalid", body = Converted),
        super::schemas::Refusals,
        super::schemas::BodyRefusals,
    )
))]
pub(super) async fn document(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let of_formats = Format::imports().flat_map(|(_, import)| import.parameters).map(|parameter| parameter.name);
    let known: BTreeSet<&str> = of_formats.chain(["id"]).collect();
    let parameters = Parameters::parse(&request, &Vec::from_iter(known))?;
    let given = parameters.pairs().filter(|(_, value)| !value.is_empty());
    let given: Vec<(String, String)> = given.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    if let Some((_, id)) = given.iter().find(|(name, _)| name == "id") {
        td::normalize_id(id)?;
    }
    body::check_type(&request, &[&JSON[..], &YAML].concat())?;
    let media_type = request.headers().get(CONTENT_TYPE).and_then(|given| given.to_str().ok()).unwrap_or_default();
    let syntax = if media_type.contains("yaml") { Syntax::Yaml } else { Syntax::Json };
    let bytes = body::read(&request, payload, context.options.body_limit).await?;
    let registry = context.registry(&request);
    let converted = blocking(move || Ok(convert(&registry, &bytes, syntax, &given))).await?;
    let converted = converted.map_err(|refused| match refused {
        Refused::Document(error) => error.into(),
        Refused::Parameter(invalid) => Problem::invalid_parameter(&invalid.name, invalid.message),
    })?;
    Ok(HttpResponse::Ok().json(converted))
}

/// The reason why a document isn't converted.
enum Refused {
    Document(Error),
    Parameter(InvalidOption),
}

impl<E: Into<Error>> From<E> for Refused {
    fn from(error: E) -> Refused {
        Refused::Document(error.into())
    }
}

fn convert(
    registry: &Registry,
    bytes: &[u8],
    syntax: Syntax,
    given: &[(String, String)],
) -> Result<Converted, Refused> {
    let json = syntax.to_json(bytes)?;
    let format = detect(&json)?;
    let (report, things) = match format.import() {
        None => {
            let id = given.iter().find(|(name, _)| name == "id");
            thing(registry, json.as_bytes(), id.map(|(_, id)| id.as_str()))?
        }
        Some(import) => {
            let mut options = ImportOptions::default();
            let has = |name: &str| import.parameters.iter().any(|parameter| parameter.name == name);
            for (name, value) in given.iter().filter(|(name, _)| has(name)) {
                options.set(format, name, value).map_err(Refused::Parameter)?;
            }
            // Other formats are stored as JSON, and report on that.
            let input = match import.media_types.iter().any(|(_, taken)| *taken == syntax) {
                true => Input { bytes, syntax, components: &[] },
                false => Input::json(json.as_bytes()),
            };
            conversion(import.to_things(&input, &options).map_err(Error::from))?
        }
    };
    Ok(Converted {
        format: format.name().to_owned(),
        noun: format.descriptor().noun.to_owned(),
        register: path_of_import(format).to_owned(),
        valid: report.is_valid(),
        version: report.version,
        violations: report.violations,
        warnings: report.warnings,
        things,
    })
}

/// A Thing Description as it would be stored. One without an id gets that when it is registered.
fn thing(registry: &Registry, json: &[u8], id: Option<&str>) -> crate::Result<(Report, Vec<Box<RawValue>>)> {
    let document = td::Document::parse(json)?;
    let identity = match (document.value().get("id"), id) {
        (Some(_), _) => td::Identity::Own,
        (None, Some(id)) => td::Identity::Assigned(id),
        (None, None) => {
            let report = registry.validate(document.text().as_bytes())?;
            let stored = registry.options().redaction.stored_text(&document)?;
            let things = if report.is_valid() { vec![raw(&stored)?] } else { Vec::new() };
            return Ok((report, things));
        }
    };
    let (strictness, redaction) = (registry.options().strictness, registry.options().redaction);
    let admitted = td::admit(document, identity, strictness).map_err(Error::from);
    match admitted.and_then(|admission| redaction.apply(admission, strictness)) {
        Ok(admission) => {
            let report = Report { warnings: admission.warnings, ..Report::default() };
            Ok((report, vec![raw(admission.thing.text())?]))
        }
        Err(Error::Invalid(report) | Error::CredentialInDescription(report)) => Ok((report, Vec::new())),
        Err(error) => Err(error),
    }
}

fn raw(text: &str) -> crate::Result<Box<RawValue>> {
    RawValue::from_string(text.to_owned()).map_err(|error| td::internal::malformed_json(&error).into())
}

/// Maps the conversion of a document in another format to its report and its Things. Where the document is refused, the
/// report has the violations.
fn conversion(converted: crate::Result<Conversion>) -> crate::Result<(Report, Vec<Box<RawValue>>)> {
    match converted {
        Ok(Conversion { things, warnings, .. }) => {
            let things = things.iter().map(|thing| raw(thing.description.text())).collect::<crate::Result<_>>()?;
            Ok((Report { warnings, ..Report::default() }, things))
        }
        Err(Error::InvalidSource { report, .. } | Error::Invalid(report)) => Ok((report, Vec::new())),
        Err(Error::OtherFormat { source, .. }) => conversion(Err(*source)),
        Err(error @ Error::MissingId) => {
            let violation = Violation { pointer: String::new(), rule: "id-missing".into(), message: error.to_string() };
            Ok((Report { violations: vec![violation], ..Report::default() }, Vec::new()))
        }
        Err(error) => Err(error),
    }
}
