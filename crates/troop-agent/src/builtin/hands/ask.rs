//! Asks whether something may be done: a message to the lead, or of the lead to the person, and the answer to it.

use std::sync::{PoisonError, atomic::Ordering};

use serde_json::{Map, Value};
use troop_model::{Command, Fact, MessageKind, Outgoing, Permissions, Role};
use troop_protocol::{Level, MessageIn};
use uuid::Uuid;

use super::{Hands, ToolAction};
use crate::builtin::{permit::Permit, prompt::of_others, tools::ToolOutcome};

/// How much of an input is shown to who is asked: all of it, but for files as long as books.
const MAX_INPUT: usize = 100_000;

/// What the lead says about a plan.
#[derive(Debug)]
pub(crate) enum PlanVerdict {
    Good,
    /// Why not, for the model.
    Bad(String),
}

impl Hands<'_> {
    /// Waits for leave to do something, for as long as the mode stays the same. What is wrong is for the model. None if the mode
    /// has changed: then the board has forgotten the question, which may not be one any more.
    pub(super) async fn ask(
        &self,
        deed: &ToolAction<'_>,
        input: &Map<String, Value>,
        mode: Permissions,
    ) -> Option<Result<(), String>> {
        let content = self.without_key(&question(deed, input));
        let asked = async {
            let id = self
                .request(self.who_allows(deed), MessageKind::PermissionRequest, content)
                .await?;
            let Some(answer) = self.answer(id, Some(mode)).await? else { return Ok(None) };
            if answer.approve == Some(true) {
                return Ok(Some(()));
            }
            let why = of_others(&answer.content);
            let why = if why.is_empty() { "no reason was given" } else { &why };
            Err(format!("`{}` said no: {why}", answer.from))
        };
        let answered = self.turn.interrupted().run_until_cancelled(asked).await;
        let interrupted = || Err("you were interrupted before anybody allowed this".to_owned());
        answered.unwrap_or_else(interrupted).transpose()
    }

    /// Asks whether a plan is good.
    pub(super) async fn propose(&self, input: &Map<String, Value>) -> ToolOutcome {
        let plan = input.get("plan").and_then(Value::as_str).unwrap_or_default();
        if plan.trim().is_empty() {
            return ToolOutcome::Bad("`plan` is missing: say what you want to do".to_owned());
        }
        match self.judged(plan).await {
            Ok(PlanVerdict::Good) => ToolOutcome::Approved(plan.to_owned()),
            Ok(PlanVerdict::Bad(why)) | Err(why) => ToolOutcome::Bad(why),
        }
    }

    /// Whether what the model says at the end of its work is a plan: who may only read has done nothing yet. A lead without a
    /// board could not be asked about it.
    pub(crate) fn ends_with_plan(&self) -> bool {
        let is_teammate = self.team.as_ref().is_some_and(|team| team.role() == Role::Member);
        let has_good_plan = self.has_good_plan.load(Ordering::Relaxed);
        let is_planning = self.turn.mode() == Permissions::Plan && !has_good_plan;
        self.task.is_some() && is_teammate && is_planning
    }

    /// What is said about a plan; or why nobody said anything.
    pub(crate) async fn judged(&self, plan: &str) -> Result<PlanVerdict, String> {
        let asked = async {
            let (kind, plan) = (MessageKind::PlanApprovalRequest, self.without_key(plan));
            let id = self.request(self.who_leads(), kind, plan).await?;
            let Some(answer) = self.answer(id, None).await? else { return Ok(PlanVerdict::Good) };
            if answer.approve == Some(true) {
                self.has_good_plan.store(true, Ordering::Relaxed);
                return Ok(PlanVerdict::Good);
            }
            let why = of_others(&answer.content);
            Ok(PlanVerdict::Bad(format!("your plan was rejected: {why}; change it and ask again")))
        };
        let answered = self.turn.interrupted().run_until_cancelled(asked).await;
        answered.unwrap_or_else(|| Err("you were interrupted before anybody answered".to_owned()))
    }

    /// Who says whether a plan is good.
    fn who_leads(&self) -> &'static str {
        let is_lead = self.team.as_ref().is_some_and(|team| team.role() == Role::Lead);
        if is_lead { "user" } else { "lead" }
    }

    /// Who can allow something: the lead, if it might do so itself without asking, or else the person.
    fn who_allows(&self, deed: &ToolAction<'_>) -> &'static str {
        let Some(team) = &self.team else { return "lead" };
        let might = |lead| self.rules.check(lead, deed) == Permit::Yes;
        if team.lead_mode().is_some_and(might) { "lead" } else { "user" }
    }

    /// Puts the question on the board, and gives the id by which its answer is known.
    async fn request(&self, to: &str, kind: MessageKind, content: String) -> Result<Uuid, String> {
        let message = Outgoing::new(to, kind, content);
        let wrong = |error: &dyn std::fmt::Display| {
            format!("nobody could be asked whether this may be done: {error}")
        };
        let sent = self.turn.call(Command::Send(message)).await.map_err(|error| wrong(&error))?;
        self.turn.log(Level::Info, &format!("waits for an answer of {to}")).await;
        let id = sent.events.iter().find_map(|event| {
            if let Fact::MessageSent { request_id, .. } = &event.fact { *request_id } else { None }
        });
        id.ok_or_else(|| wrong(&"the board does not say by which id"))
    }

    /// Waits for the answer to a question. Who may answer it is for the board to say. None if it is asked in one mode only,
    /// and that has changed.
    async fn answer(
        &self,
        id: Uuid,
        mode: Option<Permissions>,
    ) -> Result<Option<MessageIn>, String> {
        loop {
            let is_answer =
                |it: &MessageIn| it.kind.answers().is_some() && it.request_id == Some(id);
            let (mut answers, others): (Vec<_>, Vec<_>) =
                self.turn.mail().into_iter().partition(is_answer);
            self.later.lock().unwrap_or_else(PoisonError::into_inner).extend(others);
            if let Some(answer) = answers.pop() {
                return Ok(Some(answer));
            }
            if let Some(why) = self.turn.spent() {
                return Err(format!("nobody has answered so far, and {why}"));
            }
            if mode.is_some_and(|mode| mode != self.turn.mode()) {
                return Ok(None);
            }
            self.turn.news().await;
        }
    }
}

fn question(deed: &ToolAction<'_>, input: &Map<String, Value>) -> String {
    let input = serde_json::to_string(input).unwrap_or_default();
    let n_more = input.chars().count().saturating_sub(MAX_INPUT);
    let mut input = troop_model::preview(&input, MAX_INPUT);
    if n_more > 0 {
        input.push_str(&format!("… ({n_more} more characters, which nobody can see here)"));
    }
    let what = if deed.what.is_empty() { String::new() } else { format!(" `{}`", deed.what) };
    format!("may I use {}{what}?\n{input}", deed.tool)
}
