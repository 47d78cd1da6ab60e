//! The signal that ends what would not end by itself: event streams and long polls.

use std::sync::Arc;

use tokio::sync::watch;

use crate::Registry;

/// Ends event streams and long polls, so that a server can stop gracefully. Clones share the signal.
///
/// [`super::Server`] gives it by itself. Where the API is mounted into an application, streams also end when nobody
/// listens any more where their requests came through.
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

    /// Returns a listener that waits for the signal, for another one, for the end of the credentials of the caller
    /// that a registry is used by, or until the data of a node of a cluster may be stale.
    pub(super) fn listener(&self, gone: Option<watch::Receiver<bool>>, registry: Registry) -> Stopped {
        Stopped { asked: self.0.subscribe(), gone, registry }
    }
}

impl Default for Stop {
    fn default() -> Stop {
        Stop::new()
    }
}

/// Waits for a [`Stop`].
#[derive(Debug, Clone)]
pub(super) struct Stopped {
    asked: watch::Receiver<bool>,
    /// That the server no longer listens.
    gone: Option<watch::Receiver<bool>>,
    registry: Registry,
}

impl Stopped {
    /// Is done once the signal is given, or can no longer be given.
    pub(super) async fn wait(&mut self) {
        let Stopped { asked, gone, registry } = self;
        let gone = async {
            match gone {
                Some(gone) => drop(gone.wait_for(|gone| *gone).await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = asked.wait_for(|stopped| *stopped) => {}
            () = gone => {}
            () = registry.until_invalid(registry.caller()) => {}
            () = registry.until_cut_off() => {}
        }
    }
}
