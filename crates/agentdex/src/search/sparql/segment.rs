//! Immutable segments of sorted statements.

use std::{cmp::Ordering, ops::Range};

/// A statement by the numbers of its terms: graph, subject, predicate, object.
pub(super) type Row = [u32; 4];

/// Places in a [`Row`].
pub(super) const GRAPH: usize = 0;
pub(super) const SUBJECT: usize = 1;
pub(super) const PREDICATE: usize = 2;
pub(super) const OBJECT: usize = 3;

/// Sort order of rows, named after the place that is compared first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Graph,
    Subject,
    Predicate,
    Object,
}

impl Order {
    /// Returns the columns in the order of comparison.
    pub fn places(self) -> [usize; 4] {
        match self {
            Order::Graph => [GRAPH, SUBJECT, PREDICATE, OBJECT],
            Order::Subject => [SUBJECT, PREDICATE, OBJECT, GRAPH],
            Order::Predicate => [PREDICATE, OBJECT, SUBJECT, GRAPH],
            Order::Object => [OBJECT, SUBJECT, PREDICATE, GRAPH],
        }
    }
}

/// Rows with three more orders as permutations: 28 bytes a statement.
#[derive(Debug, Default)]
pub(super) struct Segment {
    rows: Vec<Row>,
    orders: [Vec<u32>; 3],
}

impl Segment {
    /// Creates a segment from rows, after sorting them and removing duplicates.
    pub fn new(mut rows: Vec<Row>) -> Segment {
        rows.sort_unstable();
        rows.dedup();
        rows.shrink_to_fit();
        let numbers = 0..u32::try_from(rows.len()).unwrap_or(u32::MAX);
        let orders = [Order::Subject, Order::Predicate, Order::Object].map(|order| {
            let mut permutation: Vec<u32> = numbers.clone().collect();
            permutation.sort_unstable_by_key(|&number| rows.get(number as usize).map(|row| key(row, order)));
            permutation
        });
        Segment { rows, orders }
    }

    /// Returns the number of statements.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns all rows, sorted by graph.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Returns the row at a position in a sort order.
    pub fn row(&self, order: Order, place: usize) -> Option<&Row> {
        let number = match self.permutation(order) {
            Some(permutation) => *permutation.get(place)? as usize,
            None => place,
        };
        self.rows.get(number)
    }

    /// Returns the range of the rows that begin with `start` in a sort order, as positions in that order.
    pub fn range(&self, order: Order, start: &[u32]) -> Range<usize> {
        let compare = |row: &Row| {
            let key = key(row, order);
            key.iter()
                .zip(start)
                .map(|(own, other)| own.cmp(other))
                .find(|found| found.is_ne())
                .unwrap_or(Ordering::Equal)
        };
        match self.permutation(order) {
            None => {
                let first = self.rows.partition_point(|row| compare(row).is_lt());
                first..self.rows.partition_point(|row| compare(row).is_le())
            }
            Some(permutation) => {
                let is = |number: &u32, test: fn(Ordering) -> bool| {
                    self.rows.get(*number as usize).is_some_and(|row| test(compare(row)))
                };
                let first = permutation.partition_point(|number| is(number, Ordering::is_lt));
                first..permutation.partition_point(|number| is(number, Ordering::is_le))
            }
        }
    }

    fn permutation(&self, order: Order) -> Option<&Vec<u32>> {
        let [subject, predicate, object] = &self.orders;
        match order {
            Order::Graph => None,
            Order::Subject => Some(subject),
            Order::Predicate => Some(predicate),
            Order::Object => Some(object),
        }
    }
}

fn key(row: &Row, order: Order) -> Row {
    order.places().map(|place| row.get(place).copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_finds_what_starts_alike() {
        let rows = [[9, 1, 2, 3], [9, 1, 2, 4], [8, 1, 5, 3], [8, 7, 2, 3], [8, 7, 2, 3]];
        let segment = Segment::new(rows.to_vec());
        assert_eq!(segment.len(), 4);
        for (order, start, expected) in [
            (Order::Graph, &[8][..], 2),
            (Order::Subject, &[1], 3),
            (Order::Subject, &[1, 2], 2),
            (Order::Subject, &[1, 2, 4], 1),
            (Order::Predicate, &[2, 3], 2),
            (Order::Object, &[3, 7], 1),
            (Order::Object, &[6], 0),
            (Order::Object, &[], 4),
        ] {
            let found = segment.range(order, start);
            assert_eq!(found.len(), expected, "{order:?} {start:?}");
            for place in found {
                let row = segment.row(order, place).unwrap();
                assert!(order.places().iter().zip(start).all(|(&place, value)| row[place] == *value));
            }
        }
    }
}
