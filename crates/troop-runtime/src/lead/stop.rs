//! Stopping: asked first, then told by a signal, then killed.

use troop_model::{
    Assignment, Command, Member, MemberName, MemberState, Party, Role, StateCause, Status, Team,
    Version,
};
use troop_process::Signal;
use troop_protocol::FromLead;
use uuid::Uuid;

use super::{
    LeadEnd, LeadWork, Runner, Until,
    dispatcher::Dispatcher,
    input::Due,
    link::{LiveMember, Phase},
    post::Course,
};

/// A member that is being stopped.
#[derive(Clone, Debug)]
pub(super) struct StopOrder {
    pub(super) reason: String,
    /// The request that its answer belongs to, and who made it.
    pub(super) asked: Option<(Uuid, Party)>,
    /// Whether it is not asked for its opinion.
    pub(super) is_forced: bool,
}

impl StopOrder {
    /// Why, as the log says it to people.
    pub(super) fn recorded(&self) -> String {
        let team_stopped = StateCause::TeamStopped.in_words();
        if self.is_forced {
            format!("{team_stopped}: {}", self.reason)
        } else {
            self.reason.clone()
        }
    }

    /// Why, as the log says it to programs.
    pub(super) fn cause(&self) -> StateCause {
        if self.is_forced { StateCause::TeamStopped } else { StateCause::Asked }
    }
}

/// Whether a member ended although nobody wanted it to: it went with its lead, or crashed.
#[must_use]
pub fn was_cut_short(member: &Member) -> bool {
    member.role == Role::Member && member.state == MemberState::Crashed && !member.is_running()
}

/// Whether a member runs again with its team: nobody wanted it alone to stop. Also who has never run does.
#[must_use]
pub fn is_to_start_again(member: &Member) -> bool {
    let is_down = member.role == Role::Member && !member.is_running();
    !member.is_external() && is_down && member.state_cause != Some(StateCause::Asked)
}

impl Dispatcher {
    /// Stops a member because somebody sent it a request to. Who runs elsewhere reads the request there.
    pub(super) async fn stop_as_asked(&mut self, member: &MemberName) {
        if self.post.state.member(member).is_some_and(Member::is_external) {
            return;
        }
        let Some(request) = self.stop_request(member) else { return };
        let (id, from) = (request.id, request.from);
        let reason = match request.content.as_str() {
            "" => format!("{from} asked it to"),
            content => content.to_owned(),
        };
        if !self.links.contains_key(member) && self.starts.forget(member) {
            let (reason, cause) = (Some(reason.clone()), Some(StateCause::Asked));
            self.post.set_state(member, MemberState::Stopped, reason, cause, None).await;
        }
        let stop = StopOrder { reason, asked: Some((id, from)), is_forced: false };
        self.ask_to_stop(member, stop);
        // It is read with what comes of it; a member that does not run has nothing to stop.
        let (reader, messages) = (Some(member.clone()), Some(vec![id]));
        self.post.give(Command::MarkRead { reader, messages }).await;
    }

    fn ask_to_stop(&mut self, member: &MemberName, stop: StopOrder) {
        let Some(link) = self.links.get_mut(member) else { return };
        let runner = link.runner.clone();
        // One that does not read is told by a signal when its grace is over.
        drop(link.tell(&FromLead::Shutdown { reason: stop.reason.clone() }));
        let is_starting = link.phase == Phase::Starting;
        let earlier = link.stop.take();
        let is_first = earlier.is_none();
        // Who has to stop with its team has to, whoever asks for the same meanwhile.
        let forced = earlier.filter(|earlier| earlier.is_forced);
        link.stop = Some(match forced {
            Some(forced) => StopOrder { asked: stop.asked, ..forced },
            None => stop,
        });
        if is_starting {
            self.kill(&runner);
        } else if is_first {
            self.post.timers.set(self.post.timing.grace, Due::Grace(runner));
        }
    }

    /// A member had its time to stop by itself.
    pub(super) fn grace_is_over(&mut self, runner: &Runner) {
        let is_stopping = self.link(runner).is_some_and(|link| link.stop.is_some());
        if !is_stopping {
            return;
        }
        self.signal(runner, Signal::TERM);
        self.post.timers.set(self.post.timing.term, Due::Term(runner.clone()));
    }

    /// A member had its time to end after it was told to, or after it closed its wire.
    pub(super) fn term_is_over(&mut self, runner: &Runner) {
        let has_ended = |link: &mut LiveMember| link.exit.is_some() && link.stop.is_none();
        // Who has ended by itself, and is only waited for because of what it said, keeps nobody from stopping.
        if !self.link(runner).is_some_and(has_ended) {
            self.kill(runner);
        }
    }

    /// Stops everybody, and then this lead.
    pub(super) async fn begin_team_stop(&mut self, reason: &str) {
        self.stop_team(LeadEnd::Stopped { reason: reason.to_owned() }, reason).await;
    }

    async fn stop_team(&mut self, how: LeadEnd, reason: &str) {
        if self.post.is_ending() {
            return;
        }
        self.post.course = Course::Stopping(how);
        self.post.agenda.is_due = true;
        // Who waits to be started does not any more.
        for member in self.starts.take() {
            self.start(&member).await;
        }
        let members: Vec<_> = self.links.keys().cloned().collect();
        for member in members {
            let reason = reason.to_owned();
            self.ask_to_stop(&member, StopOrder { reason, asked: None, is_forced: true });
            let pid = self.links.get(&member).map(|link| link.body.process());
            self.post.set_state(&member, MemberState::Stopping, None, None, pid).await;
        }
    }

    /// Ends when all have stopped and the board knows; stops when nobody has anything left to do.
    pub(super) async fn look_for_the_end(&mut self) {
        match self.post.course {
            Course::Running if self.may_end() && self.is_quiet() => {
                if self.post.has_followed_all().await {
                    self.stop_team(LeadEnd::Quiet, "nobody has anything left to do").await;
                }
            }
            Course::Running if self.may_end() && self.ends_spent() => {
                if self.post.has_followed_all().await {
                    let reason = self.why_spent();
                    self.begin_team_stop(&reason).await;
                }
            }
            Course::Stopping(_) if self.links.is_empty() => self.say_goodbye().await,
            Course::Running | Course::Stopping(_) | Course::Over(_) => {}
        }
    }

    async fn say_goodbye(&mut self) {
        self.fire_shutdown().await;
        let is_deleted = self
            .post
            .state
            .team()
            .is_none_or(|team| team.status == troop_model::TeamStatus::Deleted);
        if !is_deleted {
            let is_over = self.post.state.tasks().iter().all(|task| task.status.is_finished());
            // What ends before all is done has stopped, and can go on. Nobody knows what a lead had in mind that was cut short.
            if is_over && !self.leaves_something_open() {
                self.post.give(Command::CompleteTeam).await;
            }
            let request = self.post.own(Command::ReleaseLead);
            if let Some(given) = self.post.enqueue(request).await {
                // What is refused now is for whoever leads next.
                drop(given.done().await);
            }
        }
        // What ended the lead meanwhile counts.
        if let Course::Stopping(how) = &self.post.course {
            self.post.course = Course::Over(how.clone());
        }
    }

    /// Whether the lead ends before it has dealt with all that people told it.
    fn leaves_something_open(&self) -> bool {
        let Some(lead) = self.post.state.lead() else { return false };
        let party = Party::member(&lead.name);
        let mut unread = self.post.state.mailbox().unread_of(&party);
        lead.state == MemberState::Crashed
            || self.post.left_open().is_some()
            || unread.any(|message| message.from == Party::user())
    }

    /// Whether it is over when nobody has anything left to do.
    fn may_end(&self) -> bool {
        match self.until {
            Until::Stopped => false,
            Until::Quiet => true,
            Until::QuietAfter(version) => version <= self.post.state.version(),
        }
    }

    /// Ends everybody who has not stopped yet, without waiting for their answers.
    pub(super) async fn hurry(&mut self) {
        self.begin_team_stop("it was told to, at once").await;
        let runners: Vec<_> = self.links.values().map(|link| link.runner.clone()).collect();
        for runner in runners {
            self.kill(&runner);
        }
    }

    /// Whether nobody has anything left to do: nobody works, starts or waits to be started, all mail is read, and no task
    /// can be begun or will be tried again, and who runs elsewhere had time for its last words. A lead that was interrupted waits for a word, and one that could spend no more
    /// for money.
    fn is_quiet(&self) -> bool {
        let is_open = match *self.post.lead_work.borrow() {
            LeadWork::Done => false,
            LeadWork::Open | LeadWork::Failed => self.is_spent,
            LeadWork::Interrupted => true,
        };
        !is_open
            && self.links.values().all(|link| self.is_at_rest(link))
            && self.nothing_moves()
            && !self.post.timers.has(|due| matches!(due, Due::LastWords(_)))
    }

    /// The lead, if nobody can begin the tasks that are left, and since when that is known.
    async fn stuck(&self) -> Option<(MemberName, Version)> {
        let lead = self.post.state.lead()?.name.clone();
        let mut others = self.links.values().filter(|link| link.runner.member != lead);
        let is_stuck = !self.post.is_ending()
            && self.may_end()
            && self.post.state.tasks().n_with(Status::Pending) > 0
            && self.links.contains_key(&lead)
            && others.all(|link| self.is_at_rest(link))
            && self.nothing_moves();
        let version = self.post.state.version();
        (is_stuck && self.post.has_followed_all().await).then_some((lead, version))
    }

    /// Tells the lead's agent, which may wait for the end of all tasks, that nobody can begin those that are left.
    pub(super) async fn tell_if_stuck(&mut self) {
        let Some((lead, version)) = self.stuck().await else { return };
        let Some(link) = self.links.get_mut(&lead) else { return };
        if link.told_stuck.replace(version) != Some(version) {
            self.send_context(&lead);
        }
    }

    fn is_at_rest(&self, link: &LiveMember) -> bool {
        let party = Party::member(&link.runner.member);
        let has_mail = self.post.state.mailbox().n_unread(&party) > 0;
        self.is_idle(link) && !has_mail
    }

    /// Whether a member is in the middle of nothing.
    pub(super) fn is_idle(&self, link: &LiveMember) -> bool {
        let member = self.post.state.member(&link.runner.member);
        let is_idle =
            member.is_some_and(|it| matches!(it.state, MemberState::Idle | MemberState::Planning));
        link.is_free(self.post.state.version()) && link.is_at_rest && is_idle
    }

    /// Whether nobody comes, and no task is worked on, can be begun or will be tried again.
    fn nothing_moves(&self) -> bool {
        let tasks = self.post.state.tasks();
        let will_run = |it: &Member| {
            let is_coming = it.state == MemberState::Spawning || self.restarts.is_waiting(&it.name);
            it.role == Role::Member && is_coming
        };
        let waits = tasks
            .with_status(Status::Failed)
            .any(|number| tasks.get(number).is_some_and(|task| task.start.not_before.is_some()));
        self.n_gated == 0
            && !self.post.state.members().any(will_run)
            && tasks.n_with(Status::InProgress) == 0
            && !waits
            && !self.can_begin_something()
    }

    /// Whether a task is ready for somebody who runs, here or elsewhere. Where nobody is given work, those who say when they
    /// have dealt with what they were told begin nothing after that; others may come and claim something at any moment.
    fn can_begin_something(&self) -> bool {
        let is_given = |team: &Team| team.settings.assignment != Assignment::Claim;
        let is_given = self.post.state.team().is_some_and(is_given);
        let here = self.links.values().filter(|link| is_given || !link.tells_end);
        let here = here.map(|link| &link.runner.member).filter(|it| !self.post.is_lead(it));
        let has_left = |it: &Member| it.state_cause == Some(StateCause::Asked);
        let is_there = |it: &&Member| it.is_external() && !has_left(it);
        let elsewhere = self.post.state.members().filter(is_there).map(|it| &it.name);
        let mut members = here.chain(elsewhere);
        members.any(|member| self.post.state.tasks().ready_for(member).next().is_some())
    }
}
