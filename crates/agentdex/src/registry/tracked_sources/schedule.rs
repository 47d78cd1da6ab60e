//! Schedule of polls of sources, and of renewals of Things with a time to live.

use std::{
    collections::{BTreeSet, HashMap},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{Error, Result, Timestamp, fetch::canonical_url, store::Expiry};

/// First pause after a failure, unless the interval is shorter.
const FIRST_RETRY: Duration = Duration::from_secs(5 * 60);
/// Maximum pause, unless the interval is longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);
/// The pause after a poll without a result, in seconds.
const RETRY: u64 = 30;
/// The maximum number of tracked sources.
const MAX_TRACKED: usize = 100_000;

/// The inputs to the time of the next poll.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outlook {
    /// Interval between successful polls.
    pub interval: Duration,
    /// Number of consecutive failed polls.
    pub failures: u32,
    /// Lifetime of the document, according to its server.
    pub max_age: Option<Duration>,
    /// Pause requested by the server.
    pub retry_after: Option<Duration>,
}

/// Returns the time of the next poll. After a success it is delayed by the interval or until the document is no
/// longer fresh; after a failure by twice the previous pause or as requested by the server. A jitter of a tenth
/// spreads the polls of sources imported together.
pub(super) fn next_try(id: &str, now: Timestamp, outlook: Outlook) -> Timestamp {
    let longest = LONGEST_PAUSE.max(outlook.interval);
    let pause = match outlook.failures {
        0 => outlook.interval.max(outlook.max_age.unwrap_or_default()),
        failures => {
            let first = FIRST_RETRY.min(outlook.interval);
            first.saturating_mul(2_u32.saturating_pow(failures - 1))
        }
    };
    let share = 0.9 + 0.2 * fraction(id, now);
    // A pause that is too long for the type becomes the longest there is.
    let pause = (pause.min(longest).as_secs_f64() * share * 1000.0) as i64;
    let at_least = outlook.retry_after.unwrap_or_default().min(longest).max(Duration::from_secs(1));
    after(now, pause.max(milliseconds(at_least)))
}

/// Returns the time at which a Thing is renewed, halfway between its last renewal and its expiry, or `None` for a
/// Thing without a time to live.
pub(super) fn renewal(expiry: Expiry) -> Option<Timestamp> {
    let half = milliseconds(Duration::from_secs(expiry.ttl?)) / 2;
    Some(Timestamp(expiry.expires?.0.saturating_sub(half)))
}

fn after(now: Timestamp, pause: i64) -> Timestamp {
    Timestamp(now.0.saturating_add(pause)).min(Timestamp::MAX)
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Returns a number from 0 to 1 that differs between sources and times. It needn't be unpredictable.
fn fraction(id: &str, now: Timestamp) -> f64 {
    let mut hasher = DefaultHasher::new();
    (id, now.0).hash(&mut hasher);
    f64::from(hasher.finish() as u32) / f64::from(u32::MAX)
}

/// The due times of polls and renewals. A cache: the store decides.
pub(super) struct Schedule {
    plans: Mutex<Plans>,
    /// The longest pause between two polls, in milliseconds.
    longest: i64,
}

#[derive(Default)]
struct Plans {
    of: HashMap<String, Plan>,
    polls: BTreeSet<(Timestamp, String)>,
    renewals: BTreeSet<(Timestamp, String)>,
    /// URL of each source in canonical spelling, and the reverse.
    url_of: HashMap<String, String>,
    by_url: BTreeSet<(String, String)>,
    /// Latest time at which something was taken.
    seen: Option<Timestamp>,
}

#[derive(Default, Clone, Copy)]
struct Plan {
    /// Time of the next poll, or `None` while a poll is running.
    poll: Option<Timestamp>,
    renewal: Option<Timestamp>,
    /// True if it is being polled.
    is_taken: bool,
    /// Poll scheduled while another one is running.
    next: Option<Timestamp>,
}

/// A due poll. Its holder schedules the next one. If dropped, the poll becomes due again a little later.
pub(super) struct DuePoll {
    pub id: String,
    schedule: Arc<Schedule>,
}

impl Schedule {
    /// Creates an empty schedule for polls at the given interval.
    pub fn new(interval: Duration) -> Schedule {
        let longest = LONGEST_PAUSE.max(interval);
        Schedule { plans: Mutex::default(), longest: milliseconds(longest.saturating_add(longest / 10)) }
    }

    /// Schedules the next poll and the next renewal of a source, replacing earlier schedules. A poll that was scheduled
    /// too far ahead because the clock was wrong is moved up to the end of the longest interval. A source is never
    /// polled twice at the same time: a running poll is completed first.
    pub fn plan(&self, id: &str, poll: Timestamp, renewal: Option<Timestamp>) {
        let poll = Some(poll.min(after(Timestamp::now(), self.longest)));
        let mut plans = self.plans();
        let is_taken = plans.of.get(id).is_some_and(|plan| plan.is_taken);
        let (poll, next) = if is_taken { (None, poll) } else { (poll, None) };
        plans.set(id, Plan { poll, renewal, is_taken, next });
    }

    /// Sets the URL of a source.
    pub fn set_url(&self, id: &str, url: &str) {
        self.plans().set_url(id, Some(canonical_url(url)));
    }

    /// Returns the ids of Things whose source may have this URL, in ascending order. The store is authoritative.
    pub fn ids_at(&self, url: &str) -> Vec<String> {
        let url = canonical_url(url);
        let plans = self.plans();
        let from_there = plans.by_url.range((url.clone(), String::new())..);
        from_there.take_while(|(other, _)| *other == url).map(|(_, id)| id.clone()).collect()
    }

    /// Removes a source.
    pub fn forget(&self, id: &str) {
        let mut plans = self.plans();
        plans.set(id, Plan::default());
        plans.of.remove(id);
        plans.set_url(id, None);
    }

    /// Returns the number of sources of Things accepted by `is_counted`.
    pub fn count(&self, is_counted: impl Fn(&str) -> bool) -> usize {
        self.plans().of.keys().filter(|id| is_counted(id)).count()
    }

    /// Fails if the maximum number of sources is reached.
    pub fn check_room(&self, id: &str) -> Result<()> {
        let plans = self.plans();
        if plans.of.len() < MAX_TRACKED || plans.of.contains_key(id) {
            return Ok(());
        }
        Err(Error::LimitExceeded { what: "number of tracked sources", maximum: MAX_TRACKED as u64 })
    }

    /// Returns up to `limit` due polls and removes them from the schedule.
    pub fn take_polls(self: &Arc<Schedule>, now: Timestamp, limit: usize) -> Vec<DuePoll> {
        let mut plans = self.plans();
        if plans.seen.replace(now).is_some_and(|seen| seen > now) {
            plans.bring_forward(after(now, self.longest));
        }
        let due = due(&plans.polls, now, limit);
        for id in &due {
            let plan = plans.of.get(id).copied().unwrap_or_default();
            plans.set(id, Plan { poll: None, is_taken: true, next: None, ..plan });
        }
        due.into_iter().map(|id| DuePoll { id, schedule: self.clone() }).collect()
    }

    /// Returns the due renewals. Unless rescheduled, each becomes due again a little later.
    pub fn take_renewals(&self, now: Timestamp) -> Vec<String> {
        let mut plans = self.plans();
        let due = due(&plans.renewals, now, usize::MAX);
        for id in &due {
            let plan = plans.of.get(id).copied().unwrap_or_default();
            plans.set(id, Plan { renewal: Some(Timestamp::now().plus_seconds(RETRY)), ..plan });
        }
        due
    }

    /// Returns the time of the next poll or renewal.
    pub fn next(&self) -> Option<Timestamp> {
        let plans = self.plans();
        let first = |moments: &BTreeSet<(Timestamp, String)>| moments.first().map(|(moment, _)| *moment);
        first(&plans.polls).into_iter().chain(first(&plans.renewals)).min()
    }

    /// Returns the time of the next renewal.
    pub fn next_renewal(&self) -> Option<Timestamp> {
        self.plans().renewals.first().map(|(moment, _)| *moment)
    }

    fn plans(&self) -> MutexGuard<'_, Plans> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Plans {
    fn set_url(&mut self, id: &str, url: Option<String>) {
        let before = match &url {
            Some(url) => self.url_of.insert(id.to_owned(), url.clone()),
            None => self.url_of.remove(id),
        };
        if let Some(before) = before {
            self.by_url.remove(&(before, id.to_owned()));
        }
        if let Some(url) = url {
            self.by_url.insert((url, id.to_owned()));
        }
    }

    fn set(&mut self, id: &str, plan: Plan) {
        let before = self.of.insert(id.to_owned(), plan).unwrap_or_default();
        for (moments, before, after) in
            [(&mut self.polls, before.poll, plan.poll), (&mut self.renewals, before.renewal, plan.renewal)]
        {
            if let Some(before) = before {
                moments.remove(&(before, id.to_owned()));
            }
            if let Some(after) = after {
                moments.insert((after, id.to_owned()));
            }
        }
    }

    /// The clock was set back: nothing is due later than this.
    fn bring_forward(&mut self, latest: Timestamp) {
        let late = self.polls.iter().rev().take_while(|(moment, _)| *moment > latest);
        let late: Vec<String> = late.map(|(_, id)| id.clone()).collect();
        for id in late {
            let plan = self.of.get(&id).copied().unwrap_or_default();
            self.set(&id, Plan { poll: Some(latest), ..plan });
        }
    }
}

fn due(moments: &BTreeSet<(Timestamp, String)>, now: Timestamp, limit: usize) -> Vec<String> {
    let due = moments.iter().take_while(|(moment, _)| *moment <= now).take(limit);
    due.map(|(_, id)| id.clone()).collect()
}

impl Drop for DuePoll {
    fn drop(&mut self) {
        let mut plans = self.schedule.plans();
        if let Some(plan) = plans.of.get(&self.id).copied()
            && plan.is_taken
        {
            let poll = plan.next.or_else(|| Some(Timestamp::now().plus_seconds(RETRY)));
            plans.set(&self.id, Plan { poll, renewal: plan.renewal, ..Plan::default() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);
    const OUTLOOK: Outlook = Outlook { interval: HOUR, failures: 0, max_age: None, retry_after: None };

    /// Of many sources each waits for so many minutes, a tenth more or less, and not all wait for less or more.
    fn assert_pause(outlook: Outlook, minutes: f64) {
        let now = Timestamp(1_795_000_000_000);
        let pause = |number| (next_try(&format!("urn:{number}"), now, outlook).0 - now.0) as f64 / 60_000.0;
        let shares: Vec<f64> = (0..100).map(|number| pause(number) / minutes).collect();
        assert!(shares.iter().all(|share| (0.899..=1.101).contains(share)), "{shares:?}");
        assert!(shares.iter().any(|share| *share < 1.0) && shares.iter().any(|share| *share > 1.0), "{shares:?}");
    }

    #[test]
    fn successes_wait_for_the_interval_or_as_long_as_the_document_is_fresh() {
        assert_pause(OUTLOOK, 60.0);
        assert_pause(Outlook { max_age: Some(HOUR / 2), ..OUTLOOK }, 60.0);
        assert_pause(Outlook { max_age: Some(3 * HOUR), ..OUTLOOK }, 180.0);
        assert_pause(Outlook { max_age: Some(Duration::from_secs(u64::MAX)), ..OUTLOOK }, 24.0 * 60.0);
    }

    #[test]
    fn failures_wait_longer_and_longer() {
        for (failures, minutes) in [(1, 5.0), (2, 10.0), (3, 20.0), (4, 40.0), (5, 80.0), (u32::MAX, 24.0 * 60.0)] {
            assert_pause(Outlook { failures, ..OUTLOOK }, minutes);
        }
    }

    #[test]
    fn sources_of_one_moment_come_apart() {
        let now = Timestamp(1_795_000_000_000);
        let moments: BTreeSet<i64> =
            (0..100).map(|number| next_try(&format!("urn:{number}"), now, OUTLOOK).0).collect();
        assert!(moments.len() > 95 && moments.last().unwrap() - moments.first().unwrap() > 8 * 60_000);
    }

    #[test]
    fn retry_after_is_respected() {
        let pause = |failures, retry_after| {
            let outlook = Outlook { failures, retry_after: Some(Duration::from_secs(retry_after)), ..OUTLOOK };
            next_try("urn:a", Timestamp(0), outlook).0 / 1000
        };
        assert_eq!(pause(1, 7200), 7200);
        assert!((270..=330).contains(&pause(1, 10)));
        assert_eq!(pause(1, u64::MAX), 24 * 60 * 60);
    }

    #[test]
    fn no_pause_is_too_long_or_too_short_to_be_planned() {
        for interval in [Duration::MAX, Duration::ZERO] {
            for (now, failures) in [(Timestamp(0), 0), (Timestamp::MAX, 7)] {
                let moment = next_try("urn:a", now, Outlook { interval, failures, ..OUTLOOK });
                assert!(moment <= Timestamp::MAX && moment >= now && moment >= Timestamp(1000), "{moment}");
            }
            Schedule::new(interval).plan("urn:a", Timestamp::MAX, None);
        }
    }

    #[test]
    fn renewal_comes_halfway_to_the_expiry() {
        let expiry = Expiry { ttl: Some(60), expires: Some(Timestamp(100_000)) };
        assert_eq!(renewal(expiry), Some(Timestamp(70_000)));
        assert_eq!(renewal(Expiry { ttl: None, ..expiry }), None);
        assert!(renewal(Expiry { ttl: Some(u64::MAX), expires: Some(Timestamp::MAX) }).is_some());
    }

    fn ids(due: &[DuePoll]) -> Vec<&str> {
        due.iter().map(|due| due.id.as_str()).collect()
    }

    fn schedule(moments: &[(&str, i64)]) -> Arc<Schedule> {
        let schedule = Arc::new(Schedule::new(HOUR));
        for (id, moment) in moments {
            schedule.plan(id, Timestamp(*moment), None);
        }
        schedule
    }

    #[test]
    fn what_is_due_is_taken_in_order_and_once() {
        let schedule = schedule(&[("urn:c", 3), ("urn:a", 1), ("urn:b", 2), ("urn:d", 9), ("urn:a", 4), ("urn:e", 1)]);
        schedule.forget("urn:e");
        assert_eq!(schedule.next(), Some(Timestamp(2)));
        let first = schedule.take_polls(Timestamp(5), 2);
        let second = schedule.take_polls(Timestamp(5), 2);
        assert_eq!((ids(&first), ids(&second)), (vec!["urn:b", "urn:c"], vec!["urn:a"]));
        assert!(schedule.take_polls(Timestamp(8), 2).is_empty());
        assert_eq!(schedule.next(), Some(Timestamp(9)));
    }

    #[test]
    fn poll_that_is_dropped_is_due_again_unless_it_was_scheduled_or_removed() {
        let schedule = schedule(&[("urn:a", 1), ("urn:b", 1), ("urn:c", 1)]);
        let before = Timestamp::now();
        let due = schedule.take_polls(Timestamp(5), 3);
        schedule.plan("urn:a", Timestamp(7), None);
        schedule.forget("urn:c");
        drop(due);
        assert_eq!(ids(&schedule.take_polls(Timestamp(9), 9)), ["urn:a"]);
        let later = schedule.next().unwrap();
        assert!(later >= before.plus_seconds(RETRY) && later <= Timestamp::now().plus_seconds(RETRY), "{later}");
    }

    #[test]
    fn no_source_is_polled_twice_at_the_same_time() {
        let schedule = schedule(&[("urn:a", 1)]);
        let polls = schedule.take_polls(Timestamp(5), 2);
        schedule.plan("urn:a", Timestamp(2), Some(Timestamp(9)));
        assert!(schedule.take_polls(Timestamp(5), 2).is_empty());
        assert_eq!(schedule.next(), Some(Timestamp(9)));
        drop(polls);
        assert_eq!(ids(&schedule.take_polls(Timestamp(5), 2)), ["urn:a"]);
    }

    #[test]
    fn renewals_and_polls_do_not_wait_for_each_other() {
        let schedule = schedule(&[]);
        schedule.plan("urn:a", Timestamp(9), Some(Timestamp(4)));
        assert_eq!((schedule.next(), schedule.next_renewal()), (Some(Timestamp(4)), Some(Timestamp(4))));
        let being_polled = schedule.take_polls(Timestamp(9), 1);
        assert_eq!(schedule.take_renewals(Timestamp(5)), ["urn:a"]);
        // It is tried again unless it is scheduled.
        assert!(schedule.take_renewals(Timestamp(5)).is_empty() && schedule.next_renewal() > Some(Timestamp(5)));
        drop(being_polled);
        assert!(schedule.next().is_some());
    }

    #[test]
    fn schedule_recovers_from_a_wrong_clock() {
        let now = Timestamp::now();
        let latest = |now: Timestamp| after(now, milliseconds(2 * LONGEST_PAUSE));
        let schedule = schedule(&[("urn:a", Timestamp::MAX.0)]);
        assert!(schedule.next() <= Some(latest(Timestamp::now())));
        // It goes back while the schedule is in use.
        drop(schedule.take_polls(now, 1));
        let earlier = Timestamp(now.0 - 20 * milliseconds(LONGEST_PAUSE));
        assert!(schedule.take_polls(earlier, 1).is_empty());
        assert!(schedule.next() <= Some(latest(earlier)));
    }

    #[test]
    fn too_many_sources_are_refused() {
        let schedule = schedule(&[]);
        for number in 0..MAX_TRACKED {
            assert!(schedule.check_room("urn:another").is_ok());
            schedule.plan(&format!("urn:{number}"), Timestamp(number as i64), None);
        }
        let error = schedule.check_room("urn:another").unwrap_err();
        assert!(matches!(error, Error::LimitExceeded { maximum: 100_000, .. }), "{error}");
        assert!(schedule.check_room("urn:7").is_ok());
    }

    #[test]
    fn sources_are_found_by_their_url_in_any_spelling() {
        let schedule = Schedule::new(HOUR);
        for (id, url) in [
            ("urn:b", "http://127.0.0.1/card"),
            ("urn:a", "http://127.1/card#me"),
            ("urn:c", "http://127.0.0.1/cards"),
            ("urn:d", "http://127.0.0.1/"),
        ] {
            schedule.set_url(id, url);
        }
        let found = || schedule.ids_at("HTTP://127.0.0.1:80/x/../card");
        assert_eq!(found(), ["urn:a", "urn:b"]);
        schedule.set_url("urn:a", "http://127.0.0.1/elsewhere");
        assert_eq!((found(), schedule.ids_at("http://127.1/elsewhere")), (vec!["urn:b".into()], vec!["urn:a".into()]));
        schedule.forget("urn:b");
        assert_eq!(found(), Vec::<String>::new());
    }
}
