//! `troop workspace …`

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// List the files with their author, time and task
    List {
        #[command(flatten)]
        of: WorkspaceOf,
    },
    /// Print a file
    Read {
        /// Path in the workspace
        path: String,
        /// File to write it to [default: standard output]
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        of: WorkspaceOf,
    },
    /// Write a file; a member's file belongs to the task that the member works on
    Write {
        /// Path in the workspace
        path: String,
        /// File to copy from; - reads standard input
        #[arg(value_name = "FILE", default_value = "-")]
        from: PathBuf,
        #[command(flatten)]
        of: WorkspaceOf,
    },
    /// Delete a file
    Delete {
        /// Path in the workspace
        path: String,
        #[command(flatten)]
        of: WorkspaceOf,
    },
}

/// Whose files.
#[derive(Clone, Debug, Args)]
pub(crate) struct WorkspaceOf {
    /// Chat whose files to use, unless all chats share one workspace
    #[arg(long, value_name = "CHAT")]
    pub(crate) chat: Option<String>,
    /// Task that the files are for; implies its chat
    #[arg(long, value_name = "TASK", env = "TROOP_TASK")]
    pub(crate) task: Option<String>,
}
