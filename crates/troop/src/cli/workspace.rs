//! `troop workspace …`

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// The files, with who wrote them, when and for which task
    List {
        #[command(flatten)]
        of: WorkspaceOf,
    },
    /// What is in a file
    Read {
        /// Its path in the workspace
        path: String,
        /// Where to; the screen if not given
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        of: WorkspaceOf,
    },
    /// Write a file; one that a member writes belongs to the task that it works on
    Write {
        /// Its path in the workspace
        path: String,
        /// What is to be in it: a file; - or nothing for standard input
        #[arg(value_name = "FILE", default_value = "-")]
        from: PathBuf,
        #[command(flatten)]
        of: WorkspaceOf,
    },
    /// Delete a file
    Delete {
        /// Its path in the workspace
        path: String,
        #[command(flatten)]
        of: WorkspaceOf,
    },
}

/// Whose files.
#[derive(Clone, Debug, Args)]
pub(crate) struct WorkspaceOf {
    /// Of which chat; not where all chats share one workspace
    #[arg(long, value_name = "CHAT")]
    pub(crate) chat: Option<String>,
    /// For which task, and of the chat that it came from
    #[arg(long, value_name = "TASK", env = "TROOP_TASK")]
    pub(crate) task: Option<String>,
}
