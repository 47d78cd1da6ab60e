//! The signal that ends what would not end by itself: event streams and long polls.

use std::sync::Arc;

use tokio::sync::watch;

/// Ends event streams and long polls, so that a server can stop gracefully. Clones share the signal.
///
/// [`super::Server`] gives it by itself. Who mounts the API into an application of their own calls
/// [`Stop::stop`] when that application begins to stop.
#[derive(Debug, Clone)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Stop {
    /// A signal that hasn't been given yet.
    pub fn new() -> Stop {
        Stop(Arc::new(watch::Sender::new(false)))
    }

    /// Gives the signal. It can't be taken back.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }

    /// What waits for the signal.
    pub(super) fn listener(&self) -> Stopped {
        Stopped(self.0.subscribe())
    }
}

impl Default for Stop {
    fn default() -> Stop {
        Stop::new()
    }
}

/// Waits for a [`Stop`].
#[derive(Debug, Clone)]
pub(super) struct Stopped(watch::Receiver<bool>);

impl Stopped {
    /// Is done once the signal is given, or can no longer be given.
    pub(super) async fn wait(&mut self) {
        let _ = self.0.wait_for(|stopped| *stopped).await;
    }
}
