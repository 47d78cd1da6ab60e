//! The thread that looks at what is due.
//!
//! It holds the registry for moments only, never while it waits for the network: a registry whose last
//! clone is dropped closes at once, and takes the thread with it.

use std::{
    sync::{Arc, Mutex, PoisonError, Weak},
    thread::JoinHandle,
    time::Duration,
};

use tokio::{
    sync::{Notify, oneshot},
    task::JoinSet,
};

use super::Refreshed;
use crate::{
    Error, Result, Timestamp,
    registry::{Inner, Registry, spawn},
};

/// Looks that are under way at once.
const AT_ONCE: usize = 8;
/// The longest pause: the clock may be set.
const LONGEST_REST: Duration = Duration::from_secs(60);
/// The pause after a look that could not be written.
const RETRY: u64 = 60;

#[derive(Default)]
pub(super) struct Worker {
    /// Something was planned.
    wake: Arc<Notify>,
    running: Mutex<Option<(oneshot::Sender<()>, JoinHandle<()>)>>,
}

impl Worker {
    pub fn start(&self, registry: &Registry) -> Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|source| Error::Io { doing: "starting a runtime".into(), source })?;
        let (stop, stopped) = oneshot::channel();
        let (inner, wake) = (Arc::downgrade(&registry.0), self.wake.clone());
        let thread = spawn("agentdex-refresh", move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stopped => {}
                    () = run(&inner, &wake) => {}
                }
            });
            // A look-up of a name can't be called off, and isn't waited for.
            runtime.shutdown_background();
        })?;
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some((stop, thread));
        Ok(())
    }

    /// Looks at the schedule again.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

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

async fn run(inner: &Weak<Inner>, wake: &Notify) {
    loop {
        let Some((due, next)) = take_due(inner) else { return };
        let mut looks = JoinSet::new();
        for id in due {
            looks.spawn(look(inner.clone(), id));
        }
        let is_idle = looks.is_empty();
        looks.join_all().await;
        if is_idle {
            let left = next.map_or(LONGEST_REST, |next| {
                Duration::from_millis(u64::try_from(next.0 - Timestamp::now().0).unwrap_or_default())
            });
            let _ = tokio::time::timeout(left.min(LONGEST_REST), wake.notified()).await;
        }
    }
}

/// What is due, and when the next is; none once the registry is gone.
fn take_due(inner: &Weak<Inner>) -> Option<(Vec<String>, Option<Timestamp>)> {
    let registry = Registry(inner.upgrade()?);
    let imports = registry.0.imports.as_ref()?;
    Some((imports.schedule.take_due(Timestamp::now(), AT_ONCE), imports.schedule.next()))
}

async fn look(inner: Weak<Inner>, id: String) {
    let result = try_look(&inner, &id).await;
    if let Err(error) = &result {
        tracing::info!(id, %error, "a followed document could not be refreshed");
    }
    // What was written is planned anew by then.
    if let (Err(error), Some(inner)) = (&result, inner.upgrade())
        && let Some(imports) = &inner.imports
        && matches!(error, Error::WritesClosed { .. } | Error::Store { .. } | Error::Contended { .. })
    {
        imports.schedule.plan(&id, Timestamp::now().plus_seconds(RETRY));
    }
}

async fn try_look(inner: &Weak<Inner>, id: &str) -> Result<Refreshed> {
    let now = Timestamp::now();
    let (follower, loaded) = {
        let registry = Registry(inner.upgrade().ok_or(Error::ShuttingDown)?);
        let Some(imports) = &registry.0.imports else { return Ok(Refreshed::Stopped) };
        let Some(loaded) = registry.load_import(id)? else { return Ok(Refreshed::Stopped) };
        (imports.follower.clone(), loaded)
    };
    let look = follower.look(&loaded.import, &loaded.original.bytes, now).await;
    let registry = Registry(inner.upgrade().ok_or(Error::ShuttingDown)?);
    let Some(imports) = &registry.0.imports else { return Ok(Refreshed::Stopped) };
    registry.settle(imports, id, look, now).await
}
