//! `GET /things/{id}/{format}`: a Thing in the format that it was imported in, or as near as that format
//! comes to it.

use actix_web::{
    HttpRequest, HttpResponse, HttpResponseBuilder,
    http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, VARY},
    web::Data,
};
use uuid::Uuid;

use super::{
    address::thing_id_before,
    blocking::blocking,
    body::WARNINGS,
    conditions::{Conditions, Verdict},
    context::Context,
    formats::ExportPath,
    negotiation::accepts,
    parameters::Parameters,
    problem::Problem,
};
use crate::{Error, Registry, td::Document};

/// A media type, and the version that it stands for.
type MediaType = (&'static str, Option<&'static str>);

impl ExportPath {
    /// Answers `GET` and `HEAD`.
    pub(super) async fn export(
        &'static self,
        context: Data<Context>,
        request: HttpRequest,
    ) -> Result<HttpResponse, Problem> {
        let has_versions = !self.export.versions.is_empty();
        let parameters = Parameters::parse(&request, if has_versions { &["version"] } else { &[] })?;
        let version = parameters.text("version").map(|asked| self.export.version(asked)).transpose();
        let version = version.map_err(|message| Problem::invalid_parameter("version", message))?;
        let media_type = self.media_type(&request, version);
        let version = version.or(media_type.and_then(|(_, version)| version));
        let conditions = Conditions::of(&request);
        let id = thing_id_before(&request, &context.options, &self.end)?;
        let registry = context.registry.clone();
        let mut exported = blocking(move || self.make(&registry, &id, version)).await?;
        if let Some((media_type, _)) = media_type {
            exported.media_type = media_type.to_owned();
        }
        let mut response = exported.answer(&conditions, self.export.max_age)?;
        if media_type.is_some() {
            response.headers_mut().insert(VARY, HeaderValue::from_static("accept, accept-encoding"));
        }
        Ok(response)
    }

    /// The media type of the answer, with the version that it stands for: that of a version that is asked for,
    /// else one that the client names, else the first; none where there is one only.
    fn media_type(&self, request: &HttpRequest, version: Option<&str>) -> Option<MediaType> {
        let (first, others) = self.export.media_types.split_first().filter(|(_, others)| !others.is_empty())?;
        let of_version = |of: &&MediaType| version.is_some() && of.1 == version;
        let is_named = |named: &&MediaType| (version.is_none() || named.1.is_none()) && accepts(request, named.0);
        let chosen = others.iter().find(of_version).or_else(|| others.iter().find(is_named));
        Some(*chosen.unwrap_or(first))
    }

    /// The original of a Thing, or what is made of its description. Both are read apart: what is replaced in
    /// between may be answered with the original that it had, as a request a moment ago was.
    fn make(&self, registry: &Registry, id: &str, version: Option<&str>) -> crate::Result<Exported> {
        let original = registry.original(id)?.filter(|original| original.format == self.format.name());
        let (media_type, made) = match original {
            Some(original) => {
                let converted = version.map(|version| self.export.in_version(&original.bytes, version)).transpose()?;
                let Some(converted) = converted.flatten() else {
                    let supply = self.export.supply(&original.bytes, &original.media_type)?;
                    let warnings = (!supply.names.is_empty()).then_some(supply.names.len());
                    return Ok(Exported { media_type: original.media_type, bytes: original.bytes, warnings });
                };
                (original.media_type, converted)
            }
            None => {
                let thing = registry.find_by_id(id)?.ok_or_else(|| Error::NotFound { id: id.to_owned() })?;
                let thing = Document::parse(thing.text().as_bytes())?;
                let media_type = self.export.media_types.first().map_or("application/json", |(name, _)| *name);
                (media_type.to_owned(), self.export.from_thing(thing.value(), version)?)
            }
        };
        Ok(Exported { media_type, bytes: made.bytes, warnings: Some(made.warnings.len()) })
    }
}

/// A Thing in a format.
#[derive(Debug)]
struct Exported {
    media_type: String,
    bytes: Vec<u8>,
    /// How much could not be said where it was converted, or was left out of the original.
    warnings: Option<usize>,
}

impl Exported {
    /// A tag of the bytes themselves, the same in every release: another original of the same description
    /// is no change of the Thing.
    fn tag(&self) -> String {
        let media_type = Uuid::new_v5(&Uuid::NAMESPACE_OID, self.media_type.as_bytes());
        format!("\"{}\"", Uuid::new_v5(&media_type, &self.bytes).simple())
    }

    /// The answer, as far as the client doesn't have it already.
    fn answer(self, conditions: &Conditions, max_age: Option<u32>) -> Result<HttpResponse, Problem> {
        let etag = self.tag();
        let head = |mut response: HttpResponseBuilder| {
            response.insert_header((ETAG, etag.as_str()));
            if let Some(seconds) = max_age {
                response.insert_header((CACHE_CONTROL, format!("max-age={seconds}")));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_is_the_same_in_every_release() {
        let tag = |media_type: &str, bytes: &[u8]| {
            Exported { media_type: media_type.to_owned(), bytes: bytes.to_vec(), warnings: None }.tag()
        };
        assert_eq!(tag("application/json", b"{}"), "\"22bd458398fe5826bce36f308157f014\"");
        assert_ne!(tag("application/json", b"{}"), tag("application/yaml", b"{}"));
        assert_ne!(tag("application/json", b"{}"), tag("application/json", b"{ }"));
    }
}
