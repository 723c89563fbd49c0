//! `troop message …`

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum MessageCommand {
    /// Say something to one member
    Send {
        /// A member, `lead`, `user`, or `*` for everybody
        to: String,
        /// What; - for standard input
        content: String,
        /// The same in a few words
        #[arg(long, value_name = "TEXT")]
        summary: Option<String>,
        /// What for: message, shutdown_request, shutdown_response, plan_approval_request, plan_approval_response,
        /// permission_request or permission_response
        #[arg(long, value_name = "KIND", default_value = "message")]
        kind: String,
        /// The request that this answers
        #[arg(long, value_name = "ID")]
        request: Option<String>,
        /// The answer: yes
        #[arg(long, conflicts_with = "deny", requires = "request")]
        approve: bool,
        /// The answer: no
        #[arg(long, requires = "request")]
        deny: bool,
    },
    /// Answer what a member asks: whether it may do something, or whether its plan is good
    Answer {
        /// Who asks
        member: String,
        /// yes or no
        #[arg(value_parser = ["yes", "no"])]
        answer: String,
        /// Why, or what else to say; - for standard input
        content: Option<String>,
        /// Which request, if it made several
        #[arg(long, value_name = "ID")]
        request: Option<String>,
    },
    /// Say something to everybody else
    Broadcast {
        /// What; - for standard input
        content: String,
        /// The same in a few words
        #[arg(long, value_name = "TEXT")]
        summary: Option<String>,
    },
    /// Read what is unread, and mark it read
    Read {
        /// Look without marking anything read
        #[arg(long)]
        peek: bool,
        /// All messages at hand, of everybody, with their receipts; for the lead and people
        #[arg(long)]
        all: bool,
    },
}
