//! The requests of owners who are slowed, see [`super::backpressure`]: those of one owner wait in line, and go on one after
//! another. Nothing is held while a request goes on, so that none that stalls holds up others.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crate::access::Owner;

/// Interval at which it is checked whether an owner is still slowed, and at which its requests go on: what one of them writes is,
/// as a rule, counted by the time that the next one is checked.
const INTERVAL: Duration = Duration::from_millis(20);

/// The lines in which requests wait, by owner.
#[derive(Default)]
pub(super) struct Pace(Mutex<HashMap<Owner, Arc<tokio::sync::Mutex<()>>>>);

impl Pace {
    /// Waits while an owner is slowed, behind its requests that waited before. One that isn't slowed doesn't wait.
    pub async fn wait(&self, owner: &Owner, is_slowed: impl Fn() -> bool) {
        if !is_slowed() {
            return;
        }
        let line = self.line(owner);
        let _first = line.lock().await;
        loop {
            tokio::time::sleep(INTERVAL).await;
            if !is_slowed() {
                return;
            }
        }
    }

    fn line(&self, owner: &Owner) -> Arc<tokio::sync::Mutex<()>> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.retain(|_, line| Arc::strong_count(line) > 1);
        lines.entry(owner.clone()).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use futures_util::future::join_all;
    use tokio::time::sleep;

    use super::*;

    fn run<T>(test: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(test)
    }

    fn owners() -> (Owner, Owner) {
        ("eve".parse().unwrap(), "bob".parse().unwrap())
    }

    #[test]
    fn slowed_requests_go_on_in_their_order_as_far_as_they_do_not_slow_their_owner_again() {
        let (eve, bob) = owners();
        let (pace, is_slowed, written) = (Pace::default(), Cell::new(true), RefCell::new(Vec::new()));
        let write = async |number: usize| {
            pace.wait(&eve, || is_slowed.get()).await;
            written.borrow_mut().push(number);
            is_slowed.set(number % 5 == 4);
        };
        let index = async {
            // Nobody else waits meanwhile.
            pace.wait(&bob, || false).await;
            for count in [0, 5, 10, 15, 20] {
                while written.borrow().len() < count {
                    sleep(INTERVAL).await;
                }
                sleep(INTERVAL * 3).await;
                assert_eq!(*written.borrow(), (0..count).collect::<Vec<_>>());
                is_slowed.set(false);
            }
        };
        run(async { tokio::join!(join_all((0..20).map(write)), index) });
    }

    #[test]
    fn request_that_stalls_holds_up_no_other() {
        let (eve, _) = owners();
        let (pace, is_slowed) = (Pace::default(), Cell::new(true));
        run(async {
            let stalled = async {
                pace.wait(&eve, || is_slowed.get()).await;
                std::future::pending::<()>().await;
            };
            let others = join_all((0..20).map(|_| pace.wait(&eve, || is_slowed.get())));
            let index = async {
                sleep(INTERVAL).await;
                is_slowed.set(false);
                // Who comes now is not slowed any more.
                pace.wait(&eve, || is_slowed.get()).await;
            };
            tokio::select! {
                () = stalled => unreachable!("it goes on forever"),
                _ = async { tokio::join!(others, index) } => {}
            }
        });
        assert_eq!(pace.0.into_inner().unwrap().len(), 1, "the last line goes with the next");
    }
}
