//! Outbound requests of the server, and the keys and issuers whose signatures it trusts.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::Context;

use crate::settings::Settings;
use agentdex::{
    Error, Registry,
    access::RoleMapping,
    fetch::{self, AllowList, Fetcher},
    registry::{
        IssuerOptions,
        tracked_sources::{ServerDescriber, Tracking},
    },
    signature::TrustedKeys,
};
use agentdex_consumer::{self as consumer, Consumer, Sacp};

/// Maximum time for an agent's part of a conversation.
const LONGEST_ANSWER: Duration = Duration::from_secs(120);

/// Creates the fetcher of documents, and of the keys of a token issuer.
pub(super) fn fetcher(settings: &Settings) -> anyhow::Result<Fetcher> {
    Ok(Fetcher::new(options(settings)?)?)
}

fn options(settings: &Settings) -> anyhow::Result<fetch::Options> {
    let timeout = Duration::from_secs(settings.fetch_timeout);
    let defaults = fetch::Options::default();
    let phase_timeout = defaults.phase_timeout.min(timeout);
    Ok(defaults
        .allowed(AllowList::parse(&settings.allow_fetch)?)
        .proxy(settings.fetch_proxy.clone())
        .ca(settings.fetch_ca.clone())
        .timeout(timeout)
        .phase_timeout(phase_timeout))
}

/// Creates the consumer that calls agents for clients, if that is offered. It has no credentials, and reaches the
/// addresses that documents may be fetched from.
pub(super) fn conversations(settings: &Settings, registry: &Registry) -> anyhow::Result<Option<Consumer>> {
    if !settings.conversations {
        return Ok(None);
    }
    let consumer = Consumer::with_options(registry.clone(), options(settings)?)?;
    // Anybody who may register an agent could otherwise collect the credentials of the server.
    let no_variables: [(String, String); 0] = [];
    let settings = consumer::Settings::new().environment(no_variables).timeout(LONGEST_ANSWER).answers(Sacp::Allowed);
    Ok(Some(consumer.with_settings(settings)))
}

/// The OIDC token issuer, if there is one.
pub(super) fn issuer(settings: &Settings, fetcher: &Fetcher) -> anyhow::Result<Option<IssuerOptions>> {
    let (Some(issuer), Some(audience)) = (&settings.oidc_issuer, &settings.oidc_audience) else { return Ok(None) };
    let mut options = IssuerOptions::new(issuer.clone(), audience.clone(), fetcher.clone())
        .jwks(settings.oidc_jwks.clone())
        .client_id(settings.oidc_client_id.clone());
    if !settings.oidc_role.is_empty() {
        options =
            options.roles(RoleMapping::parse(&settings.oidc_role).map_err(anyhow::Error::msg).context("oidc_role")?);
    }
    if let Some(claim) = &settings.oidc_owner_claim {
        options = options.owner_claim(claim);
    }
    if let Some(claim) = &settings.oidc_role_claim {
        options = options.role_claim(claim);
    }
    if let Some(scope) = &settings.oidc_scope {
        options = options.scope(scope);
    }
    Ok(Some(options))
}

/// Returns the options of imports by URL: the fetcher, trusted keys, and the refresh of sources.
pub(super) fn tracking(settings: &Settings, fetcher: Fetcher) -> anyhow::Result<Tracking> {
    let trusted_keys = match &settings.trusted_keys {
        Some(path) => trusted_keys(path)?,
        None => TrustedKeys::none(),
    };
    Ok(Tracking::new(fetcher)
        .server_describer(server_describer(settings)?)
        .trusted_keys(trusted_keys)
        .require_signature(settings.require_signature)
        .interval(Duration::from_secs(settings.refresh_interval))
        .stale_after(settings.stale_after))
}

/// Returns what asks MCP servers that publish no card, at the addresses that documents may be fetched from.
fn server_describer(settings: &Settings) -> anyhow::Result<ServerDescriber> {
    let network = consumer::Network::new(options(settings)?)?;
    let limit = Duration::from_secs(settings.fetch_timeout);
    Ok(Arc::new(move |url| {
        let network = network.clone();
        Box::pin(async move {
            let card = consumer::describe_mcp_server(&network, &url, limit).await;
            card.map(|card| card.to_string().into_bytes()).map_err(fetch_error)
        })
    }))
}

/// The error of asking a server as one of fetching its card.
fn fetch_error(error: consumer::Error) -> Error {
    let failed =
        |url, status, retry_after, reason| Error::FetchFailed { url, status, reason, retry_after, source: None };
    match error {
        consumer::Error::Refused { url, reason } => Error::FetchRefused { url, reason },
        consumer::Error::Status { url, status, retry_after, .. } => {
            failed(url, Some(status), retry_after, format!("the MCP server answered with status {status}"))
        }
        consumer::Error::Unreachable { url, reason, .. } | consumer::Error::Interrupted { url, reason } => {
            failed(url, None, None, reason)
        }
        other => failed("the MCP server".to_owned(), None, None, other.to_string()),
    }
}

/// Reads the keys that are trusted, and says how many.
fn trusted_keys(path: &Path) -> anyhow::Result<TrustedKeys> {
    let keys = TrustedKeys::read(path)
        .context("--trusted-keys must name a file with a JSON Web Key Set (JWKS), or a folder of such files")?;
    let passed_over = match keys.passed_over() {
        [] => String::new(),
        keys => format!("; {} ignored: {}", keys.len(), keys.join("; ")),
    };
    let noun = if keys.len() == 1 { "key" } else { "keys" };
    tracing::info!("{} trusted {noun} from {}{passed_over}", keys.len(), path.display());
    Ok(keys)
}
