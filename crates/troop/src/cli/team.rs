//! `troop team …`

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use troop_model::Dialect;
use troop_runtime::Layout;

#[derive(Debug, Subcommand)]
pub(crate) enum TeamCommand {
    /// Make a team
    Create {
        /// Its name
        name: String,
        /// Who leads: NAME, AGENT, or NAME=AGENT; AGENT is a key or an id (see `troop doctor`)
        #[arg(long, value_name = "LEAD", default_value = "lead=builtin")]
        lead: String,
        /// Who works, likewise; once for each
        #[arg(long = "member", short, value_name = "MEMBER")]
        members: Vec<String>,
        /// What it is for
        #[arg(long, value_name = "TEXT", default_value = "")]
        description: String,
        /// Start with the settings that agents of this dialect expect
        #[arg(long, value_enum)]
        dialect: Option<DialectArg>,
        /// Settings that differ: KEY=VALUE
        #[arg(long = "set", value_name = "KEY=VALUE")]
        settings: Vec<String>,
    },
    /// All teams
    List {
        /// Also those that were deleted
        #[arg(long)]
        all: bool,
    },
    /// A team with its settings and members
    Show {
        /// The team
        name: Option<String>,
        /// Instead, TEAM.md: what the lead's agent knows about its team, or with --as a member's
        #[arg(long)]
        team_md: bool,
    },
    /// What was delegated to whom, and what came of it: all that runs, and the last thousand that ended
    Delegations {
        /// The team
        name: Option<String>,
    },
    /// How a team's work stands
    Status {
        /// The team
        name: Option<String>,
    },
    /// Change settings: KEY=VALUE, for example version=2 or delegation.require_task=false
    Set {
        /// The team
        name: Option<String>,
        /// What to change
        #[arg(value_name = "KEY=VALUE")]
        settings: Vec<String>,
        /// What the team is for
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
    },
    /// Delete a team; its log stays readable by its id
    Delete {
        /// The team, or the id of a deleted one with --purge
        name: Option<String>,
        /// Erase its log and its files too, for ever
        #[arg(long)]
        purge: bool,
    },
    /// Write a team's whole log as one file: lines of JSON
    Export {
        /// The team
        name: Option<String>,
        /// Where to; the screen if not given
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Make a team from an exported log
    Import {
        /// The file; - for standard input
        file: PathBuf,
        /// Another name for the team
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Do not ask whether what it would run may run here
        #[arg(long, short)]
        yes: bool,
    },
    /// Keep a team in files that other programs read and write, in step with the board, until Ctrl-C
    Mirror {
        /// The folder that holds their `teams` and `tasks`, such as ~/.claude
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Whose files
        #[arg(long, value_enum, default_value_t = LayoutArg::Seeds)]
        layout: LayoutArg,
        /// Take in what others wrote, write what the board says, and end
        #[arg(long)]
        once: bool,
    },
    /// Show a team as it once was
    Replay {
        /// The team
        name: Option<String>,
        /// After this event of its log (see `troop events`)
        #[arg(long, value_name = "VERSION", conflicts_with = "at")]
        until: Option<u64>,
        /// At this time, such as 2026-01-31T10:00:00Z
        #[arg(long, value_name = "TIME")]
        at: Option<String>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayoutArg {
    /// One file per task and per message
    Seeds,
    /// Claude Code's own
    Claude,
}

impl From<LayoutArg> for Layout {
    fn from(layout: LayoutArg) -> Self {
        match layout {
            LayoutArg::Seeds => Self::Seeds,
            LayoutArg::Claude => Self::Claude,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectArg {
    Board,
    Claude,
}

impl From<DialectArg> for Dialect {
    fn from(dialect: DialectArg) -> Self {
        match dialect {
            DialectArg::Board => Self::Board,
            DialectArg::Claude => Self::Claude,
        }
    }
}
