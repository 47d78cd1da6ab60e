//! Origin of an MQTT connection.

use std::net::IpAddr;

use crate::access::Caller;

/// Origin of a connection: the client as far as the transport identifies it.
pub(crate) struct Origin {
    /// Name of the client in the logs.
    pub peer: String,
    /// Its address, where that is known.
    pub address: Option<IpAddr>,
    /// The identity that the client has proved with a client certificate when it connected.
    pub holder: Option<Caller>,
}
