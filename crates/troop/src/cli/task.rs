//! `troop task …`

use clap::{Subcommand, ValueEnum};
use troop_model::{MemberName, Metadata, TaskFilter, TaskRef};

use super::values::{WordParser, member, metadata};

#[derive(Debug, Subcommand)]
pub(crate) enum TaskSubcommand {
    /// Create a task
    Create {
        /// What it is about, in one line
        subject: String,
        #[command(flatten)]
        fields: TaskFields,
        /// Use this id instead of a new one
        #[arg(long, value_name = "UUID")]
        id: Option<uuid::Uuid>,
        /// Require approval before it starts
        #[arg(long)]
        approve_start: bool,
    },
    /// List tasks, 30 per page
    List {
        /// Tasks to list; completed includes cancelled
        #[arg(long, value_name = "STATUS", default_value = "active", value_parser = WordParser::filters())]
        status: TaskFilter,
        /// Page to show
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        page: u32,
        #[command(flatten)]
        scope: ScopeArgs,
    },
    /// Show everything about a task
    Get {
        /// The task: a number, task-7, or the beginning of its id
        task: TaskRef,
        /// Show a long result to its end
        #[arg(long)]
        full: bool,
    },
    /// Show which task to do next
    Next,
    /// Claim a task, or the next available one
    Claim {
        /// The task: a number, task-7, or the beginning of its id [default: the next available one]
        task: Option<TaskRef>,
        /// Wait for an available task, at most this many seconds
        #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "3600", conflicts_with = "task")]
        wait: Option<u64>,
    },
    /// Mark a task as done
    Complete {
        /// The task: a number, task-7, or the beginning of its id
        task: TaskRef,
        /// Result; - reads it from standard input
        #[arg(long, short, value_name = "TEXT")]
        result: String,
        /// The same in a few words
        #[arg(long, value_name = "TEXT")]
        summary: Option<String>,
        /// The attempt that you hold; refused if the task is in another by now
        #[arg(long, value_name = "N")]
        attempt: Option<u32>,
        /// Skip its checks, for this reason
        #[arg(long, value_name = "REASON")]
        without_checks: Option<String>,
    },
    /// Give a task back to the board, unfinished
    Release {
        /// The task: a number, task-7, or the beginning of its id
        task: TaskRef,
        /// Reason; - reads it from standard input
        #[arg(long, value_name = "TEXT", default_value = "given back")]
        reason: String,
    },
    /// Mark a task as failed
    Fail {
        /// The task: a number, task-7, or the beginning of its id
        task: TaskRef,
        /// Reason; - reads it from standard input
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// The attempt that you hold; refused if the task is in another by now
        #[arg(long, value_name = "N")]
        attempt: Option<u32>,
    },
    /// Cancel a task
    Cancel {
        /// The task: a number, task-7, or the beginning of its id
        task: TaskRef,
        /// Reason
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Assign a task to a member, who starts on it
    Assign {
        /// The task: a number, task-7, or the beginning of its id
        task: TaskRef,
        /// Member to assign it to
        #[arg(value_parser = member)]
        member: MemberName,
    },
    /// Have a member do a task for the lead, which hears the result
    Delegate {
        /// The task; required unless the team setting delegation.require_task is off
        task: Option<TaskRef>,
        /// Member to delegate to; started if it does not run and the team has a lead that runs
        #[arg(long, value_name = "MEMBER", value_parser = member)]
        to: MemberName,
        /// What to do, if the delegation makes its own task
        #[arg(long, value_name = "TEXT", conflicts_with = "task")]
        subject: Option<String>,
        /// What the member should know besides the task's description
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
        /// Wait for it to end, at most this many seconds; fails unless it is completed
        #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "3600")]
        wait: Option<u64>,
    },
    /// Submit a task for review
    Review {
        /// The task: a number, task-7, or the beginning of its id
        task: TaskRef,
        /// Result so far; - reads it from standard input
        #[arg(long, short, value_name = "TEXT")]
        result: Option<String>,
    },
    /// Approve a result, or let a task start
    Approve {
        /// The task: a number, task-7, or the beginning of its id
        task: TaskRef,
        /// Comment on it
        #[arg(long, value_name = "TEXT")]
        comment: Option<String>,
        /// Skip its checks, for this reason
        #[arg(long, value_name = "REASON")]
        without_checks: Option<String>,
    },
    /// Reject a result
    Reject {
        /// The task: a number, task-7, or the beginning of its id
        task: TaskRef,
        /// Reason
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// What becomes of the task
        #[arg(long, value_enum, default_value_t = RejectModeArg::Cancel)]
        mode: RejectModeArg,
    },
    /// Retry a failed or stale task
    Retry {
        /// The task: a number, task-7, or the beginning of its id
        task: TaskRef,
    },
    /// Comment on a task
    Comment {
        /// The task: a number, task-7, or the beginning of its id
        task: TaskRef,
        /// Comment; - reads it from standard input
        text: String,
    },
    /// Report progress on a task
    Progress {
        /// The task: a number, task-7, or the beginning of its id
        task: TaskRef,
        /// Percentage, 0 to 100
        #[arg(allow_negative_numbers = true)]
        percent: i64,
        /// Current step
        #[arg(default_value = "")]
        step: String,
    },
    /// Find tasks by words in their subject and description
    Search {
        /// Words to look for
        #[arg(required = true)]
        words: Vec<String>,
        /// Page to show
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        page: u32,
        #[command(flatten)]
        scope: ScopeArgs,
    },
    /// Change a task
    Update {
        /// The task: a number, task-7, or the beginning of its id
        task: TaskRef,
        /// New subject
        #[arg(long, value_name = "TEXT")]
        subject: Option<String>,
        #[command(flatten)]
        fields: TaskFields,
        /// Reserve it for nobody
        #[arg(long, conflicts_with = "assignee")]
        unassign: bool,
        /// Make it wait for these tasks too; repeat for more
        #[arg(long, value_name = "TASK", value_delimiter = ',')]
        add_blocked_by: Vec<TaskRef>,
        /// Make it wait for nothing
        #[arg(long, conflicts_with = "blocked_by")]
        unblock: bool,
    },
    /// Attach a workspace file to a task
    Attach {
        /// The task: a number, task-7, or the beginning of its id
        task: TaskRef,
        /// Path of the file in the workspace
        path: String,
    },
    /// Ask the user a question, with reminders until it is cleared
    AskUser {
        /// The task: a number, task-7, or the beginning of its id
        task: TaskRef,
        /// Question
        question: String,
    },
    /// Withdraw a question to the user
    ClearAskUser {
        /// The task: a number, task-7, or the beginning of its id
        task: TaskRef,
    },
    /// Delete a task that has ended
    Delete {
        /// The task: a number, task-7, or the beginning of its id
        task: TaskRef,
    },
    /// Show which tasks wait for which
    Graph {
        /// In Graphviz's format
        #[arg(long)]
        dot: bool,
        /// Include finished tasks
        #[arg(long)]
        all: bool,
    },
}

/// The fields of a task that can be set when it is created and later.
#[derive(Debug, clap::Args)]
pub(crate) struct TaskFields {
    /// What to do; - reads it from standard input
    #[arg(long, short, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Priority; higher goes first
    #[arg(long, short, value_name = "N", allow_negative_numbers = true)]
    pub(crate) priority: Option<i32>,
    /// Label of your choice
    #[arg(long = "type", value_name = "LABEL")]
    pub(crate) task_type: Option<String>,
    /// Reserve it for a member
    #[arg(long, short, value_name = "MEMBER", value_parser = member)]
    pub(crate) assignee: Option<MemberName>,
    /// Make it wait for these tasks; repeat for more
    #[arg(long, short, value_name = "TASK", value_delimiter = ',')]
    pub(crate) blocked_by: Vec<TaskRef>,
    /// How those tasks must end
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) until: Option<UntilArg>,
    /// Command that must pass before it is done; repeat for more
    #[arg(long = "check", value_name = "COMMAND")]
    pub(crate) checks: Vec<String>,
    /// Data of your own, as a JSON object
    #[arg(long, value_name = "JSON", value_parser = metadata)]
    pub(crate) metadata: Option<Metadata>,
}

/// Whose tasks to show.
#[derive(Debug, clap::Args)]
pub(crate) struct ScopeArgs {
    /// Only tasks that this user caused
    #[arg(long, value_name = "USER")]
    pub(crate) user: Option<String>,
    /// As seen from this channel; needs --user
    #[arg(long, value_name = "CHANNEL", requires = "user")]
    pub(crate) channel: Option<String>,
    /// Only from this chat; needs --user
    #[arg(long, value_name = "CHAT", requires = "user")]
    pub(crate) chat: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum UntilArg {
    /// They must be completed
    #[value(alias = "on_success")]
    OnSuccess,
    /// They must be completed or cancelled
    #[value(alias = "on_finish")]
    OnFinish,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RejectModeArg {
    /// The task is cancelled
    Cancel,
    /// The task goes back to its holder, with the reason
    Revise,
}
