//! Matching of the messages of a change with filters, once for all connections.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::{
    super::feed::{Family, Feed, Messages},
    filter::TopicFilter,
    trie::{FilterId, Trie},
};
use crate::{change::Seq, store::LoggedChange};

/// Maximum size of the cached results in bytes.
const CACHE_BYTES: usize = 4 * 1024 * 1024;

/// The filters that match messages of one change, each with the indexes of those messages.
#[derive(Debug, Default)]
pub(super) struct Matches {
    /// In the order of their ids.
    filters: Box<[(FilterId, Box<[u32]>)]>,
}

impl Matches {
    /// Returns the number of filters that match any message.
    pub fn len(&self) -> usize {
        self.filters.len()
    }

    /// The messages that a filter matches, in order.
    pub fn messages(&self, filter: FilterId) -> &[u32] {
        let found = self.filters.binary_search_by_key(&filter, |(id, _)| *id);
        found.ok().and_then(|index| self.filters.get(index)).map_or(&[], |(_, messages)| messages)
    }

    pub fn iter(&self) -> impl Iterator<Item = (FilterId, &[u32])> {
        self.filters.iter().map(|(id, messages)| (*id, &**messages))
    }

    fn bytes(&self) -> usize {
        let of_one = |(_, messages): &(FilterId, Box<[u32]>)| size_of::<(FilterId, Box<[u32]>)>() + messages.len() * 4;
        size_of::<Matches>() + self.filters.iter().map(of_one).sum::<usize>()
    }
}

/// Matches changes with the filters of all sessions.
#[derive(Default)]
pub(super) struct Matcher {
    trie: RwLock<Trie>,
    cache: Mutex<Cache>,
    /// Number of nodes of the trie visited so far.
    visited: AtomicUsize,
}

/// A change, and the tag of its messages: it has others for a reader who comes to see its Thing, or to see it no more.
type Key = (Seq, u64);

#[derive(Default)]
struct Cache {
    matches: HashMap<Key, Arc<Matches>>,
    /// In the order they came in.
    order: VecDeque<Key>,
    bytes: usize,
}

impl Matcher {
    /// Takes a filter in, for a subscription; none of its ids: it can't match anything.
    ///
    /// The log position that a new subscription starts at has to be read after this: every later change
    /// is then matched with its filter.
    pub fn add(&self, filter: &TopicFilter, feed: &Feed) -> Box<[FilterId]> {
        let mut trie = self.trie.write().unwrap_or_else(PoisonError::into_inner);
        let patterns =
            Family::ALL.into_iter().filter_map(|family| Some((family, filter.pattern(feed.topics(), family)?)));
        patterns.map(|(family, pattern)| trie.insert(family, &pattern)).collect()
    }

    /// Takes the filter of a subscription out.
    pub fn remove(&self, filter: &TopicFilter, feed: &Feed) {
        let mut trie = self.trie.write().unwrap_or_else(PoisonError::into_inner);
        for family in Family::ALL {
            if let Some(pattern) = filter.pattern(feed.topics(), family) {
                trie.remove(family, &pattern);
            }
        }
    }

    /// Returns the filters that match messages of a change.
    pub fn matches(&self, feed: &Feed, change: &LoggedChange, messages: &Messages) -> Arc<Matches> {
        let key = (change.seq, messages.tag());
        // Held meanwhile, so that of many connections that wake at once only one does the work.
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(matches) = cache.matches.get(&key) {
            return matches.clone();
        }
        let matches = Arc::new(self.find(feed, messages));
        cache.insert(key, matches.clone());
        matches
    }

    fn find(&self, feed: &Feed, messages: &Messages) -> Matches {
        let trie = self.trie.read().unwrap_or_else(PoisonError::into_inner);
        let mut filters: BTreeMap<FilterId, Vec<u32>> = BTreeMap::new();
        let (mut visited, mut levels) = (0, Vec::with_capacity(3));
        for (index, message) in (0u32..).zip(messages.iter()) {
            let start = feed.topics().prefix().len() + message.family.level().len() + 2;
            levels.clear();
            levels.extend(message.topic.get(start..).unwrap_or_default().split('/'));
            visited += trie.visit(message.family, &levels, &mut |id| filters.entry(id).or_default().push(index));
        }
        self.visited.fetch_add(visited, Ordering::Relaxed);
        Matches { filters: filters.into_iter().map(|(id, messages)| (id, messages.into())).collect() }
    }
}

impl Cache {
    fn insert(&mut self, key: Key, matches: Arc<Matches>) {
        self.bytes += matches.bytes();
        self.matches.insert(key, matches);
        self.order.push_back(key);
        while self.bytes > CACHE_BYTES {
            let Some(oldest) = self.order.pop_front() else { break };
            self.bytes -= self.matches.remove(&oldest).map_or(0, |matches| matches.bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::super::{
            feed::{Audience, ENDPOINT_MESSAGES, LanePosition, Next, QueryLevels},
            topics::Topics,
        },
        *,
    };
    use crate::Registry;

    fn change(capabilities: usize) -> (Feed, Arc<LoggedChange>, tempfile::TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::builder(directory.path()).open().unwrap();
        let capabilities: Vec<_> = (0..capabilities).map(|key| serde_json::json!({"id": format!("k{key}")})).collect();
        let document = serde_json::json!({
            "@context": ["https://www.w3.org/2022/wot/td/v1.1", {"lmos": "https://eclipse.dev/lmos/protocol/v1"}],
            "@type": "lmos:Agent", "id": "urn:a", "title": "A", "security": "none",
            "securityDefinitions": {"none": {"scheme": "nosec"}}, "lmos:capabilities": capabilities
        });
        registry.put(document.to_string()).unwrap();
        let feed = Feed::new(registry, Topics::new("agentdex").unwrap(), ENDPOINT_MESSAGES);
        let audience = Audience { reader: feed.registry(), wanted: &QueryLevels::default() };
        let next = feed.after(LanePosition::Log(Seq::ZERO), audience).unwrap();
        let Next::Part(part) = next else { panic!("there is no change") };
        let change = part.entry.change().unwrap().clone();
        (feed, change, directory)
    }

    fn filter(text: &str) -> TopicFilter {
        TopicFilter::parse(text).unwrap()
    }

    #[test]
    fn change_is_matched_once_however_many_connections_and_filters_there_are() {
        let (feed, change, _directory) = change(990);
        let matcher = Matcher::default();
        // 20 clients with 1,000 filters each that match nothing.
        for number in 0..20_000 {
            let text = ["agentdex/capabilities/+/+/x", "+/+/+/thing_created/x", "+/+/+/+/+/x", "agentdex/+/+/x"];
            let text = format!("{}{number}", text[number % text.len()]);
            matcher.add(&filter(&text), &feed);
        }
        let everything = matcher.add(&filter("#"), &feed);
        for _ in 0..100 {
            let matches = matcher.matches(&feed, &change, &feed.plain_messages(&change));
            // No query is saved that could have messages.
            assert_eq!(matches.len(), everything.len() - 1);
            let messages: usize = everything.iter().map(|id| matches.messages(*id).len()).sum();
            assert_eq!(messages, 992);
        }
        let visited = matcher.visited.load(Ordering::Relaxed);
        assert!(visited <= 992 * 15, "{visited} nodes were visited");
    }

    #[test]
    fn removed_filter_matches_no_more() {
        let (feed, change, _directory) = change(1);
        let matcher = Matcher::default();
        let (kept, removed) = (filter("agentdex/events/#"), filter("agentdex/+/+"));
        let ids = matcher.add(&kept, &feed);
        matcher.add(&removed, &feed);
        matcher.remove(&removed, &feed);
        let matches = matcher.matches(&feed, &change, &feed.plain_messages(&change));
        assert_eq!(matches.iter().collect::<Vec<_>>(), [(ids[0], &[0][..])]);
    }
}
