//! Header of responses.

use prost::Message;

/// Header of every response (`ResponseHeader`).
#[derive(Clone, Copy, PartialEq, Message)]
pub struct ResponseHeader {
    /// Id of the cluster that answered.
    #[prost(uint64, tag = "1")]
    pub cluster_id: u64,
    /// Id of the member that answered.
    #[prost(uint64, tag = "2")]
    pub member_id: u64,
    /// Revision of the store when the request was applied. In responses of watches, leases, and maintenance it is the
    /// revision of that member, and may lag behind the cluster.
    #[prost(int64, tag = "3")]
    pub revision: i64,
    /// Raft term of the member.
    #[prost(uint64, tag = "4")]
    pub raft_term: u64,
}
