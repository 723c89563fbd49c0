//! The beginning of a history: which processes there are, how much they have to do and what may go wrong. Drawn from the seed,
//! or read from a saved history.

use std::{fmt, str::FromStr};

use anyhow::{Context as _, bail};

use crate::choice::Generator;

/// The kind of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Several machines with one store; nobody leads.
    Board,
    /// Command lines and programs that know only the files share a folder.
    Files,
    /// Messages in inboxes that are folders.
    Mail,
    /// A lead whose members work in a repository; it can die, and another takes over.
    Lead,
    /// Teams that end in one repository, and a person who commits there.
    Landing,
}

impl Scenario {
    pub const ALL: [Self; 5] = [Self::Board, Self::Files, Self::Mail, Self::Lead, Self::Landing];

    fn name(self) -> &'static str {
        match self {
            Self::Board => "board",
            Self::Files => "files",
            Self::Mail => "mail",
            Self::Lead => "lead",
            Self::Landing => "landing",
        }
    }
}

impl FromStr for Scenario {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let found = Self::ALL.into_iter().find(|it| it.name() == text);
        found.with_context(|| format!("there is no scenario `{text}`"))
    }
}

/// The beginning of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryPlan {
    pub scenario: Scenario,
    pub n_tasks: u16,
    /// Programs that know only the files; readers of an inbox; teams that land.
    pub n_programs: u16,
    /// Command lines; senders of messages.
    pub n_commands: u16,
    /// Processes that mirror as long as they run; people who commit.
    pub n_mirrors: u16,
    /// Members that complete tasks through a lead without claiming them.
    pub n_hasty: u16,
    /// How often another process goes on, in a thousand steps.
    pub switches: u16,
    /// How often something goes wrong, in a thousand steps.
    pub faults: u16,
}

impl HistoryPlan {
    pub(crate) fn drawn(scenario: Scenario, generator: &mut Generator) -> Self {
        let mut one_of = |choices: &[u16]| {
            let nth = generator.below(choices.len() as u64) as usize;
            choices.get(nth).copied().unwrap_or_default()
        };
        Self {
            scenario,
            n_tasks: one_of(&[1, 1, 2, 3]),
            n_programs: match scenario {
                Scenario::Landing => one_of(&[1, 2, 2, 3]),
                Scenario::Board | Scenario::Files | Scenario::Lead => one_of(&[1, 2, 2, 3]),
                Scenario::Mail => one_of(&[0, 1, 1, 2]),
            },
            n_commands: one_of(&[1, 2, 2, 3]),
            n_mirrors: one_of(&[0, 0, 1, 2]),
            n_hasty: if scenario == Scenario::Files { one_of(&[0, 0, 1]) } else { 0 },
            switches: one_of(&[30, 100, 250, 500]),
            faults: one_of(&[0, 2, 8, 20]),
        }
    }
}

impl fmt::Display for HistoryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scenario, n_tasks, n_programs, n_commands, n_mirrors, .. } = self;
        let Self { n_hasty, switches, faults, .. } = self;
        write!(
            f,
            "{} tasks={n_tasks} programs={n_programs} commands={n_commands} mirrors={n_mirrors} \
             hasty={n_hasty} switches={switches} faults={faults}",
            scenario.name()
        )
    }
}

impl FromStr for HistoryPlan {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let mut words = text.split_whitespace();
        let scenario = words.next().context("a plan begins with its scenario")?;
        let mut plan = Self {
            scenario: scenario.parse()?,
            n_tasks: 0,
            n_programs: 0,
            n_commands: 0,
            n_mirrors: 0,
            n_hasty: 0,
            switches: 0,
            faults: 0,
        };
        for word in words {
            let (key, value) = word.split_once('=').context("a plan has words like `tasks=1`")?;
            let value = value.parse()?;
            match key {
                "tasks" => plan.n_tasks = value,
                "programs" => plan.n_programs = value,
                "commands" => plan.n_commands = value,
                "mirrors" => plan.n_mirrors = value,
                "hasty" => plan.n_hasty = value,
                "switches" => plan.switches = value,
                "faults" => plan.faults = value,
                _ => bail!("a plan has no `{key}`"),
            }
        }
        Ok(plan)
    }
}
