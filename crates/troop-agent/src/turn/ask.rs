//! Asking before acting. The rules are checked first; what they leave open goes to the lead or to the user as a message.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
};

use serde_json::{Map, Value};
use thiserror::Error;
use tokio::sync::Semaphore;
use troop_model::{Command, Fact, MessageKind, Outgoing, Permissions, lock};
use troop_protocol::{Level, MessageIn};
use uuid::Uuid;

use super::Turn;
use crate::permit::{Permit, Rules, ToolAction};

/// How much of a tool's input a question shows. Only whole files are longer.
const MAX_INPUT: usize = 100_000;

/// Why a question is not even asked.
const MUTE_LEAD: &str = "the lead of this team takes no questions; allow the tool in `permissions.allow` of config.json";

/// A tool call that may need permission.
#[derive(Clone, Copy)]
pub struct PermissionRequest<'a> {
    pub rules: &'a Rules,
    pub action: &'a ToolAction<'a>,
    /// Writes the question that the lead or the user reads. Called only if somebody is asked.
    pub question: &'a (dyn Fn() -> String + Sync),
    pub authority: Authority,
}

/// The authority that decides for a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// The agent does not know its team: its lead decides.
    Unknown,
    /// A lead with these permissions. It can allow what it may do itself without asking; the user decides the rest.
    Lead(Permissions),
    /// The member is the lead.
    User,
}

/// The answer to a [`PermissionRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionAnswer {
    Allowed,
    /// A rule or the member's mode forbids it, so nobody was asked.
    Forbidden {
        why: String,
    },
    /// The lead or the user said no. The reason may be empty.
    Denied {
        by: String,
        reason: String,
    },
}

/// The answer to a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanDecision {
    Approved,
    Rejected { reason: String },
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoAnswer {
    #[error("you were interrupted before anybody answered")]
    Interrupted,
    /// The team may spend no more, so the member does not wait any longer.
    #[error("nobody has answered so far, and {why}")]
    Spent { why: String },
    #[error("the question could not be asked: {why}")]
    NotAsked { why: String },
}

/// The questions of a turn.
#[derive(Debug)]
pub(super) struct Questions {
    /// Held by the question that waits for an answer.
    one_at_a_time: Semaphore,
    /// Mail that came while a question waited.
    aside: Mutex<Vec<MessageIn>>,
    /// Whether a plan was approved in this turn. The new mode may arrive later.
    has_approved_plan: AtomicBool,
}

impl Default for Questions {
    fn default() -> Self {
        let aside = Mutex::default();
        Self { one_at_a_time: Semaphore::new(1), aside, has_approved_plan: AtomicBool::new(false) }
    }
}

impl Questions {
    fn set_aside(&self, mail: Vec<MessageIn>) {
        lock(&self.aside).extend(mail);
    }

    pub(super) fn take_aside(&self) -> Vec<MessageIn> {
        std::mem::take(&mut *lock(&self.aside))
    }
}

impl Turn {
    /// Checks the rules, and asks the lead or the user where they do not decide. Waits for the answer for as long as the
    /// member's mode stays the same: with a new mode the board forgets the question, so the rules are checked again.
    pub async fn ask_permission(
        &self,
        request: &PermissionRequest<'_>,
    ) -> Result<PermissionAnswer, NoAnswer> {
        loop {
            let mode = self.mode();
            match request.rules.check(mode, request.action) {
                Permit::Yes => return Ok(PermissionAnswer::Allowed),
                Permit::No(why) => return Ok(PermissionAnswer::Forbidden { why }),
                Permit::Ask => {
                    // One question at a time, whatever runs at once: people answer what they read last. Never closed.
                    let _question = self.questions.one_at_a_time.acquire().await;
                    if mode != self.mode() {
                        continue;
                    }
                    if let Some(answer) = self.ask_in_mode(request, mode).await? {
                        return Ok(answer);
                    }
                }
            }
        }
    }

    /// None if the mode changed before there was an answer.
    async fn ask_in_mode(
        &self,
        request: &PermissionRequest<'_>,
        mode: Permissions,
    ) -> Result<Option<PermissionAnswer>, NoAnswer> {
        let kind = MessageKind::PermissionRequest;
        let asked = async {
            let id = self.put_question(request.approver(), kind, (request.question)()).await?;
            self.wait_for_answer(id, Some(mode)).await
        };
        let answer = self.unless_interrupted(asked).await?;
        Ok(answer.map(|answer| match answer.approve {
            Some(true) => PermissionAnswer::Allowed,
            Some(false) | None => {
                PermissionAnswer::Denied { by: answer.from, reason: answer.content }
            }
        }))
    }

    /// Proposes a plan to the lead, or to the user if the member leads, and waits for the answer.
    pub async fn propose(
        &self,
        plan: &str,
        authority: Authority,
    ) -> Result<PlanDecision, NoAnswer> {
        let to = match authority {
            Authority::User => "user",
            Authority::Lead(_) | Authority::Unknown => "lead",
        };
        let asked = async {
            let kind = MessageKind::PlanApprovalRequest;
            let id = self.put_question(to, kind, plan.to_owned()).await?;
            self.wait_for_answer(id, None).await
        };
        match self.unless_interrupted(asked).await? {
            Some(answer) if answer.approve != Some(true) => {
                Ok(PlanDecision::Rejected { reason: answer.content })
            }
            Some(_) | None => {
                self.questions.has_approved_plan.store(true, Ordering::Relaxed);
                Ok(PlanDecision::Approved)
            }
        }
    }

    /// Whether a plan of this turn was approved.
    #[must_use]
    pub fn has_approved_plan(&self) -> bool {
        self.questions.has_approved_plan.load(Ordering::Relaxed)
    }

    async fn unless_interrupted<T>(
        &self,
        asked: impl Future<Output = Result<T, NoAnswer>>,
    ) -> Result<T, NoAnswer> {
        let answered = self.interrupted.run_until_cancelled(asked).await;
        answered.unwrap_or(Err(NoAnswer::Interrupted))
    }

    /// Puts a question on the board; gives the id that its answer will carry.
    async fn put_question(
        &self,
        to: &str,
        kind: MessageKind,
        content: String,
    ) -> Result<Uuid, NoAnswer> {
        let message = Outgoing::new(to, kind, content);
        let not_asked =
            |error: &dyn std::fmt::Display| NoAnswer::NotAsked { why: error.to_string() };
        if !self.has_board() {
            self.log(Level::Warn, &format!("cannot ask {to}, so the answer is no: {MUTE_LEAD}"))
                .await;
            return Err(not_asked(&MUTE_LEAD));
        }
        let sent = self.call(Command::Send(message)).await.map_err(|error| not_asked(&error))?;
        self.log(Level::Info, &format!("waits for an answer from {to}")).await;
        let id = sent.events.iter().find_map(|event| {
            if let Fact::MessageSent { request_id, .. } = &event.fact { *request_id } else { None }
        });
        id.ok_or_else(|| not_asked(&"the board gave the question no id"))
    }

    /// Waits for the answer to a question; the board decides who may answer. Other mail is set aside. None if the question
    /// holds in one mode only, and the mode has changed.
    async fn wait_for_answer(
        &self,
        id: Uuid,
        mode: Option<Permissions>,
    ) -> Result<Option<MessageIn>, NoAnswer> {
        let is_answer = |it: &MessageIn| it.kind.answers().is_some() && it.request_id == Some(id);
        loop {
            let (mut answers, others): (Vec<_>, Vec<_>) =
                self.wire.take_mail().into_iter().partition(is_answer);
            self.questions.set_aside(others);
            if let Some(answer) = answers.pop() {
                return Ok(Some(answer));
            }
            if let Some(why) = self.spent() {
                return Err(NoAnswer::Spent { why });
            }
            if mode.is_some_and(|mode| mode != self.mode()) {
                return Ok(None);
            }
            self.news().await;
        }
    }
}

impl PermissionRequest<'_> {
    /// The lead, if it may do this itself without asking; else the user.
    fn approver(&self) -> &'static str {
        match self.authority {
            Authority::Unknown => "lead",
            Authority::Lead(mode) if self.rules.check(mode, self.action) == Permit::Yes => "lead",
            Authority::Lead(_) | Authority::User => "user",
        }
    }
}

/// The usual question about a tool call: the tool, what it is used on, and its whole input.
#[must_use]
pub fn permission_question(action: &ToolAction<'_>, input: &Map<String, Value>) -> String {
    let input = serde_json::to_string(input).unwrap_or_default();
    let n_more = input.chars().count().saturating_sub(MAX_INPUT);
    let mut input = troop_model::preview(&input, MAX_INPUT);
    if n_more > 0 {
        input.push_str(&format!("… ({n_more} more characters are not shown)"));
    }
    let what = if action.what.is_empty() { String::new() } else { format!(" `{}`", action.what) };
    format!("may I use {}{what}?\n{input}", action.tool)
}

impl std::fmt::Debug for PermissionRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PermissionRequest").field("action", self.action).finish_non_exhaustive()
    }
}
