//! A thread with its own runtime for network operations, which can be woken and stopped.

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
};

use tokio::sync::{Notify, oneshot};

use crate::{Error, Result, registry::thread::spawn};

#[derive(Default)]
pub(super) struct Worker {
    /// There is something to do.
    wake: Arc<Notify>,
    running: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
}

impl Worker {
    /// Starts a thread for `work`, which receives the handle for waking it.
    pub fn start<W: Future<Output = ()>>(
        &self,
        name: &str,
        work: impl FnOnce(Arc<Notify>) -> W + Send + 'static,
    ) -> Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|source| Error::Io { doing: "starting a runtime".into(), source })?;
        let (stop, stopped) = oneshot::channel();
        let wake = self.wake.clone();
        let thread = spawn(name, move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    () = work(wake) => {}
                }
            });
            // A DNS lookup can't be cancelled, and isn't waited for.
            runtime.shutdown_background();
        })?;
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some((stop, thread));
        Ok(())
    }

    /// Wakes the work.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Returns the handle for waking the work.
    pub fn waker(&self) -> Arc<Notify> {
        self.wake.clone()
    }

    /// Stops the work, even while it is waiting.
    pub fn stop(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((stop, thread)) = running {
            drop(stop);
            // The last holder of the registry may be the thread itself.
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop();
    }
}
