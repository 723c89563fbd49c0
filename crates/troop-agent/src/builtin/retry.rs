//! How often and after which time a model is asked again.

use std::time::Duration;

/// How patient we are with an API that cannot answer now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// How many times it is asked again.
    pub most: u32,
    /// The first wait; each later one is twice as long.
    pub first: Duration,
    /// The longest wait that we choose ourselves.
    pub longest: Duration,
    /// The longest wait that the API may ask for. We give up on an API that asks for more.
    pub longest_asked: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self {
            most: 8,
            first: Duration::from_millis(500),
            longest: Duration::from_secs(30),
            longest_asked: Duration::from_secs(300),
        }
    }
}

/// The waits of one request.
#[derive(Debug)]
pub(crate) struct RetryWaits {
    retries: Retries,
    n_taken: u32,
    random: u64,
}

impl RetryWaits {
    /// The seed spreads the waits of many members that were refused at once.
    pub(crate) fn new(retries: Retries, seed: u64) -> Self {
        Self { retries, n_taken: 0, random: seed }
    }

    /// How long to wait before the next attempt; none if there should be no other.
    pub(crate) fn next(&mut self, asked: Option<Duration>) -> Option<Duration> {
        let Retries { most, first, longest, longest_asked } = self.retries;
        if self.n_taken >= most || asked.is_some_and(|asked| asked > longest_asked) {
            return None;
        }
        let doubled = first.saturating_mul(1_u32.checked_shl(self.n_taken).unwrap_or(u32::MAX));
        self.n_taken += 1;
        // Between half of it and all of it.
        let part = 0.5 + self.spread() / 2.0;
        let own = doubled.min(longest).mul_f64(part);
        // We wait at least as long as asked, but members must not all return at the same moment.
        Some(asked.map_or(own, |asked| asked + own.min(first)))
    }

    /// The next pseudo-random number from 0 to 1.
    fn spread(&mut self) -> f64 {
        // SplitMix64: small, and good enough to spread waits.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let top = u32::try_from((mixed ^ (mixed >> 31)) >> 32).unwrap_or_default();
        f64::from(top) / f64::from(u32::MAX)
    }
}

/// The Unix time of an HTTP date: `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(crate) fn seconds_of_date(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = text.split_once(", ")?.1.split([' ', ':']);
    let number = |word: Option<&str>| word?.parse::<i64>().ok().filter(|it| *it >= 0);
    let day = number(words.next())?;
    let month = words.next()?;
    let month = i64::try_from(MONTHS.iter().position(|it| *it == month)?).ok()?;
    let year = number(words.next()).filter(|year| *year < 10_000)?;
    let hour = number(words.next())?;
    let minute = number(words.next())?;
    let second = number(words.next())?;
    // Years begin in March here, so that the leap day comes last.
    let (year, month) = if month < 2 { (year - 1, month + 10) } else { (year, month - 2) };
    let leap_days = year / 4 - year / 100 + year / 400;
    let days = 365 * year + leap_days + (153 * month + 2) / 5 + day - 719_469;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

#[cfg(test)]
mod tests {
    //! Waits between attempts.

    use std::time::Duration;

    use super::{Retries, RetryWaits, seconds_of_date};

    fn all(seed: u64) -> Vec<Duration> {
        let mut waits = RetryWaits::new(Retries::default(), seed);
        std::iter::from_fn(|| waits.next(None)).collect()
    }

    #[test]
    fn waits_grow_are_spread_and_end() {
        let waits = all(1);
        assert_eq!(waits.len(), 8);
        for (nth, wait) in waits.iter().enumerate() {
            let most = Duration::from_millis(500 * (1 << nth)).min(Duration::from_secs(30));
            assert!(*wait >= most / 2 && *wait <= most, "wait {nth} is {wait:?}");
        }
        assert_ne!(
            all(1),
            all(2),
            "two that were turned away at once come back at different times"
        );
        assert_eq!(all(3), all(3));
    }

    #[test]
    fn an_api_may_ask_for_longer_waits_within_a_limit() {
        let mut waits = RetryWaits::new(Retries::default(), 7);
        let asked = Duration::from_secs(40);
        let wait = waits.next(Some(asked)).unwrap();
        assert!(wait >= asked && wait <= asked + Duration::from_millis(500), "{wait:?}");
        assert_eq!(waits.next(Some(Duration::from_secs(3_000))), None);
    }

    #[test]
    fn http_dates_are_parsed() {
        let table = [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Tue, 29 Feb 2000 23:59:59 GMT", Some(951_868_799)),
            ("Mon, 16 Nov 2026 13:00:00 GMT", Some(1_794_834_000)),
            ("tomorrow", None),
            ("Sun, 06 Foo 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 99999999999999999 08:49:37 GMT", None),
        ];
        for (text, seconds) in table {
            assert_eq!(seconds_of_date(text), seconds, "{text}");
        }
    }
}
