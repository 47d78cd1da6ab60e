//! Metrics of components outside the registry, such as an MQTT endpoint, published with the registry's metrics at
//! `/metrics`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A metric in the data model of Prometheus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Name with its unit. Names of counters end with `_total`.
    pub name: &'static str,
    /// Description of the metric in a sentence.
    pub help: &'static str,
    /// Current value.
    pub value: u64,
}

impl Metric {
    /// True if the metric is a counter, judged by its name.
    pub fn is_counter(&self) -> bool {
        self.name.ends_with("_total")
    }
}

/// A source of metrics.
pub trait MetricSource: Send + Sync {
    /// Returns the current metrics. Called for each request of `/metrics`; must not block.
    fn metrics(&self) -> Vec<Metric>;

    /// True if the metrics count hidden Things. Then only callers who see everything get them.
    fn tells_of_things(&self) -> bool {
        false
    }
}

/// Sources of metrics that still exist.
#[derive(Default)]
pub(super) struct Measures(Mutex<Vec<Weak<dyn MetricSource>>>);

impl Measures {
    /// Adds a source. It is removed once its owner drops it.
    pub fn add(&self, source: &Arc<impl MetricSource + 'static>) {
        let source: Weak<dyn MetricSource> = Arc::downgrade(source) as Weak<_>;
        let mut sources = self.lock();
        sources.retain(|source| source.strong_count() > 0);
        sources.push(source);
    }

    /// Returns the metrics of all sources, summed by name. Unless `sees_everything`, sources with metrics about
    /// restricted Things are omitted.
    pub fn read(&self, sees_everything: bool) -> Vec<Metric> {
        let sources = self.lock().clone();
        let mut metrics: Vec<Metric> = Vec::new();
        let sources = sources.iter().filter_map(Weak::upgrade);
        let sources = sources.filter(|source| sees_everything || !source.tells_of_things());
        for metric in sources.flat_map(|source| source.metrics()) {
            match metrics.iter_mut().find(|known| known.name == metric.name) {
                Some(known) => known.value += metric.value,
                None => metrics.push(metric),
            }
        }
        metrics
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<dyn MetricSource>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Source(u64);

    impl MetricSource for Source {
        fn metrics(&self) -> Vec<Metric> {
            vec![Metric { name: "messages_total", help: "Messages.", value: self.0 }]
        }
    }

    #[test]
    fn numbers_of_one_name_add_up_and_go_with_their_source() {
        let measures = Measures::default();
        let (one, two) = (Arc::new(Source(1)), Arc::new(Source(2)));
        measures.add(&one);
        measures.add(&two);
        let values = || measures.read(true).iter().map(|metric| metric.value).collect::<Vec<_>>();
        assert_eq!(values(), [3]);
        drop(two);
        assert_eq!(values(), [1]);
        drop(one);
        assert!(measures.read(true).is_empty());
    }
}
