//! Threads of the registry.

use std::thread::{Builder, JoinHandle};

use crate::{Error, Result};

/// Starts a thread with a name.
pub(super) fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    Builder::new()
        .name(name.into())
        .spawn(run)
        .map_err(|source| Error::Io { doing: format!("starting the thread {name}"), source })
}
