//! Metadata and keys of an authorization server.

use std::time::Duration;

use agentdex_api::SignIn;
use serde::Deserialize;

use super::options::IssuerOptions;
use crate::{
    Error, Result,
    fetch::{AllowList, Fetcher, Request},
    signature::TrustedKeys,
};

/// Metadata of an issuer, as far as it is used (RFC 8414, section 2; OpenID Connect Discovery, section 3).
#[derive(Debug, Clone, Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: String,
    authorization_endpoint: Option<String>,
    token_endpoint: Option<String>,
}

/// Keys of an issuer, with their lifetime if the server declares one.
pub(super) struct FetchedKeys {
    pub keys: TrustedKeys,
    pub max_age: Option<Duration>,
    /// Sign-in parameters for people, if a client id is configured and the issuer has the endpoints.
    pub sign_in: Option<SignIn>,
}

/// Returns a fetcher that is also allowed to contact the host of the issuer, as named by the operator.
///
/// # Errors
/// [`Error::InvalidSetting`]
pub(super) fn fetcher(options: &IssuerOptions) -> Result<Fetcher> {
    let mut own = AllowList::default();
    for url in options.jwks.iter().chain([&options.issuer]) {
        if !url.starts_with("https://") && !is_loopback(url) {
            let message = format!(
                "{url:?} must begin with https://; otherwise, an attacker on the network could replace the keys of the \
                 issuer"
            );
            return Err(Error::InvalidSetting { origin: "oidc_issuer".into(), message });
        }
        own = own.and(AllowList::of_url(url)?);
    }
    Ok(options.fetcher.allowing(own))
}

/// True if a URL is one of this machine.
fn is_loopback(url: &str) -> bool {
    let ends = |rest: &str| rest.is_empty() || rest.starts_with(['/', ':']);
    let hosts = ["http://127.0.0.1", "http://localhost", "http://[::1]"];
    hosts.iter().any(|host| url.strip_prefix(host).is_some_and(ends))
}

/// Fetches the keys of an issuer.
///
/// # Errors
/// Why they can't be had, in words.
pub(super) async fn fetch_keys(options: &IssuerOptions, fetcher: &Fetcher) -> std::result::Result<FetchedKeys, String> {
    let metadata = match (&options.jwks, &options.client_id) {
        (Some(_), None) => None,
        _ => Some(metadata(options, fetcher).await?),
    };
    let url = options.jwks.clone().or_else(|| metadata.as_ref().map(|metadata| metadata.jwks_uri.clone()));
    let url = url.unwrap_or_default();
    let sign_in = metadata.and_then(|metadata| sign_in(options, metadata));
    let is_downgrade = options.issuer.starts_with("https:") && !url.starts_with("https:");
    if is_downgrade {
        return Err(format!("the URL of its keys, {url:?}, doesn't begin with https://"));
    }
    let request = Request::new(url.as_str()).accept("application/jwk-set+json, application/json;q=0.9");
    let fetched = fetcher.fetch(&request).await.map_err(|error| error.to_string())?;
    let keys = TrustedKeys::from_domain(&fetched.bytes, &options.issuer)
        .map_err(|reason| format!("the document at {url} is not a JSON Web Key Set: {reason}"))?;
    if keys.is_empty() {
        return Err(format!("{url} contains no public key for verifying signatures (P-256, P-384, RSA, or Ed25519)"));
    }
    Ok(FetchedKeys { keys, max_age: fetched.max_age, sign_in })
}

/// Builds the sign-in parameters, if a client id is configured and both endpoints are usable: HTTPS or loopback URLs
/// of safe characters. These URLs become part of a header and of a page.
fn sign_in(options: &IssuerOptions, metadata: Metadata) -> Option<SignIn> {
    let is_usable = |url: &String| {
        let is_safe = |byte: u8| byte.is_ascii_graphic() && !b"\"'<>;,\\".contains(&byte);
        (url.starts_with("https://") || is_loopback(url)) && url.bytes().all(is_safe)
    };
    Some(SignIn {
        issuer: options.issuer.clone(),
        client_id: options.client_id.clone()?,
        scope: options.scope.clone(),
        authorization_endpoint: metadata.authorization_endpoint.filter(is_usable)?,
        token_endpoint: metadata.token_endpoint.filter(is_usable)?,
    })
}

async fn metadata(options: &IssuerOptions, fetcher: &Fetcher) -> std::result::Result<Metadata, String> {
    let mut reasons = Vec::new();
    for url in places(&options.issuer) {
        match fetcher.fetch(&Request::new(url.as_str())).await {
            Err(error) => reasons.push(error.to_string()),
            Ok(fetched) => {
                let metadata: Metadata = serde_json::from_slice(&fetched.bytes).map_err(|error| {
                    format!("the document at {url} is not metadata of an authorization server: {error}")
                })?;
                if metadata.issuer != options.issuer {
                    let named = metadata.issuer.chars().take(200).collect::<String>();
                    return Err(format!(
                        "{url} names the issuer {named:?}; if {named:?} is the intended issuer, use exactly this value \
                         as --oidc-issuer"
                    ));
                }
                return Ok(metadata);
            }
        }
    }
    Err(reasons.join("; "))
}

/// Returns the URLs that may have an issuer's metadata: the well-known path is below the issuer (OpenID Connect), or
/// before its path (RFC 8414, section 3).
fn places(issuer: &str) -> Vec<String> {
    let issuer = issuer.trim_end_matches('/');
    let below = format!("{issuer}/.well-known/openid-configuration");
    let after_scheme = issuer.find("://").map_or(0, |start| start + 3);
    let path =
        issuer.get(after_scheme..).and_then(|rest| rest.find('/')).map_or(issuer.len(), |slash| after_scheme + slash);
    let (origin, path) = issuer.split_at(path);
    vec![below, format!("{origin}/.well-known/oauth-authorization-server{path}")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::Options;

    #[test]
    fn metadata_is_below_the_issuer_or_before_its_path() {
        assert_eq!(
            places("https://login.example.org/realms/a/"),
            [
                "https://login.example.org/realms/a/.well-known/openid-configuration",
                "https://login.example.org/.well-known/oauth-authorization-server/realms/a"
            ]
        );
        assert_eq!(
            places("https://login.example.org")[1],
            "https://login.example.org/.well-known/oauth-authorization-server"
        );
    }

    #[test]
    fn issuers_are_reached_by_https_but_on_this_machine() {
        let options = |issuer: &str| IssuerOptions::new(issuer, "agentdex", Fetcher::new(Options::default()).unwrap());
        for issuer in
            ["https://login.example.org/a", "http://127.0.0.1:8090", "http://localhost:1", "http://[::1]:80/a"]
        {
            assert!(fetcher(&options(issuer)).is_ok(), "{issuer}");
        }
        for other in [
            "http://login.example.org",
            "login.example.org",
            "ftp://login.example.org",
            "",
            "urn:a",
            "http://localhost.example.org",
            "https://",
        ] {
            assert!(fetcher(&options(other)).is_err(), "{other}");
        }
        assert!(
            fetcher(&IssuerOptions { jwks: Some("http://a.example".into()), ..options("https://a.example") }).is_err()
        );
    }
}
