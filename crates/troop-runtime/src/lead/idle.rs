//! Who says that it is idle: what that waits for, whether hooks are for it, and what it leaves open.

use troop_model::{
    Assignment, Command, MemberName, Party, State, TaskCommand, TaskNumber, TaskRef, Team, Version,
};
use troop_protocol::Idle;

use super::{
    Runner,
    dispatcher::Dispatcher,
    gate::Gated,
    hear::word_of_troop,
    input::Due,
    link::{IdleAfter, Link},
    places::at_work,
    transcript::Line,
};
use crate::hooks::{HookEvent, Occasion};

impl Dispatcher {
    /// A member has nothing to do.
    pub(super) async fn says_idle(&mut self, runner: &Runner, idle: Idle) {
        self.has_broken_off(runner);
        self.run_ends(runner).await;
        self.expect_word(runner);
        let last_task = idle.last_task.and_then(|id| id.task().ok());
        self.may_be_idle(runner, last_task).await;
    }

    /// Lets a member be idle. That waits for its deeds and, where hooks are asked, until the log shows what came of them:
    /// what is done may be what its next task waits for.
    pub(super) async fn may_be_idle(&mut self, runner: &Runner, last_task: Option<TaskRef>) {
        let has_hook = self.has_idle_hook(&runner.member);
        let until = if has_hook { self.board.look(State::version).await.ok() } else { None };
        let until = until.unwrap_or(Version::ZERO);
        if let Some(link) = self.link(runner) {
            link.idle_after = Some(IdleAfter { last_task, until });
        }
        self.settle_idle(runner).await;
    }

    /// Lets a member be idle whose idleness has waited, if nothing is left to wait for. Hooks are asked, unless it has work
    /// or gets some at once.
    async fn settle_idle(&mut self, runner: &Runner) {
        let followed = self.state.version();
        let idle = self.link(runner).and_then(|link| {
            let is_settled = link.n_held == 0;
            link.idle_after.take_if(|it| is_settled && it.until <= followed)
        });
        let Some(IdleAfter { last_task, .. }) = idle else { return };
        let member = &runner.member;
        if self.has_idle_hook(member) && !self.has_or_gets_work(member) {
            let occasion = Occasion::TeammateIdle { teammate: member.clone() };
            self.fire(occasion, Gated::Idle(runner.clone(), last_task));
        } else {
            self.report_idle(runner, last_task).await;
        }
    }

    /// The same for all whose idleness waits for the log.
    pub(super) async fn settle_all_idle(&mut self) {
        let waits = |link: &&Link| link.idle_after.is_some();
        let waiting = self.links.values().filter(waits).map(|it| it.runner.clone());
        for runner in waiting.collect::<Vec<_>>() {
            self.settle_idle(&runner).await;
        }
    }

    pub(super) async fn report_idle(&mut self, runner: &Runner, last_task: Option<TaskRef>) {
        self.rests(runner);
        let member = runner.member.clone();
        let request = self.own(Command::ReportIdle { member, last_task });
        self.ask_for(runner, request).await;
    }

    fn has_idle_hook(&self, member: &MemberName) -> bool {
        self.hooks.has(HookEvent::TeammateIdle) && !self.is_lead(member)
    }

    fn has_or_gets_work(&self, member: &MemberName) -> bool {
        let is_given = |team: &Team| team.settings.assignment != Assignment::Claim;
        let is_given = self.state.team().is_some_and(is_given);
        at_work(&self.state, member).next().is_some()
            || is_given && self.state.tasks().ready_for(member).next().is_some()
    }

    /// Waits for a word about a task that a member holds and was told of, although it says that it is idle. What it says
    /// first may have been said before it heard of any task.
    fn expect_word(&mut self, runner: &Runner) {
        let member = &runner.member;
        let held: Vec<_> = at_work(&self.state, member).collect();
        let (is_lead, wait) = (self.is_lead(member), self.timing.grace);
        let Some(link) = self.link(runner) else { return };
        let is_first = !std::mem::replace(&mut link.has_said_idle, true);
        let told = held.into_iter().filter(|task| link.told.contains_key(task));
        let told: Vec<_> = told.filter(|_| !is_first && !is_lead).collect();
        link.is_asked_for_word = false;
        for task in told {
            self.timers.set(wait, Due::Word(runner.clone(), task));
        }
    }

    /// A member that says it is idle should have said by now how its task stands. It is asked once, and then the task is
    /// tried anew: it would hold it until its lease ends.
    pub(super) async fn word_is_due(&mut self, runner: &Runner, task: TaskNumber) {
        if !self.owes_word(runner, task) {
            return;
        }
        let member = &runner.member;
        let attempt = self.state.tasks().get(task).map(|it| it.attempts);
        let Some(link) = self.link(runner) else { return };
        if !std::mem::replace(&mut link.is_asked_for_word, true) {
            let what = format!("you hold {task}, and say that you are idle; say how it stands");
            drop(link.tell(&word_of_troop(what)));
            self.note(
                member,
                Line::trouble(&format!("asked how {task} stands: it says it is idle")),
            );
            return self.timers.set(self.timing.grace, Due::Word(runner.clone(), task));
        }
        let reason = format!("{member} says that it is idle, and nothing about {task}");
        let (task, for_good) = (task.into(), false);
        self.give(Command::Task(TaskCommand::Fail { task, reason, attempt, for_good })).await;
    }

    /// Whether a member is still at a task that it has said nothing about, and nobody owes it a word.
    fn owes_word(&mut self, runner: &Runner, task: TaskNumber) -> bool {
        let grace = self.timing.grace;
        let party = Party::member(&runner.member);
        let is_held = at_work(&self.state, &runner.member).any(|it| it == task);
        let asks = self.state.requests().any(|(_, it)| it.from == party)
            || self.state.tasks().get(task).is_some_and(|it| it.question.is_some());
        let has_mail = self.state.mailbox().n_unread(&party) > 0;
        let Some(link) = self.link(runner) else { return false };
        let is_silent = link.at_work.is_none() && link.n_held == 0 && link.is_open();
        let is_silent = is_silent && link.heard_at.elapsed() >= grace;
        is_held && !asks && !has_mail && is_silent && link.told.contains_key(&task)
    }
}
