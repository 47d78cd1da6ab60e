//! `/things/{id}/{format}`: a Thing in the format that it was imported in, or as near as that format
//! comes to it. Each format has a file with its parameters and how it is made of a description.

pub(super) mod agent_card;
pub(super) mod agent_spec;
pub(super) mod lmos_capabilities;

use actix_web::{
    HttpRequest, HttpResponse, HttpResponseBuilder,
    http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG},
};
use serde_json::Value;
use uuid::Uuid;

use super::{
    Context,
    address::thing_id_before,
    blocking::blocking,
    conditions::{Conditions, Verdict},
    problem::Problem,
    thing::WARNINGS,
};
use crate::{Error, Registry, convert::Format, store::Original, td::Document};

/// How long readers of what agents serve themselves needn't ask again.
const MAX_AGE: &str = "max-age=60";

/// What a Thing has to be given as a format.
enum Source {
    /// It was imported in that format, and this is what it was made of.
    Original(Original),
    /// Its description.
    Description(Value),
}

/// A Thing in a format.
#[derive(Debug)]
struct Rendition {
    media_type: String,
    bytes: Vec<u8>,
    /// How much could not be said, where it was converted.
    warnings: Option<usize>,
}

impl Rendition {
    fn json(bytes: impl Into<Vec<u8>>) -> Rendition {
        Rendition { media_type: "application/json".to_owned(), bytes: bytes.into(), warnings: None }
    }

    /// A tag of the bytes themselves, the same in every release: another original of the same description
    /// is no change of the Thing.
    fn tag(&self) -> String {
        let media_type = Uuid::new_v5(&Uuid::NAMESPACE_OID, self.media_type.as_bytes());
        format!("\"{}\"", Uuid::new_v5(&media_type, &self.bytes).simple())
    }

    /// The answer, as far as the client doesn't have it already.
    fn answer(self, conditions: &Conditions, cache_control: Option<&'static str>) -> Result<HttpResponse, Problem> {
        let etag = self.tag();
        let head = |mut response: HttpResponseBuilder| {
            response.insert_header((ETAG, etag.as_str()));
            if let Some(directives) = cache_control {
                response.insert_header((CACHE_CONTROL, directives));
            }
            response
        };
        match conditions.verdict(etag.trim_matches('"')) {
            Verdict::NotModified => Ok(head(HttpResponse::NotModified()).finish()),
            Verdict::Failed => Err(Problem::precondition_failed(&etag)),
            Verdict::Proceed => {
                let mut response = head(HttpResponse::Ok());
                if let Some(warnings) = self.warnings {
                    response.insert_header((WARNINGS, warnings));
                }
                Ok(response.insert_header((CONTENT_TYPE, self.media_type)).body(self.bytes))
            }
        }
    }
}

impl From<Original> for Rendition {
    fn from(Original { media_type, bytes, .. }: Original) -> Rendition {
        Rendition { media_type, bytes, warnings: None }
    }
}

/// Gives the Thing that a request addresses with `end` behind its id as a format.
async fn render(
    context: &Context,
    request: &HttpRequest,
    (format, end): (Format, &str),
    make: impl FnOnce(Source) -> crate::Result<Rendition> + Send + 'static,
) -> Result<Rendition, Problem> {
    let id = thing_id_before(request, &context.options, end)?;
    let registry = context.registry.clone();
    Ok(blocking(move || make(source(&registry, &id, format)?)).await?)
}

/// The original of a Thing, or its description. Both are read apart: what is replaced in between may be
/// answered with the original that it had, as a request a moment ago was.
fn source(registry: &Registry, id: &str, format: Format) -> crate::Result<Source> {
    if let Some(original) = registry.original(id)?.filter(|original| original.format == format.name()) {
        return Ok(Source::Original(original));
    }
    let thing = registry.find_by_id(id)?.ok_or_else(|| Error::NotFound { id: id.to_owned() })?;
    Ok(Source::Description(Document::parse(thing.text().as_bytes())?.into_parts().0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_is_the_same_in_every_release() {
        let tag = |media_type: &str, bytes: &[u8]| {
            Rendition { media_type: media_type.to_owned(), ..Rendition::json(bytes) }.tag()
        };
        assert_eq!(tag("application/json", b"{}"), "\"22bd458398fe5826bce36f308157f014\"");
        assert_ne!(tag("application/json", b"{}"), tag("application/yaml", b"{}"));
        assert_ne!(tag("application/json", b"{}"), tag("application/json", b"{ }"));
    }
}
