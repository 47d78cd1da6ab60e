//! Calls waiting for an answer of the user, whose connections stay open in this process.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::join_all;
use rmcp::model::ElicitResult;
use tokio::{sync::oneshot, task::AbortHandle, time::Instant};
use uuid::Uuid;

use super::open::Open;

/// Maximum number of waiting calls. A further call cancels the oldest.
const MAX_CALLS: usize = 64;
/// Maximum time that a user has for an answer; the call is cancelled then.
const MAX_TIME: Duration = Duration::from_secs(600);

/// Calls of a consumer waiting for an answer. Clones are cheap and share them.
#[derive(Clone, Default)]
pub(super) struct HeldCalls(Arc<Mutex<HashMap<String, Entry>>>);

/// A call waiting for an answer.
pub(super) struct HeldCall {
    pub(super) open: Open,
    /// Takes the answer.
    pub(super) answer: oneshot::Sender<ElicitResult>,
}

struct Entry {
    call: HeldCall,
    target: String,
    since: Instant,
    expiry: AbortHandle,
}

impl HeldCalls {
    /// Holds a call, and returns the id that it is continued by.
    pub(super) fn insert(&self, call: HeldCall, target: &str) -> String {
        let id = Uuid::new_v4().to_string();
        let own = id.clone();
        let calls = Arc::downgrade(&self.0);
        let expiry = tokio::spawn(async move {
            tokio::time::sleep(MAX_TIME).await;
            let expired = calls.upgrade().and_then(|calls| lock(&calls).remove(&own));
            if let Some(entry) = expired {
                entry.call.open.cancel().await;
            }
        });
        let mut calls = lock(&self.0);
        let oldest = (calls.len() >= MAX_CALLS).then(|| calls.iter().min_by_key(|(_, entry)| entry.since));
        let evicted = oldest.flatten().map(|(id, _)| id.clone()).and_then(|id| calls.remove(&id));
        if let Some(evicted) = evicted {
            evicted.expiry.abort();
            tokio::spawn(evicted.call.open.cancel());
        }
        let entry = Entry { call, target: target.to_owned(), since: Instant::now(), expiry: expiry.abort_handle() };
        calls.insert(id.clone(), entry);
        id
    }

    /// Removes and returns a call, if it is held and its connection is open.
    pub(super) fn take(&self, id: &str, target: &str) -> Option<HeldCall> {
        let mut calls = lock(&self.0);
        calls.get(id).filter(|entry| entry.target == target)?;
        let Entry { call, expiry, .. } = calls.remove(id)?;
        expiry.abort();
        (!call.open.is_closed()).then_some(call)
    }

    /// Cancels all calls.
    pub(super) async fn cancel(&self) {
        let entries: Vec<Entry> = lock(&self.0).drain().map(|(_, entry)| entry).collect();
        join_all(entries.into_iter().map(|entry| {
            entry.expiry.abort();
            entry.call.open.cancel()
        }))
        .await;
    }
}

fn lock(calls: &Mutex<HashMap<String, Entry>>) -> MutexGuard<'_, HashMap<String, Entry>> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for HeldCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldCalls").field("count", &lock(&self.0).len()).finish()
    }
}
