//! Whose tokens are taken, and what they say of their holders.

use std::time::Duration;

use crate::{
    access::{Owner, Principal, Role, RoleMapping},
    fetch::Fetcher,
    signature::Claims,
};

/// The longest part of a subject that stands in the audit trail.
const MAX_SHOWN: usize = 128;

/// An authorization server whose access tokens clients may prove themselves with; given to
/// [`crate::registry::Builder::issuer`].
#[derive(Debug, Clone)]
pub struct IssuerOptions {
    /// Its identifier, a URL: what tokens have as `iss`, and below which its metadata is found.
    pub issuer: String,
    /// What tokens for this registry have as `aud`.
    pub audience: String,
    /// Where its keys are (JWKS); none: where its metadata says.
    pub jwks: Option<String>,
    /// The claim that is the owner in whose name the holder acts, by name or JSON Pointer.
    pub owner_claim: String,
    /// The claim with the names that roles go by, a list or a text with spaces, by name or JSON Pointer.
    pub role_claim: String,
    /// The roles of these names.
    pub roles: RoleMapping,
    /// What metadata and keys are fetched with.
    pub fetcher: Fetcher,
    /// The shortest pause between two fetches of the keys: how long a token with a new one may be refused at the worst.
    pub min_refresh_interval: Duration,
}

impl IssuerOptions {
    /// Takes tokens of an issuer that are for an audience. The owner is `sub`; the scopes `read`, `register` and `admin`
    /// give the roles of these names.
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>, fetcher: Fetcher) -> IssuerOptions {
        IssuerOptions {
            issuer: issuer.into(),
            audience: audience.into(),
            jwks: None,
            owner_claim: "sub".into(),
            role_claim: "scope".into(),
            roles: RoleMapping::by_role_name(),
            fetcher,
            min_refresh_interval: Duration::from_secs(30),
        }
    }

    /// Who holds a token with these claims.
    ///
    /// # Errors
    /// Why that is nobody.
    pub(super) fn principal(&self, claims: &Claims) -> Result<Principal, String> {
        let owner = claims.get(&self.owner_claim).and_then(serde_json::Value::as_str);
        let owner = owner.ok_or_else(|| format!("it has no text {:?}, which is the owner", self.owner_claim))?;
        let subject = claims.get("sub").and_then(serde_json::Value::as_str).unwrap_or(owner);
        let key = format!("token:{}", subject.chars().take(MAX_SHOWN).collect::<String>());
        let role = self.role(claims);
        let role = role.ok_or_else(|| format!("nothing in its {:?} gives a role here", self.role_claim))?;
        Ok(Principal { owner: owner.parse::<Owner>()?, role, key, expires: Some(claims.expires) })
    }

    fn role(&self, claims: &Claims) -> Option<Role> {
        let named = claims.get(&self.role_claim);
        let listed = named.and_then(serde_json::Value::as_array).into_iter().flatten().filter_map(|name| name.as_str());
        let written = named.and_then(serde_json::Value::as_str).into_iter().flat_map(str::split_ascii_whitespace);
        self.roles.role_of(listed.chain(written))
    }
}
