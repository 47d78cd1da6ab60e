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

/// Lowers the priority of this thread below all others, so that background work doesn't delay writers. The thread
/// still receives about a third of the processor time of another thread. Linux only, since priorities apply to a
/// single thread there.
pub(super) fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, 5) {
        tracing::debug!(%error, "the priority of a thread can't be lowered");
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn priority_is_that_of_the_thread_alone() {
        let priority = || rustix::process::getpriority_process(None).unwrap();
        let before = priority();
        let lowered = std::thread::spawn(move || {
            lower_priority();
            let started_by_it = std::thread::spawn(priority).join().unwrap();
            (priority(), started_by_it)
        });
        assert_eq!(lowered.join().unwrap(), (5, 5));
        assert_eq!(priority(), before);
    }
}
