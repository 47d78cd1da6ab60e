//! Decisions of the guardian as spans of OpenTelemetry, sent to a collector: OTLP over HTTP, in JSON.
//!
//! A session is a trace, and each step a span of it that is as long as the decision took. Spans are sent in batches; a
//! collector that isn't reached is tried again, and what comes meanwhile beyond a limit is given up and reported.

use std::{pin::pin, sync::Arc, time::Duration};

use reqwest::{Url, header::CONTENT_TYPE};
use serde_json::{Value, json};
use tokio::{
    sync::broadcast::{Receiver, error::RecvError},
    time::{Instant, sleep, sleep_until},
};

use crate::{Error, Result, policy::Decision, registry::guardian::Entry, signature::digest};

/// How many spans are sent together at most.
const BATCH: usize = 512;
/// How long a span waits for others.
const DELAY: Duration = Duration::from_secs(1);
/// How long a collector may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The pauses before it is tried again.
const PAUSES: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4), Duration::from_secs(8)];

/// Sends decisions to a collector.
#[derive(Debug)]
pub struct Exporter {
    client: reqwest::Client,
    url: Url,
}

impl Exporter {
    /// An exporter to the collector at `url`, such as `http://127.0.0.1:4318`; traces go to `/v1/traces` below it.
    /// Installs rustls's ring provider for the process where none is installed.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`] for what is not a URL of HTTP.
    pub fn new(url: &str) -> Result<Exporter> {
        let invalid = |message: String| Error::InvalidSetting { origin: "otlp_url".to_owned(), message };
        let parsed = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let Some(mut url) = parsed else {
            return Err(invalid("not an http or https URL; for example http://127.0.0.1:4318".to_owned()));
        };
        let base = url.path().trim_end_matches('/').to_owned();
        if !base.ends_with("/v1/traces") {
            url.set_path(&format!("{base}/v1/traces"));
        }
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // Fails only where another thread was faster, which is as good.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let client = reqwest::Client::builder().user_agent(concat!("agentdex/", env!("CARGO_PKG_VERSION")));
        let client = client.timeout(TIMEOUT).build().map_err(|error| invalid(error.to_string()))?;
        Ok(Exporter { client, url })
    }

    /// Sends the entries that are received, until there are no more, or `stop` is done. Best run as a task of its own.
    pub async fn run(self, mut entries: Receiver<Arc<Entry>>, stop: impl Future<Output = ()>) {
        let mut batch: Vec<Arc<Entry>> = Vec::new();
        let mut due = Instant::now();
        let mut stop = pin!(stop);
        let mut is_ending = false;
        while !is_ending {
            tokio::select! {
                biased;
                received = entries.recv() => match received {
                    Ok(entry) => {
                        if batch.is_empty() {
                            due = Instant::now() + DELAY;
                        }
                        batch.push(entry);
                    }
                    Err(RecvError::Lagged(missed)) => {
                        tracing::warn!(missed, "decisions came faster than the collector took their spans");
                    }
                    Err(RecvError::Closed) => is_ending = true,
                },
                () = &mut stop => is_ending = true,
                () = sleep_until(due), if !batch.is_empty() => {}
            }
            if !batch.is_empty() && (batch.len() >= BATCH || is_ending || Instant::now() >= due) {
                self.send(&traces(&batch)).await;
                batch.clear();
            }
        }
    }

    /// Sends a batch; after a few tries it is given up.
    async fn send(&self, traces: &Value) {
        let body = traces.to_string();
        for pause in PAUSES.into_iter().map(Some).chain([None]) {
            let request =
                self.client.post(self.url.clone()).header(CONTENT_TYPE, "application/json").body(body.clone());
            let (reason, may_help) = match request.send().await {
                Ok(response) if response.status().is_success() => return,
                Ok(response) => {
                    let status = response.status();
                    (format!("it answers {status}"), status.is_server_error() || status.as_u16() == 429)
                }
                Err(error) => (error.without_url().to_string(), true),
            };
            match pause.filter(|_| may_help) {
                Some(pause) => sleep(pause).await,
                None => {
                    tracing::warn!(reason, "spans are given up: the collector doesn't take them");
                    return;
                }
            }
        }
    }
}

/// What is sent to a collector (`ExportTraceServiceRequest`).
fn traces(entries: &[Arc<Entry>]) -> Value {
    let spans: Vec<Value> = entries.iter().map(|entry| span(entry)).collect();
    json!({"resourceSpans": [{
        "resource": {"attributes": [
            text("service.name", "agentdex"),
            text("service.version", env!("CARGO_PKG_VERSION")),
        ]},
        "scopeSpans": [{"scope": {"name": "agentdex.guardian", "version": env!("CARGO_PKG_VERSION")}, "spans": spans}],
    }]})
}

fn span(entry: &Entry) -> Value {
    let (agent, session) = (entry.agent.as_deref().unwrap_or_default(), entry.session.as_deref().unwrap_or_default());
    let start = i128::from(entry.at.0) * 1_000_000;
    let end = start + i128::from(entry.microseconds) * 1000;
    let mut attributes = vec![
        text("aos.method", &entry.method),
        text("aos.decision", entry.decision.as_str()),
        text("aos.content.hash", &entry.hash),
        json!({"key": "aos.seq", "value": {"intValue": entry.seq.to_string()}}),
    ];
    let members = [
        ("gen_ai.agent.id", &entry.agent),
        ("gen_ai.conversation.id", &entry.session),
        ("gen_ai.tool.name", &entry.tool),
        ("aos.turn.id", &entry.turn),
        ("aos.step.id", &entry.step),
    ];
    attributes.extend(members.into_iter().filter_map(|(name, value)| Some(text(name, value.as_deref()?))));
    if let Some(would_be) = entry.would_be {
        attributes.push(text("aos.decision.would_be", would_be.as_str()));
    }
    if let Some(response) = &entry.sacp {
        attributes.push(text("sacp.status", &response.status));
    }
    let event = |finding: &crate::policy::Finding| {
        json!({
            "name": "finding", "timeUnixNano": end.to_string(),
            "attributes": [text("aos.rule", &finding.rule), text("aos.message", &finding.message)],
        })
    };
    let events: Vec<Value> = entry.findings.iter().map(event).collect();
    // Steps without a session are traces of their own.
    let trace = match session {
        "" => id(&format!("{}\n{}", entry.seq, entry.hash), 32),
        session => id(&format!("{agent}\n{session}"), 32),
    };
    json!({
        "traceId": trace,
        "spanId": id(&format!("{}\n{agent}\n{session}\n{}", entry.seq, entry.at), 16),
        "name": entry.method, "kind": 1,
        "startTimeUnixNano": start.to_string(), "endTimeUnixNano": end.to_string(),
        "attributes": attributes, "events": events,
        "status": if entry.decision == Decision::Deny { json!({"code": 2, "message": "denied"}) } else { json!({"code": 1}) },
    })
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

/// Hexadecimal digits that are the same for the same text.
fn id(text: &str, digits: usize) -> String {
    digest(text.as_bytes()).trim_start_matches("sha256:").chars().take(digits).collect()
}
