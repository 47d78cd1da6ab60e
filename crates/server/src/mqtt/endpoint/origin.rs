//! Where a client comes from.

use std::net::IpAddr;

use crate::access::Caller;

/// Where a client comes from.
pub(crate) struct Origin {
    /// What it is called in the logs.
    pub peer: String,
    /// Its address, where that is known.
    pub address: Option<IpAddr>,
    /// Who it has proved to be when it connected, by a client certificate.
    pub holder: Option<Caller>,
}
