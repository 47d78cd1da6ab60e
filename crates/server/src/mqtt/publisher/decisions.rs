//! Decisions of the guardian on their way to the broker.

use crate::{Registry, access::Caller, mqtt::topics::Topics, registry::guardian::Entries};

/// A decision to publish.
pub(super) struct Decided {
    pub topic: String,
    pub payload: Vec<u8>,
}

/// The decisions that a registry makes, as far as everybody may see their agents.
pub(super) struct Decisions {
    entries: Entries,
    topics: Topics,
}

impl Decisions {
    /// Those that are made from now on.
    pub fn of(registry: &Registry, topics: &Topics) -> Decisions {
        let registry = registry.as_caller(Caller::Anonymous);
        Decisions { entries: registry.guardian().subscribe(), topics: topics.clone() }
    }

    /// The next one; never done where there is none any more.
    pub async fn next(&mut self) -> Decided {
        use tokio::sync::broadcast::error::RecvError;
        loop {
            match self.entries.recv().await {
                Ok(entry) => {
                    if let Some(decided) = self.decided(&entry) {
                        return decided;
                    }
                }
                Err(RecvError::Lagged(missed)) => report_missed(missed),
                Err(RecvError::Closed) => std::future::pending().await,
            }
        }
    }

    /// One that is there already.
    pub fn try_next(&mut self) -> Option<Decided> {
        use tokio::sync::broadcast::error::TryRecvError;
        loop {
            match self.entries.try_recv() {
                Ok(entry) => return self.decided(&entry),
                Err(TryRecvError::Lagged(missed)) => report_missed(missed),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return None,
            }
        }
    }

    fn decided(&self, entry: &crate::registry::guardian::Entry) -> Option<Decided> {
        let payload = serde_json::to_vec(entry).ok()?;
        Some(Decided { topic: self.topics.decision(entry.agent.as_deref(), entry.decision), payload })
    }
}

fn report_missed(missed: u64) {
    tracing::warn!(missed, "guardian decisions were dropped: the MQTT broker was too slow");
}
