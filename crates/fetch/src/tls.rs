//! Whom TLS trusts: the roots of the system, and those that the operator adds.

use std::{path::Path, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};

use crate::{BoxError, Error, Result};

/// The configuration of all connections, made once. The ring provider is named, since nobody may have
/// installed one for the whole process.
pub(super) fn configuration(more_roots: Option<&Path>) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    // Single certificates of the system that can't be read matter only if they are needed.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = more_roots {
        add(&mut roots, path).map_err(|error| Error::InvalidSetting {
            origin: "fetch_ca".into(),
            message: format!("{}: {error}", path.display()),
        })?;
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::InvalidSetting { origin: "TLS".into(), message: error.to_string() })?;
    let mut configuration = builder.with_root_certificates(roots).with_no_client_auth();
    configuration.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(configuration)
}

fn add(roots: &mut RootCertStore, path: &Path) -> std::result::Result<(), BoxError> {
    let before = roots.len();
    for certificate in CertificateDer::pem_file_iter(path)? {
        roots.add(certificate?)?;
    }
    if roots.len() == before { Err("it contains no certificate in PEM format".into()) } else { Ok(()) }
}
