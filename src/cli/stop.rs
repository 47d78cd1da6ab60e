//! The signals that ask a process to stop: Ctrl-C and SIGTERM.

use std::{future::Future, io};

/// Is done once the process is asked to stop. Signals are caught from the call on, not from the
/// first poll.
#[cfg(unix)]
pub(super) fn signal() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Is done once the process is asked to stop.
#[cfg(not(unix))]
pub(super) fn signal() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        // Without a handler Ctrl-C ends the process, which is a stop too.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}
