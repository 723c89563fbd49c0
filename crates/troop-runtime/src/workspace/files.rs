//! The files of a team: on the disk, and as the board knows them.

use std::path::Path;

use troop_model::{
    Actor, Asker, Command, Context, FileQuestion, OperationId, Origin, State, TaskAction,
    TaskCommand, TaskNumber, Time, WorkspaceFile, WorkspaceFolder, decide,
};
use troop_protocol::{FileChanged, FileContent, FileList, FileView};
use uuid::Uuid;

use super::{FilePath, FileStat, Workspace, WorkspaceError, error::MB};
use crate::{Board, BoardError};

/// How much later than the board's time the disk's timestamp of a known file may be.
const DISK_LAG: std::time::Duration = std::time::Duration::from_secs(2);

/// A team's files.
#[derive(Clone, Debug)]
pub struct WorkspaceFiles {
    board: Board,
    workspace: Workspace,
}

/// A request for files: the asker, and the files.
#[derive(Clone, Debug)]
pub struct FileRequest {
    pub asker: Asker,
    pub question: FileQuestion,
}

/// A change to a file, and the command that records it on the board. The caller gives that command.
#[derive(Clone, Debug)]
pub struct FileRecord {
    pub changed: FileChanged,
    pub command: Command,
}

/// The folder that a request is about.
struct WorkspacePlace {
    folder: WorkspaceFolder,
    task: Option<TaskNumber>,
    quota: Option<u64>,
}

impl WorkspaceFiles {
    /// The files of a team whose folder on this machine is `folder`.
    #[must_use]
    pub fn new(board: Board, folder: &Path) -> Self {
        Self { board, workspace: Workspace::new(folder) }
    }

    /// The same from a workspace that is open.
    pub(crate) fn of(board: Board, workspace: Workspace) -> Self {
        Self { board, workspace }
    }

    /// Refuses to attach a file to a task if it is not in the workspace: nobody could read it there. Any other command passes.
    pub(crate) async fn check_attachment(&self, command: &Command) -> Result<(), WorkspaceError> {
        let Command::Task(TaskCommand::Attach { task, path }) = command else { return Ok(()) };
        let knows = |state: &State| {
            let version = state.team().map(|team| team.settings.version);
            version.is_some_and(|it| it >= TaskAction::Attach.first_version())
        };
        // Refusals of the board come first.
        if !self.board.look(knows).await? {
            return Ok(());
        }
        // Also a member that does not work on the task may attach a file to it, but would not be shown its files.
        let asker = Asker { actor: Actor::human("troop"), origin: Origin::default() };
        let question = FileQuestion { chat: None, task: Some(task.clone()) };
        // If the workspace cannot be read, or there is no such task, the board decides.
        let Ok(list) = self.list(FileRequest { asker, question }).await else { return Ok(()) };
        match list.may_have(path) {
            true => Ok(()),
            false => Err(WorkspaceError::NotThere { path: path.clone(), task: task.clone() }),
        }
    }

    /// Lists all files.
    pub async fn list(&self, request: FileRequest) -> Result<FileList, WorkspaceError> {
        let WorkspacePlace { folder, .. } = self.place(request).await?;
        let workspace = self.workspace.clone();
        let meant = folder.clone();
        let (listing, path) =
            blocking(move || Ok((workspace.list(&meant)?, workspace.path_of(&meant)))).await?;
        let meant = folder.clone();
        let known = self.board.look(move |state| state.files(&meant)).await?;
        let view = |(path, stat): &(FilePath, FileStat)| view(path, stat, known.get(path.as_str()));
        let files: Vec<_> = listing.files.iter().map(view).collect();
        let size = files.iter().map(|file| file.size).sum();
        let path = path.display().to_string();
        Ok(FileList { files, folder, path, size, skipped: listing.n_skipped })
    }

    /// Reads a file.
    pub async fn read(
        &self,
        request: FileRequest,
        path: &str,
    ) -> Result<FileContent, WorkspaceError> {
        let path = FilePath::new(path)?;
        let WorkspacePlace { folder, .. } = self.place(request).await?;
        let workspace = self.workspace.clone();
        blocking(move || {
            let bytes = workspace.read(&folder, &path)?;
            Ok(FileContent::new(path.to_string(), bytes))
        })
        .await
    }

    /// Writes a file.
    pub async fn write(
        &self,
        request: FileRequest,
        path: &str,
        bytes: Vec<u8>,
    ) -> Result<FileRecord, WorkspaceError> {
        let path = FilePath::new(path)?;
        let WorkspacePlace { folder, task, quota } = self.place(request.clone()).await?;
        let record = |folder: WorkspaceFolder, size: u64| Command::RecordFile {
            folder,
            path: path.to_string(),
            size,
            task: task.map(Into::into),
        };
        self.check(request.asker, record(folder.clone(), bytes.len() as u64)).await?;
        let workspace = self.workspace.clone();
        let into = folder.clone();
        let file = path.clone();
        let stat = blocking(move || workspace.write(&into, &file, &bytes, quota)).await?;
        let changed = FileChanged { path: path.to_string(), size: stat.size, task };
        Ok(FileRecord { changed, command: record(folder, stat.size) })
    }

    /// Deletes a file.
    pub async fn delete(
        &self,
        request: FileRequest,
        path: &str,
    ) -> Result<FileRecord, WorkspaceError> {
        let path = FilePath::new(path)?;
        let WorkspacePlace { folder, .. } = self.place(request.clone()).await?;
        let command = Command::ForgetFile { folder: folder.clone(), path: path.to_string() };
        self.check(request.asker, command.clone()).await?;
        let workspace = self.workspace.clone();
        let meant = path.clone();
        let known = folder.clone();
        let size = blocking(move || workspace.delete(&folder, &meant)).await?;
        let name = path.to_string();
        let look = move |state: &State| state.file(&known, &name).and_then(|file| file.task);
        let task = self.board.look(look).await?;
        Ok(FileRecord { changed: FileChanged { path: path.to_string(), size, task }, command })
    }

    async fn place(&self, request: FileRequest) -> Result<WorkspacePlace, WorkspaceError> {
        let look = move |state: &State| {
            let (folder, task) = state.workspace_of(&request.asker, &request.question)?;
            let quota = state.team().and_then(|team| team.settings.workspace.quota_mb);
            let quota = quota.map(|megabytes| u64::from(megabytes) * MB);
            Ok(WorkspacePlace { folder, task, quota })
        };
        Ok(self.board.look(look).await?.map_err(BoardError::Refused)?)
    }

    /// Asks the rules, before anything is done, whether the board would accept a command.
    async fn check(&self, asker: Asker, command: Command) -> Result<(), WorkspaceError> {
        let look = move |state: &State| {
            let operation = OperationId(Uuid::now_v7());
            let ctx = Context { now: state.latest(), asker, operation, fence: None };
            decide(state, &command, &ctx)
        };
        self.board.look(look).await?.map_err(BoardError::Refused)?;
        Ok(())
    }
}

/// A file as people see it. If it was changed without the board, its author is unknown.
fn view(path: &FilePath, stat: &FileStat, known: Option<&WorkspaceFile>) -> FileView {
    let at = stat.at();
    let known = known.filter(|it| stat.is_as(it));
    FileView {
        path: path.to_string(),
        size: stat.size,
        at: known.map_or(at, |it| it.at),
        by: known.map(|it| it.by.clone()),
        task: known.and_then(|it| it.task),
    }
}

impl FileStat {
    /// The disk's timestamp of the last change.
    pub(crate) fn at(&self) -> Time {
        let since = self.modified.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Time::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    /// Whether it is still as the board knows it.
    pub(crate) fn is_as(&self, known: &WorkspaceFile) -> bool {
        known.size == self.size && self.at() <= known.at + DISK_LAG
    }
}

/// Runs blocking disk work on a thread of its own.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorkspaceError> + Send + 'static,
) -> Result<T, WorkspaceError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(BoardError::Broken { what: error.to_string() }.into()),
    }
}
