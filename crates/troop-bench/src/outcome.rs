//! Measurements, their baselines, and whether they meet their targets.

use std::{ops::AddAssign, time::Duration};

use serde::Serialize;

/// Operations and the time they took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Throughput {
    pub(crate) n_operations: u64,
    pub(crate) elapsed: Duration,
}

impl Throughput {
    /// Operations per second.
    pub(crate) fn rate(self) -> f64 {
        self.n_operations as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

impl AddAssign for Throughput {
    fn add_assign(&mut self, other: Self) {
        self.n_operations += other.n_operations;
        self.elapsed += other.elapsed;
    }
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Unit {
    #[serde(rename = "operations/s")]
    PerSecond,
    #[serde(rename = "us")]
    Micros,
    #[serde(rename = "MB")]
    Megabytes,
    #[serde(rename = "%")]
    Percent,
    #[serde(rename = "")]
    Count,
    #[serde(rename = "MB/s")]
    MegabytesPerSecond,
}

/// The allowed ratio of our number to the baseline.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Target {
    AtLeast(f64),
    AtMost(f64),
}

/// Our number beside a baseline of the same run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Comparison {
    part: &'static str,
    what: &'static str,
    unit: Unit,
    ours: f64,
    against: &'static str,
    baseline: f64,
    ratio: f64,
    /// `None` if there is no target.
    target: Option<Target>,
    is_met: Option<bool>,
}

/// A measurement and its baseline, in words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject {
    pub(crate) part: &'static str,
    pub(crate) what: &'static str,
    pub(crate) against: &'static str,
    pub(crate) unit: Unit,
}

impl Comparison {
    pub(crate) fn new(
        subject: Subject,
        ours: f64,
        baseline: f64,
        target: impl Into<Option<Target>>,
    ) -> Self {
        let target = target.into();
        let Subject { part, what, against, unit } = subject;
        let ratio = ours / baseline.max(f64::MIN_POSITIVE);
        let is_met = target.map(|target| match target {
            Target::AtLeast(least) => ratio >= least,
            Target::AtMost(most) => ratio <= most,
        });
        Self { part, what, unit, ours, against, baseline, ratio, target, is_met }
    }

    fn row(&self) -> Vec<String> {
        let target = match self.target {
            Some(Target::AtLeast(least)) => format!("≥ {least}"),
            Some(Target::AtMost(most)) => format!("≤ {most}"),
            None => String::new(),
        };
        let is_met = self.is_met.map(|is_met| if is_met { "yes" } else { "no" });
        vec![
            self.part.to_owned(),
            self.what.to_owned(),
            shown(self.ours, self.unit),
            shown(self.baseline, self.unit),
            format!("{:.2}", self.ratio),
            target,
            is_met.unwrap_or_default().to_owned(),
            self.against.to_owned(),
        ]
    }
}

/// The outcomes for people.
pub(crate) fn table(outcomes: &[Comparison]) -> String {
    let rows: Vec<_> = outcomes.iter().map(Comparison::row).collect();
    let header = ["PART", "WHAT", "OURS", "BASELINE", "RATIO", "TARGET", "MET", "BASELINE IS"];
    let header = header.map(str::to_owned).to_vec();
    let lines: Vec<_> = std::iter::once(header).chain(rows).collect();
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<_> = (0..8).map(width).collect();
    let line = |cells: &Vec<String>| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    lines.iter().map(line).collect()
}

fn shown(number: f64, unit: Unit) -> String {
    match unit {
        Unit::PerSecond => format!("{number:.0}/s"),
        Unit::Micros if number >= 1_000.0 => format!("{:.2} ms", number / 1_000.0),
        Unit::Micros => format!("{number:.0} µs"),
        Unit::Megabytes => format!("{number:.1} MB"),
        Unit::Percent => format!("{number:.1} %"),
        Unit::Count => format!("{number:.0}"),
        Unit::MegabytesPerSecond => format!("{number:.0} MB/s"),
    }
}

/// The median; zero for no numbers.
pub(crate) fn median(numbers: Vec<f64>) -> f64 {
    of_hundred(50, numbers)
}

/// The nth percentile; zero for no numbers.
pub(crate) fn of_hundred(n: usize, mut numbers: Vec<f64>) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    let n_below = (numbers.len() * n).div_ceil(100);
    numbers.get(n_below.saturating_sub(1)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests;
