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

/// Lets all other threads go before this one where they compete for the processors: what is done behind the log
/// waits for those who write to it. It still gets about a third of what each of them gets. Linux only, where a
/// priority is one of a thread.
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
