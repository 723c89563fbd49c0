//! The crew: the members that run. Starts, restarts and stops them, and handles their exits.

pub(super) mod conversation;
pub(crate) mod facts;
pub(super) mod launching;
pub(super) mod lifecycle;
pub(super) mod member;
mod process;
mod stop;

use std::{collections::BTreeMap, io, path::PathBuf, sync::Arc, time::Duration};

use tokio::time::Instant;
use troop_model::{
    Command, Conversation, Member, MemberName, MemberState, NewMember, Party, Permissions, Role,
    Spawn, StateCause,
};
use troop_process::{Below, Signal, kill_group};
use troop_protocol::Ready;
use uuid::Uuid;

use self::{
    facts::MemberFacts,
    lifecycle::{Lifecycle, MemberExit, StopOrder},
    member::{LiveMember, MemberHost},
};
use super::{
    Runner,
    input::{Due, LeadInput},
    launch::Launch,
    places::Workplaces,
    policy::{
        aftermath::{self, Aftermath},
        delegation,
        restart::{MemberRetries, Restarts},
    },
    post::{MemberMove, Post},
    transcript::TranscriptLine,
};
use crate::BoardError;

/// How long we wait for the last output of a process after its exit. A child that it left behind may hold its wire open.
const OUTPUT_GRACE: Duration = Duration::from_secs(1);

/// The members that run.
#[derive(Debug)]
pub(super) struct Crew {
    members: BTreeMap<MemberName, LiveMember>,
    n_runs: u64,
    restarts: Restarts,
    /// Members whose start is retried after a fault of the machine.
    starts: MemberRetries,
    pub(super) launch: Arc<dyn Launch>,
    pub(super) project: PathBuf,
    /// The conversation in which the lead's agent acts.
    pub(super) conversation: Conversation,
}

/// Lookups.
impl Crew {
    pub(super) fn new(launch: Arc<dyn Launch>, project: PathBuf) -> Self {
        Self {
            members: BTreeMap::new(),
            n_runs: 0,
            restarts: Restarts::default(),
            starts: MemberRetries::default(),
            launch,
            project,
            conversation: Conversation::default(),
        }
    }

    pub(super) fn get(&self, member: &MemberName) -> Option<&LiveMember> {
        self.members.get(member)
    }

    pub(super) fn get_mut(&mut self, member: &MemberName) -> Option<&mut LiveMember> {
        self.members.get_mut(member)
    }

    /// The member that reads mail under this name.
    pub(super) fn reader(&mut self, reader: &Party) -> Option<&mut LiveMember> {
        self.members.get_mut(reader.as_str())
    }

    /// A member, if it is still in the same run.
    pub(super) fn in_run(&mut self, runner: &Runner) -> Option<&mut LiveMember> {
        self.members.get_mut(&runner.member).filter(|it| it.runner.run == runner.run)
    }

    /// The facts about a member, if it is still in the same run.
    pub(super) fn facts_of(&mut self, runner: &Runner) -> Option<&mut MemberFacts> {
        self.in_run(runner).map(|it| &mut it.facts)
    }

    pub(super) fn has(&self, member: &MemberName) -> bool {
        self.members.contains_key(member)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub(super) fn names(&self) -> Vec<MemberName> {
        self.members.keys().cloned().collect()
    }

    pub(super) fn runners(&self) -> Vec<Runner> {
        self.members.values().map(|it| it.runner.clone()).collect()
    }

    /// Whether a member is still being launched.
    pub(super) fn is_launching(&self) -> bool {
        self.members.values().any(|it| it.body.is_none())
    }

    pub(super) fn facts(&self) -> Vec<(&MemberName, &MemberFacts)> {
        self.members.iter().map(|(name, it)| (name, &it.facts)).collect()
    }

    pub(super) fn all_facts_mut(&mut self) -> impl Iterator<Item = &mut MemberFacts> {
        self.members.values_mut().map(|it| &mut it.facts)
    }

    /// The current runs of the members that match.
    pub(super) fn runners_with(&self, holds: impl Fn(&MemberFacts) -> bool) -> Vec<Runner> {
        let found = self.members.values().filter(|it| holds(&it.facts));
        found.map(|it| it.runner.clone()).collect()
    }

    pub(super) fn restarts(&self) -> &Restarts {
        &self.restarts
    }

    /// A member finished a task, so it does not crash at every start.
    pub(super) fn forgive(&mut self, member: &MemberName) {
        self.restarts.forgive(member);
    }

    pub(super) fn clear(&mut self) {
        self.members.clear();
    }
}

/// Starting.
impl Crew {
    /// Starts a member, unless it runs already.
    pub(super) async fn start(
        &mut self,
        post: &mut Post,
        places: &mut Workplaces,
        member: &MemberName,
    ) {
        // A member with its own folder is started when the folder exists.
        if self.clear_to_start(post, member).await && !places.make(post, member) {
            self.launch_in(post, places, member, self.project.clone());
        }
    }

    /// Starts a member in a folder, if it is still wanted.
    pub(super) async fn start_in(
        &mut self,
        post: &mut Post,
        places: &Workplaces,
        member: &MemberName,
        path: PathBuf,
    ) {
        if self.clear_to_start(post, member).await {
            self.launch_in(post, places, member, path);
        }
    }

    /// Returns whether a member may be started: it does not run, and the team is not stopping. In a stopping team it is
    /// recorded as stopped.
    async fn clear_to_start(&self, post: &mut Post, member: &MemberName) -> bool {
        if self.has(member) {
            return false;
        }
        if post.is_ending() {
            let stopped = MemberMove::to(MemberState::Stopped).caused_by(StateCause::TeamStopped);
            post.set_state(member, stopped).await;
            return false;
        }
        true
    }

    /// Retries a start that failed because of the machine, for a limited time: that is no crash and costs no task an attempt.
    /// People are warned once. Returns whether it is retried.
    pub(super) fn start_later(&mut self, post: &mut Post, member: &MemberName, why: &str) -> bool {
        if post.is_lead(member) || post.is_ending() {
            return false;
        }
        let Some(next) = self.starts.next_try(member, post.timing.restart, Instant::now()) else {
            self.starts.forget(member);
            return false;
        };
        if next.is_new {
            let what = format!("{member} cannot be started now; retrying: {why}");
            post.note(member, TranscriptLine::trouble(&what));
            if next.is_news {
                post.tell_people(what);
            }
        }
        post.timers.set(next.pause, Due::Start(member.clone()));
        true
    }

    /// Retries the start of a member, if it is still wanted.
    pub(super) async fn start_again(
        &mut self,
        post: &mut Post,
        places: &mut Workplaces,
        member: &MemberName,
    ) {
        if post.state.member(member).is_some_and(|it| it.state == MemberState::Spawning) {
            self.start(post, places, member).await;
        }
    }

    /// A member's process could not be started.
    pub(super) async fn cannot_start(
        &mut self,
        post: &mut Post,
        member: &MemberName,
        error: io::Error,
    ) {
        let Some(found) = post.state.member(member) else { return };
        let is_new = is_new(found);
        let exit = MemberExit::NotStarted(error);
        post.note(member, TranscriptLine::trouble(&exit.to_string()));
        match is_new {
            true => self.remove_unstarted(post, member, &exit).await,
            false => self.crash(post, member, exit.to_string()).await,
        }
    }

    /// A member says that it is ready. Returns whether that is new.
    pub(super) async fn become_ready(
        &mut self,
        post: &mut Post,
        member: &MemberName,
        ready: &Ready,
    ) -> bool {
        let Some(live) = self.members.get_mut(member) else { return false };
        if !live.facts.life.become_ready() {
            return false;
        }
        live.facts.wire.acknowledges = ready.acknowledges;
        live.facts.wire.tells_end = ready.version.is_some();
        live.facts.stir();
        let pid = live.process();
        self.starts.forget(member);
        let permissions = post.state.member(member).map(|it| it.permissions);
        let state = match permissions {
            Some(Permissions::Plan) => MemberState::Planning,
            _ => MemberState::Idle,
        };
        post.set_state(member, MemberMove::to(state).in_process(pid)).await;
        true
    }

    /// A member should have said by now that it is ready.
    pub(super) fn ready_is_due(&mut self, post: &mut Post, runner: &Runner) {
        if let Some(live) = self.in_run(runner).filter(|it| it.facts.life.is_starting()) {
            live.obituary.set_cause("it was not ready in time");
            self.kill(post, runner);
        }
    }

    /// Starts the member of a delegation, if it does not run.
    pub(super) async fn start_for(&mut self, post: &mut Post, delegation: Uuid, to: &MemberName) {
        let Some(member) = post.state.member(to) else { return };
        let is_coming = self.has(to) || self.restarts.is_waiting(to);
        if post.is_ending() || !delegation::must_start(member, is_coming) {
            return;
        }
        let member = NewMember {
            name: member.name.clone(),
            agent: member.agent.clone(),
            expertise: member.expertise.clone(),
            model: member.model.clone(),
            permissions: None,
        };
        let request = post.own(Command::SpawnMember(Spawn { member, prompt: None }));
        post.give_or(request, move |error| {
            // Another command or delegation was faster.
            let is_done =
                matches!(error, BoardError::Refused(troop_model::Refusal::AlreadyRunning { .. }));
            (!is_done).then_some(LeadInput::NotDelegated(delegation, error))
        })
        .await;
    }
}

/// Ending.
impl Crew {
    /// A member's process or task has exited. Its remaining output is read first. Returns whether that is complete.
    pub(super) fn exit(&mut self, post: &mut Post, runner: &Runner, exit: MemberExit) -> bool {
        let Some(facts) = self.facts_of(runner) else { return false };
        facts.life.exit(exit);
        if !facts.wire.is_silent {
            post.timers.set(OUTPUT_GRACE, Due::Bury(runner.clone()));
            return false;
        }
        true
    }

    /// A member's wire has ended. Its process should end, too; if it does not, it hangs and is killed. Returns whether it has
    /// exited.
    pub(super) fn silence(&mut self, post: &mut Post, runner: &Runner) -> bool {
        let Some(facts) = self.facts_of(runner) else { return false };
        facts.wire.is_silent = true;
        if facts.life.has_exited() {
            return true;
        }
        if facts.life.stop().is_none() {
            post.timers.set(post.timing.grace, Due::Term(runner.clone()));
        }
        false
    }

    /// Takes a member whose run is over out of the crew. Its pending reports still count and are settled first, unless it was
    /// killed.
    pub(super) fn take_dead(&mut self, post: &mut Post, runner: &Runner) -> Option<LiveMember> {
        let facts = self.facts_of(runner)?;
        let is_over = aftermath::is_over(&facts.life, facts.work.n_held);
        let dead = is_over.then(|| self.members.remove(&runner.member)).flatten()?;
        post.engage(&runner.member, None);
        if let Lifecycle::Exited { exit, .. } = &dead.facts.life {
            post.note(&runner.member, TranscriptLine::note(&exit.to_string()));
        }
        Some(dead)
    }

    /// Acts on the end of a member's run.
    pub(super) async fn bury(
        &mut self,
        post: &mut Post,
        places: &mut Workplaces,
        dead: LiveMember,
    ) {
        let member = &dead.runner.member;
        let Lifecycle::Exited { exit, account, .. } = dead.facts.life else { return };
        let reason = dead.obituary.explain(&exit);
        match aftermath::of(account, dead.obituary.blames_machine()) {
            Aftermath::Nothing => {
                // A new member may have the name by now, and wait for its start.
                let waits = |it: &Member| it.state == MemberState::Spawning;
                if post.state.member(member).is_some_and(waits) {
                    self.start(post, places, member).await;
                }
            }
            Aftermath::Stopped(order) => self.record_stop(post, member, &order).await,
            Aftermath::NotReady { may_retry: true, .. }
                if self.start_later(post, member, &reason) => {}
            Aftermath::NotReady { is_new: true, .. } => {
                let exit = MemberExit::NotStarted(io::Error::other(reason));
                self.remove_unstarted(post, member, &exit).await;
            }
            Aftermath::NotReady { .. } | Aftermath::Crashed => {
                self.crash(post, member, reason).await;
            }
        }
    }

    async fn record_stop(&mut self, post: &mut Post, member: &MemberName, order: &StopOrder) {
        let mut reason = order.recorded();
        let mut cause = order.cause();
        if let Some(left) = post.left_open().filter(|_| post.is_lead(member)) {
            reason = format!("{reason}; {}", left.in_words());
            cause = left;
        }
        let stopped = MemberMove::to(MemberState::Stopped).because(reason).caused_by(cause);
        post.set_state(member, stopped).await;
        // When the whole team stops, the lead stops too, and would find this message unread at its next start.
        if !order.is_forced {
            post.tell_lead(member, format!("Teammate {member} has shut down.")).await;
        }
        self.restarts.forget(member);
    }

    /// Removes a new member that could not be started.
    async fn remove_unstarted(&self, post: &mut Post, member: &MemberName, exit: &MemberExit) {
        let what = format!("{member} did not start: {exit}");
        let reason = Some(what.clone());
        post.give(Command::RemoveMember { member: member.clone(), reason }).await;
        post.tell_lead(member, what).await;
    }

    async fn crash(&mut self, post: &mut Post, member: &MemberName, reason: String) {
        let is_kept_down = post.is_ending() || post.is_lead(member);
        let is_given_up = !is_kept_down && !self.restarts.after_crash(member, &post.timing);
        let said = match is_given_up {
            true => format!("{reason}; it crashed too often and will not be restarted"),
            false => reason.clone(),
        };
        post.set_state(member, MemberMove::to(MemberState::Crashed).because(said)).await;
        if is_given_up {
            let what = format!("{member} crashed too often and will not be restarted: {reason}");
            post.tell_lead(member, what).await;
        }
    }

    /// The log shows that a member crashed: if it is to be restarted, its pause begins.
    pub(super) fn plan_restart(&mut self, post: &mut Post, member: &MemberName) {
        post.agenda.is_due = true;
        if let Some(pause) = self.restarts.pause(member) {
            post.timers.set(pause, Due::Restart(member.clone()));
        }
    }

    /// Restarts a crashed member: the start is recorded in the log, and following the log starts it.
    pub(super) async fn restart(&mut self, post: &mut Post, member: &MemberName) {
        let is_down = post.state.member(member).is_some_and(|it| !it.is_running());
        let is_planned = self.restarts.begin(member);
        if !is_planned || !is_down || self.has(member) || post.is_ending() {
            return;
        }
        let member = member.clone();
        let request = post.own(Command::SetMemberState {
            member: member.clone(),
            state: MemberState::Spawning,
            reason: Some("starts again".to_owned()),
            cause: None,
            pid: None,
        });
        post.give_or(request, |error| Some(LeadInput::NotRestarted(member, error))).await;
    }

    /// Kills a member's process with all its children.
    pub(super) fn kill(&mut self, post: &mut Post, runner: &Runner) {
        self.signal(runner, Signal::KILL);
        let Some(live) = self.in_run(runner) else { return };
        live.facts.life.kill();
        // A member that is still being launched is killed when it runs.
        if let Some(body) = &live.body {
            body.peer.cut();
            if let MemberHost::Task(task) = &body.host {
                task.abort();
            }
        }
        if live.facts.life.has_exited() {
            post.timers.set(Duration::ZERO, Due::Bury(runner.clone()));
        }
    }

    /// Sends a signal to the group of a member's process.
    fn signal(&mut self, runner: &Runner, signal: Signal) {
        let live = self.in_run(runner).filter(|it| !it.facts.life.has_exited());
        let Some(pid) = live.and_then(|it| it.own_process()) else { return };
        // Collected first: once the parent is gone, its children can no longer be found.
        let below = (signal == Signal::KILL).then(|| Below::of(pid));
        // A process that has just exited cannot be signalled; its exit will be reported.
        drop(kill_group(pid, signal));
        below.iter().for_each(Below::kill);
    }

    /// Kills a member that was silent for too long.
    pub(super) fn end_silent(&mut self, post: &mut Post, member: &MemberName) {
        let Some(live) = self.members.get_mut(member) else { return };
        let runner = live.runner.clone();
        live.obituary.set_cause("it was silent for longer than its lease");
        post.note(member, TranscriptLine::trouble("silent for longer than its lease"));
        self.kill(post, &runner);
    }

    /// Kills a member that was removed from the team.
    pub(super) fn let_go(&mut self, post: &mut Post, member: &MemberName) {
        self.restarts.forget(member);
        self.starts.forget(member);
        if let Some(live) = self.members.get_mut(member) {
            live.facts.life.let_go();
            let runner = live.runner.clone();
            self.kill(post, &runner);
        }
    }
}

/// Whether a member joined with the same command that starts it, so that it has never run.
fn is_new(member: &Member) -> bool {
    member.role == Role::Member && member.joined_at == member.state_since
}
