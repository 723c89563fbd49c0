//! Who says that it is idle: what that waits for, whether hooks are for it, and what it leaves open.

use troop_model::{
    Assignment, Command, MemberName, Party, State, TaskCommand, TaskNumber, TaskRef, Team, Version,
};
use troop_protocol::Idle;

use super::{
    Runner,
    dispatcher::Dispatcher,
    gate::Gated,
    input::Due,
    link::{IdleAfter, LiveMember},
    places::at_work,
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
        let until = if has_hook { self.post.board.look(State::version).await.ok() } else { None };
        let until = until.unwrap_or(Version::ZERO);
        if let Some(link) = self.link(runner) {
            link.idle_after = Some(IdleAfter { last_task, until });
        }
        self.settle_idle(runner).await;
    }

    /// Lets a member be idle whose idleness has waited, if nothing is left to wait for. Hooks are asked, unless it has work
    /// or gets some at once.
    async fn settle_idle(&mut self, runner: &Runner) {
        let followed = self.post.state.version();
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
        let waits = |link: &&LiveMember| link.idle_after.is_some();
        let waiting = self.links.values().filter(waits).map(|it| it.runner.clone());
        for runner in waiting.collect::<Vec<_>>() {
            self.settle_idle(&runner).await;
        }
    }

    pub(super) async fn report_idle(&mut self, runner: &Runner, last_task: Option<TaskRef>) {
        self.rests(runner);
        let member = runner.member.clone();
        let request = self.post.own(Command::ReportIdle { member, last_task });
        self.ask_for(runner, request).await;
    }

    fn has_idle_hook(&self, member: &MemberName) -> bool {
        self.hooks.has(HookEvent::TeammateIdle) && !self.post.is_lead(member)
    }

    fn has_or_gets_work(&self, member: &MemberName) -> bool {
        let is_given = |team: &Team| team.settings.assignment != Assignment::Claim;
        let is_given = self.post.state.team().is_some_and(is_given);
        at_work(&self.post.state, member).next().is_some()
            || is_given && self.post.state.tasks().ready_for(member).next().is_some()
    }

    /// Waits for a word about a task that a member holds and was told of, although it says that it is idle. What it says
    /// first may have been said before it heard of any task.
    pub(super) fn expect_word(&mut self, runner: &Runner) {
        let member = &runner.member;
        let held: Vec<_> = at_work(&self.post.state, member).collect();
        let (is_lead, wait) = (self.post.is_lead(member), self.post.timing.grace);
        let Some(link) = self.link(runner) else { return };
        let is_first = !std::mem::replace(&mut link.has_said_idle, true);
        let told = held.into_iter().filter(|task| link.told.contains_key(task));
        let told: Vec<_> = told.filter(|_| !is_first && !is_lead).collect();
        link.is_asked_for_word = false;
        let has_claimed = std::mem::take(&mut link.has_claimed);
        if has_claimed && !is_lead {
            self.post.timers.set(wait, Due::Claimed(runner.clone()));
        }
        for task in told {
            self.post.timers.set(wait, Due::Word(runner.clone(), task));
        }
    }

    /// A member that says it is idle should have said by now how its task stands. It is asked once, and then the task is
    /// tried anew: it would hold it until its lease ends.
    pub(super) async fn word_is_due(&mut self, runner: &Runner, task: TaskNumber) {
        let member = &runner.member;
        let later = Due::Word(runner.clone(), task);
        match self.word_of(runner, task) {
            Word::Given => {}
            Word::Coming => self.post.timers.set(self.post.timing.grace, later),
            Word::Owed { is_asked: false } => {
                let what = format!("you hold {task} but say that you are idle; report its state");
                self.post.tell(member, what).await;
                self.post.timers.set(self.post.timing.grace, later);
            }
            Word::Owed { is_asked: true } => {
                let reason =
                    format!("{member} says that it is idle but has not reported on {task}");
                let attempt = self.post.state.tasks().get(task).map(|it| it.attempts);
                let (task, for_good) = (task.into(), false);
                let order = TaskCommand::Fail { task, reason, attempt, for_good };
                self.post.give(Command::Task(order)).await;
            }
        }
    }

    /// Whether a member that said it is idle still owes a word about a task that it holds. Who says when it has dealt with what
    /// it was told is waited for until then; who does not may be at it as long as it says anything.
    fn word_of(&mut self, runner: &Runner, task: TaskNumber) -> Word {
        let (party, grace) = (Party::member(&runner.member), self.post.timing.grace);
        let is_held = at_work(&self.post.state, &runner.member).any(|it| it == task);
        let asks = self.post.state.requests().any(|(_, it)| it.from == party)
            || self.post.state.tasks().get(task).is_some_and(|it| it.talk.question.is_some());
        let has_mail = self.post.state.mailbox().n_unread(&party) > 0;
        let Some(link) = self.link(runner).filter(|link| link.is_open()) else {
            return Word::Given;
        };
        let is_at_it = link.at_work.is_some() || !link.told.contains_key(&task);
        let speaks = !link.tells_end && link.heard_at.elapsed() < grace;
        if !is_held || asks || is_at_it || speaks {
            Word::Given
        } else if has_mail || !link.is_at_rest || link.n_held > 0 {
            Word::Coming
        } else {
            Word::Owed { is_asked: std::mem::replace(&mut link.is_asked_for_word, true) }
        }
    }
}

/// What is known of a word about a task.
enum Word {
    /// It was said, or nobody waits for it.
    Given,
    /// Who is to say it has something else to deal with first.
    Coming,
    /// It is missing.
    Owed { is_asked: bool },
}
