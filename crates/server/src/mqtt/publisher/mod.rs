//! The publisher: brings the changes and the current descriptions to an existing broker that speaks MQTT 5.
//!
//! Events are published at least once, in the order of the log, at QoS 1; the position, one a broker, is
//! saved in the store and moves when every PUBACK of a change is in. Whatever happened while the
//! broker or the registry was down is published afterwards. Events of saved queries come in an order of their own, and have a
//! position of their own: the last change up to which all of them are acknowledged. Those that were not acknowledged before
//! the registry started are unknown; where there may have been any, the event `resync` is published instead.
//!
//! The state under `things` is retained by the broker. It is compared and published again (a
//! *resync*) where it can't be trusted: at the first contact, when the log no longer reaches back to
//! the position, when the broker has forgotten our session and with it, presumably, everything, and
//! when an earlier resync wasn't finished.
//! During a resync the publisher listens to `{prefix}/things/+` and to `{prefix}/resync`, where it
//! sends itself a message to see that the retained ones have come.
//!
//! Decisions of the guardian are published at QoS 1 as they are made. They wait in memory while there is no connection,
//! 4,096 at most: the trail has all of them.
//!
//! A message that the broker refuses, because it is too large for it or not allowed, say, is quarantined
//! (see [`limits`]): it doesn't hold up the others.

mod broker;
mod counters;
mod decisions;
mod limits;
mod link;
mod resync;
mod worker;

use std::{
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    thread::JoinHandle,
};

use tokio::{
    runtime::{Builder, Runtime},
    sync::watch,
};

pub use self::resync::Resynced;
use self::worker::{Shared, Worker};
use super::PublisherOptions;
use crate::{Error, Registry, Result};

/// A publisher while it runs. Dropping it stops it.
///
/// ```no_run
/// # fn main() -> agentdex::Result<()> {
/// use agentdex_server::mqtt::{Publisher, PublisherOptions};
///
/// let registry = agentdex::Registry::builder("agentdex-data").open()?;
/// let publisher = Publisher::start("mqtt://broker.example.org", registry, PublisherOptions::default())?;
/// publisher.stop();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Publisher {
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Publisher {
    /// Follows the log of `registry` and publishes to the broker at `url`, which needn't be up yet:
    /// `mqtt://[user:password@]host[:port]`, or `mqtts://` for TLS.
    ///
    /// # Errors
    /// [`Error::InvalidSetting`] for the URL or the prefix, [`Error::Broker`] where TLS can't be
    /// prepared, [`Error::Io`] where the thread can't be started.
    pub fn start(url: &str, registry: Registry, options: PublisherOptions) -> Result<Publisher> {
        let (stop, stopped) = watch::channel(false);
        let shared = Arc::new(Shared::default());
        registry.add_metrics(&shared);
        let worker = Worker::new(url, registry, options, stopped, shared.clone())?;
        let runtime = runtime()?;
        let thread = std::thread::Builder::new()
            .name("agentdex-publisher".into())
            .spawn(move || runtime.block_on(worker.run()))
            .map_err(|source| Error::Io { doing: "starting the MQTT publisher".into(), source })?;
        Ok(Publisher { shared, stop, thread: Mutex::new(Some(thread)) })
    }

    /// True if there is a connection to the broker at the moment.
    pub fn is_connected(&self) -> bool {
        self.shared.is_connected.load(Ordering::Relaxed)
    }

    /// Returns the number of messages that were not published because the broker refuses them for good, by its reason
    /// codes or its limits. Each is an error in the log; one that is due again after a lost connection counts again.
    pub fn quarantined(&self) -> u64 {
        self.shared.counters.quarantined.load(Ordering::Relaxed)
    }

    /// Compares what the broker retains with what the registry has, clears what no longer exists, and
    /// publishes everything else. Returns at once; done as soon as the broker is reached.
    pub fn resync(&self) {
        self.shared.is_resync_due.store(true, Ordering::Relaxed);
        self.shared.nudge.notify_one();
    }

    /// Waits for what is on its way, at most [`PublisherOptions::stop_timeout`], and ends. Blocks.
    pub fn stop(&self) {
        self.stop.send_replace(true);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Brings the state that the broker at `url` retains to what `registry` has, once. Blocks.
///
/// # Errors
/// As [`Publisher::start`], and [`Error::Broker`] where the broker can't be reached within 10 s or
/// goes away meanwhile.
pub fn resync(url: &str, registry: Registry, options: PublisherOptions) -> Result<Resynced> {
    let (_stop, stopped) = watch::channel(false);
    let worker = Worker::new(url, registry, options, stopped, Arc::default())?;
    runtime()?.block_on(worker.resync_once())
}

fn runtime() -> Result<Runtime> {
    let built = Builder::new_current_thread().enable_all().build();
    built.map_err(|source| Error::Io { doing: "starting the MQTT publisher".into(), source })
}
