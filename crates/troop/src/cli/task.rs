//! `troop task …`

use clap::{Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Put a task on the board
    Create {
        /// What it is about, in one line
        subject: String,
        #[command(flatten)]
        fields: TaskFields,
        /// Its id, if it has one already
        #[arg(long, value_name = "UUID")]
        id: Option<uuid::Uuid>,
        /// Somebody must approve that it starts
        #[arg(long)]
        approve_start: bool,
    },
    /// The board: active|in_review|completed|all, or any status; 30 a page
    List {
        /// Which tasks
        #[arg(long, value_name = "STATUS", default_value = "active")]
        status: String,
        /// Which page
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        page: u32,
        #[command(flatten)]
        scope: ScopeArgs,
    },
    /// Everything about a task
    Get {
        /// A number, task-7, or the beginning of an id
        task: String,
    },
    /// What to do next
    Next,
    /// Take a task, or the next available one
    Claim {
        /// Which; the next available one if not given
        task: Option<String>,
        /// Wait until there is one, at most this many seconds
        #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "3600", conflicts_with = "task")]
        wait: Option<u64>,
    },
    /// A task is done
    Complete {
        /// Which
        task: String,
        /// What came of it; - for standard input
        #[arg(long, short, value_name = "TEXT")]
        result: String,
        /// The same in a few words
        #[arg(long, value_name = "TEXT")]
        summary: Option<String>,
        /// Which attempt you hold; refused if the task has moved on
        #[arg(long, value_name = "N")]
        attempt: Option<u32>,
        /// Do not run its checks, and say why
        #[arg(long, value_name = "REASON")]
        without_checks: Option<String>,
    },
    /// Give a task back to the board, not done
    Release {
        /// Which
        task: String,
        /// Why; - for standard input
        #[arg(long, value_name = "TEXT", default_value = "given back")]
        reason: String,
    },
    /// A task could not be done
    Fail {
        /// Which
        task: String,
        /// Why; - for standard input
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Which attempt you hold; refused if the task has moved on
        #[arg(long, value_name = "N")]
        attempt: Option<u32>,
    },
    /// A task will not be done
    Cancel {
        /// Which
        task: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Give a task to a member, who starts it
    Assign {
        /// Which
        task: String,
        /// To whom
        member: String,
    },
    /// Let a member run on a task for the lead; what comes of it is announced to the lead
    Delegate {
        /// Which; needed unless the team's setting delegation.require_task is off
        task: Option<String>,
        /// To whom; who does not run is started, if somebody leads the team
        #[arg(long, value_name = "MEMBER")]
        to: String,
        /// What to do, where a delegation may make its own task
        #[arg(long, value_name = "TEXT", conflicts_with = "task")]
        subject: Option<String>,
        /// Wait until it has ended, at most this many seconds; fails unless it is completed
        #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "3600")]
        wait: Option<u64>,
    },
    /// Hand in a task for approval
    Review {
        /// Which
        task: String,
        /// The result so far; - for standard input
        #[arg(long, short, value_name = "TEXT")]
        result: Option<String>,
    },
    /// The result is good, or the task may start
    Approve {
        /// Which
        task: String,
        /// What to say about it
        #[arg(long, value_name = "TEXT")]
        comment: Option<String>,
        /// Do not run its checks, and say why
        #[arg(long, value_name = "REASON")]
        without_checks: Option<String>,
    },
    /// The result is not good
    Reject {
        /// Which
        task: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Whether the task is over or goes back to its holder
        #[arg(long, value_enum, default_value_t = RejectModeArg::Cancel)]
        mode: RejectModeArg,
    },
    /// Try a failed or stale task again
    Retry {
        /// Which
        task: String,
    },
    /// Say something about a task
    Comment {
        /// Which
        task: String,
        /// What; - for standard input
        text: String,
    },
    /// Say how far a task is
    Progress {
        /// Which
        task: String,
        /// 0 to 100
        #[arg(allow_negative_numbers = true)]
        percent: i64,
        /// What is being done
        #[arg(default_value = "")]
        step: String,
    },
    /// Find tasks by the words of their subject and description
    Search {
        /// The words
        #[arg(required = true)]
        words: Vec<String>,
        /// Which page
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
        page: u32,
        #[command(flatten)]
        scope: ScopeArgs,
    },
    /// Change what is known about a task
    Update {
        /// Which
        task: String,
        /// What it is about
        #[arg(long, value_name = "TEXT")]
        subject: Option<String>,
        #[command(flatten)]
        fields: TaskFields,
        /// Reserve it for nobody
        #[arg(long, conflicts_with = "assignee")]
        unassign: bool,
        /// Wait for these too, besides what it waits for already
        #[arg(long, value_name = "TASK", value_delimiter = ',')]
        add_blocked_by: Vec<String>,
        /// Wait for nothing any more
        #[arg(long, conflicts_with = "blocked_by")]
        unblock: bool,
    },
    /// A workspace file belongs to a task
    Attach {
        /// Which
        task: String,
        /// The file's path in the workspace
        path: String,
    },
    /// Ask the user something, again and again until it is cleared
    AskUser {
        /// Which
        task: String,
        /// What
        question: String,
    },
    /// Stop asking
    ClearAskUser {
        /// Which
        task: String,
    },
    /// Take an ended task off the board
    Delete {
        /// Which
        task: String,
    },
    /// What waits for what
    Graph {
        /// For Graphviz
        #[arg(long)]
        dot: bool,
        /// Finished tasks too
        #[arg(long)]
        all: bool,
    },
}

/// What a task can be given when it is created and later.
#[derive(Debug, clap::Args)]
pub(crate) struct TaskFields {
    /// What is to be done; - for standard input
    #[arg(long, short, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Higher goes first
    #[arg(long, short, value_name = "N", allow_negative_numbers = true)]
    pub(crate) priority: Option<i32>,
    /// A label
    #[arg(long = "type", value_name = "LABEL")]
    pub(crate) task_type: Option<String>,
    /// Reserve it for a member
    #[arg(long, short, value_name = "MEMBER")]
    pub(crate) assignee: Option<String>,
    /// Wait for these tasks
    #[arg(long, short, value_name = "TASK", value_delimiter = ',')]
    pub(crate) blocked_by: Vec<String>,
    /// How those must end
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) until: Option<UntilArg>,
    /// A command that must pass before it is done; once for each
    #[arg(long = "check", value_name = "COMMAND")]
    pub(crate) checks: Vec<String>,
    /// Free data: a JSON object
    #[arg(long, value_name = "JSON")]
    pub(crate) metadata: Option<String>,
}

/// Whose tasks to show.
#[derive(Debug, clap::Args)]
pub(crate) struct ScopeArgs {
    /// Only what this user set off
    #[arg(long, value_name = "USER")]
    pub(crate) user: Option<String>,
    /// Seen from this channel; needs --user
    #[arg(long, value_name = "CHANNEL", requires = "user")]
    pub(crate) channel: Option<String>,
    /// Only from this chat; needs --user
    #[arg(long, value_name = "CHAT", requires = "user")]
    pub(crate) chat: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum UntilArg {
    /// Until they are completed
    OnSuccess,
    /// Until they are completed or cancelled
    OnFinish,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RejectModeArg {
    /// The task is over
    Cancel,
    /// The task goes back to its holder, with the reason
    Revise,
}
