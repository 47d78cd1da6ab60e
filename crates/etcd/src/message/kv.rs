//! Messages of the service `KV`: ranges, puts, and deletions.

use bytes::Bytes;
use prost::Message;

use super::header::ResponseHeader;

/// A key with its value (`mvccpb.KeyValue`).
#[derive(Clone, PartialEq, Message)]
pub struct KeyValue {
    /// Key, never empty.
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    /// Revision in which the key was created.
    #[prost(int64, tag = "2")]
    pub create_revision: i64,
    /// Revision in which the key was last changed.
    #[prost(int64, tag = "3")]
    pub mod_revision: i64,
    /// Number of changes since the key was created; 0 in an event that deletes the key.
    #[prost(int64, tag = "4")]
    pub version: i64,
    /// Value. It shares its memory with the whole response: copy a small value that is kept for long.
    #[prost(bytes = "bytes", tag = "5")]
    pub value: Bytes,
    /// Id of the lease that the key is attached to, or 0.
    #[prost(int64, tag = "6")]
    pub lease: i64,
}

/// Reads keys (`RangeRequest`).
#[derive(Clone, PartialEq, Message)]
pub struct RangeRequest {
    /// First key.
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    /// End of the range, excluded; empty for a single key, and `\0` for all keys from `key` on.
    #[prost(bytes = "bytes", tag = "2")]
    pub range_end: Bytes,
    /// Maximum number of keys, or 0 for no limit.
    #[prost(int64, tag = "3")]
    pub limit: i64,
    /// True if the member may answer from its own, possibly stale, state.
    #[prost(bool, tag = "7")]
    pub serializable: bool,
    /// True if values are left out.
    #[prost(bool, tag = "8")]
    pub keys_only: bool,
    /// True if only the number of keys is returned.
    #[prost(bool, tag = "9")]
    pub count_only: bool,
}

/// Keys that were read, in ascending order (`RangeResponse`).
#[derive(Clone, PartialEq, Message)]
pub struct RangeResponse {
    /// Header; `None` in the response of a transaction.
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    /// Keys with their values.
    #[prost(message, repeated, tag = "2")]
    pub kvs: Vec<KeyValue>,
    /// True if the limit left out keys.
    #[prost(bool, tag = "3")]
    pub more: bool,
    /// Number of keys in the range, regardless of the limit.
    #[prost(int64, tag = "4")]
    pub count: i64,
}

/// Writes a key (`PutRequest`).
#[derive(Clone, PartialEq, Message)]
pub struct PutRequest {
    /// Key.
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    /// Value.
    #[prost(bytes = "bytes", tag = "2")]
    pub value: Bytes,
    /// Id of the lease to attach the key to, or 0.
    #[prost(int64, tag = "3")]
    pub lease: i64,
}

/// Response to [`PutRequest`] (`PutResponse`).
#[derive(Clone, PartialEq, Message)]
pub struct PutResponse {
    /// Header.
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
}

/// Deletes keys (`DeleteRangeRequest`).
#[derive(Clone, PartialEq, Message)]
pub struct DeleteRangeRequest {
    /// First key.
    #[prost(bytes = "bytes", tag = "1")]
    pub key: Bytes,
    /// End of the range, as in [`RangeRequest::range_end`].
    #[prost(bytes = "bytes", tag = "2")]
    pub range_end: Bytes,
}

/// Response to [`DeleteRangeRequest`] (`DeleteRangeResponse`).
#[derive(Clone, PartialEq, Message)]
pub struct DeleteRangeResponse {
    /// Header.
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    /// Number of keys that were deleted.
    #[prost(int64, tag = "2")]
    pub deleted: i64,
}
