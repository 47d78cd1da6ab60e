//! `Ticket`: the wait for a transaction to become durable.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::sync::oneshot;

use super::write::Outcome;
use crate::{Error, Result};

/// Waits for a transaction to become durable: as a future, or by [`Ticket::wait`].
#[must_use = "a write is acknowledged by its ticket"]
pub struct Ticket(oneshot::Receiver<Result<Vec<Outcome>>>);

impl Ticket {
    /// A ticket, and what fulfils it.
    pub(super) fn new() -> (oneshot::Sender<Result<Vec<Outcome>>>, Ticket) {
        let (sender, receiver) = oneshot::channel();
        (sender, Ticket(receiver))
    }

    /// Blocks until the transaction is durable; also inside an asynchronous runtime.
    ///
    /// # Errors
    /// [`crate::Error::PreconditionFailed`] of the first write that failed (then none was applied),
    /// [`crate::Error::InvalidId`], [`crate::Error::WritesClosed`], [`crate::Error::ShuttingDown`],
    /// [`crate::Error::Store`].
    pub fn wait(self) -> Result<Vec<Outcome>> {
        pollster::block_on(self)
    }
}

impl Future for Ticket {
    type Output = Result<Vec<Outcome>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // The committer drops what it hasn't answered only when it has ended.
        Pin::new(&mut self.0).poll(context).map(|answer| answer.unwrap_or(Err(Error::ShuttingDown)))
    }
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use super::*;
    use crate::change::Seq;

    #[test]
    fn wait_blocks_until_the_answer_is_there() {
        let (sender, ticket) = Ticket::new();
        let committer = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            sender.send(Ok(vec![Outcome::Created(Seq(1))]))
        });
        assert_eq!(ticket.wait().ok(), Some(vec![Outcome::Created(Seq(1))]));
        assert!(committer.join().is_ok());
    }

    #[test]
    fn unanswered_ticket_says_that_the_store_is_shutting_down() {
        let (sender, ticket) = Ticket::new();
        drop(sender);
        assert!(matches!(ticket.wait(), Err(Error::ShuttingDown)));
    }
}
