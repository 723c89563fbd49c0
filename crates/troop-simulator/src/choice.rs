//! Every choice of a history, as a number: drawn from a seed and noted, or given. So a history can be repeated and shrunk.
//!
//! 0 is always the calm choice: the same process goes on, nothing breaks. Choices that are missing at the end are 0.

/// The generator `SplitMix64`.
#[derive(Clone, Debug)]
pub(crate) struct Generator(u64);

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// True this many times in a thousand, on average.
    pub(crate) fn hits(&mut self, permille: u64) -> bool {
        self.below(1_000) < permille
    }
}

/// Where choices come from.
#[derive(Clone, Debug)]
enum ChoiceSource {
    Drawn(Generator),
    Given(Vec<u16>),
}

/// The choices of one history, in their order.
#[derive(Clone, Debug)]
pub(crate) struct ChoiceTape {
    source: ChoiceSource,
    taken: Vec<u16>,
}

impl ChoiceTape {
    pub(crate) fn drawn(generator: Generator) -> Self {
        Self { source: ChoiceSource::Drawn(generator), taken: Vec::new() }
    }

    pub(crate) fn given(choices: &[u16]) -> Self {
        Self { source: ChoiceSource::Given(choices.to_vec()), taken: Vec::new() }
    }

    /// A choice that `draw` makes, unless it is given.
    pub(crate) fn take(&mut self, draw: impl FnOnce(&mut Generator) -> u16) -> u16 {
        let choice = match &mut self.source {
            ChoiceSource::Drawn(generator) => draw(generator),
            ChoiceSource::Given(given) => given.get(self.taken.len()).copied().unwrap_or(0),
        };
        self.taken.push(choice);
        choice
    }

    /// One of `n`, each as likely as the others.
    pub(crate) fn one_of(&mut self, n: usize) -> usize {
        let choice = self.take(|it| it.below(n as u64) as u16);
        usize::from(choice) % n.max(1)
    }

    /// True this many times in a thousand.
    pub(crate) fn hits(&mut self, permille: u64) -> bool {
        self.take(|it| u16::from(it.hits(permille))) != 0
    }

    /// The choices so far, without the calm ones at the end.
    pub(crate) fn taken(&self) -> Vec<u16> {
        let mut taken = self.taken.clone();
        while taken.last() == Some(&0) {
            taken.pop();
        }
        taken
    }
}
