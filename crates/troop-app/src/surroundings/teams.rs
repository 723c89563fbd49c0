//! The key `teams`: whether teams are switched on, how many teammates may run, their checks and their budget.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use troop_model::{Budget, Dialect, Dollars, Hint, HintCommand, Refusal, Settings};

use super::Environment;
use crate::{Error, Result};

/// Claude Code's switch for teams. Here a 0 switches teams off.
const GATE: &str = "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS";
const MOST: u32 = 100;

/// The keys of `teams`.
pub(super) const KEYS: [&str; 5] = ["enabled", "teammateMode", "maxTeammates", "checks", "budget"];

/// The settings for teams in one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(deny_unknown_fields)]
pub struct TeamsConfig {
    /// Whether there are teams at all; true unless said otherwise.
    enabled: Option<bool>,
    /// How teammates are to be shown. It has no effect yet.
    teammate_mode: Option<TeammateMode>,
    /// How many teammates may run at once; 5 unless said otherwise.
    #[schemars(with = "Option<u32>", range(min = 1, max = 100))]
    max_teammates: Option<MaxTeammates>,
    /// Commands that must pass before a task of a team that is led here is done. Those of a project's file count once the
    /// project is trusted.
    #[schemars(with = "Vec<String>", length(max = 20))]
    pub(super) checks: CheckList,
    /// How much a team may use that `troop run` makes. Counts in your own file alone.
    pub(super) budget: BudgetConfig,
}

/// How much a team may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct BudgetConfig {
    /// How much money; no limit unless said otherwise.
    dollars: Option<Dollars>,
    /// How many tokens; no limit unless said otherwise.
    tokens: Option<u64>,
    /// At which share of it people and the lead are warned; 80 unless said otherwise.
    #[schemars(range(min = 1, max = 100))]
    warn_percent: Option<u32>,
}

impl From<BudgetConfig> for Budget {
    fn from(config: BudgetConfig) -> Self {
        let BudgetConfig { dollars, tokens, warn_percent } = config;
        let warn_percent = warn_percent.unwrap_or(Self::default().warn_percent);
        Self { dollars, tokens, warn_percent }
    }
}

/// Commands that must pass.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub(super) struct CheckList(pub(super) Vec<String>);

impl TryFrom<Vec<String>> for CheckList {
    type Error = Refusal;

    fn try_from(named: Vec<String>) -> Result<Self, Refusal> {
        troop_model::named_checks(&named).map(Self)
    }
}

impl TeamsConfig {
    /// The settings of a file that only knows how teammates are shown.
    pub(super) fn shown(teammate_mode: Option<TeammateMode>) -> Self {
        Self { teammate_mode, ..Self::default() }
    }
}

/// How teammates are to be shown. Claude Code's settings have the key, so it is read, but nothing is shown by it yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TeammateMode {
    /// In tmux if it is installed, else in this terminal.
    #[default]
    Auto,
    /// In this terminal.
    InProcess,
    /// In tmux panes.
    Tmux,
}

impl TeammateMode {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::InProcess => "in-process",
            Self::Tmux => "tmux",
        }
    }
}

/// How many teammates may run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
struct MaxTeammates(u32);

impl TryFrom<Value> for MaxTeammates {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        let number = number.filter(|number| (1..=MOST).contains(number));
        number.map(Self).ok_or_else(|| format!("expected a number from 1 to {MOST}, found {value}"))
    }
}

/// The settings for teams here, after all files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamDefaults {
    /// The setting that switched teams off, if any did.
    pub off: Option<TeamsOff>,
    pub teammate_mode: TeammateMode,
    pub max_teammates: u32,
    /// The limits of a new team.
    pub budget: Budget,
}

/// The setting that switched teams off, and how to switch them on again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamsOff {
    pub by: String,
    pub fix: Hint,
}

impl TeamDefaults {
    /// Refuses if teams are switched off.
    pub fn check_on(&self) -> Result<()> {
        let Some(TeamsOff { by, fix }) = &self.off else { return Ok(()) };
        let hint = Hint::from("switch them on: ").and_hint(fix.clone());
        Err(Error::refused(format!("teams are switched off by {by}"), hint))
    }

    /// The settings of a new team for which nothing else was chosen.
    #[must_use]
    pub fn settings(&self, dialect: Option<Dialect>) -> Settings {
        let settings = dialect.map_or_else(Settings::default, Settings::for_dialect);
        Settings { max_teammates: self.max_teammates, budget: self.budget, ..settings }
    }

    /// Merges the files; the first file that sets a key wins.
    #[must_use]
    pub fn of(files: &[(&Path, &TeamsConfig)], environment: &Environment) -> Self {
        let enabled = files.iter().find_map(|(path, it)| it.enabled.map(|is_on| (*path, is_on)));
        let off = match enabled {
            _ if environment.variable(GATE).is_some_and(|value| value == "0") => Some(TeamsOff {
                by: format!("`{GATE}=0`"),
                fix: Hint::run(HintCommand::other("unset").word(GATE)),
            }),
            Some((path, false)) => Some(TeamsOff {
                by: format!("`teams.enabled` in `{}`", path.display()),
                fix: "set it to true, or remove it".into(),
            }),
            Some((_, true)) | None => None,
        };
        let most = files.iter().find_map(|(_, it)| it.max_teammates);
        Self {
            off,
            teammate_mode: files.iter().find_map(|(_, it)| it.teammate_mode).unwrap_or_default(),
            max_teammates: most.map_or(5, |MaxTeammates(most)| most),
            budget: Budget::default(),
        }
    }
}
