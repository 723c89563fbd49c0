//! How much one piece of work may cost, and what it has cost so far.

use super::chat::TokenUsage;

/// Hard limits of one piece of work. Reaching one ends it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkLimits {
    /// How often the model is asked.
    pub rounds: u32,
    /// How many tokens are read and written, cached ones too.
    pub tokens: Option<u64>,
    /// How much money it costs, if prices are known.
    pub dollars: Option<f64>,
}

impl Default for WorkLimits {
    fn default() -> Self {
        Self { rounds: 200, tokens: None, dollars: None }
    }
}

/// The price of a million tokens, in dollars.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    pub input: f64,
    pub cache_read: f64,
    pub cache_write: f64,
    pub output: f64,
}

impl Price {
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "nobody spends 2^52 tokens")]
    pub fn of(&self, usage: &TokenUsage) -> f64 {
        let TokenUsage { input, cache_read, cache_write, output } = *usage;
        let dollars = input as f64 * self.input
            + cache_read as f64 * self.cache_read
            + cache_write as f64 * self.cache_write
            + output as f64 * self.output;
        dollars / 1_000_000.0
    }
}

#[derive(Debug)]
pub(crate) struct Meter {
    limits: WorkLimits,
    price: Option<Price>,
    n_rounds: u32,
    usage: TokenUsage,
}

impl Meter {
    pub(crate) fn new(limits: WorkLimits, price: Option<Price>) -> Self {
        Self { limits, price, n_rounds: 0, usage: TokenUsage::default() }
    }

    pub(crate) fn count(&mut self, usage: TokenUsage) {
        self.n_rounds += 1;
        self.usage += usage;
    }

    /// Counts a request that failed.
    pub(crate) fn add(&mut self, usage: TokenUsage) {
        self.usage += usage;
    }

    /// An error names the limit that is reached.
    pub(crate) fn check(&self) -> Result<(), String> {
        let WorkLimits { rounds, tokens, dollars } = self.limits;
        if self.n_rounds >= rounds {
            return Err(format!(
                "it asked the model {} times, which is the limit (`rounds`)",
                self.n_rounds
            ));
        }
        if let Some(most) = tokens.filter(|most| self.usage.total() >= *most) {
            let used = self.usage.total();
            return Err(format!("it used {used} tokens, and the limit is {most} (`tokens`)"));
        }
        let spent = self.price.map_or(0.0, |price| price.of(&self.usage));
        if let Some(most) = dollars.filter(|most| spent >= *most) {
            return Err(format!("it spent ${spent:.4}, and the limit is ${most} (`dollars`)"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    //! Each limit, and its message.

    use super::{Meter, Price, WorkLimits};
    use crate::builtin::chat::TokenUsage;

    const PRICE: Price = Price { input: 3.0, cache_read: 0.3, cache_write: 3.75, output: 15.0 };

    #[test]
    fn each_limit_ends_the_work_and_is_named() {
        let usage = TokenUsage { input: 100, cache_read: 1_000, cache_write: 0, output: 10 };
        let told = |limits: WorkLimits| {
            let mut meter = Meter::new(limits, Some(PRICE));
            let mut n_rounds = 0;
            loop {
                match meter.check() {
                    Ok(()) => meter.count(usage),
                    Err(reason) => return (n_rounds, reason),
                }
                n_rounds += 1;
            }
        };
        let limits = WorkLimits { rounds: 3, tokens: None, dollars: None };
        assert_eq!(
            told(limits),
            (3, "it asked the model 3 times, which is the limit (`rounds`)".to_owned())
        );
        let limits = WorkLimits { rounds: 99, tokens: Some(2_000), dollars: None };
        assert_eq!(
            told(limits),
            (2, "it used 2220 tokens, and the limit is 2000 (`tokens`)".to_owned())
        );
        let limits = WorkLimits { rounds: 99, tokens: None, dollars: Some(0.001) };
        assert_eq!(
            told(limits),
            (2, "it spent $0.0015, and the limit is $0.001 (`dollars`)".to_owned())
        );
    }
}
