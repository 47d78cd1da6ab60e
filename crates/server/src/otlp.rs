//! Decisions of the guardian as spans of OpenTelemetry, sent to a collector: OTLP over HTTP, in JSON.
//!
//! Spans are sent in batches; a
//! collector that isn't reached is tried again, and what comes meanwhile beyond a limit is given up and reported.

use std::{pin::pin, sync::Arc, time::Duration};

use reqwest::{Url, header::CONTENT_TYPE};
use serde_json::Value;
use tokio::{
    sync::broadcast::error::RecvError,
    time::{Instant, sleep, sleep_until},
};

use crate::{
    Error, Result,
    policy::{Entry, otlp::traces},
    registry::guardian::Entries,
};

/// Maximum number of spans that are sent together.
const BATCH: usize = 512;
/// Maximum time that a span waits for others.
const DELAY: Duration = Duration::from_secs(1);
/// Maximum time for a collector to answer.
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
    pub async fn run(self, mut entries: Entries, stop: impl Future<Output = ()>) {
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
                        tracing::warn!(missed, "spans of guardian decisions were dropped: the collector was too slow");
                    }
                    Err(RecvError::Closed) => is_ending = true,
                },
                () = &mut stop => is_ending = true,
                () = sleep_until(due), if !batch.is_empty() => {}
            }
            if !batch.is_empty() && (batch.len() >= BATCH || is_ending || Instant::now() >= due) {
                self.send(&traces(batch.iter().map(Arc::as_ref))).await;
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
                    (
                        format!("the collector responds with {status}"),
                        status.is_server_error() || status.as_u16() == 429,
                    )
                }
                Err(error) => (error.without_url().to_string(), true),
            };
            match pause.filter(|_| may_help) {
                Some(pause) => sleep(pause).await,
                None => {
                    tracing::warn!(reason, "spans were dropped: they couldn't be delivered to the collector");
                    return;
                }
            }
        }
    }
}
