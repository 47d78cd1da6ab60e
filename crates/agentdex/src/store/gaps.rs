//! `Gaps`: gaps between positions of the log, for tests of its readers.

use crate::change::Seq;

/// Environment variable with a seed, which enables gaps by default in a debug build.
#[cfg(debug_assertions)]
const VARIABLE: &str = "AGENTDEX_TEST_GAPS";

/// Maximum number of positions left out before a position.
const MOST_LEFT_OUT: u64 = 6;

/// Gaps between the positions of a log: either no gaps, or pseudorandom gaps before each position.
#[derive(Debug, Clone, Copy)]
pub struct Gaps(Option<u64>);

impl Gaps {
    /// Positions without gaps.
    pub const NONE: Gaps = Gaps(None);

    /// Gaps of up to six numbers before each position, determined by the seed.
    pub fn seeded(seed: u64) -> Gaps {
        Gaps(Some(seed))
    }

    /// Returns the position after `last`. It depends only on the seed and `last`, so it is reproducible.
    pub fn after(self, last: Seq) -> Seq {
        let left_out = self.0.map_or(0, |seed| mixed(seed, last.0) % (MOST_LEFT_OUT + 1));
        Seq(last.0.saturating_add(1 + left_out))
    }
}

impl Default for Gaps {
    /// No gaps; in a debug build, as given in the environment.
    fn default() -> Gaps {
        #[cfg(debug_assertions)]
        return Gaps(std::env::var(VARIABLE).ok().and_then(|seed| seed.parse().ok()));
        #[cfg(not(debug_assertions))]
        Gaps::NONE
    }
}

/// SplitMix64.
fn mixed(seed: u64, number: u64) -> u64 {
    let mixed = seed.wrapping_add(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_gaps_from_none_to_six_numbers_occur() {
        let mut seen = [false; MOST_LEFT_OUT as usize + 1];
        let mut last = Seq::ZERO;
        for _ in 0..200 {
            let next = Gaps::seeded(7).after(last);
            seen[(next.0 - last.0 - 1) as usize] = true;
            last = next;
        }
        assert_eq!(seen, [true; MOST_LEFT_OUT as usize + 1]);
        assert_eq!(Gaps::NONE.after(Seq(41)), Seq(42));
    }
}
