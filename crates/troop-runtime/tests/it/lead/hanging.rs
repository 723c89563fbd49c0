//! While a disk or the store hangs for one member, the lead hears all others, and they can be stopped.

use std::{
    fs, io,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use rustix::fs::{CWD, Mode, OFlags, mkfifoat, open};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;
use troop_model::{
    Actor, Command, Event, Fact, Member, MemberState, MessageKind, Outgoing, Settings, State,
    Status, TaskCommand, TaskNumber,
};
use troop_protocol::{FromLead, Notification};
use troop_runtime::{Board, Clock, Following, Launch, LaunchSpec, LaunchedAgent, LeadEnd, Until};
use troop_store::Store;
use troop_testkit::wait_for;

use super::{
    delegations::led_in,
    hooks::hooks,
    isolation::Project,
    processes::{marked, programs},
    stage::{Part, Play, Setting, Stage, play, raw, without_restarts},
};
use crate::{probe::Probe, support::name};

/// Starts programs, and checks agents, as soon as the disk lets it.
#[derive(Debug)]
struct HangingLaunch {
    programs: Arc<dyn Launch>,
    disk: Arc<HangingDisk>,
}

/// A disk that hangs.
#[derive(Debug, Default)]
struct HangingDisk {
    hangs: Mutex<bool>,
    news: Condvar,
    /// How many wait for it.
    n_waiting: AtomicUsize,
}

/// Lets the disk go on even if the test fails: the runtime waits for threads that wait for the disk.
struct DiskHold(Arc<HangingDisk>);

impl HangingDisk {
    fn hold(self: &Arc<Self>) -> DiskHold {
        *self.hangs.lock().unwrap() = true;
        DiskHold(Arc::clone(self))
    }

    fn wait(&self) {
        self.n_waiting.fetch_add(1, SeqCst);
        drop(self.news.wait_while(self.hangs.lock().unwrap(), |hangs| *hangs).unwrap());
        self.n_waiting.fetch_sub(1, SeqCst);
    }

    async fn until_it_hangs(&self) {
        let hangs = async || (self.n_waiting.load(SeqCst) > 0).then_some(());
        wait_for("somebody waits for the disk", hangs).await;
    }
}

impl Drop for DiskHold {
    fn drop(&mut self) {
        *self.0.hangs.lock().unwrap() = false;
        self.0.news.notify_all();
    }
}

impl Launch for HangingLaunch {
    fn launch(&self, spec: &LaunchSpec) -> io::Result<LaunchedAgent> {
        self.disk.wait();
        self.programs.launch(spec)
    }

    fn check(&self, agent: &str, _: Option<&str>) -> io::Result<()> {
        self.disk.wait();
        if agent == "plain" { Ok(()) } else { Err(io::Error::other(format!("no {agent} here"))) }
    }

    fn guard(&self, session: uuid::Uuid) -> io::Result<Option<tokio::process::Child>> {
        self.programs.guard(session)
    }
}

/// A team whose programs start when the disk lets them.
async fn slow_to_start(disk: &Arc<HangingDisk>) -> Stage {
    Stage::new(slow_setting(disk)).await
}

fn slow_setting(disk: &Arc<HangingDisk>) -> Setting {
    let launch = HangingLaunch { programs: programs(), disk: Arc::clone(disk) };
    let others: Option<Arc<dyn Launch>> = Some(Arc::new(launch));
    Setting { others, timing: without_restarts(), ..Setting::default() }
}

/// The test's line to a member: what the member says, and what it hears.
struct Line {
    words: mpsc::UnboundedSender<Notification>,
    heard: mpsc::UnboundedReceiver<FromLead>,
}

impl Line {
    /// A member that says what the test says. It stops when it is asked to.
    fn new() -> (Self, Play) {
        let (words, to_say) = mpsc::unbounded_channel();
        let (tell, heard) = mpsc::unbounded_channel();
        // It runs once.
        let to_say = Arc::new(Mutex::new(Some(to_say)));
        let act = play(move |mut part: Part| {
            let to_say = to_say.lock().unwrap().take();
            let tell = tell.clone();
            async move {
                part.ready(true).await;
                part.idle().await;
                let mut to_say = to_say.unwrap();
                loop {
                    tokio::select! {
                        Some(word) = to_say.recv() => drop(part.peer.notify(word).await),
                        said = part.hear() => match said {
                            None | Some(FromLead::Shutdown { .. }) => return,
                            Some(said) => drop(tell.send(said)),
                        },
                    }
                }
            }
        });
        (Self { words, heard }, act)
    }

    /// A member with a line to the test.
    async fn to(stage: &Stage, member: &'static str) -> Self {
        let (line, act) = Self::new();
        stage.plays.add(member, act);
        stage.spawn(member, member).await;
        stage.until_state(member, MemberState::Idle).await;
        // The line ends with the member.
        stage.plays.remove(member);
        line
    }

    fn say(&self, method: &str, params: &str) {
        self.words.send(raw(method, params)).unwrap();
    }

    /// Waits for the lead's answer to a word that makes no sense. It needs no board and no disk.
    async fn is_heard(&mut self) {
        self.say("team.message", r#"{"to":"lead"}"#);
        loop {
            if let FromLead::Message(message) = self.heard.recv().await.unwrap()
                && message.content.contains("content")
            {
                return;
            }
        }
    }

    /// Waits for a task.
    async fn is_given_a_task(&mut self) {
        while !matches!(self.heard.recv().await.unwrap(), FromLead::AssignTask { .. }) {}
    }
}

fn request_to_stop(member: &str) -> Command {
    Command::Send(Outgoing::new(member, MessageKind::ShutdownRequest, "enough"))
}

#[tokio::test]
async fn while_a_start_hangs_others_are_heard_and_stopped() {
    let disk = Arc::new(HangingDisk::default());
    let mut stage = slow_to_start(&disk).await;
    let mark = marked(&stage);
    let mut bob = Line::to(&stage, "bob").await;
    let hold = disk.hold();
    stage.spawn("cyd", "plain").await;
    stage.spawn("dan", "plain").await;
    disk.until_it_hangs().await;
    bob.is_heard().await;
    stage.lead_does(request_to_stop("bob")).await;
    stage.until_state("bob", MemberState::Stopped).await;
    // A start that hangs is not forgotten: what it starts is stopped at once, and the lead waits for that.
    stage.lead_does(request_to_stop("cyd")).await;
    let lead = stage.lead.take().unwrap();
    lead.stop("enough").await.unwrap();
    stage.until_state("dan", MemberState::Stopping).await;
    drop(hold);
    assert!(matches!(lead.ended().await, LeadEnd::Stopped { .. }));
    for member in ["cyd", "dan"] {
        stage.until_state(member, MemberState::Stopped).await;
    }
    assert_eq!(mark.processes(), Vec::<u32>::new());
}

#[tokio::test]
async fn a_lead_that_is_superseded_while_a_start_hangs_leaves_no_process() {
    let disk = Arc::new(HangingDisk::default());
    let mut stage = slow_to_start(&disk).await;
    let mark = marked(&stage);
    let mut bob = Line::to(&stage, "bob").await;
    let hold = disk.hold();
    stage.spawn("cyd", "plain").await;
    disk.until_it_hangs().await;
    let lead = stage.lead.take().unwrap();
    let take = Command::TakeLead {
        session: uuid::Uuid::now_v7(),
        holder: "somebody else".to_owned(),
        over: Some(lead.fence()),
        checks: Vec::new(),
    };
    stage.submit(Actor::system(), take).await.unwrap();
    wait_for("bob is killed", async || bob.heard.recv().await.is_none().then_some(())).await;
    drop(hold);
    assert_eq!(lead.ended().await, LeadEnd::Superseded);
    assert_eq!(mark.processes(), Vec::<u32>::new());
}

#[tokio::test]
async fn while_the_check_of_an_agent_hangs_others_are_heard_and_the_callers_words_stay_in_order() {
    let disk = Arc::new(HangingDisk::default());
    let (lead_line, act) = Line::new();
    let stage = led_in(slow_setting(&disk), act).await;
    let mut bob = Line::to(&stage, "bob").await;
    let hold = disk.hold();
    lead_line.say("member/spawn", r#"{"member":{"name":"cyd","agent":"plain"}}"#);
    lead_line.say("task/create", r#"{"subject":"write","assignee":"cyd"}"#);
    disk.until_it_hangs().await;
    bob.is_heard().await;
    stage.lead_does(request_to_stop("bob")).await;
    stage.until_state("bob", MemberState::Stopped).await;
    let is_there = |state: &State| state.member(&name("cyd")).map(Member::is_running);
    assert_eq!(stage.board.look(is_there).await.unwrap(), None, "it is not checked yet");
    drop(hold);
    // The task came after the member for whom it is.
    stage
        .until("cyd does its task", |state| {
            let task = state.tasks().get(TaskNumber(1))?;
            (task.owner == Some(name("cyd"))).then_some(())
        })
        .await;
    stage.stop().await;
}

/// A team with a hook, on a store that can hang.
struct SlowStore {
    stage: Stage,
    probe: Arc<Probe>,
    bob: Line,
    cyd: Line,
    /// Where the hook runs.
    folder: TempDir,
}

impl SlowStore {
    async fn new(hook: &str, settings: Settings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut stage = Stage::new(Setting { settings, ..Setting::default() }).await;
        let first = stage.lead.take().unwrap();
        first.stop("another comes").await.unwrap();
        first.ended().await;
        let probe = Probe::new(stage.store.store());
        let store: Arc<dyn Store> = Arc::clone(&probe) as _;
        let team = stage.board.team();
        // It reads the store whenever it is asked to catch up.
        let following = Following::WhenAsked;
        stage.board = Board::open(store, Clock::system(), following, team).await.unwrap();
        let hooks = hooks(folder.path(), &[("task-completed", hook)]);
        stage.lead = Some(stage.start(Setting { hooks, ..Setting::default() }).await.unwrap());
        let bob = Line::to(&stage, "bob").await;
        let cyd = Line::to(&stage, "cyd").await;
        Self { stage, probe, bob, cyd, folder }
    }

    /// A team under a hook in which cyd has a task.
    async fn at_work(hook: &str, settings: Settings) -> Self {
        let mut team = Self::new(hook, settings).await;
        team.stage.task_for("write", "cyd").await;
        team.cyd.is_given_a_task().await;
        team
    }

    /// From now on every read of the store hangs. Returns how many reads began before.
    fn hold_reads(&self) -> usize {
        self.probe.hold_reads();
        self.probe.n_reads.load(SeqCst)
    }

    async fn until_it_hangs(&self, n_before: usize) {
        let hangs = async || (self.probe.n_reads.load(SeqCst) > n_before).then_some(());
        wait_for("the board waits for the store", hangs).await;
    }

    /// Cyd says that its task is done. Before hooks are asked, the board catches up.
    fn complete(&self) {
        let done = r#"{"taskId":"task-1","status":"completed","result":"written"}"#;
        self.cyd.say("team.taskUpdate", done);
    }

    /// Others are heard, and can be killed. The lead ends when the store goes on.
    async fn others_are_heard_and_stopped(mut self) {
        self.bob.is_heard().await;
        let lead = self.stage.lead.take().unwrap();
        lead.handle().hurry().await;
        while self.bob.heard.recv().await.is_some() {}
        self.probe.let_read();
        assert!(matches!(lead.ended().await, LeadEnd::Stopped { .. }));
    }
}

#[tokio::test]
async fn while_the_board_catches_up_for_one_member_others_are_heard_and_stopped() {
    let team = SlowStore::at_work("true", Settings::default()).await;
    let n_reads = team.hold_reads();
    team.complete();
    team.until_it_hangs(n_reads).await;
    team.others_are_heard_and_stopped().await;
}

#[tokio::test]
async fn while_the_board_catches_up_after_a_veto_others_are_heard_and_stopped() {
    let hook = "echo >> seen; until test -e go; do sleep 0.01; done; echo BAD >&2; exit 2";
    let team = SlowStore::at_work(hook, Settings::default()).await;
    team.complete();
    let seen = team.folder.path().join("seen");
    wait_for("the hook judges", async || seen.exists().then_some(())).await;
    let n_reads = team.hold_reads();
    fs::write(team.folder.path().join("go"), "").unwrap();
    team.until_it_hangs(n_reads).await;
    team.others_are_heard_and_stopped().await;
}

#[tokio::test]
async fn while_the_store_hangs_a_team_without_work_is_heard_and_stopped() {
    let team = SlowStore::new("true", Settings::default()).await;
    let n_reads = team.hold_reads();
    let board = team.stage.board.clone();
    let reading = TaskTracker::new().spawn(async move { board.catch_up().await });
    team.until_it_hangs(n_reads).await;
    // The lead asks itself whether the team's work is over.
    let lead = team.stage.lead.as_ref().unwrap();
    lead.handle().end(Until::Quiet).await;
    team.others_are_heard_and_stopped().await;
    reading.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_members_next_word_does_not_overtake_a_report_that_waits_for_the_store() {
    // A result for review asks no hook, so it goes to the board as soon as that is known.
    let settings = Settings { require_review: true, ..Settings::default() };
    let mut team = SlowStore::at_work("true", settings).await;
    let n_reads = team.hold_reads();
    team.complete();
    team.cyd.say("team.message", r#"{"to":"user","content":"I have said so"}"#);
    team.until_it_hangs(n_reads).await;
    team.bob.is_heard().await;
    team.probe.let_read();
    let place = |log: &[Arc<Event>], is_it: fn(&Fact) -> bool| {
        log.iter().position(|event| is_it(&event.fact))
    };
    let [report, word] = wait_for("both are in the log", async || {
        let log = team.stage.log().await;
        let report = place(&log, |fact| matches!(fact, Fact::TaskSubmitted { .. }))?;
        let is_word = |fact: &Fact| matches!(fact, Fact::MessageSent { content, .. } if content == "I have said so");
        let word = place(&log, is_word)?;
        Some([report, word])
    })
    .await;
    assert!(report < word, "the report is event {report}, the word after it {word}");
    team.stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_members_folder_hangs_others_are_heard_and_stopped() {
    let project = Project::new();
    let stage = project.stage(|_| {}).await;
    let mut bob = Line::to(&stage, "bob").await;
    let mut cyd = Line::to(&stage, "cyd").await;
    stage.task_for("write", "cyd").await;
    cyd.is_given_a_task().await;
    // The folder is gone, and whether the repository knows it is a question to a disk that hangs.
    fs::remove_dir_all(project.0.path().join("team/worktrees/cyd")).unwrap();
    let place = project.path().join(".git/worktrees/hangs");
    fs::create_dir(&place).unwrap();
    let gate = place.join("gitdir");
    mkfifoat(CWD, &gate, Mode::RWXU).unwrap();
    let disk = open(&gate, OFlags::RDWR, Mode::empty()).unwrap();
    cyd.say("team.taskUpdate", r#"{"taskId":"task-1","status":"pending","reason":"no time"}"#);
    stage
        .until("cyd has let it go", |state| {
            let task = state.tasks().get(TaskNumber(1))?;
            let released = task.trail.iter().any(|it| it.note.as_deref() == Some("no time"));
            released.then_some(())
        })
        .await;
    bob.is_heard().await;
    stage.lead_does(request_to_stop("bob")).await;
    stage.until_state("bob", MemberState::Stopped).await;
    fs::remove_dir_all(&place).unwrap();
    drop(disk);
    let cancel = TaskCommand::Cancel { task: TaskNumber(1).into(), reason: "enough".to_owned() };
    stage.lead_does(Command::Task(cancel)).await;
    stage
        .until("it is cancelled", |state| {
            (state.tasks().status(TaskNumber(1)) == Some(Status::Cancelled)).then_some(())
        })
        .await;
    stage.stop().await;
}
