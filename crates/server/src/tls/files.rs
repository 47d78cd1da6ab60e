//! Certificates and keys as they are in files.

use std::{
    fs,
    io::{self, Read},
    path::Path,
    sync::Arc,
    time::SystemTime,
};

use rustls::{
    RootCertStore, ServerConfig,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
};
use x509_parser::{certificate::X509Certificate, prelude::FromDer};

use super::{Options, client_certificate::expiry};
use crate::{Error, Result, td::Timestamp};

/// The most bytes of a file.
const MAX_BYTES: u64 = 1024 * 1024;

/// TLS configurations read from the files, with which connections are accepted.
pub(super) struct Loaded {
    pub http: Arc<ServerConfig>,
    pub mqtt: Arc<ServerConfig>,
    /// When the certificate stops to be valid.
    pub expires: Timestamp,
}

/// Modification time and length of a file, which show that it was written; none if the file isn't there.
type Stamp = Option<(SystemTime, u64)>;

/// Those of all files.
pub(super) type Stamps = Vec<Stamp>;

/// The stamps of all files.
pub(super) fn stamps(options: &Options) -> Stamps {
    let stamp = |path: &Path| {
        let metadata = fs::metadata(path).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    [Some(&options.certificate), Some(&options.key), options.client_ca.as_ref()].map(|path| stamp(path?)).into()
}

/// Reads and checks all files.
///
/// # Errors
/// [`Error::InvalidSetting`] names the file and what is wrong with it.
pub(super) fn load(options: &Options) -> Result<Loaded> {
    let provider = Arc::new(ring::default_provider());
    let (certificate, key) = (&options.certificate, &options.key);
    let chain = certificates(certificate).map_err(|reason| invalid("tls_cert", certificate, reason))?;
    let expires = chain.first().ok_or_else(|| "it contains no certificate in PEM format".to_owned()).and_then(expires);
    let expires = expires.map_err(|reason| invalid("tls_cert", certificate, reason))?;
    let text = read(key).map_err(|reason| invalid("tls_key", key, reason))?;
    let key_der = PrivateKeyDer::from_pem_slice(&text)
        .map_err(|error| invalid("tls_key", key, format!("it contains no private key in PEM format: {error}")))?;
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| invalid("tls_cert", certificate, error.to_string()))?;
    let builder = match &options.client_ca {
        Some(path) => {
            let verifier = verifier(path, provider).map_err(|reason| invalid("tls_client_ca", path, reason))?;
            builder.with_client_cert_verifier(verifier)
        }
        None => builder.with_no_client_auth(),
    };
    let mqtt = builder.with_single_cert(chain, key_der).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => {
            invalid("tls_key", key, format!("it is not the key of the certificate in {}", certificate.display()))
        }
        other => invalid("tls_cert", certificate, other.to_string()),
    })?;
    let mut http = mqtt.clone();
    // So that no request of a browser can be redirected to the MQTT endpoint, or the other way round.
    http.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Loaded { http: Arc::new(http), mqtt: Arc::new(mqtt), expires })
}

fn invalid(origin: &str, path: &Path, reason: String) -> Error {
    Error::InvalidSetting { origin: origin.into(), message: format!("{}: {reason}", path.display()) }
}

fn read(path: &Path) -> std::result::Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes));
    match read {
        Err(error) => Err(error.to_string()),
        Ok(_) if bytes.len() as u64 > MAX_BYTES => Err(io::Error::from(io::ErrorKind::FileTooLarge).to_string()),
        Ok(_) => Ok(bytes),
    }
}

fn certificates(path: &Path) -> std::result::Result<Vec<CertificateDer<'static>>, String> {
    let text = read(path)?;
    let certificates = CertificateDer::pem_slice_iter(&text).collect::<std::result::Result<Vec<_>, _>>();
    let certificates = certificates.map_err(|error| error.to_string())?;
    if certificates.is_empty() { Err("it contains no certificate in PEM format".into()) } else { Ok(certificates) }
}

fn expires(certificate: &CertificateDer<'_>) -> std::result::Result<Timestamp, String> {
    let read = X509Certificate::from_der(certificate);
    read.map(|(_, read)| expiry(&read)).map_err(|error| format!("its first certificate can't be read: {error}"))
}

/// Returns the verifier of client certificates. Clients without one are admitted as nobody.
fn verifier(path: &Path, provider: Arc<CryptoProvider>) -> std::result::Result<Arc<dyn ClientCertVerifier>, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).allow_unauthenticated();
    verifier.build().map_err(|error| error.to_string())
}
