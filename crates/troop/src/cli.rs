//! The command line. All parsing is here; later checks depend on the team or on the project's files.
#![expect(clippy::doc_markdown, reason = "these comments are the help texts, shown as they are")]

mod mcp;
mod member;
mod message;
mod observe;
mod run;
mod task;
mod team;
mod trust;
mod values;
mod workspace;

use std::{
    ffi::OsString,
    net::{AddrParseError, Ipv4Addr, SocketAddr},
    path::PathBuf,
};

use clap::{
    CommandFactory, Parser, Subcommand, ValueEnum,
    builder::{OsStringValueParser, TypedValueParser as _},
};
use troop_app::surroundings::Choices;
use troop_model::TaskRef;

pub(crate) use mcp::{InstallArgs, McpArgs, McpCommand};
pub(crate) use member::{LinkArgs, MemberCommand};
pub(crate) use message::MessageCommand;
pub(crate) use observe::ObserveArgs;
pub(crate) use run::{DemoArgs, LogArgs, ResumeArgs, RunArgs, StopArgs};
pub(crate) use task::{RejectModeArg, TaskFields, TaskSubcommand, UntilArg};
pub(crate) use team::{DialectArg, TeamCommand};
pub(crate) use trust::TrustArgs;
pub(crate) use workspace::{WorkspaceCommand, WorkspaceOf};

/// Agent teams for the coding agents you already use: one board that never loses or doubles work.
#[derive(Debug, Parser)]
#[command(name = "troop", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten, next_help_heading = "Global options")]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

/// Options of every command.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Global {
    /// Where teams are kept: sqlite:PATH, files:FOLDER or postgres://… [default: sqlite:$TROOP_HOME/troop.db]
    #[arg(long, global = true, env = "TROOP_STORE", value_name = "URL", hide_env_values = true)]
    pub(crate) store: Option<String>,
    /// Team to use [default: the only team, else the newest that ran in this folder, else the only new one, else the only one running]
    #[arg(long, global = true, env = "TROOP_TEAM", value_name = "NAME")]
    pub(crate) team: Option<String>,
    /// Act as this member instead of as yourself
    #[arg(long = "as", global = true, env = "TROOP_AS", value_name = "MEMBER")]
    pub(crate) acting: Option<String>,
    /// Print JSON, for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub(crate) color: Colour,
    /// Where troop keeps its files [default: ~/.troop]
    // An empty one counts as none, as for the other variables. Of a path, clap would refuse it.
    #[arg(long, global = true, env = "TROOP_HOME", value_name = "FOLDER", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    pub(crate) home: Option<PathBuf>,
}

impl Global {
    /// The choices, for the library. An empty environment variable counts as no choice.
    pub(crate) fn choices(&self) -> Choices {
        let chosen = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
        Choices {
            home: self.home.clone().filter(|home| !home.as_os_str().is_empty()),
            store: chosen(&self.store),
            team: chosen(&self.team),
            acting: chosen(&self.acting),
        }
    }
}

/// An address to listen on: `127.0.0.1:7007`, or `localhost:7007`, which is not looked up.
fn listen_address(text: &str) -> Result<SocketAddr, AddrParseError> {
    let port = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
    port.map_or_else(|| text.parse(), |port: u16| Ok((Ipv4Addr::LOCALHOST, port).into()))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Watch a whole team work on a sample project, offline, with nothing to set up
    Demo(DemoArgs),
    /// Put a team to work on this project until the goal is reached: plan, spawn, work, report
    Run(RunArgs),
    /// Continue a team whose lead has ended
    Resume(ResumeArgs),
    /// Stop a team, whoever leads it
    Stop(StopArgs),
    /// Manage teams and their settings
    #[command(subcommand)]
    Team(TeamCommand),
    /// Manage the members of a team
    #[command(subcommand)]
    Member(MemberCommand),
    /// Manage the tasks on the board
    #[command(subcommand)]
    Task(TaskSubcommand),
    /// Send and read messages
    #[command(subcommand)]
    Message(MessageCommand),
    /// Share files within the team
    #[command(subcommand)]
    Workspace(WorkspaceCommand),
    /// Show the team's event log
    Events(EventsArgs),
    /// Show a member's transcript: what it said, and how it ended
    Log(LogArgs),
    /// Serve the team over MCP, on standard input and output or over HTTP (`--listen`), acting as one member (`--as`)
    Mcp(McpArgs),
    /// Show the team in another agent's stream, and what happens in it
    Observe(ObserveArgs),
    /// Review what this project's own files would run, such as hooks, and allow it or not
    Trust(TrustArgs),
    /// Describe this repository and suggest a team for it
    Profile(ProfileArgs),
    /// Check what is installed, reachable and configured, and show how to fix problems
    Doctor {
        /// Commit the work that teams left in their worktrees, and keep only the branches
        #[arg(long)]
        rescue: bool,
    },
    /// Measure the numbers of docs/performance.md on this machine: runs the program `troop-bench`
    Bench {
        /// Arguments of `troop-bench`; `help` lists what it can measure
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
        arguments: Vec<OsString>,
    },
    /// Print a script that completes troop's commands in your shell
    Completions {
        /// Shell to complete for
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct EventsArgs {
    /// Keep showing events as they happen
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Start after this version of the log
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) since: u64,
    /// Only events about this task
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<TaskRef>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ProfileArgs {
    /// The repository [default: this folder]
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
}

/// The part of the typed command that exists, such as `troop task create`.
pub(crate) fn typed_command() -> String {
    let mut typed = vec!["troop".to_owned()];
    let mut at = Cli::command();
    for word in std::env::args_os().skip(1).filter_map(|word| word.into_string().ok()) {
        let Some(next) = at.find_subcommand(&word).cloned() else { continue };
        typed.push(word);
        at = next;
    }
    typed.join(" ")
}

#[cfg(test)]
mod tests;
