//! The workspace files that the board knows: their folders, authors, times and tasks.

use std::{collections::BTreeMap, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::{
    Actor, ActorKind, Asker, Attachment, JournaledMap, MemberName, Refusal, Role, State, Status,
    Task, TaskNumber, TaskRef, Time, TrailKind, WorkspaceScope, text,
};

/// How many files of one folder are remembered. A folder holds fewer; files deleted behind troop's back may count too.
const MAX_REMEMBERED: usize = 1_000;

/// How far a disk's timestamps may lag behind the board's.
const DISK_LAG: Duration = Duration::from_millis(10);

/// A folder of a team's workspace: the one that all share, or that of one conversation.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceFolder {
    /// Whether conversations share it.
    #[serde(default)]
    pub scope: WorkspaceScope,
    /// The conversation that it belongs to; none for work that does not come from one.
    #[serde(default)]
    pub chat: Option<SmolStr>,
}

impl WorkspaceFolder {
    /// The folder that all conversations share.
    #[must_use]
    pub fn shared() -> Self {
        Self { scope: WorkspaceScope::Shared, chat: None }
    }

    /// The folder of one conversation.
    #[must_use]
    pub fn of_chat(chat: Option<SmolStr>) -> Self {
        Self { scope: WorkspaceScope::Isolated, chat }
    }
}

/// The record of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceFile {
    /// The actor that wrote it last.
    pub by: Actor,
    pub at: Time,
    /// Its size in bytes then.
    pub size: u64,
    /// The task that it was written for.
    pub task: Option<TaskNumber>,
}

/// All recorded files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct FileIndex(JournaledMap<(WorkspaceFolder, String), WorkspaceFile>);

impl FileIndex {
    pub(crate) fn note(&mut self, folder: &WorkspaceFolder, path: &str, file: WorkspaceFile) {
        self.0.insert((folder.clone(), path.to_owned()), file);
        let known = || self.of(folder);
        if known().count() > MAX_REMEMBERED
            && let Some(oldest) = known().min_by_key(|(_, file)| file.at).map(|(path, _)| path)
        {
            let oldest = (folder.clone(), oldest.to_owned());
            self.0.remove(&oldest);
        }
    }

    pub(crate) fn forget(&mut self, folder: &WorkspaceFolder, path: &str) {
        self.0.remove(&(folder.clone(), path.to_owned()));
    }

    fn of(&self, folder: &WorkspaceFolder) -> impl Iterator<Item = (&str, &WorkspaceFile)> {
        let files = self.0.entries().range((folder.clone(), String::new())..);
        let files = files.take_while(move |((other, _), _)| other == folder);
        files.map(|((_, path), file)| (path.as_str(), file))
    }

    pub(crate) fn begin(&mut self) {
        self.0.begin();
    }

    pub(crate) fn rollback(&mut self) {
        self.0.rollback();
    }
}

/// The files that a caller asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileQuestion {
    /// Those of this conversation; none means of the one that the asker works for.
    pub chat: Option<SmolStr>,
    /// Those of this task's conversation; none means the task that the asker works on.
    pub task: Option<TaskRef>,
}

impl State {
    /// The record of one file.
    #[must_use]
    pub fn file(&self, folder: &WorkspaceFolder, path: &str) -> Option<&WorkspaceFile> {
        self.files.get().0.entries().get(&(folder.clone(), path.to_owned()))
    }

    /// The records of the files of a folder, by path.
    #[must_use]
    pub fn files(&self, folder: &WorkspaceFolder) -> BTreeMap<String, WorkspaceFile> {
        let files = self.files.get();
        files.of(folder).map(|(path, file)| (path.to_owned(), file.clone())).collect()
    }

    /// Whether a task's file was deleted since. Unknown, so false, for files that were not written through the workspace.
    #[must_use]
    pub fn is_gone(&self, attachment: &Attachment) -> bool {
        let folder = attachment.folder.as_ref();
        folder.is_some_and(|folder| self.file(folder, &attachment.path).is_none())
    }

    /// The folder for a task's files.
    #[must_use]
    pub fn folder_of(&self, task: &Task) -> WorkspaceFolder {
        match self.team().map(|team| team.settings.workspace.scope).unwrap_or_default() {
            WorkspaceScope::Shared => WorkspaceFolder::shared(),
            WorkspaceScope::Isolated => {
                WorkspaceFolder::of_chat(task.provenance.origin.chat_id.clone())
            }
        }
    }

    /// The tasks that a file may have been written for: all that were in progress for its folder at some moment that its
    /// timestamp may mean. If there are several, nothing tells whose it is.
    #[must_use]
    pub fn tasks_then(&self, folder: &WorkspaceFolder, at: Time) -> Vec<TaskNumber> {
        let is_then = |task: &&Task| was_worked_on(task, at) && self.folder_of(task) == *folder;
        self.tasks.iter().filter(is_then).map(|task| task.number).collect()
    }

    /// The folder that a caller means, and the task that its files belong to. Refuses callers outside the team, and members
    /// that do not work for the conversation.
    pub fn workspace_of(
        &self,
        asker: &Asker,
        question: &FileQuestion,
    ) -> Result<(WorkspaceFolder, Option<TaskNumber>), Refusal> {
        let scope = self.existing_team()?.settings.workspace.scope;
        let member = match asker.actor.kind {
            ActorKind::Agent => Some(
                self.find_member(&asker.actor.name)
                    .map_err(|_| Refusal::NotAMember { name: asker.actor.name.to_string() })?,
            ),
            ActorKind::Human | ActorKind::System => None,
        };
        let ordinary = member.filter(|member| member.role == Role::Member).map(|it| &it.name);
        let task = match (&question.task, member) {
            (Some(task), _) => Some(self.task_of(task, ordinary)?),
            (None, Some(member)) => self.works_on(&member.name),
            (None, None) => None,
        };
        if scope == WorkspaceScope::Shared {
            return Ok((WorkspaceFolder::shared(), task));
        }
        if let (Some(chat), Some(member)) = (&question.chat, ordinary)
            && !self.works_for(member, chat)
        {
            return Err(Refusal::Forbidden {
                who: SmolStr::new(member.as_str()),
                what: "use the files of a chat that none of its tasks is from",
                may: "the lead or a person",
            });
        }
        let origin = match task.and_then(|task| self.tasks.get(task)) {
            Some(task) => &task.provenance.origin,
            None => &asker.origin,
        };
        let chat = question.chat.clone().or_else(|| origin.chat_id.clone());
        Ok((WorkspaceFolder::of_chat(chat), task))
    }

    fn task_of(&self, task: &TaskRef, holder: Option<&MemberName>) -> Result<TaskNumber, Refusal> {
        let number = self.resolve(task)?;
        if let Some(member) = holder
            && !self.tasks.held_by(member).any(|held| held == number)
        {
            let owner = self.tasks.get(number).and_then(|task| task.owner.clone());
            return Err(Refusal::NotYours { task: number, member: member.clone(), owner });
        }
        Ok(number)
    }

    /// Of the tasks that a member holds, the one that moved last.
    fn works_on(&self, member: &MemberName) -> Option<TaskNumber> {
        let held = self.tasks.held_by(member).filter_map(|number| self.tasks.get(number));
        held.max_by_key(|task| (task.provenance.moved_at, task.number)).map(|task| task.number)
    }

    fn works_for(&self, member: &MemberName, chat: &SmolStr) -> bool {
        let mut held = self.tasks.held_by(member).filter_map(|number| self.tasks.get(number));
        held.any(|task| task.provenance.origin.chat_id.as_ref() == Some(chat))
    }
}

/// Whether a task may have been in progress when a file got its timestamp. The file was written at that time or up to `DISK_LAG`
/// later.
fn was_worked_on(task: &Task, at: Time) -> bool {
    use TrailKind::{
        Assigned, Cancelled, Claimed, Completed, Failed, Rejected, Released, Submitted,
    };
    let mut since = None;
    for entry in &task.trail {
        let is_begin = matches!(entry.what, Claimed | Assigned | Rejected);
        let is_end = matches!(entry.what, Released | Failed | Completed | Submitted | Cancelled);
        match since {
            None if is_begin => since = Some(entry.at),
            Some(begin) if is_end => {
                if begin <= at + DISK_LAG && at <= entry.at {
                    return true;
                }
                since = None;
            }
            None | Some(_) => {}
        }
    }
    let is_worked_on = matches!(task.status, Status::InProgress | Status::Stale);
    is_worked_on && since.is_some_and(|begin| begin <= at + DISK_LAG)
}

/// The path of a file as the board keeps it. Refuses paths that lead out of the workspace.
pub fn workspace_path(path: &str) -> Result<String, Refusal> {
    let path = text::line("path", path)?;
    let is_inside =
        !path.starts_with(['/', '\\']) && !path.split(['/', '\\']).any(|part| part == "..");
    if is_inside { Ok(path) } else { Err(Refusal::BadPath { path }) }
}
