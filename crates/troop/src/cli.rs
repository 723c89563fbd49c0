//! What can be typed. Parsing ends here: behind it there is nothing left to check about the form of a command.
#![expect(clippy::doc_markdown, reason = "these comments are the help texts, shown as they are")]

mod bench;
mod mcp;
mod member;
mod message;
mod observe;
mod run;
mod task;
mod team;
mod trust;
mod workspace;

use std::path::PathBuf;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};

pub(crate) use bench::{
    BenchAgentArgs, BenchBoardArgs, BenchChildCommand, BenchCommand, BenchFilesArgs, BenchMcpArgs,
    BenchObserveArgs, BenchPart, BenchTeam, BenchTeamArgs, BenchTeamPart, BenchWorkArgs,
    BenchWorkPart,
};
pub(crate) use mcp::{Client, InstallArgs, McpArgs, McpCommand};
pub(crate) use member::{LinkArgs, MemberCommand};
pub(crate) use message::MessageCommand;
pub(crate) use observe::ObserveArgs;
pub(crate) use run::{DemoArgs, LeadArgs, LogArgs, ResumeArgs, RunArgs, StopArgs};
pub(crate) use task::{RejectModeArg, TaskCommand, TaskFields, UntilArg};
pub(crate) use team::{DialectArg, TeamCommand};
pub(crate) use trust::TrustArgs;
pub(crate) use workspace::{WorkspaceCommand, WorkspaceOf};

/// Agent teams for the coding agents you already use: one board that never loses or doubles work.
#[derive(Debug, Parser)]
#[command(name = "troop", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten, next_help_heading = "Options of every command")]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Global {
    /// Where teams are kept: sqlite:PATH, files:FOLDER or postgres://… [default: sqlite:$TROOP_HOME/troop.db]
    #[arg(long, global = true, env = "TROOP_STORE", value_name = "URL", hide_env_values = true)]
    pub(crate) store: Option<String>,
    /// The team; else the only one, the newest of this folder, or the only one that runs
    #[arg(long, global = true, env = "TROOP_TEAM", value_name = "NAME")]
    pub(crate) team: Option<String>,
    /// Act as this member instead of as the person at the keyboard
    #[arg(long = "as", global = true, env = "TROOP_AS", value_name = "MEMBER")]
    pub(crate) acting: Option<String>,
    /// Print JSON, for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub(crate) color: Colour,
    /// Where troop keeps its files [default: ~/.troop]
    #[arg(long, global = true, env = "TROOP_HOME", value_name = "FOLDER")]
    pub(crate) home: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// See a whole team at work on a sample, offline: nothing to set up
    Demo(DemoArgs),
    /// Let a team work on this project until it is done: plan, spawn, work, report
    Run(RunArgs),
    /// Go on with a team whose lead ended
    Resume(ResumeArgs),
    /// Stop a team, whoever leads it
    Stop(StopArgs),
    /// Teams and their settings
    #[command(subcommand)]
    Team(TeamCommand),
    /// Who belongs to a team
    #[command(subcommand)]
    Member(MemberCommand),
    /// The board
    #[command(subcommand)]
    Task(TaskCommand),
    /// The mailbox
    #[command(subcommand)]
    Message(MessageCommand),
    /// Files that the team shares
    #[command(subcommand)]
    Workspace(WorkspaceCommand),
    /// The log, as it grows
    Events(EventsArgs),
    /// What was seen of a member: what it said, and how it ended
    Log(LogArgs),
    /// The team for any agent that speaks MCP, on standard input and output or over HTTP (`--listen`), acting as one member (`--as`)
    Mcp(McpArgs),
    /// Somebody else's stream: the team in it, and what happens there
    Observe(ObserveArgs),
    /// What this project's own files would run, such as hooks, and whether they may
    Trust(TrustArgs),
    /// What this repository is made of, and which team would suit it
    Profile(ProfileArgs),
    /// What is installed, reachable, misconfigured, and how to fix it
    Doctor {
        /// Commit what teams left in folders of their own, and keep only the branches
        #[arg(long)]
        rescue: bool,
    },
    /// The numbers of docs/performance.md, on this machine
    #[command(subcommand)]
    Bench(BenchCommand),
    /// A script that completes troop's commands in your shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct EventsArgs {
    /// Go on showing events as they happen
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Begin behind this version
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) since: u64,
    /// Only what is about this task
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ProfileArgs {
    /// The repository [default: this folder]
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
}

/// The command that was typed, as far as it makes sense: `troop task create`.
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
