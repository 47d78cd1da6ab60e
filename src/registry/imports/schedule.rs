//! When a source is asked again.

use std::{
    collections::{BTreeSet, HashMap},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::Timestamp;

/// The first pause after a failure, where the interval isn't shorter.
const FIRST_RETRY: Duration = Duration::from_secs(5 * 60);
/// The longest pause, where the interval isn't longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);

/// What the next look at a source depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outlook {
    /// The pause between looks that succeed.
    pub interval: Duration,
    /// How often it failed in a row.
    pub failures: u32,
    /// How long its server calls the document fresh.
    pub max_age: Option<Duration>,
    /// Half the time that the Thing has left without a renewal.
    pub at_most: Option<Duration>,
}

/// The moment of the next look. Successes wait for the interval, or until the document is no longer fresh;
/// each failure waits twice as long as the one before. A tenth more or less keeps sources that were imported
/// together apart.
pub(super) fn next_try(id: &str, now: Timestamp, outlook: Outlook) -> Timestamp {
    let longest = LONGEST_PAUSE.max(outlook.interval);
    let pause = match outlook.failures {
        0 => outlook.interval.max(outlook.max_age.unwrap_or_default()),
        failures => {
            let first = FIRST_RETRY.min(outlook.interval);
            first.saturating_mul(2_u32.saturating_pow(failures - 1))
        }
    };
    let pause = pause.min(longest).mul_f64(0.9 + 0.2 * fraction(id, now));
    let pause = pause.min(outlook.at_most.unwrap_or(pause)).max(Duration::from_secs(1));
    Timestamp(now.0.saturating_add(i64::try_from(pause.as_millis()).unwrap_or(i64::MAX)).min(Timestamp::MAX.0))
}

/// From 0 to 1, another one for each source and moment. It needn't be unforeseeable.
fn fraction(id: &str, now: Timestamp) -> f64 {
    let mut hasher = DefaultHasher::new();
    (id, now.0).hash(&mut hasher);
    f64::from(hasher.finish() as u32) / f64::from(u32::MAX)
}

/// What is to be looked at, by its moment. A hint: what counts is what is stored.
#[derive(Default)]
pub(super) struct Schedule(Mutex<Moments>);

#[derive(Default)]
struct Moments {
    of: HashMap<String, Timestamp>,
    in_order: BTreeSet<(Timestamp, String)>,
}

impl Schedule {
    /// Plans a look, instead of the one that was planned.
    pub fn plan(&self, id: &str, moment: Timestamp) {
        let mut moments = self.moments();
        if let Some(before) = moments.of.insert(id.to_owned(), moment) {
            moments.in_order.remove(&(before, id.to_owned()));
        }
        moments.in_order.insert((moment, id.to_owned()));
    }

    /// Plans nothing any more.
    pub fn forget(&self, id: &str) {
        let mut moments = self.moments();
        if let Some(before) = moments.of.remove(id) {
            moments.in_order.remove(&(before, id.to_owned()));
        }
    }

    /// What is due, at most so many. They are no longer planned: whoever takes them plans anew.
    pub fn take_due(&self, now: Timestamp, limit: usize) -> Vec<String> {
        let mut moments = self.moments();
        let mut due = Vec::new();
        while let Some((moment, _)) = moments.in_order.first()
            && *moment <= now
            && due.len() < limit
        {
            let Some((_, id)) = moments.in_order.pop_first() else { break };
            moments.of.remove(&id);
            due.push(id);
        }
        due
    }

    /// The moment of the next look.
    pub fn next(&self) -> Option<Timestamp> {
        self.moments().in_order.first().map(|(moment, _)| *moment)
    }

    fn moments(&self) -> MutexGuard<'_, Moments> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);
    const OUTLOOK: Outlook = Outlook { interval: HOUR, failures: 0, max_age: None, at_most: None };

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
    fn expiry_is_not_waited_for() {
        let outlook = Outlook { at_most: Some(Duration::from_secs(30)), ..OUTLOOK };
        assert_eq!(next_try("urn:a", Timestamp(0), outlook), Timestamp(30_000));
        let outlook = Outlook { at_most: Some(Duration::ZERO), ..OUTLOOK };
        assert_eq!(next_try("urn:a", Timestamp(0), outlook), Timestamp(1_000));
        assert!(next_try("urn:a", Timestamp::MAX, OUTLOOK) <= Timestamp::MAX);
    }

    #[test]
    fn what_is_due_is_taken_in_order_and_once() {
        let schedule = Schedule::default();
        for (id, moment) in [("urn:c", 3), ("urn:a", 1), ("urn:b", 2), ("urn:d", 9), ("urn:a", 4), ("urn:e", 1)] {
            schedule.plan(id, Timestamp(moment));
        }
        schedule.forget("urn:e");
        assert_eq!(schedule.next(), Some(Timestamp(2)));
        assert_eq!(schedule.take_due(Timestamp(5), 2), ["urn:b", "urn:c"]);
        assert_eq!(schedule.take_due(Timestamp(5), 2), ["urn:a"]);
        assert!(schedule.take_due(Timestamp(8), 2).is_empty());
        assert_eq!(schedule.next(), Some(Timestamp(9)));
    }
}
