//! The command line.

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use uuid::Uuid;

/// Measure the numbers of docs/performance.md on this machine
#[derive(Debug, Parser)]
#[command(name = "troop-bench", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct BenchCli {
    /// The program to measure [default: `troop` beside this program]
    #[arg(long, global = true, value_name = "PROGRAM")]
    pub(crate) troop: Option<PathBuf>,
    /// Print JSON, for programs
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: BenchCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// The board on every backend, beside what the same disk or server can do at best
    Board(BenchBoardArgs),
    /// What happens around the work, beside the same done by plain tools
    Work(BenchWorkArgs),
    /// A running team: its tasks, its teammates at rest, its mail, its recovery
    Team(BenchTeamArgs),
    /// Tool calls over MCP
    Mcp(BenchMcpArgs),
    /// The built-in agent's own cost, beside a bare client of the same API
    Agent(BenchAgentArgs),
    /// The observer on a long stream, beside bare typed parsing of the same bytes
    Observe(BenchObserveArgs),
    /// How soon a change that another program makes in a team's files is on the board
    Files(BenchFilesArgs),
    /// The parts that the benchmark runs in separate processes
    #[command(subcommand, hide = true)]
    Child(BenchChildCommand),
}

impl BenchCommand {
    /// Where to put the files that are measured, unless the default is used.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match self {
            Self::Board(args) => args.folder.as_deref(),
            Self::Work(args) => args.folder.as_deref(),
            Self::Team(args) => args.folder.as_deref(),
            Self::Mcp(args) => args.folder.as_deref(),
            Self::Agent(args) => args.folder.as_deref(),
            Self::Files(args) => args.folder.as_deref(),
            Self::Observe(_) | Self::Child(_) => None,
        }
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct BenchBoardArgs {
    /// Only this part; once for each
    #[arg(long, value_name = "PART", value_enum)]
    pub(crate) only: Vec<BenchPart>,
    /// The PostgreSQL server to measure on; without it, PostgreSQL is left out
    #[arg(long, value_name = "URL")]
    pub(crate) postgres: Option<String>,
    /// How long each measurement runs; 0 does each thing once
    #[arg(long, value_name = "SECONDS", default_value_t = 3)]
    pub(crate) seconds: u64,
    /// Where to make the stores that are measured [default: the system's folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
    /// How many tasks the board has
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) tasks: u32,
    /// How many events the long log has
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub(crate) events: u64,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct BenchTeamArgs {
    /// Only this part; once for each
    #[arg(long, value_name = "PART", value_enum)]
    pub(crate) only: Vec<BenchTeamPart>,
    /// How long each measurement runs; 0 does each thing once, with a few teammates
    #[arg(long, value_name = "SECONDS", default_value_t = 3)]
    pub(crate) seconds: u64,
    /// Where to make the stores that are measured [default: the system's folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct BenchAgentArgs {
    /// How long each measurement runs; 0 does each thing once
    #[arg(long, value_name = "SECONDS", default_value_t = 3)]
    pub(crate) seconds: u64,
    /// Where the agents that are measured work [default: the system's folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct BenchMcpArgs {
    /// How long each measurement runs; 0 does each thing once
    #[arg(long, value_name = "SECONDS", default_value_t = 3)]
    pub(crate) seconds: u64,
    /// Where to make the store that is measured [default: the system's folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchTeamPart {
    /// 100 tasks that wait for each other, over 5 teammates
    Graph,
    /// Teammates that have nothing to do, and how soon one is ready
    Idle,
    /// Mail from one teammate to another
    Mail,
    /// From the crash of a teammate until another has its task
    Crash,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct BenchWorkArgs {
    /// Only this part; once for each
    #[arg(long, value_name = "PART", value_enum)]
    pub(crate) only: Vec<BenchWorkPart>,
    /// How long each measurement runs; 0 does each thing once
    #[arg(long, value_name = "SECONDS", default_value_t = 3)]
    pub(crate) seconds: u64,
    /// Where to make the repositories that are measured [default: the system's folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
    /// How many files the large repository has
    #[arg(long, value_name = "N", default_value_t = 50_000)]
    pub(crate) files: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchWorkPart {
    /// Merging 100 finished branches
    Merge,
    /// The profile of a large repository
    Profile,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct BenchObserveArgs {
    /// How long each measurement runs; 0 does each thing once
    #[arg(long, value_name = "SECONDS", default_value_t = 6)]
    pub(crate) seconds: u64,
    /// How many messages the repeatedly read stream has
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    pub(crate) messages: u64,
    /// The length of the stream for the measurement of memory, in megabytes
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub(crate) megabytes: u64,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct BenchFilesArgs {
    /// How many changes to wait for
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) changes: u32,
    /// How many tasks the team has
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub(crate) tasks: u32,
    /// Where to make the store and the files [default: the system's folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchPart {
    /// Claiming and completing on SQLite
    Sqlite,
    /// Claiming and completing on files
    Files,
    /// Claiming and completing on PostgreSQL
    Postgres,
    /// How soon another process sees a change
    Seen,
    /// Commands and opening, with a short and with a long log
    Open,
    /// Starting the program, and the memory it takes
    Start,
}

/// Each waits for lines on its standard input, so that the benchmark controls the order.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum BenchChildCommand {
    /// Claims and completes for a while, and reports how long each operation took
    Work {
        #[command(flatten)]
        team: BenchTeam,
        /// The number of its member
        #[arg(long)]
        nth: usize,
        #[arg(long)]
        seconds: u64,
    },
    /// The same through the team's lead
    Ask {
        /// The lead's socket
        socket: PathBuf,
        /// The number of its member
        #[arg(long)]
        nth: usize,
        #[arg(long)]
        seconds: u64,
    },
    /// Changes the board once for every line
    Change {
        #[command(flatten)]
        team: BenchTeam,
    },
    /// Writes the time into a file for every line
    Touch { file: PathBuf },
    /// Sends a notice to a PostgreSQL server for every line
    Notify { url: String },
    /// A teammate that exchanges messages with another, and reports the latency of each
    Mate {
        /// The arguments from its lead
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<String>,
    },
    /// Sends back every line that comes over a socket
    Echo { socket: PathBuf },
    /// Serves MCP and echoes the input of every call
    McpEcho,
    /// Opens a team, reads all of it, and reports the memory that takes
    Hold {
        #[command(flatten)]
        team: BenchTeam,
    },
}

/// A team in a store.
#[derive(Clone, Debug, Args)]
pub(crate) struct BenchTeam {
    #[arg(long)]
    pub(crate) id: Uuid,
    /// The URL of its store
    #[arg(long)]
    pub(crate) at: String,
}
