//! `troop run`, `troop resume`, `troop stop`, `troop log`, `troop demo`

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What is to be done; - reads it from standard input
    pub(crate) goal: String,
    /// What thinks for the lead: script:FILE, or an agent that is described [default: `agent` in config.json]
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// Who works from the beginning: NAME=AGENT; once for each
    #[arg(long = "member", short, value_name = "MEMBER")]
    pub(crate) members: Vec<String>,
    /// How many teammates may run at once [default: `teams.maxTeammates` in config.json, or 5]
    #[arg(long, value_name = "N")]
    pub(crate) max_teammates: Option<u32>,
    /// How many dollars the team may spend [default: `teams.budget` in config.json, or no limit]
    #[arg(long, value_name = "DOLLARS")]
    pub(crate) budget: Option<f64>,
    /// What its members may do without asking: plan, default, accept-edits or bypass
    #[arg(long, value_name = "MODE", default_value = "default")]
    pub(crate) permissions: String,
    /// The lead only coordinates [default: while the built-in agent leads and has teammates]
    #[arg(long, overrides_with = "no_delegate")]
    pub(crate) delegate: bool,
    /// The lead works itself, too
    #[arg(long, overrides_with = "delegate")]
    pub(crate) no_delegate: bool,
    /// Settings of the team that differ: KEY=VALUE, for example assignment=claim where the lead delegates all work
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) settings: Vec<String>,
    /// A command that must pass before any task is done; once for each
    #[arg(long = "check", value_name = "COMMAND")]
    pub(crate) checks: Vec<String>,
    #[command(flatten)]
    pub(crate) lead: LeadArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The team
    #[arg(value_name = "TEAM")]
    pub(crate) name: Option<String>,
    /// What thinks for the lead this time, if not what did before: builtin, script:FILE, an agent of your own, or external: an MCP client
    #[arg(long, short = 'a', value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    #[command(flatten)]
    pub(crate) lead: LeadArgs,
}

/// How a team is led.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct LeadArgs {
    /// How long teammates have to stop by themselves before they are made to
    #[arg(long, value_name = "SECONDS", default_value_t = 3, value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub(crate) grace: u64,
    /// Stay when nobody has anything left to do, until `troop stop` or Ctrl-C
    #[arg(long)]
    pub(crate) keep: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    /// The team
    #[arg(value_name = "TEAM")]
    pub(crate) name: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// How long to wait until it has stopped
    #[arg(long, value_name = "SECONDS", default_value_t = 15, value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub(crate) wait: u64,
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Whose
    pub(crate) member: String,
    /// Go on showing lines as they come
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Only the last so many lines
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) lines: Option<usize>,
    /// Only what belongs to this delegation: its id, or the beginning of it
    #[arg(long, value_name = "ID")]
    pub(crate) delegation: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Stay at the end, until `troop stop` or Ctrl-C
    #[arg(long)]
    pub(crate) keep: bool,
}
