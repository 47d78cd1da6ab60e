//! The guardian by the server's settings: its options, and the export of its decisions.

use std::{fs, sync::Arc, time::Duration};

use anyhow::Context;
use tokio::{sync::watch, task::JoinHandle, time::timeout};

use crate::settings::{Settings, read_toml};
use agentdex::{
    Registry,
    policy::{Policy, PolicyFile},
    registry::guardian::{Options, Retention},
};
use agentdex_server::otlp::Exporter;

/// Returns the options of the guardian, with the compiled policy.
pub(super) fn options(settings: &Settings) -> anyhow::Result<Options> {
    let policy = match &settings.policy {
        Some(path) => {
            let shown = path.display();
            let text = fs::read_to_string(path).with_context(|| format!("--policy {shown}"))?;
            let file: PolicyFile = read_toml(&text, &shown.to_string())?;
            Policy::compile(file).with_context(|| format!("--policy {shown}"))?
        }
        None => Policy::default(),
    };
    let defaults = Retention::default();
    let retention = Retention {
        max_bytes: settings.max_trail_bytes.unwrap_or(defaults.max_bytes),
        max_age: settings.trail_retention.map_or(defaults.max_age, Duration::from_secs),
    };
    Ok(Options::default()
        .policy(Arc::new(policy))
        .dry_run(settings.dry_run_policy)
        .store_content(settings.store_content)
        .retention(retention)
        .ocsf(settings.ocsf_file.clone()))
}

/// Maximum time to send the last spans when the server stops.
const LAST_SPANS: Duration = Duration::from_secs(5);

/// Decisions that are sent to a collector.
pub(super) struct Exporting {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Exporting {
    /// Sends what is left, and ends.
    pub(super) async fn stop(self) {
        self.stop.send_replace(true);
        if timeout(LAST_SPANS, self.task).await.is_err() {
            tracing::warn!("the last spans were dropped: the collector didn't accept them in time");
        }
    }
}

/// Creates the exporter that sends decisions to the collector, if there is one.
pub(super) fn exporter(settings: &Settings) -> anyhow::Result<Option<Exporter>> {
    Ok(settings.otlp_url.as_deref().map(Exporter::new).transpose()?)
}

/// Starts to send decisions.
pub(super) fn export(exporter: Exporter, registry: &Registry) -> Exporting {
    let (stop, mut stopped) = watch::channel(false);
    let entries = registry.guardian().subscribe();
    let task = tokio::spawn(exporter.run(entries, async move { drop(stopped.wait_for(|stop| *stop).await) }));
    Exporting { stop, task }
}
