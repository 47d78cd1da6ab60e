//! What the server fetches with, and whose signatures it trusts.

use std::{path::Path, time::Duration};

use anyhow::Context;

use crate::{
    config::Settings,
    fetch::{self, AllowList, Fetcher},
    registry::tracked_sources::Tracking,
    signature::TrustedKeys,
};

/// What documents are imported by URL with.
pub(super) fn tracking(settings: &Settings) -> anyhow::Result<Tracking> {
    let timeout = Duration::from_secs(settings.fetch_timeout);
    let defaults = fetch::Options::default();
    let fetcher = Fetcher::new(fetch::Options {
        allowed: AllowList::parse(&settings.allow_fetch)?,
        proxy: settings.fetch_proxy.clone(),
        ca: settings.fetch_ca.clone(),
        timeout,
        phase_timeout: defaults.phase_timeout.min(timeout),
        ..defaults
    })?;
    let trusted_keys = match &settings.trusted_keys {
        Some(path) => trusted_keys(path)?,
        None => TrustedKeys::none(),
    };
    Ok(Tracking {
        trusted_keys,
        require_signature: settings.require_signature,
        interval: Duration::from_secs(settings.refresh_interval),
        stale_after: settings.stale_after,
        ..Tracking::new(fetcher)
    })
}

/// Reads the keys that are trusted, and says how many.
fn trusted_keys(path: &Path) -> anyhow::Result<TrustedKeys> {
    let keys =
        TrustedKeys::read(path).context("--trusted-keys must name a JSON Web Key Set (JWKS) or a folder with some")?;
    let passed_over = match keys.passed_over() {
        [] => String::new(),
        keys => format!("; {} passed over: {}", keys.len(), keys.join("; ")),
    };
    let noun = if keys.len() == 1 { "key" } else { "keys" };
    tracing::info!("{} trusted {noun} from {}{passed_over}", keys.len(), path.display());
    Ok(keys)
}
