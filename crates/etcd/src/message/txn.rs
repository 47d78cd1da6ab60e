//! Messages of the service `KV`: transactions.

use bytes::Bytes;
use prost::Message;

use super::{
    header::ResponseHeader,
    kv::{DeleteRangeRequest, DeleteRangeResponse, PutRequest, PutResponse, RangeRequest, RangeResponse},
};

/// An operation of a transaction (`RequestOp`). A single field is set.
#[derive(Clone, PartialEq, Message)]
pub struct RequestOp {
    /// Reads keys.
    #[prost(message, optional, tag = "1")]
    pub range: Option<RangeRequest>,
    /// Writes a key.
    #[prost(message, optional, tag = "2")]
    pub put: Option<PutRequest>,
    /// Deletes keys.
    #[prost(message, optional, tag = "3")]
    pub delete_range: Option<DeleteRangeRequest>,
}

/// Result of an operation of a transaction (`ResponseOp`). A single field is set.
#[derive(Clone, PartialEq, Message)]
pub struct ResponseOp {
    /// Keys that were read.
    #[prost(message, optional, tag = "1")]
    pub range: Option<RangeResponse>,
    /// Result of a put.
    #[prost(message, optional, tag = "2")]
    pub put: Option<PutResponse>,
    /// Result of a deletion.
    #[prost(message, optional, tag = "3")]
    pub delete_range: Option<DeleteRangeResponse>,
}

/// Operator of a comparison (`Compare.CompareResult`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum Operator {
    /// The number of the key equals the operand.
    Equal = 0,
    /// The number of the key is greater than the operand.
    Greater = 1,
}

/// Number of a key that is compared (`Compare.CompareTarget`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, prost::Enumeration)]
#[repr(i32)]
pub enum Target {
    /// [`KeyValue::version`](super::KeyValue::version).
    Version = 0,
    /// [`KeyValue::create_revision`](super::KeyValue::create_revision).
    CreateRevision = 1,
    /// [`KeyValue::mod_revision`](super::KeyValue::mod_revision).
    ModRevision = 2,
}

/// A condition of a transaction (`Compare`). A key that doesn't exist has 0 as each of its numbers.
///
/// The operands are optional, since they are a `oneof` in the API: an operand of 0 must be sent.
#[derive(Clone, PartialEq, Message)]
pub struct Compare {
    /// Operator.
    #[prost(enumeration = "Operator", tag = "1")]
    pub result: i32,
    /// Number to compare.
    #[prost(enumeration = "Target", tag = "2")]
    pub target: i32,
    /// Key.
    #[prost(bytes = "bytes", tag = "3")]
    pub key: Bytes,
    /// Operand for [`Target::Version`].
    #[prost(int64, optional, tag = "4")]
    pub version: Option<i64>,
    /// Operand for [`Target::CreateRevision`].
    #[prost(int64, optional, tag = "5")]
    pub create_revision: Option<i64>,
    /// Operand for [`Target::ModRevision`].
    #[prost(int64, optional, tag = "6")]
    pub mod_revision: Option<i64>,
}

/// A transaction: if all comparisons hold, `success` is executed, otherwise `failure` (`TxnRequest`).
#[derive(Clone, PartialEq, Message)]
pub struct TxnRequest {
    /// Conditions.
    #[prost(message, repeated, tag = "1")]
    pub compare: Vec<Compare>,
    /// Operations to execute if all conditions hold.
    #[prost(message, repeated, tag = "2")]
    pub success: Vec<RequestOp>,
    /// Operations to execute otherwise.
    #[prost(message, repeated, tag = "3")]
    pub failure: Vec<RequestOp>,
}

/// Response to [`TxnRequest`] (`TxnResponse`).
#[derive(Clone, PartialEq, Message)]
pub struct TxnResponse {
    /// Header.
    #[prost(message, optional, tag = "1")]
    pub header: Option<ResponseHeader>,
    /// Whether all conditions held.
    #[prost(bool, tag = "2")]
    pub succeeded: bool,
    /// Results of the operations that were executed, in their order.
    #[prost(message, repeated, tag = "3")]
    pub responses: Vec<ResponseOp>,
}

impl TxnResponse {
    /// Returns the keys that the range at this index read, or `None` if the operation there isn't a range.
    pub fn range(&self, index: usize) -> Option<&RangeResponse> {
        self.responses.get(index)?.range.as_ref()
    }
}
