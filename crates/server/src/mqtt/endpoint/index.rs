//! The subscriptions of all sessions together: the filters, the groups, and what they may take.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use super::{
    super::{
        EndpointOptions,
        feed::{Family, Feed, Lane, LanePosition, QueryLevels},
    },
    filter::TopicFilter,
    group::Groups,
    matcher::Matcher,
    packets::{FilterRequest, Granted, Retained},
    session::{Subscription, Subscriptions},
};
use crate::{change::Seq, registry::JournalPosition};

/// Index of the subscriptions of connections and stored sessions, with their quotas.
pub(super) struct SubscriptionIndex {
    pub feed: Arc<Feed>,
    pub matcher: Matcher,
    pub groups: Groups,
    max_subscriptions: usize,
    max_session_bytes: usize,
    max_total_bytes: usize,
    total_bytes: AtomicUsize,
}

impl SubscriptionIndex {
    pub fn new(feed: Arc<Feed>, options: &EndpointOptions) -> SubscriptionIndex {
        SubscriptionIndex {
            feed,
            matcher: Matcher::default(),
            groups: Groups::new(),
            max_subscriptions: options.max_subscriptions,
            max_session_bytes: options.max_session_subscription_bytes,
            max_total_bytes: options.max_subscription_bytes,
            total_bytes: AtomicUsize::new(0),
        }
    }

    /// Refuses a filter that no topic can match, or none of those that the client may get; adds the subscription, or replaces the options of the one with the same filter, which goes on
    /// getting what it was getting.
    pub fn subscribe(
        &self,
        subscriptions: &mut Subscriptions,
        request: &FilterRequest,
        identifier: Option<u32>,
        sees_decisions: bool,
    ) -> Granted {
        let Some(filter) = TopicFilter::parse(&request.filter) else { return Granted::InvalidFilter };
        let topics = self.feed.topics();
        if Family::ALL.iter().all(|family| filter.pattern(topics, *family).is_none()) {
            match filter.pattern_of_decisions(topics) {
                None => return Granted::InvalidFilter,
                // Groups don't share decisions.
                Some(_) if filter.is_shared => return Granted::InvalidFilter,
                Some(_) if !sees_decisions => return Granted::NotAuthorized,
                Some(_) => {}
            }
        }
        let is_new = subscriptions.get(&request.filter).is_none();
        if is_new && !self.reserve(subscriptions, &request.filter) {
            return Granted::QuotaExceeded;
        }
        if is_new {
            let subscription = self.open(subscriptions, &request.filter, &filter, None);
            subscriptions.insert(subscription);
        }
        let wanted = match request.retained {
            Retained::Always => true,
            Retained::IfNew => is_new,
            Retained::Never => false,
        };
        // Shared subscriptions get nothing retained (5.0, section 4.8.2).
        let retained = wanted && !filter.is_shared && filter.retained_scope(self.feed.topics()).is_some();
        subscriptions.update(&request.filter, |subscription| {
            subscription.at_least_once = request.at_least_once;
            subscription.retain_as_published = request.retain_as_published;
            subscription.identifier = identifier;
            subscription.retained_pending |= retained;
        });
        if request.at_least_once { Granted::AtLeastOnce } else { Granted::AtMostOnce }
    }

    /// A subscription of a stored session; none if its filter can't be read. Quotas count it and refuse nothing.
    pub fn restore(&self, subscriptions: &Subscriptions, text: &str, since: Seq) -> Option<Subscription> {
        let filter = TopicFilter::parse(text)?;
        self.total_bytes.fetch_add(Subscription::bytes(text), Ordering::Relaxed);
        Some(self.open(subscriptions, text, &filter, Some(since)))
    }

    /// Takes a subscription out; false if there is none.
    pub fn unsubscribe(&self, subscriptions: &mut Subscriptions, text: &str) -> bool {
        let Some(subscription) = subscriptions.remove(text) else { return false };
        if let Some(filter) = TopicFilter::parse(text) {
            self.matcher.remove(&filter, &self.feed);
        }
        if subscription.is_shared {
            self.groups.leave(&subscriptions.group(text), subscriptions.session());
        }
        self.total_bytes.fetch_sub(Subscription::bytes(text), Ordering::Relaxed);
        true
    }

    /// Takes all subscriptions of a session out that ends.
    pub fn unsubscribe_all(&self, subscriptions: &mut Subscriptions) {
        let texts: Vec<Arc<str>> = subscriptions.iter().map(|subscription| subscription.text.clone()).collect();
        for text in texts {
            self.unsubscribe(subscriptions, &text);
        }
    }

    fn open(
        &self,
        subscriptions: &Subscriptions,
        text: &str,
        filter: &TopicFilter,
        since: Option<Seq>,
    ) -> Subscription {
        let filters = self.matcher.add(filter, &self.feed);
        // Read after the filter is in: see [`Matcher::add`].
        let (is_stored, since) = (since.is_some(), since.unwrap_or_else(|| self.feed.last_seq()));
        let text: Arc<str> = text.into();
        let pattern = filter.pattern(self.feed.topics(), Family::Query);
        let query_level = pattern.map(|levels| levels.first().cloned().flatten());
        if filter.is_shared {
            let group = subscriptions.group(&text);
            let (start, wanted) = (LanePosition::Log(since), QueryLevels::default());
            self.groups.join(&group, &filters, wanted, start, since, is_stored);
            if let Some(level) = &query_level {
                let mut wanted = QueryLevels::default();
                wanted.add(level.as_deref());
                let journal_start = LanePosition::Journal(JournalPosition::START);
                let start = if is_stored { journal_start } else { self.feed.end(Lane::Queries) };
                self.groups.join(&group, &filters, wanted, start, since, false);
            }
        }
        Subscription {
            text,
            filters,
            query_level,
            is_shared: filter.is_shared,
            at_least_once: false,
            retain_as_published: false,
            identifier: None,
            since,
            retained_pending: false,
        }
    }

    /// True if the quotas have room for another subscription, which then counts.
    fn reserve(&self, subscriptions: &Subscriptions, text: &str) -> bool {
        let bytes = Subscription::bytes(text);
        if subscriptions.len() >= self.max_subscriptions || subscriptions.bytes() + bytes > self.max_session_bytes {
            return false;
        }
        let add = |total: usize| total.checked_add(bytes).filter(|total| *total <= self.max_total_bytes);
        self.total_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_ok()
    }
}
