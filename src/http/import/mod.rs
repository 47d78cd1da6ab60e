//! `/import/{format}`: descriptions in other formats, converted and registered as a whole or not at all.
//!
//! Each format has a file with its parameters, its media types and how its documents become Things.
//! Formats that agents serve themselves may come as a URL, which is then fetched and tracked.

pub(super) mod a2a;
pub(super) mod agent_spec;
pub(super) mod lmos_capabilities;

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        StatusCode,
        header::{ETAG, LOCATION},
    },
    web,
};
use fluent_uri::Iri;
use serde_json::{Map, Value, json};

use super::{
    Context,
    address::{base_path, thing_path},
    blocking::blocking,
    body,
    parameters::Parameters,
    problem::Problem,
    thing::WARNINGS,
};
use crate::{
    convert::{Conversion, Format},
    fetch,
    registry::{Effect, IfExists, Import, Imported, tracked_sources::TrackRequest},
    td,
};

/// What an import may say in any format.
#[derive(Debug, Clone, Copy)]
struct Terms {
    if_exists: IfExists,
    ttl: Option<u64>,
    dry_run: bool,
}

impl Terms {
    fn of(parameters: &Parameters) -> Result<Terms, Problem> {
        let choices = [("replace", IfExists::Replace), ("refuse", IfExists::Refuse)];
        Ok(Terms {
            if_exists: parameters.choice("if_exists", &choices)?.unwrap_or_default(),
            ttl: parameters.number("ttl", 0)?,
            dry_run: parameters.flag("dry_run")?,
        })
    }

    fn import(self, conversion: Conversion) -> Import {
        Import::new(conversion).if_exists(self.if_exists).ttl(self.ttl).dry_run(self.dry_run)
    }

    fn track(self, url: &str, format: Format) -> TrackRequest {
        TrackRequest::new(url, format).if_exists(self.if_exists).ttl(self.ttl).dry_run(self.dry_run)
    }
}

/// What was sent: a document, or where one is.
#[derive(Debug)]
enum Sent {
    Document(Vec<u8>),
    Url(String),
}

impl Sent {
    /// Reads the body of a request, which has one of these types.
    async fn read(
        context: &Context,
        request: &HttpRequest,
        payload: web::Payload,
        types: &[&str],
    ) -> Result<Sent, Problem> {
        body::check_type(request, types)?;
        Sent::of(body::read(request, payload, context.options.body_limit).await?)
    }

    /// An object whose only member is `url` is not a document of any format.
    fn of(bytes: Vec<u8>) -> Result<Sent, Problem> {
        let members: Map<String, Value> = serde_json::from_slice(&bytes).unwrap_or_default();
        let Some(url) = members.get("url").filter(|_| members.len() == 1) else { return Ok(Sent::Document(bytes)) };
        let Some(text) = url.as_str() else { return Err(invalid_url("`url` must be a text")) };
        match Iri::parse(text) {
            Ok(_) => Ok(Sent::Url(text.to_owned())),
            Err(error) => {
                let is_of_web = ["http://", "https://"].iter().any(|start| text.starts_with(start));
                let reason =
                    if is_of_web { error.to_string() } else { "it must start with http:// or https://".into() };
                Err(invalid_url(&format!("{:?} is not an absolute URL: {reason}", fetch::shown(text))))
            }
        }
    }
}

fn invalid_url(detail: &str) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "invalid-url", detail)
}

/// The id that a Thing is to have, if one is given.
fn given_id(parameters: &Parameters) -> Result<Option<String>, Problem> {
    let id = parameters.text("id").map(td::normalize_id).transpose()?;
    Ok(id.map(|id| id.into_owned()))
}

/// Converts on a thread that may block.
async fn convert<T: Send + 'static>(
    conversion: impl FnOnce() -> crate::Result<T> + Send + 'static,
) -> Result<T, Problem> {
    Ok(blocking(conversion).await?)
}

/// Registers what was converted, or nothing of it.
async fn register(context: &Context, import: Import) -> Result<Imported, Problem> {
    let registry = context.registry.clone();
    Ok(blocking(move || pollster::block_on(registry.import(import))).await?)
}

/// Fetches a document, registers it, and tracks its URL from now on.
async fn track(context: &Context, url: &str, request: TrackRequest) -> Result<Imported, Problem> {
    let registry = context.registry.clone();
    let tracking = context.network.run(async move { registry.track(request).await });
    tracking.await.map_err(|error| Problem::of_fetched(error, url))
}

/// The response to an import; `path` is that of the format.
fn answer(context: &Context, request: &HttpRequest, path: &str, imported: &Imported, terms: Terms) -> HttpResponse {
    let of = |effect| imported.ids_with(effect).collect::<Vec<_>>();
    let ids: Vec<&str> = imported.things.iter().map(|thing| thing.id.as_str()).collect();
    let warnings: Vec<_> =
        imported.warnings.iter().chain(imported.things.iter().flat_map(|thing| &thing.warnings)).collect();
    let mut body = json!({
        "ids": ids, "created": of(Effect::Created), "updated": of(Effect::Updated),
        "originalUpdated": of(Effect::OriginalUpdated), "warnings": warnings,
    });
    let is_new = !terms.dry_run && !of(Effect::Created).is_empty();
    let mut response = if is_new { HttpResponse::Created() } else { HttpResponse::Ok() };
    response.insert_header((WARNINGS, warnings.len()));
    if terms.dry_run {
        body["dryRun"] = true.into();
    } else if let [thing] = imported.things.as_slice() {
        let base = base_path(request, &context.options, path);
        response.insert_header((LOCATION, thing_path(base, &thing.id)));
        response.insert_header((ETAG, format!("\"{}\"", thing.seq)));
    }
    response.json(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_object_of_a_url_alone_is_a_url() {
        let sent = |text: &str| match Sent::of(text.into()) {
            Ok(Sent::Url(url)) => url,
            Ok(Sent::Document(bytes)) => format!("document of {} bytes", bytes.len()),
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
        assert_eq!(sent(r#"{"url": null}"#), "`url` must be a text");
        for broken in ["", "agents.example", "/card.json", "https://a.example/a b"] {
            let problem = sent(&json!({"url": broken}).to_string());
            assert!(problem.contains("is not an absolute URL"), "{problem}");
        }
        assert!(sent(r#"{"url": "127.0.0.1:9000/a.json"}"#).ends_with("it must start with http:// or https://"));
        assert!(sent(&json!({"url": "a".repeat(5000)}).to_string()).len() < 300);
    }
}
