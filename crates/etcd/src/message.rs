//! Messages of etcd's v3 API (`etcdserverpb/rpc.proto`, `mvccpb/kv.proto`), with the fields that are used here.
//!
//! A `oneof` of messages is a group of optional fields with exactly one of them set; on the wire both are the same.

mod auth;
mod header;
mod kv;
mod lease;
mod maintenance;
mod txn;
mod watch;

pub use self::{
    auth::{AuthenticateRequest, AuthenticateResponse},
    header::ResponseHeader,
    kv::{DeleteRangeRequest, DeleteRangeResponse, KeyValue, PutRequest, PutResponse, RangeRequest, RangeResponse},
    lease::{
        LeaseGrantRequest, LeaseGrantResponse, LeaseKeepAliveRequest, LeaseKeepAliveResponse, LeaseRevokeRequest,
        LeaseRevokeResponse,
    },
    maintenance::{Alarm, AlarmKind, AlarmRequest, AlarmResponse, StatusRequest, StatusResponse},
    txn::{Compare, Operator, RequestOp, ResponseOp, Target, TxnRequest, TxnResponse},
    watch::{Event, EventKind, WatchCreateRequest, WatchProgressRequest, WatchRequest, WatchResponse},
};
