//! The office of a lead: its post, its crew, their folders and the gate of hooks, and functions that need several of these.
//! They give commands for members, start members in their folders, and hand over work and mail.

mod mail;
mod tasks;
mod words;

use std::path::PathBuf;

use troop_model::{
    Command, DelegationOutcome, DelegationStatus, MemberName, State, Version, WorkspaceFolder,
};
use troop_protocol::{Failure, FromLead, MessageIn, Responder};
use uuid::Uuid;

use super::{
    Runner,
    completion::Intent,
    crew::{Crew, launching::MemberLaunch, member::LiveMember},
    gate::HookGate,
    input::{Due, FolderStart, LeadInput, RefusedCommand},
    places::{NewPlace, Workplaces, claimed},
    policy::loss::Loss,
    post::Post,
    shared::{SharedFolders, SharedPath},
    transcript::TranscriptLine,
};
use crate::{BoardError, CommandEffect, CommandRequest, GitError, answers::changed};

/// The parts that a lead works with.
#[derive(Debug)]
pub(super) struct Office {
    pub(super) post: Post,
    pub(super) crew: Crew,
    pub(super) places: Workplaces,
    pub(super) gate: HookGate,
    pub(super) shared: SharedFolders,
    /// Whether the team's budget is spent.
    pub(super) is_spent: bool,
}

/// Commands for members.
impl Office {
    /// Gives the command of an intent to the board, and answers if the caller waits.
    pub(super) async fn carry_out(&mut self, intent: Intent) {
        match intent.responder {
            Some(responder) => self.give_and_answer(intent.request, responder).await,
            None => {
                if let Some(runner) = &intent.runner {
                    self.give_for(runner, intent.request).await;
                }
            }
        }
    }

    /// Gives a command and answers with its effect. A claim is answered when the member's folder is ready.
    async fn give_and_answer(&mut self, request: CommandRequest, responder: Responder) {
        let readying = self.places.readying(&self.post, &request.command);
        let look = |state: &State, done: CommandEffect| {
            let work = claimed(state, &done);
            (changed(state, &done), work)
        };
        self.post.progress.give();
        let given = match self.post.board.give_and_look(request, look).await {
            Ok(given) => given,
            Err(error) => return self.post.lost(Some(error)),
        };
        self.post.background.spawn(async move {
            let answered = match given.done().await {
                Ok((answer, work)) => {
                    if let Some(readying) = readying
                        && let Some(work) = work
                    {
                        readying.ready(work).await;
                    }
                    responder.answer(&answer)
                }
                Err(error) => responder.refuse(Failure::from(&error)),
            };
            // The caller may be gone.
            drop(answered);
        });
    }

    /// Gives a command for a member, which hears of a refusal.
    pub(super) async fn give_for(&mut self, runner: &Runner, request: CommandRequest) {
        let runner = runner.clone();
        let again = request.clone();
        self.post
            .give_or(request, move |error| {
                let why = error.to_string();
                Some(LeadInput::Refused(Box::new(RefusedCommand { runner, request: again, why })))
            })
            .await;
    }

    /// Gives a command that may give a member work; until its effect is known, the member gets no other offer.
    pub(super) async fn offer(&mut self, runner: &Runner, request: CommandRequest) {
        let Some(facts) = self.crew.facts_of(runner) else { return };
        facts.work.offers.begin();
        let Some(given) = self.post.enqueue(request).await else { return };
        let runner = runner.clone();
        self.post.background.spawn_input(async move {
            let version = given.done().await.ok().map(|done| done.version);
            Some(LeadInput::Settled(runner, version))
        });
    }

    /// The effect of an offer of work is known.
    pub(super) fn settle_offer(&mut self, runner: &Runner, version: Option<Version>) {
        if let Some(facts) = self.crew.facts_of(runner) {
            facts.work.offers.settle(version);
            // A failed offer is retried at the next tick.
            self.post.agenda.is_due |= version.is_some();
        }
    }

    /// Tells a member that one of its messages was refused.
    pub(super) fn refuse(&mut self, runner: &Runner, content: String) {
        self.post.note(&runner.member, TranscriptLine::trouble(&content));
        if let Some(live) = self.crew.in_run(runner)
            && live.facts.wire.count_refusal()
        {
            // A member that does not read misses it.
            drop(live.tell(&FromLead::Message(MessageIn::system(content))));
        }
    }
}

/// Starting members.
impl Office {
    pub(super) async fn start(&mut self, member: &MemberName) {
        self.crew.start(&mut self.post, &mut self.places, member).await;
    }

    /// Retries the start of a member.
    pub(super) async fn start_again(&mut self, member: &MemberName) {
        self.crew.start_again(&mut self.post, &mut self.places, member).await;
    }

    /// A member's folder exists, so that it can be started, or cannot be made.
    pub(super) async fn placed(&mut self, member: &MemberName, place: Result<PathBuf, GitError>) {
        match self.places.made(member, place) {
            NewPlace::Ready(path) => {
                self.crew.start_in(&mut self.post, &self.places, member, path).await;
            }
            NewPlace::Failed { why, may_retry } => {
                let is_retried = may_retry && self.crew.start_later(&mut self.post, member, &why);
                if !is_retried {
                    let error = std::io::Error::other(why);
                    self.crew.cannot_start(&mut self.post, member, error).await;
                }
            }
        }
    }

    /// The agent of a member is launched, or cannot be.
    pub(super) async fn launched(&mut self, launch: MemberLaunch) {
        self.crew.launched(&mut self.post, &mut self.places, launch).await;
    }

    pub(super) async fn bury(&mut self, dead: LiveMember) {
        self.crew.bury(&mut self.post, &mut self.places, dead).await;
    }

    /// The board refused to restart a member, for example because its place is taken.
    pub(super) async fn not_restarted(&mut self, member: &MemberName, why: &BoardError) {
        self.post.agenda.is_due = true;
        let what = format!("{member} crashed and will not be restarted: {why}");
        self.post.tell_lead(member, what).await;
    }

    /// The board refused to start a member for a delegation, for example because too many run already.
    pub(super) async fn not_delegated(&mut self, delegation: Uuid, why: &BoardError) {
        let outcome = DelegationOutcome::Failed(format!("it cannot be started: {why}"));
        self.post.give(Command::FinishDelegation { delegation, outcome }).await;
    }

    /// Starts the members of delegations that were made before this lead began.
    pub(super) async fn begin_delegations(&mut self) {
        let all = self.post.state.delegations();
        let running = all.filter(|it| it.status == DelegationStatus::Running);
        let running: Vec<_> = running.map(|it| (it.id, it.to.clone())).collect();
        for (delegation, to) in running {
            self.crew.start_for(&mut self.post, delegation, &to).await;
        }
    }
}

/// Folders.
impl Office {
    /// A member's folder is ready for a task, or cannot be prepared.
    pub(super) async fn begun(&mut self, start: FolderStart) {
        let member = start.work.member.clone();
        if self.places.begun(&mut self.post, start).await {
            self.send_held_tasks(&member);
        }
    }

    /// A workspace folder is made: members that waited for it get their tasks.
    pub(super) fn shared_made(&mut self, folder: WorkspaceFolder, path: SharedPath) {
        for member in self.shared.made(folder, path) {
            self.send_held_tasks(&member);
        }
    }

    /// Retries to prepare a member's folder.
    pub(super) fn begin_again(&mut self, member: &MemberName) {
        self.places.forget_unready(member);
        self.send_held_tasks(member);
        self.places.forget_failures(member);
    }

    /// A task is over or submitted: members whose folder was needed for it can begin other tasks that they hold.
    pub(super) fn begin_waiting(&mut self) {
        for member in self.places.take_waiting() {
            self.send_held_tasks(&member);
        }
    }

    /// Compares the members' changes for conflicts.
    pub(super) fn watch(&mut self) {
        self.places.watch(&self.post, self.crew.names());
    }

    /// Tells a member that it lost a task. If it is working on it, it gets nothing else before it has broken off; if it does
    /// not, it is killed.
    pub(super) fn break_off(&mut self, loss: &Loss, what: &str) {
        let Loss { task, member } = loss;
        let Some(live) = self.crew.get_mut(member) else { return };
        if live.facts.work.told.remove(task).is_none() {
            return;
        }
        let reason = format!("{task} is no longer yours ({what})");
        // A member that does not read is killed after the grace period.
        drop(live.tell(&FromLead::Interrupt { reason, task_id: Some((*task).into()) }));
        if live.facts.work.is_engaged_in(*task) {
            live.facts.work.breaks_off = Some(*task);
            let runner = live.runner.clone();
            self.post.timers.set(self.post.timing.grace, Due::BreakOff(runner));
            let what = format!("is to break off {task} ({what})");
            self.post.note(member, TranscriptLine::note(&what));
        }
    }

    /// The grace period for breaking off a lost task is over.
    pub(super) fn break_off_is_due(&mut self, runner: &Runner) {
        let Some(live) = self.crew.in_run(runner) else { return };
        let Some(task) = live.facts.work.breaks_off else { return };
        let what = format!("it did not break off {task}, which is not its own any more");
        live.obituary.set_cause(&what);
        self.post.note(&runner.member, TranscriptLine::trouble(&what));
        self.crew.kill(&mut self.post, runner);
    }
}
