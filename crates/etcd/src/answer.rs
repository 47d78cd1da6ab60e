//! Answer to a call.

use crate::{endpoint::Endpoint, message::ResponseHeader};

/// The answer to a call, with the endpoint that gave it.
#[derive(Clone, Debug)]
pub struct Answer<T> {
    /// Endpoint that answered.
    pub endpoint: Endpoint,
    /// Header: the cluster, the member, and the revision of the store.
    pub header: ResponseHeader,
    /// Response.
    pub body: T,
}
