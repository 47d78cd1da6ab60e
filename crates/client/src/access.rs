//! Owners and visibility of Things, namespaces, and the audit trail of a registry with authentication.

use percent_encoding::utf8_percent_encode;
use reqwest::Method;

use agentdex_api::Membership;

use super::{PATH_SEGMENT, RegistryClient, Result, Written, read, text};
use crate::api::{
    Audited, ClaimedNamespace,
    access::{Access, AccessRequest, Owner},
};

impl RegistryClient {
    /// Returns the owner, namespace, and visibility of a Thing.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable),
    /// [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn access(&self, id: &str) -> Result<Access> {
        let request = self.request(Method::GET, &access_path(id), &[]);
        read(&text(self.send(request).await?).await?, "the access settings of a Thing")
    }

    /// Changes the visibility, namespace, or owner of a Thing. A warning names versions that stay hidden from some of
    /// the new viewers, unless [`AccessRequest::all_versions`] is set.
    ///
    /// # Errors
    /// [`Error::Refused`](super::Error::Refused), [`Error::Unreachable`](super::Error::Unreachable),
    /// [`Error::UnexpectedAnswer`](super::Error::UnexpectedAnswer).
    pub async fn set_access(&self, id: &str, access: &AccessRequest) -> Result<Written> {
        let parameters: &[(&str, &str)] = if access.all_versions { &[("versions", "all")] } else { &[] };
        self.write(self.request(Method::PUT, &access_path(id), parameters).json(access), Some(id)).await
    }

    /// Returns the namespaces of which the caller is a member; for admins, all namespaces.
    ///
    /// # Errors
    /// Same as [`RegistryClient::access`].
    pub async fn namespaces(&self) -> Result<Vec<ClaimedNamespace>> {
        read(&text(self.send(self.request(Method::GET, "namespaces", &[])).await?).await?, "a list of namespaces")
    }

    /// Claims a namespace, or replaces the members of a namespace that the caller owns. The owner is always a member.
    ///
    /// # Errors
    /// Same as [`RegistryClient::access`].
    pub async fn claim_namespace(&self, name: &str, members: &[Owner]) -> Result<ClaimedNamespace> {
        let membership = Membership { members: members.iter().cloned().collect() };
        let request = self.request(Method::PUT, &namespace_path(name), &[]).json(&membership);
        read(&text(self.send(request).await?).await?, "a namespace")
    }

    /// Returns up to `limit` entries of the audit trail with numbers above `since`.
    ///
    /// # Errors
    /// Same as [`RegistryClient::access`].
    pub async fn audit(&self, since: u64, limit: usize) -> Result<Audited> {
        let query = [("since", since.to_string()), ("limit", limit.to_string())];
        let query: Vec<(&str, &str)> = query.iter().map(|(name, value)| (*name, value.as_str())).collect();
        read(&text(self.send(self.request(Method::GET, "audit", &query)).await?).await?, "the audit trail")
    }

    /// Releases a namespace, so that another owner can claim its name.
    ///
    /// # Errors
    /// Same as [`RegistryClient::set_access`].
    pub async fn give_up_namespace(&self, name: &str) -> Result<()> {
        self.send(self.request(Method::DELETE, &namespace_path(name), &[])).await.map(drop)
    }
}

fn access_path(id: &str) -> String {
    format!("things/{}/access", utf8_percent_encode(id, PATH_SEGMENT))
}

fn namespace_path(name: &str) -> String {
    format!("namespaces/{}", utf8_percent_encode(name, PATH_SEGMENT))
}
