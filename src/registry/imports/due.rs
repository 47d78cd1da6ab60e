//! What is done when something is due: a source is looked at, a Thing is renewed.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{Arc, Weak},
    task::Poll,
};

use super::{
    Imports, Refreshed,
    look::{Look, Looker},
    schedule::DueLook,
};
use crate::{
    Error, Result, Timestamp,
    registry::{Inner, Registry},
    td::Document,
};

/// Looks that are under way at once.
pub(super) const AT_ONCE: usize = 8;
/// Renewals that are made durable together.
const RENEWALS_AT_ONCE: usize = 1000;

/// Looks at what is due. Whatever goes wrong is noted, and ends nothing else.
pub(super) async fn look(inner: Weak<Inner>, looker: Arc<Looker>, due: DueLook, now: Timestamp) -> Result<Refreshed> {
    let looked = match caught(look_at(&inner, &looker, &due.id, now)).await {
        Ok(looked) => looked,
        Err(panic) => settle_panic(&inner, &due.id, panic, now).await,
    };
    if let Err(error) = &looked {
        tracing::info!(id = due.id, %error, "a followed document could not be refreshed");
    }
    looked
}

/// Looks at a source and writes what that comes to. The registry is not held while the network is waited for.
pub(super) async fn look_at(inner: &Weak<Inner>, looker: &Looker, id: &str, now: Timestamp) -> Result<Refreshed> {
    let registry = || inner.upgrade().map(Registry).ok_or(Error::ShuttingDown);
    let Some(loaded) = registry()?.load_import(id)? else {
        registry()?.replan(id).await;
        return Ok(Refreshed::Stopped);
    };
    let look = looker.look(&loaded.import, &loaded.original.bytes, now).await;
    registry()?.settle(&loaded.import, look, now).await
}

/// A document that made something panic counts as one that can't be taken.
async fn settle_panic(inner: &Weak<Inner>, id: &str, panic: Panic, now: Timestamp) -> Result<Refreshed> {
    let registry = Registry(inner.upgrade().ok_or(Error::ShuttingDown)?);
    let Some(loaded) = registry.load_import(id)? else { return Ok(Refreshed::Stopped) };
    let error = Error::Io { doing: "taking in the document".into(), source: io::Error::other(panic) };
    registry.settle(&loaded.import, Look::Failed(error), now).await
}

/// Something panicked, and has said so on standard error.
#[derive(Debug, thiserror::Error)]
#[error("something panicked")]
pub(super) struct Panic;

/// Work whose panics end nothing but itself.
pub(super) async fn caught<T>(work: impl Future<Output = T>) -> std::result::Result<T, Panic> {
    let mut work = pin!(work);
    std::future::poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)));
        polled.map_or(Poll::Ready(Err(Panic)), |poll| poll.map(Ok))
    })
    .await
}

impl Registry {
    /// Renews what would expire although it is followed. Nobody is asked for that.
    pub(super) async fn renew_due(&self, imports: &Imports, now: Timestamp) -> Result<()> {
        let nothing = Document::parse(b"{}")?;
        for ids in imports.schedule.take_renewals(now).chunks(RENEWALS_AT_ONCE) {
            let mut tickets = Vec::new();
            for id in ids {
                if let Some(record) = self.0.store.find(id)?.filter(|record| record.expiry.ttl.is_some())
                    && self.is_followed(id)?
                {
                    tickets.push(self.0.store.submit(vec![self.prepare_patch(&record, &nothing)?.write]));
                }
            }
            for ticket in tickets {
                match ticket.await {
                    // What was changed or removed meanwhile is planned by what it is now.
                    Ok(_) | Err(Error::PreconditionFailed { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            for id in ids {
                self.replan(id).await;
            }
        }
        Ok(())
    }
}
