//! One turn of an agent, and the calls that it can make in it.

mod ask;

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use troop_model::{Command, MessageKind, Outgoing, Permissions, lock};
use troop_protocol::{
    Answer, Call, Calls, Change, ClientError, Failure, FromTeammate, Level, Log, MessageIn,
    MessageOut, Notification, PeerError, Query, TeamContext, UsageReport,
};

use crate::wire::{MemberWire, Workplace};
use ask::Questions;
pub use ask::{
    Authority, NoAnswer, PermissionAnswer, PermissionRequest, PlanDecision, permission_question,
};

/// How much of a log line is sent.
const MAX_LOG: usize = 4_000;

/// One turn of an agent: its connection to the lead.
#[derive(Debug)]
pub struct Turn {
    pub(crate) wire: Arc<MemberWire>,
    interrupted: CancellationToken,
    only_waits: CancellationToken,
    has_heard: AtomicBool,
    setback: Setback,
    questions: Questions,
}

/// The last error that made the agent wait and try again, until it succeeds.
#[derive(Clone, Debug, Default)]
pub struct Setback(Arc<Mutex<Option<String>>>);

impl Setback {
    pub(crate) fn note(&self, error: String) {
        *lock(&self.0) = Some(error);
    }

    pub(crate) fn clear(&self) {
        *lock(&self.0) = None;
    }

    /// The error, unless the agent has succeeded since.
    #[must_use]
    pub fn error(&self) -> Option<String> {
        lock(&self.0).clone()
    }
}

impl Turn {
    pub(crate) fn new(wire: Arc<MemberWire>) -> Self {
        Self {
            wire,
            interrupted: CancellationToken::new(),
            only_waits: CancellationToken::new(),
            has_heard: AtomicBool::new(false),
            setback: Setback::default(),
            questions: Questions::default(),
        }
    }

    #[must_use]
    pub fn place(&self) -> &Workplace {
        &self.wire.place
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.wire.place.path
    }

    /// Logs something for people. Waits while the lead does not read.
    pub async fn log(&self, level: Level, text: &str) {
        let text = troop_model::preview(text, MAX_LOG);
        // If the lead is gone, nobody needs the log, and the turn ends anyway.
        drop(self.wire.say(&FromTeammate::Log(Log { level, text })).await);
    }

    /// Logs something for people, unless the lead reads too slowly. Returns whether it did.
    pub fn try_log(&self, level: Level, text: &str) -> bool {
        let text = troop_model::preview(text, MAX_LOG);
        self.wire.try_say(&FromTeammate::Log(Log { level, text })).is_ok()
    }

    /// Sends a message to a member by name, to `lead`, to `user`, or to `*` for all others.
    pub async fn say(&self, to: &str, content: &str) -> Result<(), PeerError> {
        self.send(MessageOut::new(to, MessageKind::Message, content)).await
    }

    /// Sends a message and waits until it is stored. A lead that does not know board calls never answers.
    pub async fn post(&self, to: &str, content: &str) -> Result<(), ClientError> {
        let outgoing = Outgoing::message(to, content);
        let change = Change { command: Command::Send(outgoing), operation: None };
        // Unlike other calls, this one gives nobody work, so it does not count as a question.
        self.wire.peer.request::<Answer>(&change).await?;
        Ok(())
    }

    /// Sends the lead a plan. The answer arrives as mail of the kind `plan_approval_response`. Works with any lead;
    /// with one that knows board calls, use [`Self::propose`].
    pub async fn ask_approval(&self, plan: &str) -> Result<(), PeerError> {
        self.send(MessageOut::new("lead", MessageKind::PlanApprovalRequest, plan)).await
    }

    /// Sends a message of any kind.
    pub async fn send(&self, message: MessageOut) -> Result<(), PeerError> {
        self.wire.say(&FromTeammate::Message(message)).await
    }

    /// Asks for a change and waits until it is durable. A lead that does not know board calls never answers.
    pub async fn call(&self, command: Command) -> Result<Answer, ClientError> {
        self.ask(&Change { command, operation: None }).await
    }

    /// Reads something from the board. A lead that does not know board calls never answers.
    pub async fn query<T: DeserializeOwned>(&self, query: &Query) -> Result<T, ClientError> {
        self.ask(query).await
    }

    /// Calls any method.
    pub async fn ask<T: DeserializeOwned>(
        &self,
        asked: impl Into<Notification>,
    ) -> Result<T, ClientError> {
        self.wire.note_question();
        Ok(self.wire.peer.request(asked).await?)
    }

    /// Takes the waiting mail. That acknowledges it, so an agent calls this when it can read the mail: between two
    /// steps.
    #[must_use]
    pub fn mail(&self) -> Vec<MessageIn> {
        let mut mail = self.mail_set_aside();
        mail.extend(self.wire.take_mail());
        mail
    }

    /// Takes the mail that came while the agent waited for an answer. It counts as read already, so it must not be lost when
    /// the turn ends.
    #[must_use]
    pub fn mail_set_aside(&self) -> Vec<MessageIn> {
        self.questions.take_aside()
    }

    /// Takes the next message, and waits if there is none.
    pub async fn next_mail(&self) -> MessageIn {
        loop {
            if let Some(message) = self.wire.take_one() {
                return message;
            }
            self.wire.news().await;
        }
    }

    /// Waits for mail or a new context. May return without either, so check again.
    pub async fn news(&self) {
        self.wire.news().await;
    }

    /// Cancelled when the turn must end.
    #[must_use]
    pub fn interrupted(&self) -> &CancellationToken {
        &self.interrupted
    }

    /// Cancelled when the turn only waits: then it loses nothing if it ends early.
    #[must_use]
    pub fn only_waits(&self) -> &CancellationToken {
        &self.only_waits
    }

    /// Notes that the agent acts on what a person said.
    pub fn note_heard(&self) {
        self.has_heard.store(true, Ordering::Relaxed);
    }

    /// Whether the agent has acted on what a person said.
    #[must_use]
    pub fn has_heard(&self) -> bool {
        self.has_heard.load(Ordering::Relaxed)
    }

    /// What makes the agent wait and try again, also after the turn.
    #[must_use]
    pub fn setback(&self) -> &Setback {
        &self.setback
    }

    /// The member's permissions at this moment.
    #[must_use]
    pub fn mode(&self) -> Permissions {
        self.wire.mode()
    }

    /// Reports to the lead what thinking has cost since the last report.
    pub async fn used(&self, report: UsageReport) {
        // If the lead is gone, nobody counts, and the turn ends anyway.
        drop(self.wire.say(&FromTeammate::Usage(report)).await);
    }

    /// Why the team may spend nothing more, if that is so. A thinking agent gives its task back at the next safe
    /// point.
    #[must_use]
    pub fn spent(&self) -> Option<String> {
        self.wire.spent()
    }

    /// TEAM.md: what the agent should know about its team. As the lead sent it before this piece of work; none if it
    /// sends none.
    #[must_use]
    pub fn team_md(&self) -> Option<String> {
        self.wire.team_md()
    }

    /// Whether the lead answers board calls. A lead that knows only the protocol's notifications never would, so nothing is asked
    /// of it.
    #[must_use]
    pub fn has_board(&self) -> bool {
        self.wire.knows_board()
    }

    /// The latest context of the board from the lead.
    #[must_use]
    pub fn context(&self) -> TeamContext {
        self.wire.context()
    }
}

/// The team's tools call the lead over the teammate's wire.
impl Calls for Turn {
    async fn call(&self, call: Call) -> Result<Box<RawValue>, Failure> {
        Ok(self.ask(&call).await?)
    }
}
