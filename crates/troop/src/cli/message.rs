//! `troop message …`

use clap::{Subcommand, ValueEnum};
use troop_model::{MessageKind, NeedAnswer};
use uuid::Uuid;

use super::values::{WordParser, request};

#[derive(Debug, Subcommand)]
pub(crate) enum MessageCommand {
    /// Send a message to one member
    Send {
        /// Recipient: a member, `lead`, `user`, or `*` for everybody
        to: String,
        /// Text; - reads it from standard input
        content: String,
        /// The same in a few words
        #[arg(long, value_name = "TEXT")]
        summary: Option<String>,
        /// Kind of message
        #[arg(long, value_name = "KIND", default_value = "message", value_parser = WordParser::kinds())]
        kind: MessageKind,
        /// Id of the request that this answers
        #[arg(long, value_name = "ID", value_parser = request)]
        request: Option<Uuid>,
        /// Answer yes
        #[arg(long, conflicts_with = "deny", requires = "request")]
        approve: bool,
        /// Answer no
        #[arg(long, requires = "request")]
        deny: bool,
    },
    /// Answer a member that asks for permission or for approval of its plan
    Answer {
        /// Member that asks
        member: String,
        /// Your answer
        #[arg(value_enum)]
        answer: AnswerArg,
        /// Reason, or anything else to add; - reads it from standard input
        content: Option<String>,
        /// Id of the request, if the member made several
        #[arg(long, value_name = "ID")]
        request: Option<String>,
    },
    /// Send a message to everybody else
    Broadcast {
        /// Text; - reads it from standard input
        content: String,
        /// The same in a few words
        #[arg(long, value_name = "TEXT")]
        summary: Option<String>,
    },
    /// Show unread messages and mark them read
    Read {
        /// Do not mark them read
        #[arg(long)]
        peek: bool,
        /// Show everybody's recent messages, with receipts; for people and the lead
        #[arg(long)]
        all: bool,
    },
}

/// The answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnswerArg {
    Yes,
    No,
}

impl AnswerArg {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
        }
    }
}

impl From<AnswerArg> for NeedAnswer {
    fn from(answer: AnswerArg) -> Self {
        match answer {
            AnswerArg::Yes => Self::Approve,
            AnswerArg::No => Self::Reject,
        }
    }
}
