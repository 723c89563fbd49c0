//! Hands over work: the board as context, and the tasks of a member.

use troop_model::{
    Command, Delegation, MemberName, SessionKey, Spending, State, Status, Task, TaskCommand,
    TaskNumber, TaskView, team_md,
};
use troop_protocol::{FromLead, PeerError, TeamContext, WireRun, WireTask};

use super::Office;
use crate::lead::{
    Runner,
    policy::work::{Offer, offers},
    transcript::TranscriptLine,
};

/// How many tasks the context shows ...
const MAX_CONTEXT: usize = 200;
/// ... and how many characters of each description.
const MAX_DESCRIPTION: usize = 500;

impl Office {
    /// Offers every free member its next task.
    pub(in super::super) async fn push_work(&mut self) {
        if self.post.is_ending() {
            return;
        }
        for Offer { member, task } in offers(&self.post.state, &self.crew.facts(), self.is_spent) {
            let Some(runner) = self.crew.get(&member).map(|it| it.runner.clone()) else { continue };
            let order = TaskCommand::Assign { task: Some(task.into()), to: member };
            let request = self.post.own(Command::Task(order));
            self.offer(&runner, request).await;
        }
    }

    /// Sends a member a task that it holds.
    pub(in super::super) fn send_task(
        &mut self,
        owner: &MemberName,
        task: TaskNumber,
        attempt: u32,
    ) {
        if !self.is_open(owner) {
            return;
        }
        // This includes a task that it knows already: it may have claimed it while its folder was needed for another.
        let is_ready = self.prepare_folder(owner, task, attempt);
        let told = self.crew.get(owner).and_then(|it| it.facts.work.told.get(&task));
        if !is_ready || told == Some(&attempt) {
            return;
        }
        let Some(found) = self.post.state.tasks().get(task) else { return };
        let folder = self.post.state.folder_of(found);
        let Some(workspace) = self.shared.find(&self.post, owner, folder) else { return };
        if !self.send_new_team(owner) {
            return self.retry_soon(owner);
        }
        let Some(found) = self.post.state.tasks().get(task) else { return };
        let view = TaskView::brief(&self.post.state, found);
        let mut run = run_of(&self.post.state, found, owner);
        run.workspace = workspace;
        let run = Some(Box::new(run));
        let what = format!("given {task}: {}", view.subject);
        let said = FromLead::AssignTask { task: WireTask { run, ..view.into() } };
        let Some(live) = self.crew.get_mut(owner) else { return };
        match live.tell(&said) {
            Ok(()) => {
                live.facts.give(task, attempt);
                self.post.note(owner, TranscriptLine::note(&what));
            }
            Err(_) => self.retry_soon(owner),
        }
    }

    pub(super) fn is_open(&self, member: &MemberName) -> bool {
        self.crew.get(member).is_some_and(|it| it.facts.is_open())
    }

    /// Prepares a member's folder for a task. Returns whether it is ready.
    fn prepare_folder(&mut self, owner: &MemberName, task: TaskNumber, attempt: u32) -> bool {
        let live = self.crew.get(owner);
        let is_breaking_off = live.is_some_and(|it| it.facts.work.breaks_off.is_some());
        self.places.prepare(&self.post, owner, task, attempt, is_breaking_off)
    }

    /// A member claimed a task.
    pub(in super::super) fn claimed(&mut self, owner: &MemberName, task: TaskNumber, attempt: u32) {
        self.post.agenda.is_due = true;
        self.prepare_folder(owner, task, attempt);
        if let Some(live) = self.crew.get_mut(owner) {
            // It knows the task already.
            live.facts.work.told.insert(task, attempt);
        }
    }

    /// Forgets that a member was sent a task, so that it can be sent again.
    pub(in super::super) fn forget_told(&mut self, owner: &MemberName, task: TaskNumber) {
        if let Some(live) = self.crew.get_mut(owner) {
            live.facts.work.told.remove(&task);
        }
    }

    /// Sends a member all tasks that it holds and does not know of.
    pub(in super::super) fn send_held_tasks(&mut self, member: &MemberName) {
        let tasks = self.post.state.tasks();
        // A task in review is not to be worked on.
        let is_open = |task: &TaskNumber| tasks.status(*task) != Some(Status::InReview);
        let held: Vec<_> = tasks.held_by(member).filter(is_open).collect();
        for task in held {
            let attempt = self.post.state.tasks().get(task).map_or(0, |task| task.attempts);
            self.send_task(member, task, attempt);
        }
    }

    /// Retries to write to a member that did not read.
    pub(in super::super) async fn try_again(&mut self, runner: &Runner) {
        if let Some(facts) = self.crew.facts_of(runner) {
            facts.mail.is_retrying = false;
            self.send_held_tasks(&runner.member);
            self.deliver(&runner.member).await;
        }
    }
}

/// Context.
impl Office {
    /// Sends the board to all members whose context is outdated. Not with every change: members can query the board.
    pub(in super::super) fn send_contexts(&mut self) {
        let is_new = std::mem::take(&mut self.post.agenda.has_new_context);
        let n_teams = self.post.agenda.n_teams;
        let crew = self.crew.facts().into_iter();
        let behind = crew.filter(|(_, facts)| is_new || facts.briefing.team != n_teams);
        let behind: Vec<_> = behind.map(|(name, _)| name.clone()).collect();
        behind.iter().for_each(|member| self.send_context(member));
    }

    /// Sends a member the current TEAM.md, if it has an older one. Returns whether it is up to date.
    pub(super) fn send_new_team(&mut self, member: &MemberName) -> bool {
        if !self.knows_team(member) {
            self.send_context(member);
        }
        self.knows_team(member)
    }

    fn knows_team(&self, member: &MemberName) -> bool {
        let n_teams = self.post.agenda.n_teams;
        self.crew.get(member).is_some_and(|it| it.facts.briefing.team == n_teams)
    }

    /// Sends a member the board and its permissions.
    pub(in super::super) fn send_context(&mut self, member: &MemberName) {
        let state = &self.post.state;
        let n_teams = self.post.agenda.n_teams;
        let told = self.crew.get(member).map_or(0, |it| it.facts.briefing.team);
        let team_md = (told != n_teams).then(|| team_md(state, member.as_str(), None));
        let spent = self.is_spent.then(|| self.why_spent());
        let live = self.crew.get_mut(member).filter(|it| it.is_open());
        let Some(live) = live else { return };
        let open = state.tasks().iter().filter(|task| !task.status.is_terminal());
        let open = open.take(MAX_CONTEXT);
        let tasks = open.map(|task| in_short(TaskView::brief(state, task))).collect();
        let mode = state.member(member).map(|it| it.permissions);
        let stuck_at = live.facts.briefing.stuck_at;
        let lease_seconds = state.team().map(|team| team.settings.lease_seconds);
        let context = TeamContext { tasks, mode, team_md, stuck_at, lease_seconds, spent };
        let mut told = live.tell(&FromLead::UpdateContext(context.clone()));
        if let Err(PeerError::TooLong { .. }) = told {
            // A board that does not fit into a line must not keep the member from work and mail; it can query the tasks.
            let context = TeamContext { tasks: Vec::new(), ..context };
            told = live.tell(&FromLead::UpdateContext(context));
        }
        // If it failed, it is sent again with the next change, or before the next piece of work.
        if told.is_ok() {
            live.facts.briefing.team = n_teams;
        }
    }
}

/// Budget.
impl Office {
    /// Updates whether the budget is spent. Returns whether that changed.
    pub(in super::super) fn update_budget(&mut self) -> bool {
        let is_spent = self.post.state.spending() == Spending::Spent;
        std::mem::replace(&mut self.is_spent, is_spent) != is_spent
    }

    /// Tells all members whether the budget is spent.
    pub(in super::super) async fn tell_budget(&mut self) {
        self.post.agenda.n_teams += 1;
        self.post.agenda.is_due = true;
        for member in self.crew.names() {
            self.send_context(&member);
            // Mail may have waited for budget.
            self.deliver(&member).await;
        }
    }

    /// The reason why no work is begun.
    pub(in super::super) fn why_spent(&self) -> String {
        let team = self.post.state.team();
        let told = team.and_then(|team| team.settings.budget.told(&team.usage)).unwrap_or_default();
        format!("the team's budget is spent: {told}")
    }
}

/// A task as the context shows it: the full text comes with the assignment, or in answer to `task/get`.
fn in_short(view: TaskView) -> WireTask {
    let mut task = WireTask::from(view);
    if let Some((end, _)) = task.description.char_indices().nth(MAX_DESCRIPTION) {
        task.description.truncate(end);
        task.description.push('…');
    }
    task.metadata.clear();
    task
}

/// The run details that come with a task.
fn run_of(state: &State, task: &Task, member: &MemberName) -> WireRun {
    let delegation = state.delegation_of(task.number).filter(|it| it.to == *member);
    let session =
        delegation.map_or_else(|| SessionKey::Teammate(member.clone()), Delegation::session);
    let origin = delegation.map_or(&task.provenance.origin, |it| &it.origin);
    let text = |text: &Option<smol_str::SmolStr>| text.as_ref().map(ToString::to_string);
    WireRun {
        team_id: state.team().map(|team| team.id.0),
        task_id: Some(task.id),
        session: Some(session.to_string()),
        lane: Some(SessionKey::LANE.to_owned()),
        delegation_id: delegation.map(|it| it.id),
        trace_id: delegation.map(|it| it.trace_id),
        parent_trace_id: delegation.and_then(|it| it.parent_trace_id),
        note: delegation.and_then(|it| it.note.clone()),
        channel: text(&origin.channel),
        chat_id: text(&origin.chat_id),
        workspace: None,
        peer_kind: text(&origin.peer_kind),
        local_key: text(&origin.local_key),
    }
}
