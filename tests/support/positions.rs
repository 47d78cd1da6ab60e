//! Positions in a log, which have gaps where `AGENTDEX_TEST_GAPS` says so.

use agentdex::{Seq, store::Gaps};

/// The position of the change with that number, from 1 on; for 0 that before the first one.
pub fn nth(number: u64) -> Seq {
    let gaps = Gaps::default();
    (0..number).fold(Seq::ZERO, |last, _| gaps.after(last))
}

/// The number of the change at a position.
pub fn number_of(seq: Seq) -> u64 {
    let (gaps, mut number, mut position) = (Gaps::default(), 0, Seq::ZERO);
    while position < seq {
        (number, position) = (number + 1, gaps.after(position));
    }
    assert_eq!(position, seq, "no change has that position");
    number
}
