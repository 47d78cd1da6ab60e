//! `/things/{id}/agent-spec`: a Thing in the format that it was imported in, or as near as that format
//! comes to it.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{CONTENT_TYPE, ETAG},
    web::Data,
};
use serde_json::Value;
use uuid::Uuid;

use super::{
    Context,
    address::thing_id_before,
    blocking::blocking,
    conditions::{Conditions, Verdict},
    parameters::Parameters,
    problem::Problem,
};
use crate::{
    Error, Registry,
    convert::{Format, agent_spec},
    store::Original,
    td::Document,
};

/// Answers all methods of a Thing as a configuration.
pub(super) async fn any_agent_spec(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    match request.method().as_str() {
        "GET" | "HEAD" => as_agent_spec(context, request).await,
        other => Err(Problem::method_not_allowed(other, "GET, HEAD")),
    }
}

/// `GET /things/{id}/agent-spec`
#[utoipa::path(
    get,
    path = "/things/{id}/agent-spec",
    tag = "import",
    summary = "Read a Thing as an Open Agent Spec configuration",
    params(
        ("id" = String, Path, description = "The id, percent-encoded: an absolute URI, or a name that is made one"),
        ("If-Match" = Option<String>, Header, description = "Only if the current entity tag is one of these"),
        ("If-None-Match" = Option<String>, Header, description = "Only if the current entity tag is none of these"),
    ),
    responses(
        (status = 200, description = "What it was imported from, without secrets; of other descriptions a configuration that is made of them", content((super::schemas::AgentSpec = "application/json"), (String = "application/yaml")), headers(("ETag" = String, description = "The entity tag of the configuration"))),
        (status = 304, description = "Not modified"),
        (status = 409, description = "The description has nothing that a configuration could be made of", body = super::schemas::Problem, content_type = "application/problem+json"),
        super::schemas::Refusals,
        super::schemas::ThingRefusals,
    )
)]
pub(super) async fn as_agent_spec(context: Data<Context>, request: HttpRequest) -> Result<HttpResponse, Problem> {
    Parameters::parse(&request, &[])?;
    let conditions = Conditions::of(&request)?;
    let id = thing_id_before(&request, &context.options, "/agent-spec")?;
    let registry = context.registry.clone();
    let original = blocking(move || in_format(&registry, &id, Format::AgentSpec, agent_spec::from_thing)).await?;
    let etag = tag(&original);
    match conditions.verdict(etag.trim_matches('"')) {
        Verdict::Proceed => Ok(HttpResponse::Ok()
            .insert_header((ETAG, etag))
            .insert_header((CONTENT_TYPE, original.media_type))
            .body(original.bytes)),
        Verdict::NotModified => Ok(HttpResponse::NotModified().insert_header((ETAG, etag)).finish()),
        Verdict::Failed => Err(Problem::precondition_failed(&etag)),
    }
}

/// The original of a Thing, or what `convert` makes of the description. Both are read apart: what is
/// replaced in between may be answered with the original that it had, as a request a moment ago was.
fn in_format(
    registry: &Registry,
    id: &str,
    format: Format,
    convert: fn(&Value) -> crate::Result<Value>,
) -> crate::Result<Original> {
    let original = registry.original(id)?.filter(|original| original.format == format.name());
    if let Some(original) = original {
        return Ok(original);
    }
    let thing = registry.find_by_id(id)?.ok_or_else(|| Error::NotFound { id: id.to_owned() })?;
    let converted = convert(Document::parse(thing.text().as_bytes())?.value())?;
    let (format, media_type) = (format.name().to_owned(), "application/json".to_owned());
    Ok(Original { format, media_type, bytes: format!("{converted:#}\n").into_bytes() })
}

/// A tag of the bytes themselves, the same in every release: another original of the same description is no
/// change of the Thing.
fn tag(original: &Original) -> String {
    let media_type = Uuid::new_v5(&Uuid::NAMESPACE_OID, original.media_type.as_bytes());
    format!("\"{}\"", Uuid::new_v5(&media_type, &original.bytes).simple())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_is_the_same_in_every_release() {
        let of = |media_type: &str, bytes: &[u8]| {
            let (format, media_type) = ("agent-spec".to_owned(), media_type.to_owned());
            tag(&Original { format, media_type, bytes: bytes.to_vec() })
        };
        assert_eq!(of("application/json", b"{}"), "\"22bd458398fe5826bce36f308157f014\"");
        assert_ne!(of("application/json", b"{}"), of("application/yaml", b"{}"));
        assert_ne!(of("application/json", b"{}"), of("application/json", b"{ }"));
    }
}
