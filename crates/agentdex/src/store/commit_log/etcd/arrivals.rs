//! `Arrivals`: commits that have arrived and aren't installed yet.

use std::collections::VecDeque;

use super::super::Arrived;

/// Total size in bytes of arrived commits above which no more commits are read.
const ENOUGH_BYTES: usize = 32 * 1024 * 1024;

/// Number of arrived commits above which no more commits are read.
const ENOUGH: usize = 256;

/// Commits that have arrived, in the order of their numbers and without gaps.
#[derive(Debug)]
pub(super) struct Arrivals {
    commits: VecDeque<Arrival>,
    bytes: usize,
    /// Number of the next commit to arrive.
    next: u64,
}

#[derive(Debug)]
struct Arrival {
    number: u64,
    bytes: usize,
    arrived: Arrived,
}

impl Arrivals {
    /// Creates an empty queue for a store whose last commit has this number.
    pub fn after(number: u64) -> Arrivals {
        Arrivals { commits: VecDeque::new(), bytes: 0, next: number + 1 }
    }

    /// Returns the number of the next commit to arrive.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// True if the store has to install commits before more are read.
    pub fn are_enough(&self) -> bool {
        self.commits.len() >= ENOUGH || self.bytes >= ENOUGH_BYTES
    }

    /// Adds a commit. Returns false if its number is not the next number.
    pub fn add(&mut self, number: u64, arrived: Arrived) -> bool {
        if number != self.next {
            return false;
        }
        let sizes = arrived.pairs.iter().map(|(key, value)| key.len() + value.as_ref().map_or(0, |value| value.len()));
        let bytes = sizes.sum();
        self.commits.push_back(Arrival { number, bytes, arrived });
        self.bytes += bytes;
        self.next += 1;
        true
    }

    /// Skips the next commit, which the store already contains.
    pub fn skip(&mut self, number: u64) {
        if number == self.next {
            self.next += 1;
            self.forget(number);
        }
    }

    /// Returns up to `limit` commits after the last one of the store.
    pub fn after_commit(&mut self, number: u64, limit: usize) -> Vec<Arrived> {
        self.forget(number);
        self.commits.iter().take(limit).map(|arrival| arrival.arrived.clone()).collect()
    }

    /// Drops the commits up to a number.
    fn forget(&mut self, number: u64) {
        while let Some(arrival) = self.commits.pop_front_if(|arrival| arrival.number <= number) {
            self.bytes -= arrival.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use sled::IVec;

    use super::*;

    fn pairs(bytes: usize) -> Arrived {
        Arrived { pairs: vec![(IVec::from(b"k"), Some(IVec::from(vec![0; bytes])))], stamp: None }
    }

    #[test]
    fn commits_arrive_in_the_order_of_their_numbers() {
        let mut arrivals = Arrivals::after(4);
        assert!(!arrivals.add(4, pairs(0)) && !arrivals.add(6, pairs(0)) && arrivals.add(5, pairs(5)));
        assert!(!arrivals.add(5, pairs(0)) && arrivals.add(6, pairs(6)) && arrivals.add(7, pairs(7)));
        assert_eq!(arrivals.after_commit(4, 2), [pairs(5), pairs(6)]);
        assert_eq!(arrivals.after_commit(4, 9).len(), 3, "nothing is forgotten before the store has it");
        assert_eq!(arrivals.after_commit(6, 9), [pairs(7)]);
        arrivals.skip(8);
        assert_eq!((arrivals.next(), arrivals.after_commit(8, 9)), (9, vec![]));
        assert!(arrivals.add(9, pairs(9)));
        assert_eq!(arrivals.after_commit(8, 9), [pairs(9)]);
    }

    #[test]
    fn reading_stops_at_a_size_and_goes_on_once_the_store_has_some() {
        let mut arrivals = Arrivals::after(0);
        assert!(arrivals.add(1, pairs(ENOUGH_BYTES - 2)) && !arrivals.are_enough());
        assert!(arrivals.add(2, pairs(0)) && arrivals.are_enough());
        arrivals.after_commit(1, 1);
        assert!(!arrivals.are_enough());
        for number in 3..=ENOUGH as u64 + 1 {
            assert!(!arrivals.are_enough() && arrivals.add(number, pairs(0)), "{number}");
        }
        assert!(arrivals.are_enough());
    }
}
