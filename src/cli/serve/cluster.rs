//! The server as a node of a cluster.

use std::{env, fmt, fs, net::ToSocketAddrs, path::Path, time::Duration};

use anyhow::{Context, bail};

use crate::settings::{CLUSTER_PASSWORD, Settings};
use agentdex::registry::ClusterOptions;

/// Returns the options of the node, or `None` without --cluster.
pub(super) fn options(settings: &Settings) -> anyhow::Result<Option<ClusterOptions>> {
    if settings.cluster.is_empty() {
        return Ok(None);
    }
    for endpoint in &settings.cluster {
        check_endpoint(endpoint, settings.insecure)?;
    }
    let node = settings.cluster_node.clone().unwrap_or_else(|| default_name(&settings.listen));
    let mut options = ClusterOptions::new(settings.cluster.clone())
        .cluster_name(&settings.cluster_name)
        .node(node)
        .init(settings.cluster_init)
        .stale_limit(Duration::from_secs(settings.cluster_stale_limit));
    for (name, value) in common(settings)? {
        options = options.setting(name, value);
    }
    if let Some(url) = settings.cluster_url.as_ref().or(settings.public_url.as_ref()) {
        options = options.url(url);
    }
    if let Some(user) = &settings.cluster_user {
        let password = env::var(CLUSTER_PASSWORD);
        let password = password.with_context(|| format!("--cluster-user needs a password in {CLUSTER_PASSWORD}"))?;
        options = options.user(user, password);
    }
    if let Some(file) = &settings.cluster_ca {
        options = options.ca(read(file)?);
    }
    if let (Some(certificate), Some(key)) = (&settings.cluster_cert, &settings.cluster_key) {
        options = options.certificate(read(certificate)?, read(key)?);
    }
    Ok(Some(options))
}

/// Returns settings that should be the same on all nodes: those that decide which writes are accepted and which
/// results are found. Values of files are their content.
fn common(settings: &Settings) -> anyhow::Result<Vec<(&'static str, Vec<u8>)>> {
    let values: [(&str, &dyn fmt::Debug); 26] = [
        ("public_url", &settings.public_url),
        ("validation", &settings.validation),
        ("redact", &settings.redact),
        ("default_ttl", &settings.default_ttl),
        ("min_ttl", &settings.min_ttl),
        ("max_ttl", &settings.max_ttl),
        ("embedding_model", &settings.embedding_model),
        ("semantic_scale", &settings.semantic_scale),
        ("sparql", &settings.sparql),
        ("auth", &settings.auth),
        ("public_read", &settings.public_read),
        ("conversations", &settings.conversations),
        ("tls_client_role", &settings.tls_client_role),
        ("oidc_issuer", &settings.oidc_issuer),
        ("oidc_audience", &settings.oidc_audience),
        ("oidc_jwks", &settings.oidc_jwks),
        ("oidc_owner_claim", &settings.oidc_owner_claim),
        ("oidc_role_claim", &settings.oidc_role_claim),
        ("oidc_role", &settings.oidc_role),
        ("mqtt_url", &settings.mqtt_url),
        ("mqtt_prefix", &settings.mqtt_prefix),
        ("allow_fetch", &settings.allow_fetch),
        ("stale_after", &settings.stale_after),
        ("require_signature", &settings.require_signature),
        ("dry_run_policy", &settings.dry_run_policy),
        ("store_content", &settings.store_content),
    ];
    let mut values: Vec<_> = values.map(|(name, value)| (name, format!("{value:?}").into_bytes())).into();
    for (name, file) in [
        ("trusted_keys", &settings.trusted_keys),
        ("policy", &settings.policy),
        ("tls_client_ca", &settings.tls_client_ca),
    ] {
        values.push((name, file.as_deref().map(read).transpose()?.unwrap_or_default()));
    }
    Ok(values)
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("reading {}", file.display()))
}

/// Refuses unencrypted connections to etcd on other machines, unless the operator allows them.
fn check_endpoint(endpoint: &str, is_insecure: bool) -> anyhow::Result<()> {
    let Some(host) = endpoint.strip_prefix("http://").filter(|_| !is_insecure) else { return Ok(()) };
    let host = host.trim_end_matches('/');
    let is_loopback = host.to_socket_addrs().is_ok_and(|mut addresses| addresses.all(|each| each.ip().is_loopback()));
    if !is_loopback {
        bail!(
            "the connection to {endpoint} would be unencrypted; use https:// with --cluster-ca, or allow this with \
             --insecure (for trusted networks)"
        );
    }
    Ok(())
}

/// Returns the name of the computer with the port of the server.
fn default_name(listen: &str) -> String {
    let computer = rustix::system::uname();
    let port = listen.rsplit_once(':').map_or("", |(_, port)| port);
    format!("{}:{port}", computer.nodename().to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_reached_without_encryption() {
        for allowed in ["https://etcd-1:2379", "http://127.0.0.1:2379", "http://[::1]:2379/"] {
            check_endpoint(allowed, false).unwrap();
        }
        for refused in ["http://192.0.2.1:2379", "http://no-such-host.invalid:2379"] {
            let error = check_endpoint(refused, false).unwrap_err().to_string();
            assert!(error.contains(refused) && error.contains("--insecure"), "{error}");
            check_endpoint(refused, true).unwrap();
        }
    }

    #[test]
    fn a_node_is_named_after_its_computer_and_port() {
        let name = default_name("127.0.0.1:8080");
        assert!(name.ends_with(":8080") && name.len() > 5, "{name}");
    }
}
