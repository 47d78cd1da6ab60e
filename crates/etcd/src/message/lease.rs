//! Messages of the service `Lease`.

use prost::Message;

use super::header::ResponseHeader;

/// Creates a lease (`LeaseGrantRequest`).
#[derive(Clone, PartialEq, Message)]
pub struct LeaseGrantRequest {
    /// Time to live, in seconds. The server raises it to its own minimum.
    #[prost(int64, tag = "1")]
    pub ttl: i64,
    /// Id of the lease, or 0 to let the server choose an id.
    #[prost(int64, tag = "2")]
    pub id: i64,
}

/// Response to [`LeaseGrantRequest`] (`LeaseGrantResponse`).
#[derive(Clone, PartialEq, Message)]
pub struct LeaseGrantResponse {
    /// Header.
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    /// Id of the lease.
    #[prost(int64, tag = "2")]
    pub id: i64,
    /// Time to live, in seconds.
    #[prost(int64, tag = "3")]
    pub ttl: i64,
}

/// Ends a lease and deletes its keys (`LeaseRevokeRequest`).
#[derive(Clone, PartialEq, Message)]
pub struct LeaseRevokeRequest {
    /// Id of the lease.
    #[prost(int64, tag = "1")]
    pub id: i64,
}

/// Response to [`LeaseRevokeRequest`] (`LeaseRevokeResponse`).
#[derive(Clone, PartialEq, Message)]
pub struct LeaseRevokeResponse {
    /// Header.
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
}

/// Keeps a lease alive (`LeaseKeepAliveRequest`).
#[derive(Clone, PartialEq, Message)]
pub struct LeaseKeepAliveRequest {
    /// Id of the lease.
    #[prost(int64, tag = "1")]
    pub id: i64,
}

/// Response to [`LeaseKeepAliveRequest`] (`LeaseKeepAliveResponse`).
#[derive(Clone, PartialEq, Message)]
pub struct LeaseKeepAliveResponse {
    /// Header.
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    /// Id of the lease.
    #[prost(int64, tag = "2")]
    pub id: i64,
    /// Time to live from now, in seconds; 0 if the lease doesn't exist.
    #[prost(int64, tag = "3")]
    pub ttl: i64,
}
