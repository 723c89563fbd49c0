//! Any order of our writes and those of others, under the locks, with two mirrors whose boards learn of the log only when they
//! ask: each is on the board or was refused, once.

use std::{collections::BTreeMap, fs, sync::Arc};

use proptest::prelude::*;
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use troop_model::{
    Command, Fact, Metadata, State, Status, TaskCommand, TaskNumber, TaskUpdate, Version,
};
use troop_runtime::{Board, Clock, Following, Layout, Mirror, MirrorNotice, MirrorOptions};
use troop_store::{MemoryStore, Store};

use super::stage::Stage;
use crate::support::{by, claim, complete, create, name, numbered, say};

/// One thing that somebody does.
#[derive(Clone, Copy, Debug)]
enum Deed {
    WeCreate,
    WeClaim(u32),
    WeComplete(u32),
    /// In the name of a program that could have done so through a file.
    WeClaimFor(u32, &'static str),
    WeLetGo(u32),
    WeCancel(u32),
    WeRetry(u32),
    WeNote(u32),
    WeSay,
    TheyCreate,
    TheyClaim(u32, &'static str),
    TheyComplete(u32),
    TheyNote(u32),
    TheySay,
    TheyRead,
    /// One of the two mirrors looks.
    Pass(usize),
    Restart(usize),
}

fn deed() -> impl Strategy<Value = Deed> {
    let task = || 1..5_u32;
    let who = || prop_oneof![Just("pat"), Just("quin")];
    prop_oneof![
        Just(Deed::WeCreate),
        task().prop_map(Deed::WeClaim),
        task().prop_map(Deed::WeComplete),
        (task(), who()).prop_map(|(task, who)| Deed::WeClaimFor(task, who)),
        task().prop_map(Deed::WeLetGo),
        task().prop_map(Deed::WeCancel),
        task().prop_map(Deed::WeRetry),
        task().prop_map(Deed::WeNote),
        Just(Deed::WeSay),
        Just(Deed::TheyCreate),
        (task(), who()).prop_map(|(task, who)| Deed::TheyClaim(task, who)),
        task().prop_map(Deed::TheyComplete),
        task().prop_map(Deed::TheyNote),
        Just(Deed::TheySay),
        Just(Deed::TheyRead),
        (0..2_usize).prop_map(Deed::Pass),
        (0..2_usize).prop_map(Deed::Restart),
    ]
}

/// Changes of others that may not have reached the board yet.
#[derive(Default)]
struct Theirs {
    /// By the file's path: what was done there since the last pass.
    claims: Vec<(u32, &'static str)>,
    notes: Vec<(u32, String)>,
    ends: Vec<u32>,
    created: Vec<String>,
    said: Vec<String>,
}

struct Play {
    stage: Stage,
    store: Arc<dyn Store>,
    mirrors: Vec<(Mirror, UnboundedReceiver<MirrorNotice>)>,
    theirs: Theirs,
    /// Refusals of the mirror, by path.
    refused: BTreeMap<String, Vec<String>>,
    n_deeds: usize,
    /// Tasks claimed on the board, and not through files.
    claimed: Vec<(u32, &'static str)>,
}

impl Play {
    async fn new(layout: Layout) -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let stage = Stage::on(Arc::clone(&store), layout).await;
        let mirrors = vec![mirror(&stage, &store).await, mirror(&stage, &store).await];
        let theirs = Theirs::default();
        let refused = BTreeMap::new();
        Self { stage, store, mirrors, theirs, refused, n_deeds: 0, claimed: Vec::new() }
    }

    fn path(&self, number: u32) -> String {
        match self.stage.layout {
            Layout::Seeds => format!("tasks/crew/task-{number}.json"),
            Layout::Claude => format!("tasks/crew/{number}.json"),
        }
    }

    /// Changes a file as others do: under its lock, read, change, write. Nothing happens where there is no file yet.
    fn under_lock(&self, number: u32, change: impl FnOnce(&mut Value) -> bool) -> bool {
        let path = self.stage.path(&self.path(number));
        if !path.exists() {
            return false;
        }
        let lock = path.with_extension("json.lock");
        let held = match self.stage.layout {
            Layout::Seeds => {
                let file = fs::File::create(&lock).unwrap();
                flock(&file, FlockOperation::LockExclusive).unwrap();
                Some(file)
            }
            Layout::Claude => {
                fs::create_dir(&lock).unwrap();
                None
            }
        };
        let mut file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let is_changed = change(&mut file);
        if is_changed {
            let half = path.with_extension("tmp");
            fs::write(&half, file.to_string()).unwrap();
            fs::rename(half, &path).unwrap();
        }
        if held.is_none() {
            fs::remove_dir(&lock).unwrap();
        }
        is_changed
    }

    async fn ours(&self, member: &str, command: Command) -> bool {
        // A refused command changes nothing.
        self.stage.board.submit(by(member, command)).await.is_ok()
    }

    async fn we_let_go(&self, number: u32) {
        let owner = if number <= self.stage.n_tasks().await as u32 {
            self.stage.task(number).await.1
        } else {
            None
        };
        if let Some(owner) = owner {
            let task = numbered(number);
            let reason = "no time".to_owned();
            let release = Command::Task(TaskCommand::Release { task, reason });
            self.ours(owner.as_str(), release).await;
        }
    }

    async fn act(&mut self, deed: Deed) {
        self.n_deeds += 1;
        let mark = format!("mark {}", self.n_deeds);
        match deed {
            Deed::WeCreate => drop(self.ours("ann", create(&mark)).await),
            Deed::WeClaim(number) => drop(self.ours("bob", claim(number)).await),
            Deed::WeComplete(number) => drop(self.ours("bob", complete(number)).await),
            Deed::WeClaimFor(number, who) => {
                if self.ours(who, claim(number)).await {
                    self.claimed.push((number, who));
                }
            }
            Deed::WeLetGo(number) => self.we_let_go(number).await,
            Deed::WeCancel(number) => {
                let task = numbered(number);
                let reason = "not needed".to_owned();
                self.ours("ann", Command::Task(TaskCommand::Cancel { task, reason })).await;
            }
            Deed::WeRetry(number) => {
                self.ours("ann", Command::Task(TaskCommand::Retry { task: numbered(number) }))
                    .await;
            }
            Deed::WeNote(number) => {
                let metadata = [(mark, json!("ours"))].into_iter().collect();
                let change =
                    TaskUpdate { metadata: Some(Metadata(metadata)), ..TaskUpdate::default() };
                let update =
                    TaskCommand::Update { task: numbered(number), change: Box::new(change) };
                self.ours("ann", Command::Task(update)).await;
            }
            Deed::WeSay => drop(self.ours("ann", say("pat", &mark)).await),
            Deed::TheyCreate
            | Deed::TheyClaim(..)
            | Deed::TheyComplete(_)
            | Deed::TheyNote(_)
            | Deed::TheySay
            | Deed::TheyRead => self.they_act(deed, mark),
            Deed::Pass(nth) => self.pass(nth).await,
            Deed::Restart(nth) => {
                self.hear();
                self.mirrors[nth] = mirror(&self.stage, &self.store).await;
            }
        }
    }

    fn they_act(&mut self, deed: Deed, mark: String) {
        let owner = if self.stage.layout == Layout::Seeds { "claimed_by" } else { "owner" };
        match deed {
            Deed::TheyCreate => {
                let file = json!({"id": format!("new-{}", self.n_deeds), "subject": mark});
                let path = format!("tasks/crew/new-{}.json", self.n_deeds);
                self.stage.write(&path, &file);
                self.theirs.created.push(mark);
            }
            Deed::TheyClaim(number, who) => {
                let take = |file: &mut Value| {
                    let is_free = file["status"] == "pending"
                        && file[owner].as_str().is_none_or(str::is_empty);
                    if is_free {
                        file["status"] = json!("in_progress");
                        file[owner] = json!(who);
                    }
                    is_free
                };
                if self.under_lock(number, take) {
                    self.theirs.claims.push((number, who));
                }
            }
            Deed::TheyComplete(number) => {
                let end = |file: &mut Value| {
                    let is_theirs = file["status"] == "in_progress"
                        && ["pat", "quin"].iter().any(|it| file[owner] == *it);
                    if is_theirs {
                        file["status"] = json!("completed");
                    }
                    is_theirs
                };
                if self.under_lock(number, end) {
                    self.theirs.ends.push(number);
                }
            }
            Deed::TheyNote(number) => {
                let note = |file: &mut Value| {
                    if !file["metadata"].is_object() {
                        file["metadata"] = json!({});
                    }
                    file["metadata"][&mark] = json!("theirs");
                    true
                };
                if self.under_lock(number, note) {
                    self.theirs.notes.push((number, mark));
                }
            }
            Deed::TheySay => {
                let letter = json!({"from": "pat", "text": mark, "content": mark, "read": false,
                    "timestamp": "2026-01-01T00:00:00.000Z"});
                self.stage.put_letter("quin", letter);
                self.theirs.said.push(mark);
            }
            Deed::TheyRead => {
                if !self.stage.inbox("pat").is_empty() {
                    self.stage.take_letters("pat");
                }
            }
            Deed::WeCreate
            | Deed::WeClaim(_)
            | Deed::WeComplete(_)
            | Deed::WeClaimFor(..)
            | Deed::WeLetGo(_)
            | Deed::WeCancel(_)
            | Deed::WeRetry(_)
            | Deed::WeNote(_)
            | Deed::WeSay
            | Deed::Pass(_)
            | Deed::Restart(_) => {}
        }
    }

    async fn pass(&mut self, nth: usize) {
        self.mirrors[nth].0.pass().await.unwrap();
        // Our own deeds are decided on what the mirrors took.
        self.stage.board.catch_up().await.unwrap();
        self.hear();
    }

    fn hear(&mut self) {
        for (_, notices) in &mut self.mirrors {
            while let Ok(notice) = notices.try_recv() {
                if let MirrorNotice::Refused { path, reason } = notice {
                    self.refused.entry(path).or_default().push(reason);
                }
            }
        }
    }

    /// Everything that others did is on the board once, or was refused; the files agree with the board.
    async fn check(&mut self) {
        for nth in [0, 1, 0, 1] {
            self.pass(nth).await;
        }
        let n_written = |play: &Self| play.mirrors.iter().map(|it| it.0.n_written()).sum::<u64>();
        let written = n_written(self);
        self.pass(0).await;
        self.pass(1).await;
        assert_eq!(n_written(self), written, "they come to rest");
        let mut facts = Vec::new();
        let mut log = self.stage.board.subscribe(Version::ZERO);
        while let Some(event) = log.next_stored().await.unwrap() {
            facts.push(event.fact.clone());
        }
        let n_with = |is_it: &dyn Fn(&Fact) -> bool| facts.iter().filter(|it| is_it(it)).count();
        for subject in &self.theirs.created {
            let is_it = |fact: &Fact| matches!(fact, Fact::TaskCreated { subject: it, .. } if it == subject);
            assert_eq!(n_with(&is_it), 1, "{subject}");
        }
        for said in &self.theirs.said {
            let is_it =
                |fact: &Fact| matches!(fact, Fact::MessageSent { content, .. } if content == said);
            assert_eq!(n_with(&is_it), 1, "{said}");
        }
        let is_refused = |number: u32| self.refused.contains_key(&self.path(number));
        for (number, who) in &self.theirs.claims {
            let is_it = |fact: &Fact| {
                matches!(fact, Fact::TaskClaimed { task, owner, .. }
                if task.0 == *number && *owner == name(who))
            };
            assert!(n_with(&is_it) >= 1 || is_refused(*number), "{number} by {who}");
        }
        for number in &self.theirs.ends {
            let is_it =
                |fact: &Fact| matches!(fact, Fact::TaskCompleted { task, .. } if task.0 == *number);
            assert!(n_with(&is_it) == 1 || is_refused(*number), "{number} was ended");
        }
        for (number, mark) in &self.theirs.notes {
            let task = TaskNumber(*number);
            let key = mark.clone();
            let look = move |state: &State| {
                state.tasks().get(task).is_some_and(|it| it.metadata.0.contains_key(&key))
            };
            let is_there = self.stage.board.look(look).await.unwrap();
            assert!(is_there || is_refused(*number), "{mark} in {number}");
        }
        self.check_phantoms(&facts);
        self.check_files().await;
    }

    /// The mirror takes and refuses only what somebody did: what troop wrote itself counts as nothing.
    fn check_phantoms(&self, facts: &[Fact]) {
        let theirs = &self.theirs;
        for number in 1..5 {
            for who in ["pat", "quin"] {
                let claims = facts.iter().filter(|fact| {
                    matches!(fact, Fact::TaskClaimed { task, owner, .. }
                        if task.0 == number && *owner == name(who))
                });
                let done = theirs.claims.iter().chain(&self.claimed);
                // A member that ends a task that nobody holds takes it, too.
                let n_ends = theirs.ends.iter().filter(|it| **it == number).count();
                let n_done = done.filter(|it| **it == (number, who)).count() + n_ends;
                assert!(claims.count() <= n_done, "{who} claimed {number} only {n_done} times");
            }
            let n_deeds = theirs.claims.iter().filter(|it| it.0 == number).count()
                + theirs.ends.iter().filter(|it| **it == number).count()
                + theirs.notes.iter().filter(|it| it.0 == number).count();
            let refused = self.refused.get(&self.path(number)).map_or(&[][..], Vec::as_slice);
            assert!(refused.len() <= n_deeds, "{n_deeds} things were done: {refused:?}");
        }
    }

    async fn check_files(&self) {
        let owner = if self.stage.layout == Layout::Seeds { "claimed_by" } else { "owner" };
        for number in 1..5 {
            let path = self.path(number);
            if !self.stage.path(&path).exists() {
                continue;
            }
            let file = self.stage.read(&path);
            let (status, holder) = self.stage.task(number).await;
            let holder = holder.map(|it| it.to_string()).unwrap_or_default();
            // The client has no word for these: a cancelled task is over, and a failed one is the lead's to look at.
            let (word, holder) = match (self.stage.layout, status) {
                (Layout::Claude, Status::Cancelled) => ("completed", holder),
                (Layout::Claude, Status::Failed) => ("in_progress", "team-lead".to_owned()),
                _ => (status.as_str(), holder),
            };
            assert_eq!(file["status"], word, "{file}");
            assert_eq!(file[owner].as_str().unwrap_or_default(), holder, "{file}");
        }
    }
}

/// A mirror with a board of its own.
async fn mirror(
    stage: &Stage,
    store: &Arc<dyn Store>,
) -> (Mirror, UnboundedReceiver<MirrorNotice>) {
    let clock = Clock::system();
    let following = Following::WhenAsked;
    let team = stage.board.team();
    let board = Board::open(Arc::clone(store), clock.clone(), following, team).await.unwrap();
    let folder = stage.folder.path().to_owned();
    let options = MirrorOptions { board, clock, folder, layout: stage.layout, lead: None };
    let mut mirror = Mirror::open(options).await.unwrap();
    let notices = mirror.notices();
    (mirror, notices)
}

fn run(deeds: &[Deed], layout: Layout) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut play = Play::new(layout).await;
        for deed in [Deed::WeCreate, Deed::WeCreate, Deed::WeCreate, Deed::Pass(0)] {
            play.act(deed).await;
        }
        for deed in deeds {
            play.act(*deed).await;
        }
        play.check().await;
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn no_order_of_our_writes_and_theirs_loses_anything(
        deeds in prop::collection::vec(deed(), 1..30),
        is_claude: bool,
    ) {
        run(&deeds, if is_claude { Layout::Claude } else { Layout::Seeds });
    }
}
