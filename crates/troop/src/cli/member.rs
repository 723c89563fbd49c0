//! `troop member …`

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum MemberCommand {
    /// Let somebody join
    Add {
        /// NAME, AGENT, or NAME=AGENT; AGENT is a key or an id
        member: String,
        /// What it is good at
        #[arg(long, value_name = "TEXT", default_value = "")]
        expertise: String,
        /// The model it asks for
        #[arg(long, value_name = "MODEL")]
        model: Option<String>,
        /// What it may do without asking; at first at most what the lead may, later `troop member mode` can widen it
        #[arg(long, value_name = "MODE")]
        mode: Option<String>,
    },
    /// Let somebody go; what it holds goes back to the board
    Remove {
        /// Who
        name: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Who belongs to the team, and what each is doing
    List,
    /// Start a process for a new member, or for one that does not run; somebody must lead the team
    Spawn {
        /// NAME=AGENT, or NAME for a member that is there already
        member: String,
        /// What it is told first; - reads it from standard input
        #[arg(long, value_name = "TEXT")]
        prompt: Option<String>,
        /// It may only read until its plan is approved
        #[arg(long)]
        plan: bool,
    },
    /// Ask a member to stop; it may refuse
    Stop {
        /// Who
        name: String,
        /// Why
        #[arg(long, value_name = "TEXT", default_value = "")]
        reason: String,
    },
    /// Break off what a member does now; it stays, and goes on with the next message
    Interrupt {
        /// Who
        name: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Show or change the lead's link to a member: how much may be delegated by it, and for whom
    Link(LinkArgs),
    /// Change what a member may do without asking: plan, default, accept-edits or bypass
    Mode {
        /// Who
        name: String,
        /// What it may do
        mode: String,
    },
}

/// What a link is to be.
#[derive(Debug, Args)]
pub(crate) struct LinkArgs {
    /// To whom; also one that has left
    pub(crate) name: String,
    /// How many delegations it carries at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) max: Option<u32>,
    /// Only these users may set it off; empty for everyone
    #[arg(long, value_name = "USER", value_delimiter = ',')]
    pub(crate) allow: Option<Vec<String>>,
    /// These users may not, even if they are allowed; empty for nobody
    #[arg(long, value_name = "USER", value_delimiter = ',')]
    pub(crate) deny: Option<Vec<String>>,
    /// Let it be used
    #[arg(long, conflicts_with = "disable")]
    pub(crate) enable: bool,
    /// Let it not be used
    #[arg(long)]
    pub(crate) disable: bool,
    /// Take it away for good
    #[arg(long, conflicts_with_all = ["max", "allow", "deny", "enable", "disable"])]
    pub(crate) purge: bool,
}

impl LinkArgs {
    /// Whether something is to be different.
    pub(crate) fn is_change(&self) -> bool {
        let lists = [&self.allow, &self.deny];
        self.enable || self.disable || self.max.is_some() || lists.iter().any(|it| it.is_some())
    }
}
