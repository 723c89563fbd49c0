//! Performs the steps of a script.

use std::{path::PathBuf, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;
use troop_model::{EVERYBODY, MessageKind, Party, Permissions, SYSTEM, Status, Time, Version};
use troop_protocol::{ClientError, Level, MessageIn, MessageOut, Notification, Query, WireTask};

use super::{
    ScriptMemory,
    syntax::{Act, HandlerEnd, MailPattern, Script, ScriptStep, Trigger},
};
use crate::{
    Turn, TurnOutcome,
    agent::BoxFuture,
    command::{CommandEnd, CommandLine, CommandRun, run},
    files::WorkFolder,
};

/// How long a lead may take to answer. One that does not know board calls never does.
const ANSWER: Duration = Duration::from_secs(30);
/// How long a lead may take to send its first context.
const FIRST_WORD: Duration = Duration::from_secs(1);
/// How often the board is checked while the script waits for the end of all tasks and hears nothing.
const LOOK: Duration = Duration::from_secs(10);
const MAX_ASIDE: usize = 1_000;

/// Why no more steps run.
#[derive(Debug)]
pub(super) enum ScriptStop {
    /// The handler ends with this outcome.
    End(TurnOutcome),
    /// A step failed.
    Failed(String),
    /// The step on this line failed.
    FailedAt { line: usize, reason: String },
}

/// A page of the board, as far as a script reads it.
#[derive(Deserialize)]
struct BoardPage {
    #[serde(default)]
    tasks: Vec<PagedTask>,
    version: Option<Version>,
    pages: Option<u32>,
}

#[derive(Deserialize)]
struct PagedTask {
    status: Status,
    not_before: Option<Time>,
}

/// One turn of a script.
pub(super) struct Performance<'a> {
    script: &'a Script,
    pub(super) memory: &'a mut ScriptMemory,
    pub(super) turn: &'a Turn,
    pub(super) task: Option<WireTask>,
    /// The message that is being handled.
    mail: Option<MessageIn>,
    n_rejected: u32,
    /// How many handlers and steps enclose the present one.
    depth: u32,
}

/// How many rejections of a plan fail a task, so that it does not ask for ever.
const MAX_REJECTED: u32 = 5;

impl<'a> Performance<'a> {
    pub(super) fn new(script: &'a Script, memory: &'a mut ScriptMemory, turn: &'a Turn) -> Self {
        let place = turn.place();
        memory.variables.set("name", place.name.as_str());
        memory.variables.set("team", place.team.as_str());
        memory.variables.set("team_md", turn.team_md().unwrap_or_default());
        Self { script, memory, turn, task: None, mail: None, n_rejected: 0, depth: 0 }
    }

    pub(super) fn begin_task(&mut self, task: &WireTask) {
        let variables = &mut self.memory.variables;
        variables.set("task", task.id.as_str());
        variables.set("subject", task.subject.as_str());
        variables.set("description", task.description.as_str());
        variables.set("attempt", task.attempt.unwrap_or(1));
        let run = serde_json::to_value(&task.run).unwrap_or_default();
        variables.set("run", run);
        self.task = Some(task.clone());
    }

    pub(super) fn has(&self, is_meant: impl Fn(&Trigger) -> bool) -> bool {
        self.script.handlers.iter().any(|handler| is_meant(&handler.when))
    }

    /// Runs the steps of the first matching handler, if there is one.
    pub(super) async fn react(
        &mut self,
        is_meant: impl Fn(&Trigger) -> bool,
    ) -> Result<(), ScriptStop> {
        let script = self.script;
        match script.handlers.iter().find(|handler| is_meant(&handler.when)) {
            Some(handler) => self.steps(&handler.steps).await,
            None => Ok(()),
        }
    }

    /// Handles a message, or keeps it for a step that waits for it.
    pub(super) async fn receive(&mut self, message: MessageIn) -> Result<(), ScriptStop> {
        let handlers = &self.script.handlers;
        let is_plan = |when: &Trigger| matches!(when, Trigger::Plan(_));
        let mut meant = handlers.iter().filter(|it| it.when.is_for(&message));
        let plan = meant.clone().find(|it| is_plan(&it.when));
        let Some(handler) = plan.or_else(|| meant.next()) else {
            if self.memory.aside.len() >= MAX_ASIDE {
                self.memory.aside.remove(0);
            }
            self.memory.aside.push(message);
            return Ok(());
        };
        if message.from == Party::user().as_str() {
            self.memory.has_heard_person = true;
            self.turn.note_heard();
        }
        let outer = self.mail.replace(message);
        self.name_mail();
        let ended = self.steps(&handler.steps).await;
        self.mail = outer;
        self.name_mail();
        ended
    }

    fn name_mail(&mut self) {
        if let Some(mail) = &self.mail {
            self.memory.variables.set("mail", mail.content.as_str());
            self.memory.variables.set("from", mail.from.as_str());
        }
    }

    fn steps<'b>(&'b mut self, steps: &'b [ScriptStep]) -> BoxFuture<'b, Result<(), ScriptStop>> {
        Box::pin(async move {
            self.depth += 1;
            let ended = self.each(steps).await;
            self.depth -= 1;
            ended
        })
    }

    async fn each(&mut self, steps: &[ScriptStep]) -> Result<(), ScriptStop> {
        for (nth, step) in steps.iter().enumerate() {
            if self.turn.interrupted().is_cancelled() {
                return Err(ScriptStop::End(TurnOutcome::Interrupted));
            }
            let is_last = nth + 1 == steps.len() && self.depth == 1;
            if is_last && step.act == Act::WaitUntilDone {
                self.turn.only_waits().cancel();
            }
            match self.act(step).await {
                Err(ScriptStop::Failed(reason) | ScriptStop::FailedAt { reason, .. })
                    if step.is_tried =>
                {
                    self.memory.variables.set("error", reason);
                }
                Err(ScriptStop::Failed(reason)) => {
                    return Err(ScriptStop::FailedAt { line: step.line, reason });
                }
                done => done?,
            }
        }
        Ok(())
    }

    async fn act(&mut self, step: &ScriptStep) -> Result<(), ScriptStop> {
        match &step.act {
            Act::Log(text) => self.turn.log(Level::Info, &self.fill(text)).await,
            Act::Message { to, text } => {
                let to = self.fill(to);
                self.message(&to, text).await?;
            }
            Act::Broadcast(text) => self.send("*", MessageKind::Broadcast, text, None).await?,
            Act::Plan { text, if_rejected } => self.plan(text, if_rejected.as_deref()).await?,
            Act::Approve(text) => self.answer_plan(text, true).await?,
            Act::Reject(text) => self.answer_plan(text, false).await?,
            Act::WaitForMail(sought) => {
                let message = self.wait_for(|message| sought.is(message)).await?;
                self.mail = Some(message);
                self.name_mail();
            }
            Act::WaitUntilDone => self.wait_until_done().await?,
            Act::Write { file, content } => {
                let (files, path) = self.change(file)?;
                files.write(&path, &self.fill(content)).map_err(|error| in_file(file, &error))?;
            }
            Act::Append { file, content } => {
                let (files, path) = self.change(file)?;
                files.append(&path, &self.fill(content)).map_err(|error| in_file(file, &error))?;
            }
            Act::Replace { old, new, file } => self.replace(old, new, file)?,
            Act::Run(command) => self.run(command).await?,
            Act::Share(share) => self.share(share).await?,
            Act::Call { method, params, name } => {
                let params = self.memory.variables.expand_json(params);
                self.ask_as(name.as_deref(), method, &params).await?;
            }
            Act::Delegate { task, to, name } => {
                let params = json!({"task": self.fill(task), "to": self.fill(to)});
                self.ask_as(name.as_deref(), "delegation/start", &params).await?;
            }
            Act::Progress { percent, text } => {
                let task = self.task.as_ref().map(|task| task.id.as_str());
                let params = json!({"task": task, "percent": percent, "step": self.fill(text)});
                self.ask("task/progress", &params).await?;
            }
            Act::Sleep(duration) => self.patiently(tokio::time::sleep(*duration)).await?,
            Act::OnAttempt { attempt, steps } => {
                let current = self.task.as_ref().map(|task| task.attempt.unwrap_or(1));
                if current == Some(*attempt) {
                    self.steps(steps).await?;
                }
            }
            Act::OnlyOnce(steps) => {
                if self.memory.done_once.insert(step.line) {
                    self.steps(steps).await?;
                }
            }
            Act::End(end) => return Err(ScriptStop::End(self.end(end))),
        }
        Ok(())
    }

    fn end(&self, end: &HandlerEnd) -> TurnOutcome {
        match end {
            HandlerEnd::Complete(text) => {
                TurnOutcome::Completed { result: self.fill(text), summary: None }
            }
            HandlerEnd::Fail(text) => TurnOutcome::Failed { reason: self.fill(text) },
            HandlerEnd::GiveBack(text) => TurnOutcome::GaveBack { reason: self.fill(text) },
            HandlerEnd::RefuseShutdown(text) => TurnOutcome::Refused { reason: self.fill(text) },
        }
    }

    pub(super) fn fill(&self, text: &str) -> String {
        self.memory.variables.expand(text)
    }

    async fn send(
        &self,
        to: &str,
        kind: MessageKind,
        text: &str,
        answers: Option<(&MessageIn, bool)>,
    ) -> Result<(), ScriptStop> {
        let message = MessageOut {
            request_id: answers.and_then(|(request, _)| request.request_id),
            approve: answers.map(|(_, approve)| approve),
            ..MessageOut::new(to, kind, self.fill(text))
        };
        self.turn.send(message).await.map_err(|error| ScriptStop::Failed(error.to_string()))
    }

    /// Sends a message, and fails if the lead says that there is no such member.
    async fn message(&mut self, to: &str, text: &str) -> Result<(), ScriptStop> {
        // A message to everybody or to the system is fine even if nobody receives it.
        if [EVERYBODY, SYSTEM].contains(&to) || !self.lead_answers().await? {
            return self.send(to, MessageKind::Message, text, None).await;
        }
        self.within(self.turn.post(to, &self.fill(text))).await
    }

    /// Whether the lead knows board calls. Such a lead first sends how long a lease is.
    async fn lead_answers(&mut self) -> Result<bool, ScriptStop> {
        let knows = || self.turn.context().lease_seconds.is_some();
        if !knows() && !self.memory.has_awaited_context {
            let told = async {
                while !knows() {
                    self.turn.news().await;
                }
            };
            drop(self.patiently(timeout(FIRST_WORD, told)).await?);
            self.memory.has_awaited_context = true;
        }
        Ok(self.turn.context().lease_seconds.is_some())
    }

    /// Asks for approval until the plan is approved, but not for ever.
    async fn plan(
        &mut self,
        text: &str,
        if_rejected: Option<&[ScriptStep]>,
    ) -> Result<(), ScriptStop> {
        loop {
            self.send("lead", MessageKind::PlanApprovalRequest, text, None).await?;
            let answer = self.wait_for(|it| it.kind == MessageKind::PlanApprovalResponse).await?;
            self.memory.variables.set("feedback", answer.content.as_str());
            if answer.approve == Some(true) {
                return Ok(());
            }
            self.n_rejected += 1;
            match if_rejected.filter(|_| self.n_rejected < MAX_REJECTED) {
                Some(steps) => self.steps(steps).await?,
                None => {
                    let n = self.n_rejected;
                    let how_often = if n > 1 { format!(" {n} times") } else { String::new() };
                    let reason = format!("the plan was rejected{how_often}: {}", answer.content);
                    return Err(ScriptStop::Failed(reason));
                }
            }
        }
    }

    async fn answer_plan(&self, text: &str, approve: bool) -> Result<(), ScriptStop> {
        let is_request = |mail: &&MessageIn| mail.kind == MessageKind::PlanApprovalRequest;
        let Some(request) = self.mail.as_ref().filter(is_request) else {
            return Err(ScriptStop::Failed("there is no plan to answer here".to_owned()));
        };
        let text = if text.is_empty() { "approved" } else { text };
        let kind = MessageKind::PlanApprovalResponse;
        self.send(&request.from, kind, text, Some((request, approve))).await
    }

    /// Waits for a message. Other mail is handled meanwhile.
    async fn wait_for(
        &mut self,
        is_wanted: impl Fn(&MessageIn) -> bool,
    ) -> Result<MessageIn, ScriptStop> {
        if let Some(at) = self.memory.aside.iter().position(&is_wanted) {
            return Ok(self.memory.aside.remove(at));
        }
        loop {
            let message = self.patiently(self.turn.next_mail()).await?;
            if is_wanted(&message) {
                return Ok(message);
            }
            self.receive(message).await?;
        }
    }

    /// Waits until no task can move any more. Mail is handled meanwhile.
    async fn wait_until_done(&mut self) -> Result<(), ScriptStop> {
        loop {
            for message in self.turn.mail() {
                self.receive(message).await?;
            }
            if !self.is_board_busy().await? {
                return Ok(());
            }
            // The end of a task brings mail or a new context. The timeout is for a lead that sends neither.
            drop(self.patiently(timeout(LOOK, self.turn.news())).await?);
        }
    }

    /// Whether somebody works on a task, or will.
    async fn is_board_busy(&self) -> Result<bool, ScriptStop> {
        let stuck_at = self.turn.context().stuck_at;
        for page in 1.. {
            let query = Query::Tasks { status: troop_model::TaskFilter::Active, page };
            let board = self.within(self.turn.query::<BoardPage>(&query)).await?;
            let moves = |task: &PagedTask| match task.status {
                // The lead reports when nobody is left who could begin it.
                Status::Pending => stuck_at.is_none() || stuck_at < board.version,
                Status::Failed => task.not_before.is_some(),
                Status::Blocked => false,
                Status::InProgress
                | Status::InReview
                | Status::Completed
                | Status::Cancelled
                | Status::Stale => true,
            };
            if board.tasks.iter().any(moves) {
                return Ok(true);
            }
            if board.pages.unwrap_or(1) <= page {
                break;
            }
        }
        Ok(false)
    }

    /// Asks, and keeps the answer as a variable if that has a name.
    async fn ask_as(
        &mut self,
        name: Option<&str>,
        method: &str,
        params: &Value,
    ) -> Result<(), ScriptStop> {
        let answer = self.ask(method, params).await?;
        if let Some(name) = name {
            self.memory.variables.set(name, answer);
        }
        Ok(())
    }

    async fn ask(&self, method: &str, params: &Value) -> Result<Value, ScriptStop> {
        let asked = Notification::new(method, params)
            .map_err(|error| ScriptStop::Failed(format!("`{method}`: {error}")))?;
        self.within(self.turn.ask(asked)).await
    }

    /// Waits for an answer, but not for ever.
    pub(super) async fn within<T>(
        &self,
        answer: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, ScriptStop> {
        let answer = self.patiently(timeout(ANSWER, answer)).await?;
        let answer =
            answer.map_err(|_| ScriptStop::Failed("the lead does not answer".to_owned()))?;
        answer.map_err(|error| ScriptStop::Failed(error.to_string()))
    }

    /// Waits, unless the turn is interrupted.
    async fn patiently<T>(&self, awaited: impl Future<Output = T>) -> Result<T, ScriptStop> {
        let awaited = self.turn.interrupted().run_until_cancelled(awaited).await;
        awaited.ok_or(ScriptStop::End(TurnOutcome::Interrupted))
    }

    /// A file that the script may change, with the folder that it is in.
    fn change(&self, file: &str) -> Result<(WorkFolder, PathBuf), ScriptStop> {
        self.check_mode()?;
        let folder = self.turn.path();
        let file = self.fill(file);
        let files = WorkFolder::open(folder).map_err(|error| {
            ScriptStop::Failed(format!("the working folder `{}`: {error}", folder.display()))
        })?;
        let path = files.inside(&file);
        let path = path.map_err(|_| {
            ScriptStop::Failed(format!("`{file}` is not inside the working folder"))
        })?;
        Ok((files, path))
    }

    pub(super) fn check_mode(&self) -> Result<(), ScriptStop> {
        if self.turn.mode() == Permissions::Plan {
            let reason = "plan mode is read-only; `plan TEXT` asks the lead for more";
            return Err(ScriptStop::Failed(reason.to_owned()));
        }
        Ok(())
    }

    /// Replaces the first occurrence of a text.
    fn replace(&self, old: &str, new: &str, file: &str) -> Result<(), ScriptStop> {
        let (files, path) = self.change(file)?;
        let old = self.fill(old);
        let new = self.fill(new);
        let wrong = |error| in_file(file, &error);
        let text = files.read(&path).map_err(wrong)?;
        if !text.contains(&old) {
            return Err(ScriptStop::Failed(format!("`{file}` has no `{old}`")));
        }
        files.write(&path, &text.replacen(&old, &new, 1)).map_err(wrong)
    }

    async fn run(&mut self, command: &str) -> Result<(), ScriptStop> {
        self.check_mode()?;
        let command = self.fill(command);
        let Some(line) = CommandLine::parse(&command) else {
            return Err(ScriptStop::Failed("there is no command to run".to_owned()));
        };
        let for_whom = CommandRun::shown(self.task.as_ref(), self.turn);
        let (ended, output) = run(&line, for_whom)
            .await
            .map_err(|error| ScriptStop::Failed(format!("`{line}` cannot be started: {error}")))?;
        self.memory.variables.set("output", output.as_str());
        match ended {
            CommandEnd::Interrupted => Err(ScriptStop::End(TurnOutcome::Interrupted)),
            CommandEnd::Exited(0) => Ok(()),
            CommandEnd::Exited(_) | CommandEnd::Killed(_) | CommandEnd::TookTooLong(_) => Err(
                ScriptStop::Failed(format!("`{line}`: {ended}\n{output}").trim_end().to_owned()),
            ),
        }
    }
}

impl From<ScriptStop> for TurnOutcome {
    fn from(stop: ScriptStop) -> Self {
        match stop {
            ScriptStop::End(outcome) => outcome,
            ScriptStop::Failed(reason) => Self::Failed { reason },
            ScriptStop::FailedAt { line, reason } => {
                Self::Failed { reason: format!("line {line} of the script: {reason}") }
            }
        }
    }
}

impl Trigger {
    /// Whether the handler is for this message.
    pub(super) fn is_for(&self, message: &MessageIn) -> bool {
        match self {
            Self::Plan(sought) => {
                message.kind == MessageKind::PlanApprovalRequest && sought.is(message)
            }
            Self::Mail(sought) => sought.is(message),
            Self::Started | Self::Task(_) | Self::Shutdown => false,
        }
    }
}

impl MailPattern {
    fn is(&self, message: &MessageIn) -> bool {
        // A handler for any mail means what others write, not the idle notices of troop.
        let is_said = message.kind != MessageKind::Idle || !self.pattern.is_any();
        let is_from = self.from.as_ref().is_none_or(|from| *from == message.from);
        is_said && is_from && self.pattern.is_match(&message.content)
    }
}

fn in_file(file: &str, error: &std::io::Error) -> ScriptStop {
    ScriptStop::Failed(format!("`{file}`: {error}"))
}
