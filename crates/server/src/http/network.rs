//! Work that waits for other servers, on a thread that is there for it.
//!
//! What they send is checked and converted there as well, which takes time that other connections don't
//! have. It is done to its end, also when the client that asked for it is gone.

use std::{
    io,
    sync::{Mutex, PoisonError},
    thread,
};

use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
};

use super::blocking::outcome;
use crate::{Error, Result};

/// The thread, which starts with the first work: most registries fetch nothing.
#[derive(Default)]
pub(super) struct Network(Mutex<Option<Running>>);

struct Running {
    handle: Handle,
    /// The thread ends once this is dropped.
    _stop: oneshot::Sender<()>,
}

impl Network {
    /// Does work that waits for other servers.
    ///
    /// # Errors
    /// Those of the work; [`Error::Io`] where it panicked or there is no thread, [`Error::ShuttingDown`]
    /// where it was given up.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let failed = |source| Error::Io { doing: "starting a thread for fetching".to_owned(), source };
        outcome(self.handle().map_err(failed)?.spawn(work).await)
    }

    fn handle(&self) -> io::Result<Handle> {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Running { handle, .. }) = &*running {
            return Ok(handle.clone());
        }
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (handle, (stop, stopped)) = (runtime.handle().clone(), oneshot::channel());
        thread::Builder::new().name("agentdex-network".to_owned()).spawn(move || {
            // An error is the end of whoever would stop it.
            let _ = runtime.block_on(stopped);
            runtime.shutdown_background();
        })?;
        *running = Some(Running { handle: handle.clone(), _stop: stop });
        Ok(handle)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[actix_web::test]
    async fn work_outlives_whoever_asked_for_it() {
        let network = Network::default();
        let (begin, begun) = oneshot::channel::<()>();
        let (done, finished) = oneshot::channel();
        let work = network.run(async move {
            let _ = begun.await;
            let _ = done.send(thread::current().name().map(str::to_owned));
            Ok(())
        });
        assert!(tokio::time::timeout(Duration::from_millis(20), work).await.is_err());
        assert!(begin.send(()).is_ok());
        assert_eq!(finished.await, Ok(Some("agentdex-network".to_owned())));
    }

    #[actix_web::test]
    async fn panic_ends_nothing_but_its_work() {
        let network = Network::default();
        let failed: Result<()> = network.run(async { panic!("the bottom of it") }).await;
        assert!(matches!(&failed, Err(Error::Io { .. })), "{failed:?}");
        assert!(matches!(network.run(async { Ok(7) }).await, Ok(7)));
    }
}
