//! `troop run`, `troop resume`, `troop stop`, `troop log`, `troop demo`

use std::time::Duration;

use clap::Args;
use troop_app::leading::{LeadTerms, WhenQuiet};
use troop_model::{Dollars, Permissions};

use super::values::{WordParser, dollars};

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Goal of the team; - reads it from standard input
    pub(crate) goal: String,
    /// Agent that leads: builtin, script:FILE, or an agent of your own [default: `agent` in config.json]
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Teammate that works from the start: NAME=AGENT; repeat for more
    #[arg(long = "member", short, value_name = "MEMBER")]
    pub(crate) members: Vec<String>,
    /// Most teammates that may run at once [default: `teams.maxTeammates` in config.json, or 5]
    #[arg(long, value_name = "N")]
    pub(crate) max_teammates: Option<u32>,
    /// Most dollars that the team may spend [default: `teams.budget` in config.json, or no limit]
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    pub(crate) budget: Option<Dollars>,
    /// What members may do without asking
    #[arg(long, value_name = "MODE", default_value = "default", value_parser = WordParser::modes())]
    pub(crate) permissions: Permissions,
    /// The lead only coordinates [default: if the built-in agent leads and has teammates]
    #[arg(long, overrides_with = "no_delegate")]
    pub(crate) delegate: bool,
    /// The lead also works on tasks itself
    #[arg(long, overrides_with = "delegate")]
    pub(crate) no_delegate: bool,
    /// Team setting, such as assignment=claim; repeat for more
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Command that must pass before any task is done; repeat for more
    #[arg(long = "check", value_name = "COMMAND")]
    pub(crate) checks: Vec<String>,
    #[command(flatten)]
    pub(crate) lead: LeadArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Team, instead of --team
    #[arg(value_name = "TEAM")]
    pub(crate) name: Option<String>,
    /// Agent that leads this time: builtin, script:FILE, an agent of your own, or external (an MCP client) [default: the one that led before]
    #[arg(long, short = 'a', value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    #[command(flatten)]
    pub(crate) lead: LeadArgs,
}

/// How a team is led.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct LeadArgs {
    /// How long teammates may take to stop before they are killed
    #[arg(long, value_name = "SECONDS", default_value_t = 3, value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub(crate) grace: u64,
    /// Keep running when there is nothing left to do, until `troop stop` or Ctrl-C
    #[arg(long)]
    pub(crate) keep: bool,
}

impl From<LeadArgs> for LeadTerms {
    fn from(args: LeadArgs) -> Self {
        let when_quiet = if args.keep { WhenQuiet::Stay } else { WhenQuiet::End };
        Self { grace: Duration::from_secs(args.grace), when_quiet }
    }
}

#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    /// Team, instead of --team
    #[arg(value_name = "TEAM")]
    pub(crate) name: Option<String>,
    /// Reason, as members and the log see it
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// How long to wait for it to stop
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub(crate) wait: u64,
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Member whose transcript to show
    pub(crate) member: String,
    /// Keep showing lines as they come
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Only the last N lines
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) lines: Option<usize>,
    /// Only this delegation: its id, or the beginning of it
    #[arg(long, value_name = "ID")]
    pub(crate) delegation: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Keep running at the end, until `troop stop` or Ctrl-C
    #[arg(long)]
    pub(crate) keep: bool,
}
