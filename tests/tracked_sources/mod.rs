//! Tracked sources: what happens to a Thing when its source changes, fails, recovers.

mod again;
mod changes;
mod checks;
mod discovery;
mod expiry;
mod failures;
mod formats;
mod keys;
mod others;
mod own_members;
mod places;
mod signatures;
mod stopping;
mod takeover;
mod worker;

use std::{sync::Arc, time::Duration};

use agentdex::{
    ChangeKind, Error, Registry, Timestamp,
    convert::{Conversion, ConvertedThing, Format, Source},
    fetch::{self, AllowList, Fetcher},
    registry::{
        Effect, Imported,
        tracked_sources::{FetchedDocument, RefreshResult, TrackRequest, TrackedSource, Tracking},
    },
    search::Filters,
    td::{Document, Report, Violation},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Answers, Page, Reply, Site};

/// A registry that tracks sources, and polls only on request.
struct Fixture {
    registry: Registry,
    directory: TempDir,
}

impl Fixture {
    fn start() -> Fixture {
        Fixture::with(|tracking| tracking)
    }

    fn with(change: impl FnOnce(Tracking) -> Tracking) -> Fixture {
        let directory = TempDir::new().unwrap();
        let registry = open(&directory, change(tracking()));
        Fixture { registry, directory }
    }

    fn track(&self, source: &Page) -> Imported {
        block_on(self.registry.track(TrackRequest::new(source.url(), Format::A2a))).unwrap()
    }

    /// Polls what is due when its time has come.
    fn refresh(&self, id: &str) -> TrackedSource {
        let moment = self.import(id).next_try;
        assert_eq!(block_on(self.registry.refresh_due(moment)).unwrap(), 1);
        self.import(id)
    }

    fn import(&self, id: &str) -> TrackedSource {
        self.registry.find_tracked_source(id).unwrap().unwrap_or_else(|| panic!("{id} is not tracked"))
    }

    fn is_tracked(&self, id: &str) -> bool {
        self.registry.find_tracked_source(id).unwrap().is_some()
    }

    fn thing(&self, id: &str) -> Value {
        serde_json::from_str(self.registry.find(id).unwrap().unwrap().text()).unwrap()
    }

    /// What the search filters find.
    fn found(&self, filters: Filters) -> Vec<String> {
        self.registry.ids_matching(None, &filters, true).unwrap().ids
    }

    /// Kinds of all changes so far.
    fn changes(&self) -> Vec<ChangeKind> {
        let changes = self.registry.changes(agentdex::Seq::ZERO, 1000).unwrap().changes;
        changes.iter().map(|change| change.kind).collect()
    }
}

fn open(directory: &TempDir, tracking: Tracking) -> Registry {
    Registry::builder(directory.path()).tracking(tracking).open().unwrap()
}

/// Fetches from loopback, whatever the name.
fn fetcher() -> Fetcher {
    let options = fetch::Options::default()
        .allowed(AllowList::parse(["127.0.0.0/8"]).unwrap())
        .timeout(Duration::from_secs(20))
        .phase_timeout(Duration::from_secs(10));
    Fetcher::with_resolver(options, Answers::of(&[&["127.0.0.1"]])).unwrap()
}

fn tracking() -> Tracking {
    Tracking::new(fetcher()).in_background(false).convert(Arc::new(convert))
}

fn card(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "url": "https://agents.example/a2a", "skills": []})
}

fn id_of(name: &str) -> String {
    format!("urn:card:{name}")
}

/// A converter that knows as little of cards as these tests need.
fn convert(document: &FetchedDocument<'_>) -> agentdex::Result<Conversion> {
    let card: Value = serde_json::from_slice(document.document).unwrap_or_default();
    let Some(name) = card["name"].as_str() else {
        let violation = Violation { pointer: "/name".into(), rule: "card-name".into(), message: "no card".into() };
        let report = Report { violations: vec![violation], ..Report::default() };
        return Err(Error::InvalidSource { format: "a2a", report });
    };
    let id = document.id.map_or_else(|| id_of(name), str::to_owned);
    let description = json!({
        "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
        "@type": "lmos:Agent",
        "id": id,
        "title": name,
        "description": card["description"],
        "base": document.url,
        "security": "none",
        "securityDefinitions": {"none": {"scheme": "nosec"}}
    });
    let source =
        Source { format: document.format, media_type: "application/json".into(), bytes: document.document.to_vec() };
    let thing =
        ConvertedThing { id, description: Document::parse(description.to_string().as_bytes()).unwrap(), source };
    Ok(Conversion { things: vec![thing], ..Conversion::default() })
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
