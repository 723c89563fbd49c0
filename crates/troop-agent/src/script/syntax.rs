//! A script, once it is parsed.

use std::time::Duration;

use serde_json::Value;

use crate::text_pattern::TextPattern;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Script {
    pub(super) handlers: Vec<Handler>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Handler {
    pub(super) when: Trigger,
    pub(super) steps: Vec<ScriptStep>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Trigger {
    Started,
    Task(TextPattern),
    Mail(MailPattern),
    Plan(MailPattern),
    Shutdown,
}

/// A pattern for messages.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MailPattern {
    pub(super) pattern: TextPattern,
    pub(super) from: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ScriptStep {
    /// The line number in the script.
    pub(super) line: usize,
    /// Whether the handler continues if the step fails.
    pub(super) is_tried: bool,
    pub(super) act: Act,
}

/// The action of a step. Texts still contain their `{variables}`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Act {
    Log(String),
    Message { to: String, text: String },
    Broadcast(String),
    Plan { text: String, if_rejected: Option<Vec<ScriptStep>> },
    Approve(String),
    Reject(String),
    WaitForMail(MailPattern),
    WaitUntilDone,
    Write { file: String, content: String },
    Append { file: String, content: String },
    Replace { old: String, new: String, file: String },
    Run(String),
    Share(Share),
    Call { method: String, params: Value, name: Option<String> },
    Delegate { task: String, to: String, name: Option<String> },
    Progress { percent: u8, text: String },
    Sleep(Duration),
    OnAttempt { attempt: u32, steps: Vec<ScriptStep> },
    OnlyOnce(Vec<ScriptStep>),
    End(HandlerEnd),
}

/// The action of a step on the workspace.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Share {
    Write { file: String, content: String },
    Read(String),
    List,
    Delete(String),
}

/// How a step ends its handler.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum HandlerEnd {
    Complete(String),
    Fail(String),
    GiveBack(String),
    RefuseShutdown(String),
}
