//! What an agent may do in a turn.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use troop_model::{Command, MessageKind, Outgoing, Permissions};
use troop_protocol::{
    Answer, Call, Calls, Change, ClientError, Failure, FromTeammate, Level, Log, MessageIn,
    MessageOut, Notification, PeerError, Query, TeamContext, UsageReport,
};

use crate::wire::{MemberWire, Workplace};

/// How much of a line of the log is sent.
const MAX_LOG: usize = 4_000;

/// One turn of an agent: how it speaks to its lead, and hears of it.
#[derive(Debug)]
pub struct Turn {
    pub(crate) wire: Arc<MemberWire>,
    interrupted: CancellationToken,
    only_waits: CancellationToken,
    has_heard: AtomicBool,
}

impl Turn {
    pub(crate) fn new(wire: Arc<MemberWire>) -> Self {
        let (interrupted, only_waits) = (CancellationToken::new(), CancellationToken::new());
        Self { wire, interrupted, only_waits, has_heard: AtomicBool::new(false) }
    }

    /// Who the member is, and where it works.
    #[must_use]
    pub fn place(&self) -> &Workplace {
        &self.wire.place
    }

    /// The working folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.wire.place.path
    }

    /// Tells people something. Waits while the lead does not read.
    pub async fn log(&self, level: Level, text: &str) {
        let text = troop_model::preview(text, MAX_LOG);
        // A lead that has gone needs no log, and ends this turn.
        drop(self.wire.say(&FromTeammate::Log(Log { level, text })).await);
    }

    /// Tells people something, unless the lead does not read fast enough; and whether it did.
    pub fn try_log(&self, level: Level, text: &str) -> bool {
        let text = troop_model::preview(text, MAX_LOG);
        self.wire.try_say(&FromTeammate::Log(Log { level, text })).is_ok()
    }

    /// Says something to a member: by name, `lead`, `user`, or `*` for all others.
    pub async fn say(&self, to: &str, content: &str) -> Result<(), PeerError> {
        self.send(plain(to, MessageKind::Message, content)).await
    }

    /// Says something to a member and waits until it is stored. A lead that does not know board calls never answers.
    pub async fn post(&self, to: &str, content: &str) -> Result<(), ClientError> {
        let outgoing = Outgoing::message(to, content);
        let change = Change { command: Command::Send(outgoing), operation: None };
        // Unlike other calls, this one gives nobody work, so it is not noted.
        self.wire.peer.request::<Answer>(&change).await?;
        Ok(())
    }

    /// Asks the lead whether a plan is good. The answer is mail of the kind `plan_approval_response`.
    pub async fn ask_approval(&self, plan: &str) -> Result<(), PeerError> {
        self.send(plain("lead", MessageKind::PlanApprovalRequest, plan)).await
    }

    /// Sends a message of any kind.
    pub async fn send(&self, message: MessageOut) -> Result<(), PeerError> {
        self.wire.say(&FromTeammate::Message(message)).await
    }

    /// Asks for a change and waits until it is durable. A lead that does not know board calls never answers.
    pub async fn call(&self, command: Command) -> Result<Answer, ClientError> {
        self.ask(&Change { command, operation: None }).await
    }

    /// Looks at something on the board. A lead that does not know board calls never answers.
    pub async fn query<T: DeserializeOwned>(&self, query: &Query) -> Result<T, ClientError> {
        self.ask(query).await
    }

    /// Asks anything, by the name of the method.
    pub async fn ask<T: DeserializeOwned>(
        &self,
        asked: impl Into<Notification>,
    ) -> Result<T, ClientError> {
        self.wire.asks();
        Ok(self.wire.peer.request(asked).await?)
    }

    /// Takes the mail that waits. That acknowledges it, so an agent asks when it can read it: between two steps.
    #[must_use]
    pub fn mail(&self) -> Vec<MessageIn> {
        self.wire.take_mail()
    }

    /// Takes the next message as soon as there is one.
    pub async fn next_mail(&self) -> MessageIn {
        loop {
            if let Some(message) = self.wire.take_one() {
                return message;
            }
            self.wire.news().await;
        }
    }

    /// Waits until there is mail or a new context. May return without either, so look again.
    pub async fn news(&self) {
        self.wire.news().await;
    }

    /// Set when the turn is to end.
    #[must_use]
    pub fn interrupted(&self) -> &CancellationToken {
        &self.interrupted
    }

    /// Set when all that is left of the turn is to wait: then nothing is left undone if it ends early.
    #[must_use]
    pub fn only_waits(&self) -> &CancellationToken {
        &self.only_waits
    }

    /// Notes that something is done about what a person said.
    pub fn note_heard(&self) {
        self.has_heard.store(true, Ordering::Relaxed);
    }

    /// Whether something was done about what a person said.
    #[must_use]
    pub fn has_heard(&self) -> bool {
        self.has_heard.load(Ordering::Relaxed)
    }

    /// What the member may do without asking, now.
    #[must_use]
    pub fn mode(&self) -> Permissions {
        self.wire.mode()
    }

    /// Tells the lead what thinking has cost since it was told last.
    pub async fn used(&self, report: UsageReport) {
        // A lead that has gone counts nothing, and ends this turn.
        drop(self.wire.say(&FromTeammate::Usage(report)).await);
    }

    /// Why nothing more may be spent, if that is so. Who thinks gives its task back at the next safe point.
    #[must_use]
    pub fn spent(&self) -> Option<String> {
        self.wire.spent()
    }

    /// TEAM.md: what the agent is to know about its team, marked as context. As the lead told it before this piece of work; none
    /// if it tells nothing of the kind.
    #[must_use]
    pub fn team_md(&self) -> Option<String> {
        self.wire.team_md()
    }

    /// What the lead told last about the board.
    #[must_use]
    pub fn context(&self) -> TeamContext {
        self.wire.context()
    }
}

/// An agent's team tools speak to the lead over the teammate's wire.
impl Calls for Turn {
    async fn call(&self, call: Call) -> Result<Box<RawValue>, Failure> {
        Ok(self.ask(&call).await?)
    }
}

fn plain(to: &str, kind: MessageKind, content: &str) -> MessageOut {
    MessageOut {
        to: to.to_owned(),
        content: content.to_owned(),
        kind,
        summary: None,
        request_id: None,
        approve: None,
    }
}
