//! Usage of models, and the budget of a team.

use std::{
    fmt,
    ops::{Add, AddAssign},
};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// The largest accepted sum of money.
const MOST: f64 = 1e9;

/// Money, in millionths of a dollar. In JSON it is a number of dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, JsonSchema)]
#[schemars(transparent)]
pub struct Dollars(#[schemars(with = "f64", range(min = 0))] u64);

/// Tokens and their known cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Usage {
    /// Input tokens, without those read from or written to the cache.
    pub input: u64,
    /// Input tokens read from the API's cache.
    pub cache_read: u64,
    /// Input tokens written to the API's cache.
    pub cache_write: u64,
    /// Output tokens.
    pub output: u64,
    /// The cost of all tokens with a known price.
    pub dollars: Dollars,
    /// How many of these tokens have no known price.
    pub unpriced: u64,
}

/// The budget of a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// The limit in dollars; none means no limit.
    pub dollars: Option<Dollars>,
    /// The limit in tokens of all kinds together; none means no limit.
    pub tokens: Option<u64>,
    /// The percentage of the budget at which people and the lead are warned.
    pub warn_percent: u32,
}

/// How much of its budget a team has spent. From good to bad.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Spending {
    /// There is enough left.
    Within,
    /// People and the lead were warned.
    Near,
    /// The budget is spent: no new work begins.
    Spent,
}

impl Dollars {
    /// A sum of money. None if it is negative or not a number.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it was seen to be between 0 and 10^15"
    )]
    pub fn new(dollars: f64) -> Option<Self> {
        (0.0..=MOST).contains(&dollars).then(|| Self((dollars * 1e6).round() as u64))
    }

    /// The sum as a number.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "nobody spends 2^52 millionths")]
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Usage {
    /// All tokens together.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        let parts = [self.cache_read, self.cache_write, self.output];
        parts.into_iter().fold(self.input, u64::saturating_add)
    }

    /// Whether nothing was used.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self { dollars: None, tokens: None, warn_percent: 80 }
    }
}

impl Budget {
    /// How much of the budget this usage has spent.
    #[must_use]
    pub fn standing(&self, used: &Usage) -> Spending {
        let money = self.dollars.map(|most| (used.dollars.0, most.0));
        let tokens = self.tokens.map(|most| (used.tokens(), most));
        let stands = |(used, most): (u64, u64)| {
            let share = u128::from(most) * u128::from(self.warn_percent);
            if used >= most {
                Spending::Spent
            } else if u128::from(used) * 100 >= share {
                Spending::Near
            } else {
                Spending::Within
            }
        };
        let all = money.into_iter().chain(tokens).map(stands);
        all.max().unwrap_or(Spending::Within)
    }

    /// The settings that let a team with this usage continue: twice the usage, for each limit that is reached.
    #[must_use]
    pub fn more(&self, used: &Usage) -> String {
        let money = self.dollars.filter(|most| used.dollars >= *most);
        let money = money
            .map(|_| format!("budget.dollars={}", (2.0 * used.dollars.as_f64()).ceil().max(1.0)));
        let tokens = self.tokens.filter(|most| used.tokens() >= *most);
        let tokens =
            tokens.map(|_| format!("budget.tokens={}", used.tokens().saturating_mul(2).max(1_000)));
        money.into_iter().chain(tokens).collect::<Vec<_>>().join(" ")
    }

    /// How much of the budget is used, in words. None without a limit.
    #[must_use]
    pub fn told(&self, used: &Usage) -> Option<String> {
        let money = self.dollars.map(|most| format!("{} of {most}", used.dollars));
        let tokens = self.tokens.map(|most| {
            format!("{} of {} tokens", GroupedDigits(used.tokens()), GroupedDigits(most))
        });
        let told: Vec<_> = money.into_iter().chain(tokens).collect();
        (!told.is_empty()).then(|| told.join(", "))
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            output: self.output.saturating_add(other.output),
            dollars: Dollars(self.dollars.0.saturating_add(other.dollars.0)),
            unpriced: self.unpriced.saturating_add(other.unpriced),
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// `$0.0123`, `$12.30`: the smaller, the finer.
impl fmt::Display for Dollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dollars = self.as_f64();
        let digits = if self.0 == 0 || self.0 >= 1_000_000 { 2 } else { 4 };
        write!(f, "${dollars:.digits$}")
    }
}

/// `1,234 tokens, $0.0123`.
impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tokens = self.tokens();
        write!(f, "{} {}", GroupedDigits(tokens), if tokens == 1 { "token" } else { "tokens" })?;
        let is_known = self.dollars != Dollars::default();
        match self.unpriced {
            0 => write!(f, ", {}", self.dollars),
            n if is_known => {
                write!(f, ", {}, of {} the price is unknown", self.dollars, GroupedDigits(n))
            }
            _ => f.write_str(", price unknown"),
        }
    }
}

/// A number with separators between groups of digits.
struct GroupedDigits(u64);

impl fmt::Display for GroupedDigits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (nth, digit) in digits.chars().enumerate() {
            if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

impl Serialize for Dollars {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_f64(self.as_f64())
        } else {
            serializer.serialize_u64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Dollars {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return u64::deserialize(deserializer).map(Self);
        }
        let dollars = f64::deserialize(deserializer)?;
        Self::new(dollars).ok_or_else(|| {
            D::Error::custom(format!(
                "expected a number of dollars from 0 to {MOST}, found {dollars}"
            ))
        })
    }
}
