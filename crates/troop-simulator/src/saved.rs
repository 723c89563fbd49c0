//! A history as a file: its plan, its choices and what it broke, with the steps in words. Such files are tests.

use std::fmt;

use anyhow::{Context as _, bail};

use crate::{
    history::{HistoryEnd, run_choices},
    plan::HistoryPlan,
    promise::Promise,
};

/// A history that broke a promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedHistory {
    pub plan: HistoryPlan,
    pub choices: Vec<u16>,
    pub broke: Promise,
}

impl SavedHistory {
    /// None if nothing was broken.
    #[must_use]
    pub fn of(end: &HistoryEnd) -> Option<Self> {
        let broke = end.violation.as_ref()?.promise;
        Some(Self { plan: end.plan, choices: end.choices.clone(), broke })
    }

    /// Reads a file. Lines that begin with `#` are for people.
    pub fn read(text: &str) -> anyhow::Result<Self> {
        let line = |key: &str| {
            let found = text.lines().find_map(|it| it.strip_prefix(key));
            found.map(str::trim).with_context(|| format!("the history has no line `{key}`"))
        };
        let plan = line("plan:")?.parse()?;
        let choices = line("choices:")?.split_whitespace().map(str::parse);
        let choices = choices.collect::<Result<Vec<u16>, _>>().context("choices are numbers")?;
        let word = line("broke:")?;
        let Some(broke) = Promise::ALL.into_iter().find(|it| format!("{it:?}") == word) else {
            bail!("there is no promise `{word}`");
        };
        Ok(Self { plan, choices, broke })
    }

    /// Runs it again.
    #[must_use]
    pub fn run(&self, is_told: bool) -> HistoryEnd {
        run_choices(self.plan, &self.choices, is_told)
    }
}

impl fmt::Display for SavedHistory {
    /// With the steps in words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.run(true);
        writeln!(f, "plan: {}", self.plan)?;
        let choices: Vec<_> = self.choices.iter().map(ToString::to_string).collect();
        writeln!(f, "choices: {}", choices.join(" "))?;
        writeln!(f, "broke: {:?}", self.broke)?;
        for line in &end.story {
            writeln!(f, "# {line}")?;
        }
        let what = end.violation.map_or_else(|| "nothing is broken".to_owned(), |it| it.what);
        writeln!(f, "# => {what}")
    }
}
