//! `POST /import/{format}`: descriptions in other formats, converted and registered as a whole or not at
//! all. Formats that agents serve themselves may come as a URL, which is then fetched and tracked; `POST /import` takes one
//! of any such format.

use std::borrow::Cow;

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        StatusCode,
        header::{ETAG, LOCATION},
    },
    web::{self, Data},
};
use fluent_uri::Iri;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    address::{base_path, thing_path},
    backpressure::Pacer,
    blocking::blocking,
    body::WARNINGS,
    compatible::json_body,
    context::Context,
    documents::{self, Documents},
    formats::{COMMON_PARAMETERS, ImportPath, explain, explain_fetched},
    parameters::Parameters,
    problem::Problem,
};
use crate::{
    Registry,
    access::AccessRequest,
    convert::{Conversion, Format, ImportOptions, Input, Syntax},
    fetch,
    registry::{Effect, IfExists, Import, Imported, Written, tracked_sources::TrackRequest},
    signature::Verification,
    td,
};

impl ImportPath {
    /// Answers `POST`.
    pub(super) async fn import(
        &'static self,
        context: Data<Context>,
        request: HttpRequest,
        payload: web::Payload,
    ) -> Result<HttpResponse, Problem> {
        let own = self.import.parameters.iter().map(|parameter| parameter.name);
        let known: Vec<&str> = own.chain(COMMON_PARAMETERS).collect();
        let parameters = Parameters::parse(&request, &known)?;
        let (terms, options) = (Terms::of(&parameters)?, self.options(&parameters)?);
        let mut pacer = Pacer::new(&context, &request);
        pacer.wait().await;
        let sent = self.read(&context, &request, payload).await?;
        pacer.wait().await;
        let imported = match sent {
            Sent::Url(url) => {
                if options.text("base").is_some() {
                    let detail = "`base` applies only to a document in the body; omit it for a fetched document";
                    return Err(Problem::invalid_parameter("base", detail));
                }
                let id = options.text("id").map(str::to_owned);
                track(&context, &request, &url, terms.track(&url, Some(self.format)).id(id)).await?
            }
            Sent::Documents(documents) => {
                let is_signed = self.format.is_signed();
                let (registry, replace) = (context.registry(&request), terms.replace);
                let converted = blocking(move || {
                    let card = is_signed.then(|| td::Document::parse(&documents.main.bytes)).transpose();
                    // What is not even such a document is reported as that.
                    let converted =
                        self.convert(&registry, &documents, &options, replace).and_then(|made| Ok((made, card?)));
                    Ok(converted.map_err(|error| explain(error, &documents.main.bytes, self.format)))
                });
                let (conversion, card) = converted.await??;
                let found = match card {
                    Some(card) => Some(check(&context, &request, card).await?),
                    None => None,
                };
                register(&context, &request, terms.import(conversion).signed(found)).await?
            }
        };
        Ok(answer(&context, &request, &self.path, &imported, &terms))
    }

    fn options(&self, parameters: &Parameters) -> Result<ImportOptions, Problem> {
        let mut options = ImportOptions::default();
        if let Some(id) = parameters.text("id") {
            td::normalize_id(id)?;
        }
        for (name, value) in parameters.pairs().filter(|(name, _)| !COMMON_PARAMETERS.contains(name)) {
            options
                .set(self.format, name, value)
                .map_err(|invalid| Problem::invalid_parameter(&invalid.name, invalid.message))?;
        }
        Ok(options)
    }

    async fn read(&self, context: &Context, request: &HttpRequest, payload: web::Payload) -> Result<Sent, Problem> {
        let documents = documents::read(request, payload, self.import, &context.options).await?;
        match self.import.tracking {
            Some(_) => Sent::of(documents),
            None => Ok(Sent::Documents(documents)),
        }
    }

    fn convert(
        &self,
        registry: &Registry,
        Documents { main, components }: &Documents,
        options: &ImportOptions,
        replace: bool,
    ) -> crate::Result<Conversion> {
        let components: Vec<(&[u8], Syntax)> =
            components.iter().map(|component| (component.bytes.as_slice(), component.syntax)).collect();
        let input = Input { bytes: &main.bytes, syntax: main.syntax, components: &components };
        match replace {
            true => Ok(self.import.to_things(&input, options)?),
            false => registry.convert(self.import, &input, options),
        }
    }
}

/// The path of imports by URL.
pub(super) const PATH: &str = "/import";
/// The parameter of the id, which every format has that is tracked.
const ID: &str = "id";

/// Registers the agent at a URL by the description that is found there, in whatever format it is.
pub(super) async fn from_url(
    context: Data<Context>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let known: Vec<&str> = COMMON_PARAMETERS.into_iter().chain([ID]).collect();
    let parameters = Parameters::parse(&request, &known)?;
    let terms = Terms::of(&parameters)?;
    let id = parameters.text(ID).map(td::normalize_id).transpose()?.map(Cow::into_owned);
    let DocumentUrl { url } = json_body(&context, &request, payload, &known).await?;
    let url = absolute(&url)?;
    let imported = track(&context, &request, &url, terms.track(&url, None).id(id)).await?;
    Ok(answer(&context, &request, PATH, &imported, &terms))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DocumentUrl {
    url: String,
}

async fn check(context: &Context, request: &HttpRequest, card: td::Document) -> Result<Verification, Problem> {
    let registry = context.registry(request);
    Ok(context.network.run(async move { registry.check_card(&card, None).await }).await?)
}

/// The common parameters of an import, in any format.
#[derive(Debug, Clone)]
struct Terms {
    if_exists: IfExists,
    replace: bool,
    ttl: Option<u64>,
    dry_run: bool,
    access: AccessRequest,
}

impl Terms {
    fn of(parameters: &Parameters) -> Result<Terms, Problem> {
        let choices =
            [("related", IfExists::ReplaceRelated), ("replace", IfExists::Replace), ("refuse", IfExists::Refuse)];
        Ok(Terms {
            if_exists: parameters.choice("if_exists", &choices)?.unwrap_or_default(),
            replace: parameters.flag("replace")?,
            ttl: parameters.number("ttl", 1)?,
            dry_run: parameters.flag("dry_run")?,
            access: parameters.access()?,
        })
    }

    fn import(&self, conversion: Conversion) -> Import {
        Import::new(conversion)
            .if_exists(self.if_exists)
            .replace(self.replace)
            .ttl(self.ttl)
            .dry_run(self.dry_run)
            .with_access(self.access.clone())
    }

    fn track(&self, url: &str, format: Option<Format>) -> TrackRequest {
        TrackRequest::new(url, format)
            .if_exists(self.if_exists)
            .replace(self.replace)
            .ttl(self.ttl)
            .dry_run(self.dry_run)
            .with_access(self.access.clone())
    }
}

/// The body of an import request: documents, or the URL of one.
#[derive(Debug)]
enum Sent {
    Documents(Documents),
    Url(String),
}

impl Sent {
    /// An object whose only member is `url` is no document of any format.
    fn of(documents: Documents) -> Result<Sent, Problem> {
        let members: Map<String, Value> = serde_json::from_slice(&documents.main.bytes).unwrap_or_default();
        let Some(url) = members.get("url").filter(|_| members.len() == 1) else {
            return Ok(Sent::Documents(documents));
        };
        let Some(text) = url.as_str() else { return Err(invalid_url("`url` must be a string")) };
        absolute(text).map(Sent::Url)
    }
}

fn absolute(url: &str) -> Result<String, Problem> {
    let Err(error) = Iri::parse(url) else { return Ok(url.to_owned()) };
    let is_of_web = ["http://", "https://"].iter().any(|start| url.starts_with(start));
    let reason = if is_of_web { error.to_string() } else { "it must start with http:// or https://".into() };
    Err(invalid_url(&format!("{:?} is not an absolute URL: {reason}", fetch::shown(url))))
}

fn invalid_url(detail: &str) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "invalid-url", detail)
}

/// Registers what was converted, or nothing of it.
async fn register(context: &Context, request: &HttpRequest, import: Import) -> Result<Imported, Problem> {
    let registry = context.registry(request);
    Ok(blocking(move || pollster::block_on(registry.import(import))).await?)
}

/// Fetches a document, registers it, and tracks it from now on.
async fn track(context: &Context, request: &HttpRequest, url: &str, track: TrackRequest) -> Result<Imported, Problem> {
    let registry = context.registry(request);
    let tracking = context.network.run(async move { registry.track(track).await });
    tracking.await.map_err(|error| explain_fetched(error, url))
}

/// The response to an import; `path` is that of the format.
fn answer(context: &Context, request: &HttpRequest, path: &str, imported: &Imported, terms: &Terms) -> HttpResponse {
    let of = |effect| imported.ids_with(effect).map(ToOwned::to_owned).collect::<Vec<String>>();
    let stays = |thing: &&Written| thing.effect != Effect::Removed;
    let ids: Vec<String> = imported.things.iter().filter(stays).map(|thing| thing.id.clone()).collect();
    let warnings = imported.warnings.iter().chain(imported.things.iter().flat_map(|thing| &thing.warnings));
    let mut body = agentdex_api::Imported {
        ids,
        created: of(Effect::Created),
        updated: of(Effect::Updated),
        original_updated: of(Effect::OriginalUpdated),
        versions_updated: of(Effect::VersionsUpdated),
        removed: of(Effect::Removed),
        warnings: warnings.cloned().collect(),
        ..Default::default()
    };
    let is_new = !terms.dry_run && !body.created.is_empty();
    let mut response = if is_new { HttpResponse::Created() } else { HttpResponse::Ok() };
    response.insert_header((WARNINGS, body.warnings.len()));
    if terms.dry_run {
        body.dry_run = true;
        let things = imported.descriptions.iter().map(|text| serde_json::from_str(text).unwrap_or_default());
        body.things = things.collect();
    } else if let (1, Some(thing)) = (body.ids.len(), imported.things.first()) {
        let base = base_path(request, &context.options, path);
        response.insert_header((LOCATION, thing_path(base, &thing.id)));
        response.insert_header((ETAG, format!("\"{}\"", thing.seq)));
    }
    response.json(json!(body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::documents::Document;

    #[test]
    fn only_an_object_of_a_url_alone_is_a_url() {
        let documents = |text: &str| {
            let main = Document { bytes: text.into(), syntax: Syntax::Json };
            Documents { main, components: Vec::new() }
        };
        let sent = |text: &str| match Sent::of(documents(text)) {
            Ok(Sent::Url(url)) => url,
            Ok(Sent::Documents(sent)) => format!("document of {} bytes", sent.main.bytes.len()),
            Err(problem) => problem.to_string(),
        };
        assert_eq!(sent(r#" {"url": "https://a.example"} "#), "https://a.example");
        for other in [
            "",
            "{}",
            "[]",
            "[\"https://a.example\"]",
            "\"https://a.example\"",
            r#"{"url": "https://a.example", "name": ""}"#,
        ] {
            assert_eq!(sent(other), format!("document of {} bytes", other.len()));
        }
        assert_eq!(sent(r#"{"url": null}"#), "`url` must be a string");
        for broken in ["", "agents.example", "/card.json", "https://a.example/a b"] {
            let problem = sent(&json!({"url": broken}).to_string());
            assert!(problem.contains("is not an absolute URL"), "{problem}");
        }
        assert!(sent(r#"{"url": "127.0.0.1:9000/a.json"}"#).ends_with("it must start with http:// or https://"));
        assert!(sent(&json!({"url": "a".repeat(5000)}).to_string()).len() < 300);
    }
}
