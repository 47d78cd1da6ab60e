//! The client.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;

use crate::{
    answer::Answer,
    calls::Calls,
    endpoint::Endpoint,
    error::Result,
    lease::Lease,
    message::{
        Alarm, AlarmRequest, DeleteRangeResponse, PutRequest, PutResponse, RangeResponse, StatusRequest,
        StatusResponse, TxnResponse,
    },
    method::Method,
    options::Options,
    txn::{KeyRange, Range, Txn},
    watch::Watch,
};

/// A client of an etcd cluster. Clones share connections, login, and limits.
///
/// Calls go to the *current* endpoint, at first the first in the list. Apart from
/// [`Client::range`], calls that fail don't change it: the caller decides whether to [move on](Client::move_on).
#[derive(Clone)]
pub struct Client(Arc<Calls>);

impl Client {
    /// Creates a client. Connections are established, and the user is logged in, by the first call.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidOption`](crate::Error::InvalidOption) if an option is invalid, or if there is no Tokio runtime.
    pub fn connect(options: Options) -> Result<Client> {
        Calls::new(options).map(|calls| Client(Arc::new(calls)))
    }

    /// Returns the endpoints, in the order of the options.
    pub fn endpoints(&self) -> Vec<Endpoint> {
        self.0.endpoints().cloned().collect()
    }

    /// Returns the current endpoint.
    pub fn endpoint(&self) -> Endpoint {
        self.0.endpoint()
    }

    /// Makes the endpoint after `failed` current, unless another caller has moved on from `failed` already.
    /// Returns the current endpoint.
    pub fn move_on(&self, failed: &Endpoint) -> Endpoint {
        self.0.move_on(failed)
    }

    /// Sends a request to an endpoint once, within [`Options::request_deadline`]. A login that has expired is renewed
    /// meanwhile; etcd has refused the request then, so this is no second attempt.
    ///
    /// # Errors
    ///
    /// Any [`Error`](crate::Error) of a call. [`Error::may_have_been_applied`] is true if a failed
    /// write may take effect nevertheless.
    ///
    /// [`Error::may_have_been_applied`]: crate::Error::may_have_been_applied
    pub async fn attempt<M: Method>(&self, endpoint: &Endpoint, request: &M) -> Result<Answer<M::Response>> {
        self.0.attempt(endpoint, request, self.0.request_deadline).await
    }

    /// Executes a transaction (`KV.Txn`): a single attempt at the current endpoint.
    ///
    /// # Errors
    ///
    /// As for [`Client::attempt`].
    pub async fn txn(&self, txn: &Txn) -> Result<Answer<TxnResponse>> {
        self.attempt(&self.endpoint(), &txn.0).await
    }

    /// Writes a key (`KV.Put`): a single attempt at the current endpoint. `lease` is the id of the lease to attach it to, or 0.
    ///
    /// # Errors
    ///
    /// As for [`Client::attempt`]; [`Refusal::LeaseNotFound`](crate::Refusal::LeaseNotFound) if the lease doesn't exist.
    pub async fn put(&self, key: impl Into<Bytes>, value: impl Into<Bytes>, lease: i64) -> Result<Answer<PutResponse>> {
        let request = PutRequest { key: key.into(), value: value.into(), lease };
        self.attempt(&self.endpoint(), &request).await
    }

    /// Deletes a range of keys (`KV.DeleteRange`): a single attempt at the current endpoint.
    ///
    /// # Errors
    ///
    /// As for [`Client::attempt`].
    pub async fn delete_range(&self, keys: KeyRange) -> Result<Answer<DeleteRangeResponse>> {
        self.attempt(&self.endpoint(), &keys.delete()).await
    }

    /// Reads a range (`KV.Range`). Begins at the current endpoint, and moves on if there is no answer, within
    /// [`Options::read_deadline`].
    ///
    /// # Errors
    ///
    /// The last error, if no endpoint answered in time; otherwise as for [`Client::attempt`].
    pub async fn range(&self, range: &Range) -> Result<Answer<RangeResponse>> {
        self.0.read(&range.0).await
    }

    /// Watches a range of keys at an endpoint (`Watch.Watch`), from this revision on; 0 for events after now. Returns once
    /// etcd has created the watch, within [`Options::request_deadline`].
    ///
    /// # Errors
    ///
    /// As for [`Watch::next`]. If a user is configured and may not read the range:
    /// [`Error::WatchCanceled`](crate::Error::WatchCanceled).
    pub async fn watch(&self, endpoint: &Endpoint, keys: KeyRange, from_revision: i64) -> Result<Watch> {
        Watch::create(&self.0, endpoint, keys.watch(from_revision)).await
    }

    /// Creates a lease (`Lease.LeaseGrant`) by a single attempt at the current endpoint, and keeps it alive until it is dropped
    /// or revoked. The time to live is rounded up to seconds, and etcd may raise it. After a transient error, the next
    /// endpoint is current.
    ///
    /// # Errors
    ///
    /// As for [`Client::attempt`]. A lease that was created without an answer expires by itself.
    pub async fn grant_lease(&self, ttl: Duration) -> Result<Lease> {
        Lease::grant(&self.0, ttl).await
    }

    /// Returns the status of a member (`Maintenance.Status`). It is the member's own view: the revision in the header may
    /// lag behind the cluster.
    ///
    /// # Errors
    ///
    /// As for [`Client::attempt`].
    pub async fn status(&self, endpoint: &Endpoint) -> Result<Answer<StatusResponse>> {
        self.attempt(endpoint, &StatusRequest {}).await
    }

    /// Lists the active alarms of all members (`Maintenance.Alarm`). Goes round the endpoints like [`Client::range`].
    ///
    /// # Errors
    ///
    /// As for [`Client::range`].
    pub async fn alarms(&self) -> Result<Vec<Alarm>> {
        Ok(self.0.read(&AlarmRequest {}).await?.body.alarms)
    }

    /// Ends all calls, watches, and tasks of this client and its clones. Leases are not revoked.
    pub fn close(&self) {
        self.0.close();
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("endpoints", &self.endpoints()).finish_non_exhaustive()
    }
}
