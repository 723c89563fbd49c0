//! Giving work to members that have none.

use std::collections::BTreeSet;

use troop_model::{
    Assignment, Command, MemberName, MemberState, Role, Status, Task, TaskCommand, TaskNumber,
    TaskView, WorkspaceFolder, WorkspaceScope,
};
use troop_protocol::{FromLead, TeamContext, WireContext, WireTask};

use super::{Runner, dispatcher::Dispatcher, transcript::Line};

/// How many tasks of the board a member is shown.
const MAX_CONTEXT: usize = 200;

impl Dispatcher {
    /// Gives every member without work the next task that it may have.
    pub(super) async fn push_work(&mut self) {
        let is_pushed = |team: &troop_model::Team| team.settings.assignment != Assignment::Claim;
        if self.is_ending() || !self.state.team().is_some_and(is_pushed) {
            return;
        }
        let mut taken = BTreeSet::new();
        for runner in self.without_work() {
            let next = self.state.tasks().ready_for(&runner.member).find(|it| !taken.contains(it));
            let Some(task) = next else { continue };
            taken.insert(task);
            let order = TaskCommand::Assign { task: Some(task.into()), to: runner.member.clone() };
            let request = self.own(Command::Task(order));
            self.ask_for(&runner, request).await;
        }
    }

    /// The members that run, are free and hold nothing.
    fn without_work(&self) -> Vec<Runner> {
        let followed = self.state.version();
        let is_free = |member: &MemberName| {
            let found = self.state.member(member);
            let waits = found.is_some_and(|it| {
                let is_unbusy = matches!(it.state, MemberState::Idle | MemberState::Planning);
                it.role == Role::Member && is_unbusy
            });
            waits && self.state.tasks().held_by(member).next().is_none()
        };
        let free = self.links.values().filter(|link| link.is_free(followed));
        let free = free.map(|link| link.runner.clone());
        free.filter(|runner| is_free(&runner.member)).collect()
    }

    /// Tells a member to work on a task that it holds.
    pub(super) fn send_task(&mut self, owner: &MemberName, task: TaskNumber, attempt: u32) {
        let Some(link) = self.links.get(owner).filter(|link| link.is_open()) else { return };
        if link.told.get(&task) == Some(&attempt) {
            return;
        }
        if !self.is_ready_for(owner, task, attempt) {
            return;
        }
        let Some(link) = self.links.get(owner) else { return };
        let Some(found) = self.state.tasks().get(task) else { return };
        let view = TaskView::brief(&self.state, found);
        let task_sent = self.with_place(WireTask::from(&view), found);
        let said = FromLead::AssignTask { task: task_sent };
        match link.tell(&said) {
            Ok(()) => {
                let what = format!("given {task}: {}", view.subject);
                if let Some(link) = self.links.get_mut(owner) {
                    link.told.insert(task, attempt);
                }
                self.note(owner, Line::note(&what));
            }
            Err(_) => self.retry_soon(owner),
        }
    }

    /// A task with where its files belong. A workspace that cannot be used is no reason to keep the task back; who wants to
    /// write there hears of it.
    fn with_place(&self, sent: WireTask, task: &Task) -> WireTask {
        let Some(team) = self.state.team() else { return sent };
        let folder = match team.settings.workspace_scope {
            WorkspaceScope::Shared => WorkspaceFolder::shared(),
            WorkspaceScope::Isolated => WorkspaceFolder::of_chat(task.origin.chat_id.clone()),
        };
        let path = self.workspace.prepare(&folder).ok();
        let workspace = path.and_then(|path| std::path::absolute(path).ok());
        let context = WireContext {
            team_id: Some(team.id.to_string()),
            workspace: workspace.map(|path| path.display().to_string()),
            channel: task.origin.channel.as_ref().map(ToString::to_string),
            chat_id: task.origin.chat_id.as_ref().map(ToString::to_string),
        };
        WireTask { context: Some(Box::new(context)), ..sent }
    }

    /// Tells a member of all tasks that it holds and does not know of.
    pub(super) fn send_held_tasks(&mut self, member: &MemberName) {
        let tasks = self.state.tasks();
        // A result that waits for approval is not to be worked on.
        let is_open = |task: &TaskNumber| tasks.status(*task) != Some(Status::InReview);
        let held: Vec<_> = tasks.held_by(member).filter(is_open).collect();
        for task in held {
            let attempt = self.state.tasks().get(task).map_or(0, |task| task.attempts);
            self.send_task(member, task, attempt);
        }
    }

    /// Tells everybody what is on the board, if that has changed. Not with every change: members ask when they must know.
    pub(super) fn send_contexts(&mut self) {
        if std::mem::take(&mut self.has_new_context) {
            let members: Vec<_> = self.links.keys().cloned().collect();
            members.iter().for_each(|member| self.send_context(member));
        }
    }

    /// Tells a member what is on the board and what it may do.
    pub(super) fn send_context(&mut self, member: &MemberName) {
        let Some(link) = self.links.get(member).filter(|link| link.is_open()) else { return };
        let tasks = self.state.tasks();
        let open = tasks.iter().filter(|task| !task.status.is_terminal()).take(MAX_CONTEXT);
        let views = open.map(|task| TaskView::brief(&self.state, task));
        let tasks = views.map(|view| WireTask::from(&view)).collect();
        let mode = self.state.member(member).map(|it| it.permissions);
        // It is told again with the next change.
        drop(link.tell(&FromLead::UpdateContext(TeamContext { tasks, mode })));
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
