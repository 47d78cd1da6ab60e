//! Proof of domain ownership: a statement on the domain's website.

use serde::Deserialize;

use super::{DomainProof, Registry};
use crate::{
    Error, Result,
    access::{Namespace, Owner},
    fetch::{self, Request},
};

/// Well-known path (RFC 8615) of the statement that lists the owners allowed to claim a domain's namespace.
const PATH: &str = "/.well-known/agentdex.json";

/// JSON document at that path.
#[derive(Deserialize)]
struct Statement {
    owners: Vec<DomainOwner>,
}

/// An owner, with the registry in which it has this name, since names may belong to different owners in different
/// registries.
#[derive(Deserialize)]
struct DomainOwner {
    owner: Owner,
    registry: String,
}

impl Registry {
    /// Asks a domain to confirm the caller as an owner, if claiming its namespace requires that. Returns `None` if
    /// the namespace is not named after a domain or is already claimed, and for callers exempt from the proof.
    ///
    /// The domain serves `{"owners": [{"owner": "weather-team", "registry": "https://registry.example"}]}` at
    /// `/.well-known/agentdex.json` over HTTPS. `registry` must equal `registry_url`, the URL of this registry.
    ///
    /// # Errors
    /// [`Error::AccessRefused`] with the missing part of the proof, or if `registry_url` or a fetcher is missing;
    /// [`Error::FetchBusy`].
    pub async fn domain_proof(&self, name: &Namespace, registry_url: Option<&str>) -> Result<Option<DomainProof>> {
        let (Some(owner), true) = (self.1.owner().cloned(), self.grants().is_some()) else { return Ok(None) };
        if !name.is_domain() || self.namespaces().find(name).is_some() {
            return Ok(None);
        }
        let refused = |message: String| Err(Error::AccessRefused { message });
        let tracker = self.0.network.tracker.as_ref();
        let (Some(registry_url), Some(tracker)) = (registry_url, tracker) else {
            return refused(format!(
                "{:?} is a domain name; ask an admin to claim it for you (if the registry is started with \
                 --public-url, you can prove that the domain is yours)",
                name.as_str()
            ));
        };
        let registry_url = registry_url.trim_end_matches('/');
        let origin = format!("https://{}", name.as_str());
        let url = format!("{origin}{PATH}");
        let wanted = serde_json::json!({"owners": [{"owner": owner, "registry": registry_url}]});
        let unproven = |reason: String| {
            refused(format!(
                "{:?} is a domain name, and the domain doesn't confirm that it is yours: {reason}; serve {wanted} at \
                 {url}, or ask an admin to claim it for you",
                name.as_str()
            ))
        };
        let fetched = match tracker.fetcher().fetch(&Request::new(url.as_str())).await {
            Ok(fetched) => fetched,
            Err(busy @ fetch::Error::Busy { .. }) => return Err(busy.into()),
            Err(error) => return unproven(error.to_string()),
        };
        // Wherever a redirect leads, somebody else may say what is there.
        if !fetched.url.strip_prefix(origin.as_str()).is_some_and(|rest| rest.starts_with('/')) {
            return unproven("the URL of its proof redirects to another site".to_owned());
        }
        let statement: Statement = match serde_json::from_slice(&fetched.bytes) {
            Ok(statement) => statement,
            Err(error) => return unproven(format!("the document at {url} can't be read: {error}")),
        };
        let names_caller = |named: &DomainOwner| {
            named.owner == owner && named.registry.trim_end_matches('/').eq_ignore_ascii_case(registry_url)
        };
        match statement.owners.iter().any(names_caller) {
            true => Ok(Some(DomainProof { name: name.clone(), owner, url })),
            false => unproven("its proof doesn't name you as an owner for this registry".to_owned()),
        }
    }
}
