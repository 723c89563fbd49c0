//! `troop team …`

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use troop_model::{Dialect, Time};
use troop_runtime::Layout;

use super::values::time;

#[derive(Debug, Subcommand)]
pub(crate) enum TeamCommand {
    /// Create a team
    Create {
        /// Name of the team
        name: String,
        /// Lead: NAME, AGENT or NAME=AGENT, where AGENT is a key or an id (see `troop doctor`)
        #[arg(long, value_name = "LEAD", default_value = "lead=builtin")]
        lead: String,
        /// Teammate, in the same form; repeat for more
        #[arg(long = "member", short, value_name = "MEMBER")]
        members: Vec<String>,
        /// What the team is for
        #[arg(long, value_name = "TEXT", default_value = "")]
        description: String,
        /// Start with the settings that agents of this dialect expect
        #[arg(long, value_enum)]
        dialect: Option<DialectArg>,
        /// Setting that differs from the default; repeat for more
        #[arg(long = "set", value_name = "KEY=VALUE")]
        settings: Vec<String>,
    },
    /// List all teams
    List {
        /// Include deleted teams
        #[arg(long)]
        all: bool,
    },
    /// Show a team with its settings and members
    Show {
        /// Team, instead of --team
        name: Option<String>,
        /// Show TEAM.md instead: what the lead's agent knows about its team; with --as, a member's
        #[arg(long)]
        team_md: bool,
    },
    /// List running delegations and the last thousand that ended, with their results
    Delegations {
        /// Team, instead of --team
        name: Option<String>,
    },
    /// Show the state of a team's work, and who needs an answer
    Status {
        /// Team, instead of --team
        name: Option<String>,
    },
    /// Change settings: KEY=VALUE, for example version=2 or delegation.require_task=false
    Set {
        /// Team, instead of --team
        name: Option<String>,
        /// Settings to change
        #[arg(value_name = "KEY=VALUE")]
        settings: Vec<String>,
        /// What the team is for
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
    },
    /// Delete a team; its log stays readable by its id
    Delete {
        /// Team, or with --purge the id of a deleted one
        name: Option<String>,
        /// Erase its log and files too, for good
        #[arg(long)]
        purge: bool,
    },
    /// Export a team's whole log as one file of JSON lines
    Export {
        /// Team, instead of --team
        name: Option<String>,
        /// File to write [default: standard output]
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Create a team from an exported log
    Import {
        /// Exported file; - reads it from standard input
        file: PathBuf,
        /// Give the team another name
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Allow without asking what the imported team would run
        #[arg(long, short)]
        yes: bool,
    },
    /// Keep a team in sync with files that other programs read and write, until Ctrl-C
    Mirror {
        /// Folder that holds their `teams` and `tasks`, such as ~/.claude
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Layout of the files
        #[arg(long, value_enum, default_value_t = LayoutArg::Seeds)]
        layout: LayoutArg,
        /// Synchronise once and exit
        #[arg(long)]
        once: bool,
    },
    /// Show a team as it was at some point in its log
    Replay {
        /// Team, instead of --team
        name: Option<String>,
        /// After this event of its log (see `troop events`)
        #[arg(long, value_name = "VERSION", conflicts_with = "at")]
        until: Option<u64>,
        /// At this time, such as 2026-01-31T10:00:00Z
        #[arg(long, value_name = "TIME", value_parser = time)]
        at: Option<Time>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayoutArg {
    /// One file per task and per message
    Seeds,
    /// The layout of Claude Code
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
