//! A team with a lead, a teammate and two programs that know only its files.

use std::{collections::BTreeSet, fs, path::PathBuf, sync::Arc};

use serde_json::{Value, json};
use tempfile::TempDir;
use troop_model::{
    Actor, Command, EXTERNAL, MemberName, MemberState, NewMember, Party, State, Status, TaskNumber,
};
use troop_runtime::{
    Board, Clock, CommandRequest, Following, Layout, Mirror, MirrorError, MirrorOptions, Signature,
};
use troop_store::{MemoryStore, Store};
use uuid::Uuid;

use crate::support::{by, name, new_member, new_team};

pub(crate) struct Stage {
    pub(crate) board: Board,
    pub(crate) folder: TempDir,
    pub(crate) layout: Layout,
}

pub(crate) fn external(member: &str) -> NewMember {
    NewMember { agent: EXTERNAL.into(), ..new_member(member) }
}

impl Stage {
    pub(crate) async fn new(layout: Layout) -> Self {
        Self::on(Arc::new(MemoryStore::default()), layout).await
    }

    pub(crate) async fn on(store: Arc<dyn Store>, layout: Layout) -> Self {
        let mut team = new_team("crew");
        team.members = vec![new_member("bob"), external("pat"), external("quin")];
        let signature = Signature::new(Actor::human("zoe"));
        let clock = Clock::system();
        let following = Following::Always;
        let board = Board::create(store, clock, following, &signature, team).await.unwrap();
        Self { board, folder: TempDir::new().unwrap(), layout }
    }

    /// This team in another folder.
    pub(crate) fn beside(&self) -> Self {
        let board = self.board.clone();
        let folder = TempDir::new().unwrap();
        Self { board, folder, layout: self.layout }
    }

    pub(crate) async fn mirror(&self) -> Mirror {
        self.mirror_in(self.folder.path().to_owned()).await
    }

    pub(crate) async fn mirror_in(&self, folder: PathBuf) -> Mirror {
        self.open(folder, self.layout).await.unwrap()
    }

    pub(crate) async fn open(
        &self,
        folder: PathBuf,
        layout: Layout,
    ) -> Result<Mirror, MirrorError> {
        let board = self.board.clone();
        let clock = Clock::system();
        let lead = None;
        Mirror::open(MirrorOptions { board, clock, folder, layout, lead }).await
    }

    pub(crate) async fn submit(&self, member: &str, command: Command) {
        self.board.submit(by(member, command)).await.unwrap();
    }

    pub(crate) async fn set_running(&self, member: &str) {
        let member = name(member);
        let state = MemberState::Idle;
        let seen =
            Command::SetMemberState { member, state, reason: None, cause: None, pid: Some(1) };
        self.board.submit(CommandRequest::new(Actor::system(), seen)).await.unwrap();
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.path(path)).unwrap()
    }

    pub(crate) fn read(&self, path: &str) -> Value {
        serde_json::from_slice(&self.bytes(path)).unwrap()
    }

    pub(crate) fn write(&self, path: &str, value: &Value) {
        fs::write(self.path(path), value.to_string()).unwrap();
    }

    /// Changes some fields of a file, as others do.
    pub(crate) fn change(&self, path: &str, change: &Value) {
        let mut value = self.read(path);
        for (key, new) in change.as_object().unwrap() {
            value[key] = new.clone();
        }
        self.write(path, &value);
    }

    pub(crate) fn files(&self, folder: &str) -> Vec<Value> {
        let Ok(entries) = fs::read_dir(self.path(folder)) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut paths: Vec<_> =
            paths.filter(|it| it.extension().is_some_and(|it| it == "json")).collect();
        paths.sort();
        paths.iter().map(|it| serde_json::from_slice(&fs::read(it).unwrap()).unwrap()).collect()
    }

    fn inbox_path(&self, member: &str) -> String {
        match self.layout {
            Layout::Seeds => format!("teams/crew/inbox/{member}"),
            Layout::Claude if member == "ann" => "teams/crew/inboxes/team-lead.json".to_owned(),
            Layout::Claude => format!("teams/crew/inboxes/{member}.json"),
        }
    }

    pub(crate) fn inbox(&self, member: &str) -> Vec<Value> {
        let path = self.inbox_path(member);
        match self.layout {
            Layout::Seeds => self.files(&path),
            Layout::Claude if !self.path(&path).exists() => Vec::new(),
            Layout::Claude => self.read(&path).as_array().unwrap().clone(),
        }
    }

    pub(crate) fn put_letter(&self, member: &str, letter: Value) {
        let path = self.inbox_path(member);
        match self.layout {
            Layout::Seeds => self.write(&format!("{path}/{}.json", Uuid::now_v7()), &letter),
            Layout::Claude => {
                let mut entries = self.inbox(member);
                entries.push(letter);
                self.write(&path, &Value::Array(entries));
            }
        }
    }

    pub(crate) fn take_letters(&self, member: &str) {
        let path = self.inbox_path(member);
        match self.layout {
            Layout::Seeds => {
                fs::remove_dir_all(self.path(&path)).unwrap();
                fs::create_dir(self.path(&path)).unwrap();
            }
            Layout::Claude => self.write(&path, &json!([])),
        }
    }

    async fn look<T: Send + 'static>(&self, look: impl FnOnce(&State) -> T + Send + 'static) -> T {
        self.board.look(look).await.unwrap()
    }

    pub(crate) async fn task(&self, number: u32) -> (Status, Option<MemberName>) {
        self.look(move |state| {
            let number = TaskNumber(number);
            let owner = state.tasks().get(number).and_then(|it| it.owner.clone());
            (state.tasks().status(number).unwrap(), owner)
        })
        .await
    }

    pub(crate) async fn result(&self, number: u32) -> Option<String> {
        self.look(move |state| state.tasks().get(TaskNumber(number)).unwrap().result.clone()).await
    }

    pub(crate) async fn n_tasks(&self) -> usize {
        self.look(|state| state.tasks().len()).await
    }

    pub(crate) async fn n_unread(&self, member: &str) -> usize {
        let reader = Party::member(&name(member));
        self.look(move |state| state.mailbox().n_unread(&reader)).await
    }

    pub(crate) async fn n_requests(&self) -> usize {
        self.look(|state| state.requests().count()).await
    }

    pub(crate) async fn with_subject(&self, subjects: &'static [&'static str]) -> Vec<u32> {
        self.look(move |state| {
            let find =
                |subject: &str| state.tasks().iter().find(|it| it.subject == subject).unwrap();
            subjects.iter().map(|subject| find(subject).number.0).collect()
        })
        .await
    }

    pub(crate) async fn waits_for(&self, number: u32) -> BTreeSet<u32> {
        self.look(move |state| {
            let task = state.tasks().get(TaskNumber(number)).unwrap();
            task.blocked_by.iter().map(|it| it.task.0).collect()
        })
        .await
    }

    pub(crate) async fn roster(&self) -> Vec<(String, String)> {
        self.look(|state| {
            state.members().map(|it| (it.name.to_string(), it.agent.to_string())).collect()
        })
        .await
    }
}
