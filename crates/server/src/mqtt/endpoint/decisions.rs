//! Decisions of the guardian for clients that subscribed to `{prefix}/guardian/{agent}/{decision}`: sent as they are made,
//! at QoS 0 and not again. Whoever is too slow misses some; the trail has all of them.

use super::filter::TopicFilter;
use super::{super::topics::Topics, session::Subscriptions};
use crate::Registry;

/// A decision to send.
pub(super) struct Decided {
    pub topic: String,
    pub payload: std::sync::Arc<[u8]>,
    /// Those of the subscriptions that match it.
    pub identifiers: Vec<u32>,
}

/// The decisions that a session's own subscriptions match. Groups don't share them.
#[derive(Default)]
pub(super) struct Decisions {
    receiving: Option<receiving::Receiving>,
}

impl Decisions {
    /// Receives what these subscriptions match.
    pub fn select(&mut self, registry: &Registry, topics: &Topics, subscriptions: &Subscriptions) {
        let own = subscriptions.own().filter_map(|subscription| {
            let pattern = TopicFilter::parse(&subscription.text)?.pattern_of_decisions(topics)?;
            Some((pattern, subscription.identifier))
        });
        self.receiving = receiving::Receiving::of(own.collect(), registry, topics, self.receiving.take());
    }

    /// The next decision that is matched; never done where nothing can be.
    pub async fn next(&mut self) -> Decided {
        match &mut self.receiving {
            Some(receiving) => receiving.next().await,
            None => std::future::pending().await,
        }
    }
}

mod receiving {
    use tokio::sync::broadcast::error::RecvError;

    use super::Decided;
    use crate::{
        Registry,
        mqtt::{endpoint::filter::Pattern, topics::Topics},
        registry::guardian::{Entries, Entry},
    };

    /// Decisions that something is subscribed to.
    pub(super) struct Receiving {
        entries: Entries,
        topics: Topics,
        /// The patterns of filters, each with the identifier of its subscription.
        patterns: Vec<(Pattern, Option<u32>)>,
    }

    impl Receiving {
        /// Goes on with what was received before; none where nothing is subscribed to.
        pub fn of(
            patterns: Vec<(Pattern, Option<u32>)>,
            registry: &Registry,
            topics: &Topics,
            before: Option<Receiving>,
        ) -> Option<Receiving> {
            if patterns.is_empty() {
                return None;
            }
            let entries = before.map_or_else(|| registry.guardian().subscribe(), |before| before.entries);
            Some(Receiving { entries, topics: topics.clone(), patterns })
        }

        pub async fn next(&mut self) -> Decided {
            loop {
                match self.entries.recv().await {
                    Ok(entry) => {
                        if let Some(decided) = self.matched(&entry) {
                            return decided;
                        }
                    }
                    Err(RecvError::Lagged(missed)) => {
                        tracing::debug!(missed, "an MQTT client missed guardian decisions")
                    }
                    Err(RecvError::Closed) => std::future::pending().await,
                }
            }
        }

        fn matched(&self, entry: &Entry) -> Option<Decided> {
            let topic = self.topics.decision(entry.agent.as_deref(), entry.decision);
            let levels: Vec<&str> = topic.rsplitn(3, '/').take(2).collect();
            let is_matched = |pattern: &Pattern| {
                pattern
                    .iter()
                    .zip(levels.iter().rev())
                    .all(|(wanted, level)| wanted.as_deref().is_none_or(|wanted| wanted == *level))
            };
            let matching = self.patterns.iter().filter(|(pattern, _)| is_matched(pattern));
            let identifiers: Vec<Option<u32>> = matching.map(|(_, identifier)| *identifier).collect();
            if identifiers.is_empty() {
                return None;
            }
            let payload = serde_json::to_vec(entry).ok()?.into();
            Some(Decided { topic, payload, identifiers: identifiers.into_iter().flatten().collect() })
        }
    }
}
