//! Methods of the API: a path, and the messages that are exchanged.

use prost::Message;

use crate::message::{
    AlarmRequest, AlarmResponse, AuthenticateRequest, AuthenticateResponse, DeleteRangeRequest, DeleteRangeResponse,
    LeaseGrantRequest, LeaseGrantResponse, LeaseKeepAliveRequest, LeaseKeepAliveResponse, LeaseRevokeRequest,
    LeaseRevokeResponse, PutRequest, PutResponse, RangeRequest, RangeResponse, ResponseHeader, StatusRequest,
    StatusResponse, TxnRequest, TxnResponse, WatchRequest, WatchResponse,
};

/// A unary method of the API, named by its request.
pub trait Method: Message + Clone + Default + 'static {
    /// Path of the method, such as `/etcdserverpb.KV/Range`.
    const PATH: &'static str;
    /// Message that answers the request.
    type Response: Message + Default + 'static;
    /// Returns the header of a response, or `None` if the server didn't send a header.
    fn header(response: &Self::Response) -> Option<ResponseHeader>;
}

/// Method of the API with a stream in both directions, named by the message to the server.
pub trait StreamMethod: Message + Clone + Default + 'static {
    /// Path of the method, such as `/etcdserverpb.Watch/Watch`.
    const PATH: &'static str;
    /// Message from the server.
    type Response: Message + Default + 'static;
}

/// Implements [`Method`] for requests whose responses have a field `header`.
macro_rules! methods {
    ($($request:ident -> $response:ident, $path:literal;)*) => {
        $(impl Method for $request {
            const PATH: &'static str = $path;
            type Response = $response;
            fn header(response: &$response) -> Option<ResponseHeader> {
                response.header
            }
        })*
    };
}

methods! {
    RangeRequest -> RangeResponse, "/etcdserverpb.KV/Range";
    PutRequest -> PutResponse, "/etcdserverpb.KV/Put";
    DeleteRangeRequest -> DeleteRangeResponse, "/etcdserverpb.KV/DeleteRange";
    TxnRequest -> TxnResponse, "/etcdserverpb.KV/Txn";
    LeaseGrantRequest -> LeaseGrantResponse, "/etcdserverpb.Lease/LeaseGrant";
    LeaseRevokeRequest -> LeaseRevokeResponse, "/etcdserverpb.Lease/LeaseRevoke";
    AuthenticateRequest -> AuthenticateResponse, "/etcdserverpb.Auth/Authenticate";
    StatusRequest -> StatusResponse, "/etcdserverpb.Maintenance/Status";
}

impl Method for AlarmRequest {
    const PATH: &'static str = "/etcdserverpb.Maintenance/Alarm";
    type Response = AlarmResponse;
    /// Returns an empty header if it is missing, as it is in etcd 3.4.
    fn header(response: &AlarmResponse) -> Option<ResponseHeader> {
        Some(response.header.unwrap_or_default())
    }
}

impl StreamMethod for WatchRequest {
    const PATH: &'static str = "/etcdserverpb.Watch/Watch";
    type Response = WatchResponse;
}

impl StreamMethod for LeaseKeepAliveRequest {
    const PATH: &'static str = "/etcdserverpb.Lease/LeaseKeepAlive";
    type Response = LeaseKeepAliveResponse;
}
