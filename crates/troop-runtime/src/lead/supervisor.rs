//! Processes: starting them, seeing them end, starting them again.

use std::{
    fmt, io, os::unix::process::ExitStatusExt as _, path::PathBuf, process::ExitStatus,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader},
    process::Child,
    sync::mpsc,
    time::timeout,
};
use troop_model::{Command, Member, MemberName, MemberState, Permissions, Role, StateCause};
use troop_process::{Below, Group, Mark, Signal, kill_group};
use troop_protocol::{Peer, PeerOptions, Ready};
use uuid::Uuid;

use super::{
    Runner,
    dispatcher::Dispatcher,
    input::{Due, LeadInput, WireEar},
    launch::{LaunchSpec, Life},
    link::{LiveMember, MemberBody, Phase},
    transcript::TranscriptLine,
};
use crate::{
    BoardError,
    fault::{is_of_machine, is_said_of_machine},
};

/// The longest line of standard error that is taken as one.
const MAX_COMPLAINT: u64 = 4_096;

/// How long what a process said is waited for after its end. Something that it left behind may hold its wire open.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How something that ran ended.
#[derive(Debug)]
pub(super) enum MemberExit {
    /// A process ended.
    Process(ExitStatus),
    /// A part of this process ended.
    Task,
    /// It did not even start.
    NotStarted(io::Error),
    /// It ended, but how could not be learnt.
    Unknown(io::Error),
}

impl fmt::Display for MemberExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(status) => match (status.code(), status.signal()) {
                (Some(code), _) => write!(f, "exit code {code}"),
                (None, Some(signal)) => write!(f, "killed by signal {signal}"),
                (None, None) => f.write_str("ended"),
            },
            Self::Task => f.write_str("ended"),
            Self::NotStarted(error) => write!(f, "it cannot be started: {error}"),
            Self::Unknown(error) => write!(f, "ended: {error}"),
        }
    }
}

impl Dispatcher {
    /// Starts what runs for a member, unless something does already.
    pub(super) async fn start(&mut self, member: &MemberName) {
        if self.links.contains_key(member) {
            return;
        }
        if self.post.is_ending() {
            let cause = StateCause::TeamStopped;
            let reason = Some(cause.in_words().to_owned());
            return self
                .post
                .set_state(member, MemberState::Stopped, reason, Some(cause), None)
                .await;
        }
        if !self.make_place(member) {
            self.start_in(member, self.project.clone()).await;
        }
    }

    /// Starts what runs for a member in a folder, if it is still to run.
    pub(super) async fn start_in(&mut self, member: &MemberName, path: PathBuf) {
        if self.links.contains_key(member) || self.post.is_ending() {
            return Box::pin(self.start(member)).await;
        }
        let Some(found) = self.post.state.member(member) else { return };
        self.n_runs += 1;
        let runner = Runner { member: member.clone(), run: self.n_runs };
        let mark = Mark { session: self.post.mandate.session, run: Some(Uuid::now_v7()) };
        let is_new = is_new(found);
        let spec = LaunchSpec {
            team: self.post.team_name(),
            member: member.clone(),
            role: found.role,
            agent: found.agent.clone(),
            model: found.model.clone(),
            session: self.post.mandate.session,
            path,
            project: self.project.clone(),
            variables: self.variables_of(member),
            mark,
        };
        let launched = match self.launch.launch(&spec) {
            Ok(launched) => launched,
            Err(error)
                if is_of_machine(&error) && self.starts_later(member, &error.to_string()) =>
            {
                return;
            }
            Err(error) => return self.cannot_start(member, error).await,
        };
        let ear = WireEar { runner: runner.clone(), inputs: self.post.background.inputs.clone() };
        let (reader, writer) = (launched.reader, launched.writer);
        let peer =
            Peer::spawn(reader, writer, PeerOptions::default(), ear, &self.post.background.tracker);
        let body = self.attend(&runner, launched.life, mark);
        self.post
            .note(member, TranscriptLine::note(&format!("started in process {}", body.process())));
        self.post.timers.set(self.post.timing.ready, Due::Ready(runner.clone()));
        self.links.insert(member.clone(), LiveMember::new(runner, peer, body, is_new));
    }

    /// Starts a member later that a fault of the machine keeps from starting: that is no crash, and the fault of no task. Not
    /// for ever. People are told once.
    pub(super) fn starts_later(&mut self, member: &MemberName, why: &str) -> bool {
        if self.post.is_lead(member) || self.post.is_ending() {
            return false;
        }
        let Some(again) = self.starts.again(member, self.post.timing.restart) else {
            self.starts.forget(member);
            return false;
        };
        if again.is_new {
            let what = format!("{member} cannot be started now; retrying: {why}");
            self.post.note(member, TranscriptLine::trouble(&what));
            if again.is_news {
                self.post.tell_people(what);
            }
        }
        self.post.timers.set(again.pause, Due::Start(member.clone()));
        true
    }

    /// Tries again to start a member, if it is still to run.
    pub(super) async fn start_again(&mut self, member: &MemberName) {
        if self.post.state.member(member).is_some_and(|it| it.state == MemberState::Spawning) {
            self.start(member).await;
        }
    }

    /// What was to run for a member could not even be started.
    pub(super) async fn cannot_start(&mut self, member: &MemberName, error: io::Error) {
        let Some(found) = self.post.state.member(member) else { return };
        let is_new = is_new(found);
        let exit = MemberExit::NotStarted(error);
        self.post.note(member, TranscriptLine::trouble(&exit.to_string()));
        match is_new {
            true => self.not_started(member, &exit).await,
            false => self.crashed(member, exit.to_string()).await,
        }
    }

    /// Sees to what runs until it ends.
    fn attend(&self, runner: &Runner, life: Life, mark: Mark) -> MemberBody {
        let (runner, inputs) = (runner.clone(), self.post.background.inputs.clone());
        match life {
            Life::Process(mut child) => {
                let pid = child.id();
                let complaints = child.stderr.take().map(|complaints| {
                    let (runner, inputs) = (runner.clone(), inputs.clone());
                    self.post.background.tracker.spawn(hear_complaints(complaints, runner, inputs))
                });
                self.post.background.tracker.spawn(async move {
                    let exit = see_out(*child, mark).await;
                    // What it complained about last says why it ended.
                    if let Some(complaints) = complaints {
                        drop(timeout(LAST_WORDS, complaints).await);
                    }
                    drop(inputs.send(LeadInput::Exited(runner, exit)).await);
                });
                MemberBody::Process(pid.unwrap_or_default())
            }
            Life::Task(task) => {
                let task = self.post.background.tracker.spawn(task);
                let abort = task.abort_handle();
                self.post.background.tracker.spawn(async move {
                    let exit = match task.await {
                        Ok(()) => MemberExit::Task,
                        Err(error) if error.is_cancelled() => MemberExit::Task,
                        Err(error) => MemberExit::Unknown(error.into()),
                    };
                    // What it started outside of this process bears its mark.
                    drop(tokio::task::spawn_blocking(move || mark.kill_all()).await);
                    drop(inputs.send(LeadInput::Exited(runner, exit)).await);
                });
                MemberBody::Task(abort)
            }
        }
    }

    /// A member says that it is there.
    pub(super) async fn ready(&mut self, member: &MemberName, ready: &Ready) {
        let Some(link) = self.links.get_mut(member) else { return };
        if link.phase == Phase::Ready {
            return;
        }
        (link.phase, link.acknowledges) = (Phase::Ready, ready.acknowledges);
        self.starts.forget(member);
        link.tells_end = ready.version.is_some();
        link.is_at_rest = !link.tells_end;
        let (own, pid) = (link.body.own_process(), Some(link.body.process()));
        let permissions = self.post.state.member(member).map(|it| it.permissions);
        let state = match permissions {
            Some(Permissions::Plan) => MemberState::Planning,
            _ => MemberState::Idle,
        };
        self.post.set_state(member, state, None, None, pid).await;
        self.fire_spawned(member, own);
        self.send_context(member);
        self.send_held_tasks(member);
        self.deliver(member).await;
    }

    /// A member should have said by now that it is there.
    pub(super) fn not_ready(&mut self, runner: &Runner) {
        if let Some(link) = self.link(runner)
            && link.phase == Phase::Starting
        {
            link.ends_because("it was not ready in time");
            self.kill(runner);
        }
    }

    /// What ran for a member is over. First what it said before that is heard to the end.
    pub(super) async fn exited(&mut self, runner: &Runner, exit: MemberExit) {
        let Some(link) = self.link(runner) else { return };
        link.exit = Some(exit);
        if link.is_silent {
            self.bury(runner).await;
        } else {
            self.post.timers.set(LAST_WORDS, Due::Bury(runner.clone()));
        }
    }

    /// Draws the conclusions from the end of what ran for a member. What it said to be done before that still counts, so
    /// that is settled first, unless there is no time.
    pub(super) async fn bury(&mut self, runner: &Runner) {
        let member = &runner.member;
        let is_over =
            |link: &mut LiveMember| link.exit.is_some() && (link.n_held == 0 || link.is_killed);
        let is_over = self.link(runner).is_some_and(is_over);
        let Some(mut link) = is_over.then(|| self.links.remove(member)).flatten() else { return };
        let Some(exit) = link.exit.take() else { return };
        self.post.engage(member, None);
        self.post.note(member, TranscriptLine::note(&exit.to_string()));
        if let Some(task) = link.breaks_off {
            self.is_left_alone(task);
        }
        if link.is_let_go {
            // Somebody else may bear the name by now, and wait to be started.
            let waits = |it: &Member| it.state == MemberState::Spawning;
            if self.post.state.member(member).is_some_and(waits) {
                Box::pin(self.start(member)).await;
            }
            return;
        }
        let reason = link.why_ended(&exit);
        if let Some(stop) = &link.stop {
            let (mut reason, mut cause) = (stop.recorded(), stop.cause());
            let is_forced = stop.is_forced;
            if let Some(left) = self.post.left_open().filter(|_| self.post.is_lead(member)) {
                reason = format!("{reason}; {}", left.in_words());
                cause = left;
            }
            self.post
                .set_state(member, MemberState::Stopped, Some(reason), Some(cause), None)
                .await;
            // When all stop, the lead does too, and would find it unread when it begins again.
            if !is_forced {
                self.post.tell_lead(member, format!("Teammate {member} has shut down.")).await;
            }
            self.restarts.forget(member);
        } else if link.phase == Phase::Starting
            && is_said_of_machine(&reason)
            && self.starts_later(member, &reason)
        {
            // It is tried again.
        } else if link.phase == Phase::Starting && link.is_new {
            self.not_started(member, &MemberExit::NotStarted(io::Error::other(reason))).await;
        } else {
            self.crashed(member, reason).await;
        }
    }

    /// Who joined to be started now, and could not be, is not left behind.
    async fn not_started(&mut self, member: &MemberName, exit: &MemberExit) {
        let what = format!("{member} did not start: {exit}");
        let reason = Some(what.clone());
        self.post.give(Command::RemoveMember { member: member.clone(), reason }).await;
        self.post.tell_lead(member, what).await;
    }

    async fn crashed(&mut self, member: &MemberName, reason: String) {
        let is_kept_down = self.post.is_ending() || self.post.is_lead(member);
        let is_given_up = !is_kept_down && !self.restarts.after_crash(member, &self.post.timing);
        let said = match is_given_up {
            true => format!("{reason}; it crashed too often and will not be restarted"),
            false => reason.clone(),
        };
        self.post.set_state(member, MemberState::Crashed, Some(said), None, None).await;
        if is_given_up {
            let what = format!("{member} crashed too often and will not be restarted: {reason}");
            self.post.tell_lead(member, what).await;
        }
    }

    /// The log says that a member is down.
    pub(super) fn is_down(&mut self, member: &MemberName) {
        self.post.agenda.is_due = true;
        if let Some(pause) = self.restarts.pause(member) {
            self.post.timers.set(pause, Due::Restart(member.clone()));
        }
    }

    /// Starts a member again that crashed.
    pub(super) async fn restart(&mut self, member: &MemberName) {
        let is_down = self.post.state.member(member).is_some_and(|it| !it.is_running());
        if self.restarts.begin(member)
            && is_down
            && !self.links.contains_key(member)
            && !self.post.is_ending()
        {
            // The log says that it starts, and then it does.
            let (member, reason) = (member.clone(), Some("starts again".to_owned()));
            let state = MemberState::Spawning;
            let command = Command::SetMemberState {
                member: member.clone(),
                state,
                reason,
                cause: None,
                pid: None,
            };
            let request = self.post.own(command);
            self.post.give_or(request, |error| Some(LeadInput::NotRestarted(member, error))).await;
        }
    }

    /// The board is against starting a member again, for example because others have taken its place.
    pub(super) async fn not_restarted(&mut self, member: &MemberName, why: &BoardError) {
        self.post.agenda.is_due = true;
        self.post
            .tell_lead(member, format!("{member} crashed and will not be restarted: {why}"))
            .await;
    }

    /// Ends a member's process at once, with all that it started.
    pub(super) fn kill(&mut self, runner: &Runner) {
        self.signal(runner, Signal::KILL);
        if let Some(link) = self.link(runner) {
            link.is_killed = true;
            link.peer.cut();
            if let MemberBody::Task(task) = &link.body {
                task.abort();
            }
            if link.exit.is_some() {
                self.post.timers.set(Duration::ZERO, Due::Bury(runner.clone()));
            }
        }
    }

    /// Sends a signal to the group of a member's process.
    pub(super) fn signal(&mut self, runner: &Runner, signal: Signal) {
        if let Some(pid) = self
            .link(runner)
            .filter(|link| link.exit.is_none())
            .and_then(|link| link.body.own_process())
        {
            // Looked at before, since nobody can tell any more once the process above is gone.
            let below = (signal == Signal::KILL).then(|| Below::of(pid));
            // One that has just ended cannot be signalled; its end is on its way.
            drop(kill_group(pid, signal));
            below.iter().for_each(Below::kill);
        }
    }
}

/// Who joined with the same command that starts it has never run.
fn is_new(member: &Member) -> bool {
    member.role == Role::Member && member.joined_at == member.state_since
}

/// Waits for a process to end and ends all that it left behind.
async fn see_out(mut child: Child, mark: Mark) -> MemberExit {
    let group = Group::led_by(&child);
    let status = child.wait().await;
    let sweep = move || {
        drop(group);
        // What it left in another group is found by its mark.
        mark.kill_all()
    };
    drop(tokio::task::spawn_blocking(sweep).await);
    match status {
        Ok(status) => MemberExit::Process(status),
        Err(error) => MemberExit::Unknown(error),
    }
}

/// Passes on what a process writes to standard error, line by line.
async fn hear_complaints(
    complaints: impl AsyncRead + Unpin,
    runner: Runner,
    inputs: mpsc::Sender<LeadInput>,
) {
    let mut complaints = BufReader::new(complaints);
    let mut line = Vec::new();
    loop {
        line.clear();
        // A line that does not end is cut; nobody fills our memory.
        match (&mut complaints).take(MAX_COMPLAINT).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        if inputs.send(LeadInput::Complained(runner.clone(), text)).await.is_err() {
            return;
        }
    }
}
