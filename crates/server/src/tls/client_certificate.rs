//! Identity of a client that has proved to hold the key of a certificate. The certificate was verified before.

use std::sync::Arc;

use data_encoding::HEXLOWER;
use ring::digest::{SHA256, digest};
use rustls::pki_types::CertificateDer;
use x509_parser::{
    certificate::X509Certificate,
    extensions::GeneralName,
    prelude::{FromDer, ParsedExtension},
};

use crate::{
    access::{Owner, Principal, RoleMapping},
    td::Timestamp,
};

/// The digits of a certificate's SHA-256 that the audit trail has.
const FINGERPRINT_DIGITS: usize = 32;

/// The holder of a certificate. Its owner is the first DNS name of the certificate, else the first URI, else the common
/// name; its role goes by all of these names.
///
/// # Errors
/// Why the certificate stands for nobody.
pub(super) fn principal(certificate: &CertificateDer<'_>, roles: &RoleMapping) -> Result<Principal, String> {
    let (_, read) = X509Certificate::from_der(certificate).map_err(|error| format!("it can't be read: {error}"))?;
    let names = names(&read);
    let name = names.first().ok_or("it contains no DNS name, URI, or common name")?;
    let owner = name.parse::<Owner>()?;
    let role = roles.role_of(names.iter().copied()).ok_or_else(|| format!("no role is configured for {owner}"))?;
    let digits = HEXLOWER.encode(digest(&SHA256, certificate).as_ref());
    let key = format!("certificate:{}", digits.get(..FINGERPRINT_DIGITS).unwrap_or_default());
    Ok(Principal { owner, role, key, expires: Some(expiry(&read)) })
}

/// When a certificate stops to be valid.
pub(super) fn expiry(certificate: &X509Certificate<'_>) -> Timestamp {
    Timestamp(certificate.validity().not_after.timestamp().saturating_mul(1000).min(Timestamp::MAX.0))
}

/// DNS names, then URIs, then common names.
fn names<'a>(certificate: &'a X509Certificate<'_>) -> Vec<&'a str> {
    let alternative = certificate.extensions().iter().find_map(|extension| match extension.parsed_extension() {
        ParsedExtension::SubjectAlternativeName(names) => Some(names.general_names.as_slice()),
        _ => None,
    });
    let alternative = || alternative.unwrap_or_default().iter();
    let dns = alternative().filter_map(|name| if let GeneralName::DNSName(name) = name { Some(*name) } else { None });
    let uris = alternative().filter_map(|name| if let GeneralName::URI(uri) = name { Some(*uri) } else { None });
    let common = certificate.subject().iter_common_name().filter_map(|name| name.as_str().ok());
    dns.chain(uris).chain(common).collect()
}

/// The holder of a certificate, or nobody where it can't be told who that is.
pub(super) fn holder(certificate: &CertificateDer<'_>, roles: &RoleMapping) -> Option<Arc<Principal>> {
    let principal = principal(certificate, roles);
    principal.map(Arc::new).inspect_err(|reason| tracing::info!(reason, "a client certificate was not accepted")).ok()
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair, SanType};

    use super::*;
    use crate::access::Role;

    fn certificate(common_name: &str, names: Vec<SanType>) -> CertificateDer<'static> {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = rcgen::DistinguishedName::new();
        if !common_name.is_empty() {
            parameters.distinguished_name.push(DnType::CommonName, common_name);
        }
        parameters.subject_alt_names = names;
        parameters.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    fn dns(name: &str) -> SanType {
        SanType::DnsName(name.try_into().unwrap())
    }

    fn uri(uri: &str) -> SanType {
        SanType::URI(uri.try_into().unwrap())
    }

    #[test]
    fn owner_is_the_first_name_and_any_name_gives_a_role() {
        let roles = RoleMapping::parse(["read", "spiffe://example.org/weather=register", "Ops=admin"]).unwrap();
        let of = |certificate| principal(&certificate, &roles).map(|who| (who.owner.to_string(), who.role));
        let both = certificate("Ops", vec![uri("spiffe://example.org/weather"), dns("weather.example.org")]);
        assert_eq!(of(both), Ok(("weather.example.org".into(), Role::Admin)));
        let only_uri = certificate("", vec![uri("spiffe://example.org/weather")]);
        assert_eq!(of(only_uri), Ok(("spiffe://example.org/weather".into(), Role::Register)));
        assert_eq!(of(certificate("weather-team", vec![])), Ok(("weather-team".into(), Role::Read)));
    }

    #[test]
    fn certificates_without_a_usable_name_or_a_role_stand_for_nobody() {
        let roles = RoleMapping::default();
        assert!(principal(&certificate("", vec![]), &roles).unwrap_err().contains("no DNS name"));
        assert!(principal(&certificate("Weather Team", vec![]), &roles).is_err());
        assert!(principal(&CertificateDer::from(vec![0x30, 0x82]), &roles).is_err());
        let named = RoleMapping::parse(["ops=admin"]).unwrap();
        assert!(principal(&certificate("weather", vec![]), &named).unwrap_err().contains("no role"));
    }

    #[test]
    fn credential_of_a_certificate_is_its_fingerprint_and_ends_with_it() {
        let certificate = certificate("weather", vec![]);
        let holder = principal(&certificate, &RoleMapping::default()).unwrap();
        assert!(holder.key.starts_with("certificate:") && holder.key.len() == "certificate:".len() + 32);
        // The default of the library that makes it.
        assert_eq!(holder.expires.map(|expires| expires.to_string()), Some("4096-01-01T00:00:00.000Z".into()));
    }
}
