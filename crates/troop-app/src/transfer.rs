//! A team's log as a file: exporting it, importing it, and looking at a moment of it.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, Write as _},
    path::{Path, PathBuf},
};

use troop_model::{Event, Hint, HintCommand, State, TeamName, Version};
use troop_runtime::{Board, BoardError, ExportError, ExportHeader, Moment, read_export};

use crate::{
    Error, FileAct, Result,
    team::{TeamDesk, name_of, team_name},
    text::one_line,
    trust::{ProjectCommand, imported_commands},
    whole_file::{FileAccess, FileDraft},
};

/// How many commands are named in one line.
const MAX_NAMED: usize = 5;

/// Gives a team's export to `write`, some lines at a time.
pub async fn export<E: From<Error> + From<BoardError>>(
    desk: &TeamDesk,
    board: &Board,
    write: impl FnMut(&str) -> Result<(), E>,
) -> Result<ExportHeader, E> {
    let name = name_of(board).await?;
    troop_runtime::export(desk.store.as_ref(), board.team(), &name, write).await
}

/// Exports a team to a file. The file is written whole or not at all: half of it could be taken for a backup.
pub async fn export_to_file(desk: &TeamDesk, board: &Board, path: &Path) -> Result<ExportHeader> {
    let unwritten = |source| Error::File { path: path.to_owned(), act: FileAct::Written, source };
    let mut file = BufWriter::new(FileDraft::new(path).map_err(unwritten)?);
    let write = |lines: &str| file.write_all(lines.as_bytes()).map_err(unwritten);
    let header = export(desk, board, write).await?;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error);
    file.and_then(|file| file.put(FileAccess::Owner)).map_err(unwritten)?;
    Ok(header)
}

/// A team in a file, before it is in a store.
#[derive(Debug)]
pub struct TeamImport {
    file: PathBuf,
    events: Vec<Event>,
    /// The contents of the log, in numbers.
    state: State,
    /// The name that it gets here, if not its own.
    name: Option<TeamName>,
}

impl TeamImport {
    /// Opens and reads a file.
    pub fn open(file: &Path, name: Option<&str>) -> Result<Self> {
        match File::open(file) {
            Ok(input) => Self::read(BufReader::new(input), file, name),
            Err(error) => Err(unreadable(file)(ExportError::Unreadable(error))),
        }
    }

    /// Reads an exported team. `file` is how people call it.
    pub fn read(input: impl BufRead, file: &Path, name: Option<&str>) -> Result<Self> {
        let name = name.map(team_name).transpose()?;
        let (_, events) = read_export(input).map_err(unreadable(file))?;
        let mut state = State::default();
        events.iter().for_each(|event| state.apply(event));
        Ok(Self { file: file.to_owned(), events, state, name })
    }

    /// Refuses a name that a team here has.
    pub async fn check_name(&self, desk: &TeamDesk) -> Result<()> {
        let wanted = self.name.as_ref().or(self.state.team().map(|team| &team.name));
        let Some(wanted) = wanted else { return Ok(()) };
        let Some(free) = desk.other_name(wanted.as_str()).await? else { return Ok(()) };
        let hint =
            Hint::to("import it under another name", self.command().word("--name").word(free));
        Err(Error::conflict(format!("there is already a team `{wanted}`"), hint))
    }

    /// The commands that the team would run here. Nobody here put them on its board, so a person must agree to them.
    #[must_use]
    pub fn commands(&self, desk: &TeamDesk) -> Vec<ProjectCommand> {
        imported_commands(&self.state, &desk.surroundings, &self.file)
    }

    /// Refuses what the team would run, if no person can be asked.
    #[must_use]
    pub fn refuse(&self, runs: &[ProjectCommand]) -> Error {
        let things = if runs.len() == 1 { "1 thing" } else { &format!("{} things", runs.len()) };
        let named = runs.iter().take(MAX_NAMED);
        let mut named: Vec<_> = named.map(|it| format!("`{}`", one_line(&it.command))).collect();
        let more = runs.len().saturating_sub(MAX_NAMED);
        named.extend((more > 0).then(|| format!("and {more} more")));
        let message = format!("this team would run {things} here: {}", named.join(", "));
        let again = match &self.name {
            Some(name) => self.command().word("--name").word(name),
            None => self.command(),
        };
        let hint = Hint::from("review the file").then_to("allow it", again.word("--yes"));
        Error::refused(message, hint)
    }

    /// Puts the team into the store.
    pub async fn take(self, desk: &mut TeamDesk) -> Result<Board> {
        let board = desk.session.import(self.events, self.name).await?.clone();
        desk.settle(board.team());
        Ok(board)
    }

    fn command(&self) -> HintCommand {
        HintCommand::troop("team import").word(self.file.display())
    }
}

fn unreadable(file: &Path) -> impl Fn(ExportError) -> Error {
    |source| Error::Import { file: file.to_owned(), source }
}

/// A team as it was at a moment.
pub async fn replay(desk: &TeamDesk, board: &Board, moment: Moment) -> Result<State> {
    let state = troop_runtime::replay(desk.store.as_ref(), board.team(), moment).await?;
    let hint = Hint::to("see what happened when", HintCommand::troop("events"));
    if state.team().is_none() {
        return Err(Error::misuse("the team did not exist yet", hint));
    }
    let end = state.version();
    match moment {
        Moment::Version(wanted) if wanted > end && wanted != Version(u64::MAX) => {
            let message = format!("the log has no event {wanted}; it ends at {end}");
            Err(Error::misuse(message, hint))
        }
        Moment::Version(_) | Moment::Time(_) => Ok(state),
    }
}
