//! Pseudo-random numbers from a seed, so that a trial can be repeated.

use std::ops::Range;

/// The generator `SplitMix64`.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The numbers of one trial of a campaign.
    pub(crate) fn of_trial(seed: u64, trial: u64) -> Self {
        let mut random = Self(seed);
        Self(random.next() ^ trial.wrapping_mul(0xd134_2543_de82_ef95))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn within(&mut self, range: Range<u64>) -> u64 {
        range.start + self.next() % (range.end - range.start).max(1)
    }

    /// True once in `n` times, on average.
    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.within(0..n) == 0
    }
}
