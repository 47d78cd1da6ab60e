//! TLS of the listeners for HTTP and MQTT, on rustls with ring.
//!
//! - [`files`] reads certificates and keys and checks them;
//! - [`server_tls`] replaces them while the server runs, and accepts connections;
//! - [`client_certificate`] says who a client is that shows a certificate.

mod client_certificate;
mod files;
mod server_tls;

use std::path::PathBuf;

pub(crate) use self::server_tls::{Protocol, Stream};
pub use self::server_tls::{ServerTls, Status};
use crate::access::RoleMapping;

/// Files with the certificate and key of a server, and the authorities and roles of client certificates.
#[derive(Debug, Clone)]
pub struct Options {
    /// A PEM file with the certificate of the server, followed by those of the authorities between it and a root.
    pub certificate: PathBuf,
    /// A PEM file with the key of that certificate.
    pub key: PathBuf,
    /// A PEM file with the authorities whose certificates clients may prove themselves with; none: clients aren't asked
    /// for certificates.
    pub client_ca: Option<PathBuf>,
    /// The roles of clients with a certificate, by the names in it.
    pub client_roles: RoleMapping,
}
