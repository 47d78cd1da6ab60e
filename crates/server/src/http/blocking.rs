//! Work that may block, on threads that are there for it. What is more than they soon get to is refused at once.

use std::{
    io,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use actix_web::rt::task::{JoinError, spawn_blocking};

use crate::{Error, Result};

/// The work that waits for a thread, of all servers of this process.
static WAITING: Waiting = Waiting { count: AtomicUsize::new(0), maximum: 1024, patience: Duration::from_secs(10) };

/// Does what may block where it holds up no other connection.
///
/// # Errors
/// Those of the work; [`Error::Overloaded`] where too much waits already, or this has waited for too long: then nothing
/// of it is done. [`Error::Io`] where it panicked, [`Error::ShuttingDown`] where it was given up.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    WAITING.run(work).await
}

/// Work that waits for a thread.
struct Waiting {
    count: AtomicUsize,
    maximum: usize,
    /// After which whoever asked for it has given up, or soon will.
    patience: Duration,
}

impl Waiting {
    async fn run<T: Send + 'static>(&'static self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
        let place = self.take()?;
        outcome(spawn_blocking(move || place.leave().and_then(|()| work())).await)
    }

    fn take(&'static self) -> Result<Place> {
        let place = Place { waiting: self, since: Instant::now() };
        if self.count.fetch_add(1, Ordering::Relaxed) < self.maximum { Ok(place) } else { Err(overloaded()) }
    }
}

/// One place among those that wait.
struct Place {
    waiting: &'static Waiting,
    since: Instant,
}

impl Place {
    /// Leaves for a thread, unless that is too late.
    fn leave(self) -> Result<()> {
        if self.since.elapsed() < self.waiting.patience { Ok(()) } else { Err(overloaded()) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.waiting.count.fetch_sub(1, Ordering::Relaxed);
    }
}

fn overloaded() -> Error {
    Error::Overloaded { doing: "answering requests" }
}

/// Returns the result of work on another thread: [`Error::Io`] where it panicked, [`Error::ShuttingDown`] where it was
/// cancelled.
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
    use std::sync::mpsc::channel;

    use tokio::task::LocalSet;

    use super::*;

    #[actix_web::test]
    async fn a_panic_is_an_internal_error() {
        let failed: Result<()> = blocking(|| panic!("the bottom of it")).await;
        assert!(
            matches!(&failed, Err(Error::Io { source, .. }) if source.to_string().contains("bottom")),
            "{failed:?}"
        );
    }

    #[test]
    fn what_waits_beyond_the_maximum_is_refused_and_the_rest_is_done() {
        static WAITING: Waiting =
            Waiting { count: AtomicUsize::new(0), maximum: 1, patience: Duration::from_secs(3600) };
        let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
        let (done, until_done) = channel::<()>();
        let (begun, has_begun) = channel();
        let busy = move || {
            begun.send(()).unwrap();
            let _ = until_done.recv();
            Ok("first")
        };
        LocalSet::new().block_on(&runtime, async move {
            let first = tokio::task::spawn_local(WAITING.run(busy));
            tokio::task::yield_now().await;
            has_begun.recv().unwrap();
            let second = tokio::task::spawn_local(WAITING.run(|| Ok("second")));
            tokio::task::yield_now().await;
            let third = WAITING.run(|| Ok("third")).await;
            assert!(matches!(third, Err(Error::Overloaded { .. })), "{third:?}");
            drop(done);
            assert_eq!((first.await.unwrap().unwrap(), second.await.unwrap().unwrap()), ("first", "second"));
        });
        assert_eq!(WAITING.count.load(Ordering::Relaxed), 0);
    }

    #[actix_web::test]
    async fn what_has_waited_for_too_long_is_not_done() {
        static WAITING: Waiting = Waiting { count: AtomicUsize::new(0), maximum: 1, patience: Duration::ZERO };
        let outcome: Result<()> = WAITING.run(|| panic!("it is done")).await;
        assert!(matches!(outcome, Err(Error::Overloaded { .. })), "{outcome:?}");
        assert_eq!(WAITING.count.load(Ordering::Relaxed), 0);
    }
}
