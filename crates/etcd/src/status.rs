//! Outcome of a call by its status.

use std::error::Error as StdError;

use tonic::{Code, ConnectError, Status};

use crate::{
    endpoint::Endpoint,
    error::{Error, Refusal},
};

/// Messages of etcd that distinguish refusals with the same code (`rpctypes/error.go`).
const NO_SPACE: &str = "etcdserver: mvcc: database space exceeded";
const REQUEST_TOO_LARGE: &str = "etcdserver: request is too large";
const TOO_MANY_REQUESTS: &str = "etcdserver: too many requests";
const LEASE_NOT_FOUND: &str = "etcdserver: requested lease not found";
const USER_EMPTY: &str = "etcdserver: user name is empty";
const OLD_AUTH_REVISION: &str = "etcdserver: revision of auth store is old";
/// Message of gRPC for Go, followed by the sizes.
const MESSAGE_TOO_LARGE: &str = "grpc: received message larger than max";

/// Converts the status of a failed call.
///
/// Statuses made on this side have a source, regardless of their code. For example, the status of a connection ended for too
/// many pings has code 8. Only statuses of the server are refusals.
pub(crate) fn classify(status: &Status, endpoint: &Endpoint) -> Error {
    let endpoint = endpoint.clone();
    if status.source().is_some() {
        let reason = causes(status.message().to_owned(), status.source());
        return match is_connect_error(status) {
            true => Error::NotSent { endpoint, reason },
            false => Error::NoAnswer { endpoint, reason },
        };
    }
    let message = status.message().to_owned();
    let refusal = match status.code() {
        Code::Unauthenticated => return Error::Unauthenticated { endpoint, message },
        Code::InvalidArgument if message == USER_EMPTY || message == OLD_AUTH_REVISION => {
            return Error::Unauthenticated { endpoint, message };
        }
        Code::ResourceExhausted if message == NO_SPACE => return Error::NoSpace { endpoint },
        Code::InvalidArgument if message == REQUEST_TOO_LARGE => Refusal::TooLarge,
        Code::ResourceExhausted if message.starts_with(MESSAGE_TOO_LARGE) => Refusal::TooLarge,
        Code::ResourceExhausted if message == TOO_MANY_REQUESTS => Refusal::TooManyRequests,
        Code::NotFound if message == LEASE_NOT_FOUND => Refusal::LeaseNotFound,
        // An answer that is too large for this client has this code as well.
        Code::OutOfRange if message.starts_with("etcdserver: ") => Refusal::OutOfRange,
        Code::InvalidArgument => Refusal::InvalidArgument,
        Code::PermissionDenied => Refusal::PermissionDenied,
        Code::Unimplemented => Refusal::Unimplemented,
        Code::NotFound | Code::AlreadyExists | Code::FailedPrecondition => Refusal::Other,
        code => return Error::NoAnswer { endpoint, reason: format!("gRPC code {}: {message}", code as i32) },
    };
    Error::Refused { endpoint, refusal, message }
}

/// True if the request didn't leave this process, since there was no connection for it.
fn is_connect_error(status: &Status) -> bool {
    let mut source = status.source();
    while let Some(error) = source {
        if error.is::<ConnectError>() {
            return true;
        }
        source = error.source();
    }
    false
}

/// Joins a message and those of the sources, without repetitions.
pub(crate) fn causes(message: String, mut source: Option<&(dyn StdError + 'static)>) -> String {
    let mut text = message;
    while let Some(error) = source {
        let message = error.to_string();
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        source = error.source();
    }
    text
}
