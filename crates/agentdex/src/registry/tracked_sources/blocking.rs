//! Slow work on blocking threads: verification of signatures, conversions.

use std::io;

use tokio::runtime::Handle;

use crate::{Error, Result};

/// Runs work without blocking other tasks. Without a runtime, runs it immediately.
///
/// # Errors
/// [`Error::Io`] if it panicked, [`Error::ShuttingDown`] if it was canceled.
pub(super) async fn blocking<T: Send + 'static>(
    doing: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let Ok(runtime) = Handle::try_current() else { return Ok(work()) };
    runtime.spawn_blocking(work).await.map_err(|error| {
        if error.is_panic() {
            Error::Io { doing: doing.into(), source: io::Error::other(error) }
        } else {
            Error::ShuttingDown
        }
    })
}
