//! Giving work to members that have none.

use std::collections::BTreeSet;

use troop_model::{
    Assignment, Command, MemberName, MemberState, Role, Status, Task, TaskCommand, TaskNumber,
    TaskView,
};
use troop_protocol::{FromLead, PeerError, TeamContext, WireTask};

use super::{
    Runner, delegations, dispatcher::Dispatcher, link::LiveMember, transcript::TranscriptLine,
};

/// How many tasks of the board a member is shown ...
const MAX_CONTEXT: usize = 200;
/// ... and how many characters of what is to be done in each.
const MAX_DESCRIPTION: usize = 500;

impl Dispatcher {
    /// Gives every member without work the next task that it may have.
    pub(super) async fn push_work(&mut self) {
        let is_pushed = |team: &troop_model::Team| team.settings.assignment != Assignment::Claim;
        if self.post.is_ending() || self.is_spent || !self.post.state.team().is_some_and(is_pushed)
        {
            return;
        }
        let mut taken = BTreeSet::new();
        for runner in self.without_work() {
            let next =
                self.post.state.tasks().ready_for(&runner.member).find(|it| !taken.contains(it));
            let Some(task) = next else { continue };
            taken.insert(task);
            let order = TaskCommand::Assign { task: Some(task.into()), to: runner.member.clone() };
            let request = self.post.own(Command::Task(order));
            self.ask_for(&runner, request).await;
        }
    }

    /// The members that run, are free and hold nothing but what others look at.
    fn without_work(&self) -> Vec<Runner> {
        let followed = self.post.state.version();
        let is_free = |member: &MemberName| {
            let found = self.post.state.member(member);
            let waits = found.is_some_and(|it| {
                let is_unbusy = matches!(it.state, MemberState::Idle | MemberState::Planning);
                it.role == Role::Member && is_unbusy
            });
            let tasks = self.post.state.tasks();
            waits && tasks.held_by(member).all(|it| tasks.status(it) == Some(Status::InReview))
        };
        let free = self.links.values().filter(|link| link.is_free(followed));
        let free = free.map(|link| link.runner.clone());
        free.filter(|runner| is_free(&runner.member)).collect()
    }

    /// Tells a member to work on a task that it holds.
    pub(super) fn send_task(&mut self, owner: &MemberName, task: TaskNumber, attempt: u32) {
        if !self.links.get(owner).is_some_and(LiveMember::is_open) {
            return;
        }
        // Also for what it knows of already, because it took it while its folder was needed for something else.
        let is_ready = self.is_ready_for(owner, task, attempt);
        let told = self.links.get(owner).and_then(|link| link.told.get(&task));
        if !is_ready || told == Some(&attempt) {
            return;
        }
        if !self.send_new_team(owner) {
            return self.retry_soon(owner);
        }
        let Some(link) = self.links.get(owner) else { return };
        let Some(found) = self.post.state.tasks().get(task) else { return };
        let view = TaskView::brief(&self.post.state, found);
        let mut run = delegations::run_of(&self.post.state, found, owner);
        run.workspace = self.workspace_of(found);
        let run = Some(Box::new(run));
        let what = format!("given {task}: {}", view.subject);
        let said = FromLead::AssignTask { task: WireTask { run, ..view.into() } };
        match link.tell(&said) {
            Ok(()) => {
                if let Some(link) = self.links.get_mut(owner) {
                    link.is_given(task, attempt);
                }
                self.post.note(owner, TranscriptLine::note(&what));
            }
            Err(_) => self.retry_soon(owner),
        }
    }

    /// Where a task's files belong. A workspace that cannot be used is no reason to keep the task back; who wants to write
    /// there hears of it.
    fn workspace_of(&self, task: &Task) -> Option<String> {
        let path = self.workspace.prepare(&self.post.state.folder_of(task)).ok()?;
        Some(std::path::absolute(path).ok()?.display().to_string())
    }

    /// Tells a member of all tasks that it holds and does not know of.
    pub(super) fn send_held_tasks(&mut self, member: &MemberName) {
        let tasks = self.post.state.tasks();
        // A result that waits for approval is not to be worked on.
        let is_open = |task: &TaskNumber| tasks.status(*task) != Some(Status::InReview);
        let held: Vec<_> = tasks.held_by(member).filter(is_open).collect();
        for task in held {
            let attempt = self.post.state.tasks().get(task).map_or(0, |task| task.attempts);
            self.send_task(member, task, attempt);
        }
    }

    /// Tells everybody what is on the board, if that has changed. Not with every change: members ask when they must know.
    pub(super) fn send_contexts(&mut self) {
        let is_new = std::mem::take(&mut self.post.agenda.has_new_context);
        let links =
            self.links.values().filter(|link| is_new || link.told_team != self.post.agenda.n_teams);
        let members: Vec<_> = links.map(|link| link.runner.member.clone()).collect();
        members.iter().for_each(|member| self.send_context(member));
    }

    /// Tells a member what its team is now, if it does not know; and whether it knows.
    pub(super) fn send_new_team(&mut self, member: &MemberName) -> bool {
        let knows = |it: &Self| {
            it.links.get(member).is_some_and(|link| link.told_team == it.post.agenda.n_teams)
        };
        if !knows(self) {
            self.send_context(member);
        }
        knows(self)
    }

    /// Tells a member what is on the board and what it may do.
    pub(super) fn send_context(&mut self, member: &MemberName) {
        let team_md = self.new_team_md(member);
        let spent = self.is_spent.then(|| self.why_spent());
        let Some(link) = self.links.get_mut(member).filter(|link| link.is_open()) else { return };
        let tasks = self.post.state.tasks();
        let open = tasks.iter().filter(|task| !task.status.is_terminal()).take(MAX_CONTEXT);
        let tasks = open.map(|task| in_short(TaskView::brief(&self.post.state, task))).collect();
        let mode = self.post.state.member(member).map(|it| it.permissions);
        let stuck_at = link.told_stuck;
        let lease_seconds = self.post.state.team().map(|team| team.settings.lease_seconds);
        let context = TeamContext { tasks, mode, team_md, stuck_at, lease_seconds, spent };
        let mut told = link.tell(&FromLead::UpdateContext(context.clone()));
        if let Err(PeerError::TooLong { .. }) = told {
            // Who cannot be shown the board can ask for it, and must not be kept from work and mail.
            let context = TeamContext { tasks: Vec::new(), ..context };
            told = link.tell(&FromLead::UpdateContext(context));
        }
        // What it could not be told, it is told with the next change, or before its next piece of work.
        if told.is_ok() {
            link.told_team = self.post.agenda.n_teams;
        }
    }

    /// Writes again to a member that did not read.
    pub(super) async fn try_again(&mut self, runner: &Runner) {
        if let Some(link) = self.link(runner) {
            link.is_retrying = false;
            self.send_held_tasks(&runner.member);
            self.deliver(&runner.member).await;
        }
    }
}

/// A task as those see it who do not have it: all of it comes with the task itself, or in answer to `task/get`.
fn in_short(view: TaskView) -> WireTask {
    let mut task = WireTask::from(view);
    if let Some((end, _)) = task.description.char_indices().nth(MAX_DESCRIPTION) {
        task.description.truncate(end);
        task.description.push('…');
    }
    task.metadata.clear();
    task
}
