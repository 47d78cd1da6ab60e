//! Discovery of an agent's document: at its URL, at well-known paths of its site, or by asking the agent.

use std::borrow::Cow;

use serde_json::Value;

use super::{
    poll::{self, NewDocument},
    request::TrackRequest,
    tracker::Tracker,
};
use crate::{
    Error, Result, Timestamp,
    change::Precondition,
    convert::{Format, detect},
    fetch::{Candidate, Fetched, Place, candidates, shown},
    registry::{IfExists, Imported, Registry, Write},
    td::{self, Document, Violation, internal::text_of, merge_patch},
};

/// Well-known place of the Thing Description of a Thing (W3C WoT Discovery, section 6.1).
const THING_DESCRIPTION: &str = "/.well-known/wot";

/// A fetched document whose URL will be polled.
pub(super) struct New {
    pub(super) url: String,
    /// Requested id of its Thing, or `None` if the id is derived from the document.
    pub(super) id: Option<String>,
    pub(super) document: NewDocument,
}

impl New {
    /// The id of the Thing of the document.
    pub(super) fn own_id(&self) -> Option<String> {
        let first = self.document.conversion.things.first()?;
        td::normalize_id(&first.id).ok().map(Cow::into_owned)
    }
}

/// A fetched document, once its format is known.
pub(super) enum Detected {
    Document(Box<New>),
    /// A Thing Description, which needs no conversion.
    Description(Fetched),
}

impl Registry {
    /// Fetches the document of a request from the first place that has it, converted for the Thing that tracks the place
    /// already, if one does and the request names no other.
    ///
    /// The search ends at the first well-known place with an answer. If the URL itself answers with a web page, redirects to one,
    /// or needs credentials, the well-known places of its site are skipped: their documents may describe other agents.
    pub(super) async fn fetch_new(
        &self,
        tracker: &Tracker,
        request: &TrackRequest,
        format: Format,
        now: Timestamp,
    ) -> Result<New> {
        let mut failure = None;
        let mut is_withheld = false;
        for Candidate { url, place } in candidates(&request.url, poll::well_known(format)) {
            if is_withheld && place == Place::Site {
                break;
            }
            let id = self.id_at(tracker, request, &url, format)?;
            match tracker.poller.fetch_new(&url, format, id.as_deref(), now).await {
                Ok(document) => return Ok(New { url, id, document }),
                // The URL itself may be where the agent is called, or a page about it.
                Err(error) if place != Place::Itself && !poll::is_absent(&error) => {
                    return Err(say_how_to_register(rejected(error, &url)));
                }
                Err(error) if poll::is_withheld(&error) => {
                    is_withheld = true;
                    failure = Some(say_how_to_register(error));
                }
                Err(error) if poll::may_be_elsewhere(&error) => {
                    failure.get_or_insert(rejected(error, &url));
                }
                Err(error) => return Err(rejected(error, &url)),
            }
        }
        let failure = failure.unwrap_or_else(|| no_place(&request.url));
        if format != Format::McpServer {
            return Err(failure);
        }
        self.describe_new(tracker, request, now).await.unwrap_or(Err(failure))
    }

    /// Asks the MCP server at the URL of a request what it is. `None` if there is none; an error if it needs credentials, or if
    /// its answer can't be used.
    async fn describe_new(&self, tracker: &Tracker, request: &TrackRequest, now: Timestamp) -> Option<Result<New>> {
        let url = request.url.clone();
        let id = match self.id_at(tracker, request, &url, Format::McpServer) {
            Ok(id) => id,
            Err(error) => return Some(Err(error)),
        };
        match tracker.poller.describe_new(&url, id.as_deref(), now).await? {
            Ok(document) => Some(Ok(New { url, id, document })),
            Err(Error::FetchFailed { status, .. }) if !matches!(status, Some(401 | 403)) => None,
            Err(Error::FetchRefused { .. }) => None,
            Err(error) => Some(Err(say_how_to_register(error))),
        }
    }

    /// Returns the id for the Thing of a document: the requested id, or else that of the Thing for which the URL is
    /// already polled.
    fn id_at(&self, tracker: &Tracker, request: &TrackRequest, url: &str, format: Format) -> Result<Option<String>> {
        match &request.id {
            Some(id) => Ok(Some(id.clone())),
            None => Ok(self.known_sources(tracker, url, format)?.id().map(str::to_owned)),
        }
    }

    /// Finds the document of a request whose format isn't known: at the URL, then below it, then by asking the URL as an MCP
    /// server, then at the root of its site.
    ///
    /// A document that is there and can't be read, or that needs credentials, ends the search before the root of the site,
    /// where documents may be about other agents.
    pub(super) async fn detect_new(
        &self,
        tracker: &Tracker,
        request: &TrackRequest,
        now: Timestamp,
    ) -> Result<Detected> {
        let formats = Format::ALL.iter().flat_map(|format| poll::well_known(*format)).copied();
        let places: Vec<&str> = formats.chain([THING_DESCRIPTION]).collect();
        let (of_site, own): (Vec<Candidate>, Vec<Candidate>) =
            candidates(&request.url, &places).into_iter().partition(|candidate| candidate.place == Place::Site);
        let (mut absent, mut unusable, mut is_found) = (None, None, false);
        for Candidate { url, place } in own {
            match self.detect_at(tracker, request, &url, now).await {
                Ok(detected) => return Ok(detected),
                Err(error) if poll::is_absent(&error) => {
                    absent.get_or_insert(error);
                }
                Err(error) if place != Place::Itself && poll::is_withheld(&error) => {
                    return Err(say_how_to_register(error));
                }
                Err(error) if poll::may_be_elsewhere(&error) => {
                    // The URL itself may be where the agent is called.
                    is_found |= place != Place::Itself || poll::is_withheld(&error);
                    unusable.get_or_insert(say_how_to_register(rejected(error, &url)));
                }
                Err(error) => return Err(rejected(error, &url)),
            }
        }
        if let Some(described) = self.describe_new(tracker, request, now).await {
            return described.map(Box::new).map(Detected::Document);
        }
        for Candidate { url, .. } in of_site.into_iter().filter(|_| !is_found) {
            match self.detect_at(tracker, request, &url, now).await {
                Ok(detected) => return Ok(detected),
                Err(error) if poll::is_absent(&error) => {
                    absent.get_or_insert(error);
                }
                Err(error) => return Err(say_how_to_register(rejected(error, &url))),
            }
        }
        Err(unusable.or(absent).unwrap_or_else(|| no_place(&request.url)))
    }

    async fn detect_at(
        &self,
        tracker: &Tracker,
        request: &TrackRequest,
        url: &str,
        now: Timestamp,
    ) -> Result<Detected> {
        let fetched = tracker.poller.fetch_any(url).await?;
        let format = detect(text_of(&fetched.bytes)?)?;
        if format == Format::ThingDescription {
            return Ok(Detected::Description(fetched));
        }
        let id = self.id_at(tracker, request, url, format)?;
        let document = tracker.poller.receive_new(fetched, format, id.as_deref(), now).await?;
        Ok(Detected::Document(Box::new(New { url: url.to_owned(), id, document })))
    }

    /// Puts a Thing Description that was fetched.
    pub(super) async fn put_fetched(&self, request: &TrackRequest, fetched: Fetched) -> Result<Imported> {
        let document = Document::parse(&fetched.bytes)?;
        let mut patch = serde_json::Map::new();
        if let (Some(id), None) = (&request.id, document.id()) {
            patch.insert("id".to_owned(), id.as_str().into());
        }
        if has_relative_address(document.value()) {
            patch.insert("base".to_owned(), fetched.url.as_str().into());
        }
        if let Some(ttl) = request.ttl {
            patch.insert("registration".to_owned(), serde_json::json!({"ttl": ttl}));
        }
        let text = merge_patch::apply(document.text(), &Value::Object(patch).to_string())?;
        let write = match (&request.id, request.if_exists) {
            (Some(id), IfExists::Refuse) => Write::put_at(id.as_str(), text.as_str()).when(Precondition::Absent),
            (None, IfExists::Refuse) => Write::register(text.as_str()),
            (Some(id), _) => Write::put_at(id.as_str(), text.as_str()),
            (None, _) => Write::put(text.as_str()),
        };
        let write = write
            .only_related(request.if_exists == IfExists::ReplaceRelated)
            .replacing(request.replace)
            .dry_run(request.dry_run)
            .actor(request.actor.clone())
            .with_access(request.access.clone());
        let mut written = self.write(write).await?;
        let message = "the Thing Description is registered, but its URL is not polled for changes";
        written.warnings.push(Violation::new("", "not-tracked", message));
        let stored = |text: &str| self.options().redaction.stored_text(&Document::parse(text.as_bytes())?);
        let descriptions = if request.dry_run { vec![stored(&text)?] } else { Vec::new() };
        Ok(Imported { things: vec![written], warnings: Vec::new(), descriptions })
    }
}

/// Adds the URL of the document to an error about it.
fn rejected(error: Error, url: &str) -> Error {
    match error.is_invalid() {
        true => Error::RejectedDocument { url: shown(url), source: Box::new(error) },
        false => error,
    }
}

/// Adds a remedy to the failure to fetch a withheld document.
fn say_how_to_register(error: Error) -> Error {
    if !poll::is_withheld(&error) {
        return error;
    }
    let Error::FetchFailed { url, status, reason, retry_after, source } = error else { return error };
    let advice = match status {
        Some(401 | 403) => {
            "; the URL requires credentials, which the registry doesn't send. Register the document as a file, or give a \
             URL that is publicly readable"
        }
        Some(300..=399) => "; register the document as a file, or give a URL that is publicly readable",
        _ => "; give the URL of the document itself, or register it as a file",
    };
    let reason = format!("{reason}{advice}");
    Error::FetchFailed { url, status, reason, retry_after, source }
}

fn no_place(url: &str) -> Error {
    Error::FetchRefused { url: shown(url), reason: "there is no location to try for a description".into() }
}

/// True for a Thing Description that has a form with a relative URL but no base, so it must be called relative to the
/// URL it came from.
fn has_relative_address(thing: &Value) -> bool {
    let affordances = ["actions", "properties", "events"].into_iter().filter_map(|kind| thing.get(kind)?.as_object());
    let owners = affordances.flat_map(serde_json::Map::values).chain([thing]);
    let mut forms = owners.filter_map(|owner| owner.get("forms")?.as_array()).flatten();
    let is_relative = |href: &str| {
        let scheme = href.split_once(':').map(|(scheme, _)| scheme);
        !scheme.is_some_and(|scheme| scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c)))
    };
    thing.get("base").is_none() && forms.any(|form| form.get("href").and_then(Value::as_str).is_some_and(is_relative))
}
