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

use super::{
    Refreshed,
    due::{AT_ONCE, caught, look},
};
use crate::{
    Error, Result, Timestamp,
    registry::{Inner, Registry, spawn},
};

/// The longest pause: the clock may be set.
const LONGEST_REST: Duration = Duration::from_secs(60);

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
    let mut looks = JoinSet::new();
    loop {
        let rest = match caught(begin(inner, &mut looks)).await {
            Ok(Some(rest)) => rest,
            Ok(None) => return,
            Err(_) => LONGEST_REST,
        };
        tokio::select! {
            // What it came to is noted by then, unless that broke off.
            Some(ended) = looks.join_next() => if let Err(error) = ended {
                tracing::error!(%error, "what a look came to could not be noted");
            },
            () = wake.notified() => {}
            () = tokio::time::sleep(rest) => {}
        }
    }
}

/// Renews what is due, begins looks for which there is a place, and says how long nothing else is to be
/// done; none once the registry is gone.
async fn begin(inner: &Weak<Inner>, looks: &mut JoinSet<Result<Refreshed>>) -> Option<Duration> {
    let registry = Registry(inner.upgrade()?);
    let imports = registry.0.imports.as_ref()?;
    let now = Timestamp::now();
    if let Err(error) = registry.renew_due(imports, now).await {
        tracing::warn!(%error, "followed Things could not be renewed");
    }
    for due in imports.schedule.take_looks(now, AT_ONCE - looks.len()) {
        looks.spawn(look(inner.clone(), imports.due_looker.clone(), due, now));
    }
    let schedule = &imports.schedule;
    let next = if looks.len() < AT_ONCE { schedule.next() } else { schedule.next_renewal() };
    let rest = next.map(|next| next.0.saturating_sub(Timestamp::now().0)).map(u64::try_from);
    Some(rest.map_or(LONGEST_REST, |rest| Duration::from_millis(rest.unwrap_or_default())).min(LONGEST_REST))
}
