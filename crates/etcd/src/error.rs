//! Errors of calls, watches, and leases.

use crate::endpoint::Endpoint;

/// The result of fallible operations of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of a call, a watch, or a lease.
///
/// For a write, the variant tells whether etcd may have applied it: see [`Error::may_have_been_applied`].
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option is invalid. Only [`Client::connect`](crate::Client::connect) returns this.
    #[error("{option}: {message}")]
    InvalidOption {
        /// Name of the option, as in [`Options`](crate::Options).
        option: &'static str,
        /// Problem, and an example of a valid value.
        message: String,
    },
    /// The request exceeds [`Options::max_request_bytes`](crate::Options::max_request_bytes) and was not sent.
    #[error("a request of {bytes} bytes exceeds the client's limit of {limit} bytes")]
    TooLarge {
        /// Size of the request.
        bytes: usize,
        /// Limit of the client.
        limit: usize,
    },
    /// The request was not sent: the connection couldn't be established, the login got no answer, or too many calls
    /// were in progress.
    #[error("the request was not sent to etcd at {endpoint}: {reason}")]
    NotSent {
        /// Endpoint that was tried.
        endpoint: Endpoint,
        /// Cause.
        reason: String,
    },
    /// The request was sent, and there was no usable answer: the deadline passed, the connection was lost, or the
    /// server returned a code that doesn't tell the outcome (2, 4, 14, and others). etcd may have applied the request, or may
    /// still do so.
    #[error("no usable answer from etcd at {endpoint}: {reason}")]
    NoAnswer {
        /// Endpoint that was tried.
        endpoint: Endpoint,
        /// Cause.
        reason: String,
    },
    /// The server refused the request, and did not apply it.
    #[error("etcd at {endpoint} refused the request: {message}")]
    Refused {
        /// Endpoint that refused.
        endpoint: Endpoint,
        /// Kind of the refusal.
        refusal: Refusal,
        /// Message of the server.
        message: String,
    },
    /// The space quota of etcd is exhausted (code 8, `etcdserver: mvcc: database space exceeded`). etcd returns this
    /// for refused writes, *and* for writes that exceed the quota, although it applies them (`quotaApplierV3` in
    /// `apply.go`).
    #[error("etcd at {endpoint} has exhausted its space quota; compact and defragment etcd, then disarm the alarm")]
    NoSpace {
        /// Endpoint that answered.
        endpoint: Endpoint,
    },
    /// etcd doesn't accept the user and password, or requires a user although the options don't have a user.
    #[error("etcd at {endpoint} does not accept the login: {message}")]
    Unauthenticated {
        /// Endpoint that answered.
        endpoint: Endpoint,
        /// Message of the server.
        message: String,
    },
    /// The server ended a watch, or didn't create it.
    #[error("etcd at {endpoint} canceled the watch: {reason}")]
    WatchCanceled {
        /// Endpoint of the watch.
        endpoint: Endpoint,
        /// Reason that the server gave, possibly empty.
        reason: String,
    },
    /// The events of a watch were compacted: read the range, then watch from the revision of that answer.
    #[error("etcd at {endpoint} has compacted its history before revision {revision}")]
    Compacted {
        /// Endpoint of the watch.
        endpoint: Endpoint,
        /// Least revision that can still be watched.
        revision: i64,
    },
    /// The client was closed before the request was sent.
    #[error("the etcd client is closed")]
    Closed,
}

impl Error {
    /// True if etcd may have applied the request, or may still do so. A write that failed with any other error was not
    /// applied.
    pub fn may_have_been_applied(&self) -> bool {
        matches!(self, Error::NoAnswer { .. } | Error::NoSpace { .. })
    }

    /// True if another endpoint may answer, or the same endpoint later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Error::NotSent { .. } | Error::NoAnswer { .. })
    }
}

/// Kind of a refusal, by code and message (`etcdserver/api/v3rpc/rpctypes/error.go`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The request is invalid (code 3): an empty key, a key that is written twice, too many operations.
    InvalidArgument,
    /// The request is larger than the server accepts (code 3 or 8); by default 1.5 MiB.
    TooLarge,
    /// The lease doesn't exist (code 5).
    LeaseNotFound,
    /// The user may not access these keys (code 7).
    PermissionDenied,
    /// The server is overloaded (code 8).
    TooManyRequests,
    /// The revision was compacted, or doesn't exist yet (code 11).
    OutOfRange,
    /// The server doesn't have the method (code 12): it is older, or isn't etcd.
    Unimplemented,
    /// Refusal of another kind (code 5, 6, or 9).
    Other,
}
