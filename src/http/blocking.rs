//! Work that may block, on threads that are there for it.

use std::io;

use actix_web::rt::task::{JoinError, spawn_blocking};

use crate::{Error, Result};

/// Does what may block where it holds up no other connection.
///
/// # Errors
/// Those of the work; [`Error::Io`] where it panicked, [`Error::ShuttingDown`] where it was given up.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    outcome(spawn_blocking(work).await)
}

/// What became of work on another thread.
pub(super) fn outcome<T>(joined: std::result::Result<Result<T>, JoinError>) -> Result<T> {
    match joined {
        Ok(result) => result,
        Err(panicked) if panicked.is_panic() => {
            Err(Error::Io { doing: "answering a request".to_owned(), source: io::Error::other(panicked) })
        }
        Err(_) => Err(Error::ShuttingDown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[actix_web::test]
    async fn a_panic_is_an_internal_error() {
        let failed: Result<()> = blocking(|| panic!("the bottom of it")).await;
        assert!(
            matches!(&failed, Err(Error::Io { source, .. }) if source.to_string().contains("bottom")),
            "{failed:?}"
        );
    }
}
