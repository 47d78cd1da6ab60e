//! `GET /things/{id}/{format}`: a Thing in the format that it was imported in, or as near as that format
//! comes to it.

use actix_web::{
    HttpRequest, HttpResponse, HttpResponseBuilder,
    http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, VARY},
    web::Data,
};
use agentdex_api::ExportedDocument;
use uuid::Uuid;

use super::{
    address::thing_id_before,
    blocking::blocking,
    body::{self, RETURN_EFFECT, WARNINGS},
    conditions::{Conditions, Verdict},
    context::Context,
    formats::ExportPath,
    negotiation::negotiate,
    parameters::Parameters,
    problem::Problem,
};
use crate::{
    convert::Syntax,
    registry::{ExportOptions, Exported},
};

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
        let known: &[&str] =
            if has_versions { &["version", "edits", "thing_version"] } else { &["edits", "thing_version"] };
        let parameters = Parameters::parse(&request, known)?;
        let edits = parameters.choice("edits", &[("true", true), ("false", false)])?.unwrap_or(true);
        let of_thing = parameters.version("thing_version")?.map(str::to_owned);
        let version = parameters.text("version").map(|asked| self.export.version(asked)).transpose();
        let version = version.map_err(|message| Problem::invalid_parameter("version", message))?;
        let chosen = self.media_type(&request, version)?;
        let version = version.or(chosen.and_then(|(_, version)| version));
        let conditions = Conditions::of(&request);
        let id = thing_id_before(&request, &context.options, &self.end)?;
        let registry = context.registry(&request);
        let export = move || {
            let options = ExportOptions { format_version: version, version: of_thing.as_deref(), edits };
            registry.export_with(&id, self.format, options)
        };
        let exported = blocking(export).await?;
        let exported = match chosen {
            Some((media_type, _)) => Exported { media_type: media_type.to_owned(), ..exported },
            None => self.in_syntax(&request, exported).await?,
        };
        if body::prefers(&request, RETURN_EFFECT) {
            return Ok(with_warnings(exported));
        }
        let mut response = answer(exported, &conditions, self.export.max_age)?;
        response.headers_mut().insert(VARY, HeaderValue::from_static("accept, accept-encoding"));
        Ok(response)
    }

    /// The media type of the answer, with the version that it stands for; `None` where there is one only. A version that is
    /// asked for is also given as what the first media type says.
    fn media_type(&self, request: &HttpRequest, version: Option<&str>) -> Result<Option<MediaType>, Problem> {
        let types = self.export.media_types;
        if types.len() < 2 {
            return Ok(None);
        }
        let is_of_version = |of: &&MediaType| version.is_none() || of.1.is_none() || of.1 == version;
        let mut offered: Vec<MediaType> = types.iter().filter(is_of_version).copied().collect();
        offered.sort_by_key(|(_, of)| version.is_some() && *of != version);
        let names: Vec<&str> = offered.iter().map(|(name, _)| *name).collect();
        let chosen = negotiate(request, &names)?;
        Ok(offered.into_iter().find(|(name, _)| *name == chosen))
    }

    /// The document in the syntax that the client prefers: what is in YAML is given in JSON too.
    async fn in_syntax(&self, request: &HttpRequest, exported: Exported) -> Result<Exported, Problem> {
        let known = self.format.import().map_or(&[][..], |import| import.media_types);
        let is_yaml = known.iter().any(|(name, syntax)| *name == exported.media_type && *syntax == Syntax::Yaml);
        let of_syntax = |of: Syntax| known.iter().filter(move |(_, syntax)| *syntax == of).map(|(name, _)| *name);
        let yaml = of_syntax(Syntax::Yaml).filter(|_| is_yaml);
        let others = yaml.chain(of_syntax(Syntax::Json)).filter(|name| *name != exported.media_type);
        let offered: Vec<&str> = [exported.media_type.as_str()].into_iter().chain(others).collect();
        let media_type = negotiate(request, &offered)?.to_owned();
        let is_wanted = of_syntax(Syntax::Json).any(|name| name == media_type);
        let exported = if is_yaml && is_wanted { blocking(move || exported.into_json()).await? } else { exported };
        Ok(Exported { media_type, ..exported })
    }
}

/// A tag of the bytes themselves, the same in every release: another original of the same description
/// is no change of the Thing.
fn tag(exported: &Exported) -> String {
    let media_type = Uuid::new_v5(&Uuid::NAMESPACE_OID, exported.media_type.as_bytes());
    format!("\"{}\"", Uuid::new_v5(&media_type, &exported.bytes).simple())
}

/// The document with its warnings, as JSON.
fn with_warnings(exported: Exported) -> HttpResponse {
    let warnings = exported.warnings.unwrap_or_default();
    let mut response = HttpResponse::Ok();
    response.insert_header((WARNINGS, warnings.len())).insert_header(("preference-applied", RETURN_EFFECT));
    let document = String::from_utf8_lossy(&exported.bytes).into_owned();
    response.json(ExportedDocument { media_type: exported.media_type, document, warnings })
}

/// The answer, as far as the client doesn't have it already.
fn answer(exported: Exported, conditions: &Conditions, max_age: Option<u32>) -> Result<HttpResponse, Problem> {
    let etag = tag(&exported);
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
            if let Some(warnings) = exported.warnings {
                response.insert_header((WARNINGS, warnings.len()));
            }
            Ok(response.insert_header((CONTENT_TYPE, exported.media_type)).body(exported.bytes))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_is_the_same_in_every_release() {
        let tag = |media_type: &str, bytes: &[u8]| {
            tag(&Exported { media_type: media_type.to_owned(), bytes: bytes.to_vec(), warnings: None })
        };
        assert_eq!(tag("application/json", b"{}"), "\"22bd458398fe5826bce36f308157f014\"");
        assert_ne!(tag("application/json", b"{}"), tag("application/yaml", b"{}"));
        assert_ne!(tag("application/json", b"{}"), tag("application/json", b"{ }"));
    }
}
