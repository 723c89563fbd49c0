//! `troop member …`

use clap::{Args, Subcommand};
use smol_str::SmolStr;
use troop_model::{LinkChange, MemberName, Permissions};

use super::values::WordParser;

#[derive(Debug, Subcommand)]
pub(crate) enum MemberCommand {
    /// Add a member
    Add {
        /// NAME, AGENT or NAME=AGENT, where AGENT is a key or an id (see `troop doctor`)
        member: String,
        /// What it is good at
        #[arg(long, value_name = "TEXT", default_value = "")]
        expertise: String,
        /// Model to use
        #[arg(long, value_name = "MODEL")]
        model: Option<String>,
        /// What it may do without asking; at most what the lead may, until `troop member mode` widens it
        #[arg(long, value_name = "MODE", value_parser = WordParser::modes())]
        mode: Option<Permissions>,
    },
    /// Remove a member; its tasks go back to the board
    Remove {
        /// Name of the member
        name: String,
        /// Reason
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// List the members and what each is doing
    List,
    /// Start a new member, or one that does not run; the team must have a lead that runs
    Spawn {
        /// NAME=AGENT, or NAME for an existing member
        member: String,
        /// First prompt; - reads it from standard input
        #[arg(long, value_name = "TEXT")]
        prompt: Option<String>,
        /// Only let it read until its plan is approved
        #[arg(long)]
        plan: bool,
    },
    /// Ask a member to stop; it may refuse
    Stop {
        /// Name of the member
        name: String,
        /// Reason
        #[arg(long, value_name = "TEXT", default_value = "")]
        reason: String,
    },
    /// Interrupt what a member is doing; it stays, and continues with the next message
    Interrupt {
        /// Name of the member
        name: String,
        /// Reason
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Show or change the lead's link to a member: how many delegations it may have, and from which users
    Link(LinkArgs),
    /// Change what a member may do without asking
    Mode {
        /// Name of the member
        name: String,
        /// What it may do without asking
        #[arg(value_parser = WordParser::modes())]
        mode: Permissions,
    },
}

/// The changes to a link.
#[derive(Debug, Args)]
pub(crate) struct LinkArgs {
    /// Name of the member; may be one that has left
    pub(crate) name: String,
    /// Most delegations at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) max: Option<u32>,
    /// Only these users may cause delegations; empty for everyone
    #[arg(long, value_name = "USER", value_delimiter = ',')]
    pub(crate) allow: Option<Vec<String>>,
    /// These users may not, even if --allow names them; empty for nobody
    #[arg(long, value_name = "USER", value_delimiter = ',')]
    pub(crate) deny: Option<Vec<String>>,
    /// Enable the link
    #[arg(long, conflicts_with = "disable")]
    pub(crate) enable: bool,
    /// Disable the link
    #[arg(long)]
    pub(crate) disable: bool,
    /// Remove the link for good
    #[arg(long, conflicts_with_all = ["max", "allow", "deny", "enable", "disable"])]
    pub(crate) purge: bool,
}

impl LinkArgs {
    /// What is to change.
    pub(crate) fn change(self, from: MemberName, to: MemberName) -> LinkChange {
        let users = |users: Vec<String>| {
            users.iter().filter(|it| !it.is_empty()).map(SmolStr::new).collect::<Vec<_>>()
        };
        LinkChange {
            enabled: (self.enable || self.disable).then_some(self.enable),
            max_concurrent: self.max,
            user_allow: self.allow.map(users),
            user_deny: self.deny.map(users),
            ..LinkChange::new(from, to)
        }
    }
}
