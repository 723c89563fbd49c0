//! The store's folder: its format, and which teams it holds.

use std::{
    collections::{BTreeMap, HashMap},
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::Mutex,
};

use serde::{Deserialize, Serialize};
use troop_model::{TeamId, Version, lock};

use super::{
    folder::{CARD, Card, HEAD, LOG, LogHead, TeamFolder, sync_folder, to_json, write_new},
    log,
};
use crate::{
    Batch, Missing, NewTeam, StoreError, StoreResult, TeamEntry,
    draft::draft_in,
    failure::{
        corrupt, id_taken, io_failure, name_taken, no_folder, no_store, refused, restore_hint,
        unknown_team, written_by_newer,
    },
    record::{Record, end_of_beginning},
    turnstile::lock_file,
};

const FORMAT: &str = "format.json";
const TEAMS: &str = "teams";
const RETIRED: &str = "retired";
/// Where teams are assembled and taken apart. Anything here is garbage unless a process holds the store's lock.
const WORKSHOP: &str = "tmp";

/// Counts up with every change of the layout.
const SCHEMA: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct Format {
    format: String,
    schema: u32,
}

/// A team and where it is.
#[derive(Debug)]
struct TeamLocation {
    card: Card,
    folder: PathBuf,
    is_retired: bool,
}

/// The folder of a store.
#[derive(Debug)]
pub(super) struct Root {
    path: PathBuf,
    /// Where teams were last seen. Others may move them, so this is a guess.
    found: Mutex<HashMap<TeamId, TeamFolder>>,
}

impl Root {
    pub(super) fn open(path: &Path, missing: Missing) -> StoreResult<Self> {
        let path = std::path::absolute(path).map_err(|error| io_failure("found", path, error))?;
        let root = Self { path, found: Mutex::default() };
        match (root.check()?, missing) {
            (true, _) => {}
            (false, Missing::Make) => root.make()?,
            (false, Missing::Refuse) => {
                return Err(no_store(&format!("files:{}", root.path.display())));
            }
        }
        Ok(root)
    }

    fn place(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Whether the folder is a store that this version understands; `false` if it can become one.
    fn check(&self) -> StoreResult<bool> {
        let path = self.place(FORMAT);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return self.require_empty().map(|()| false);
            }
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                let shown = self.path.display();
                return Err(refused(
                    format!("`{shown}` is a file, not a folder"),
                    format!("for a database file use `--store sqlite:{shown}`"),
                ));
            }
            Err(error) => return Err(io_failure("read", &path, error)),
        };
        let damaged = || corrupt(format!("`{}` is damaged", path.display()), restore_hint(&path));
        let format: Format = serde_json::from_slice(&text).map_err(|_| damaged())?;
        match format.schema {
            _ if format.format != "troop-files" => Err(self.foreign()),
            SCHEMA => Ok(true),
            newer => Err(written_by_newer(self.path.display(), newer, SCHEMA)),
        }
    }

    fn foreign(&self) -> StoreError {
        let shown = self.path.display();
        refused(
            format!("`{shown}` is a folder with other things in it"),
            format!("give a separate folder: `--store files:{shown}/troop`"),
        )
    }

    fn require_empty(&self) -> StoreResult<()> {
        let names = match fs::read_dir(&self.path) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(io_failure("read", &self.path, error)),
        };
        for name in names {
            let name = name.map_err(|error| io_failure("read", &self.path, error))?.file_name();
            // Another process may be making the store right now.
            if ![TEAMS, RETIRED, WORKSHOP, FORMAT].iter().any(|ours| name == **ours) {
                return Err(self.foreign());
            }
        }
        Ok(())
    }

    /// Makes the folders, then the mark that says they are complete. Two processes may do it at once.
    fn make(&self) -> StoreResult<()> {
        let folder = self.path.parent().unwrap_or(&self.path);
        if !folder.is_dir() {
            return Err(no_folder(folder));
        }
        for path in
            [self.path.clone(), self.place(TEAMS), self.place(RETIRED), self.place(WORKSHOP)]
        {
            match fs::create_dir(&path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(io_failure("made", &path, error));
                }
                _ => {}
            }
        }
        let failed = |error| io_failure("made", &self.place(FORMAT), error);
        let draft = draft_in(&self.place(WORKSHOP)).map_err(failed)?;
        let format = Format { format: "troop-files".to_owned(), schema: SCHEMA };
        fs::write(draft.path(), to_json(&format)?).map_err(failed)?;
        draft.as_file().sync_all().map_err(failed)?;
        match draft.persist_noclobber(self.place(FORMAT)) {
            Err(lost) if lost.error.kind() != io::ErrorKind::AlreadyExists => {
                Err(failed(lost.error))
            }
            _ => sync_folder(&self.path).and_then(|()| sync_folder(folder)),
        }
    }

    /// Lets one process at a time add and remove teams, for as long as the file is open.
    fn lock(&self) -> StoreResult<File> {
        let path = self.place(FORMAT);
        let file = OpenOptions::new().read(true).write(true).open(&path);
        let file = file.map_err(|error| io_failure("written", &path, error))?;
        lock_file(&file).map_err(|error| io_failure("locked", &path, error))?;
        self.clear_workshop()?;
        Ok(file)
    }

    fn clear_workshop(&self) -> StoreResult<()> {
        let path = self.place(WORKSHOP);
        let failed = |error| io_failure("cleared", &path, error);
        for left_over in fs::read_dir(&path).map_err(failed)? {
            let left_over = left_over.map_err(failed)?;
            // Drafts of the format are files; they vanish on their own.
            if left_over.file_type().is_ok_and(|kind| kind.is_dir()) {
                fs::remove_dir_all(left_over.path()).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// All teams with their folders, oldest first, and the first damage that hides one.
    fn cards(&self) -> StoreResult<(Vec<TeamLocation>, Option<StoreError>)> {
        let mut found = BTreeMap::new();
        let mut damage = None;
        // A team that moves meanwhile is found again among the retired.
        for (place, is_retired) in [(TEAMS, false), (RETIRED, true)] {
            let path = self.place(place);
            let failed = |error| io_failure("read", &path, error);
            for folder in fs::read_dir(&path).map_err(failed)? {
                let folder = folder.map_err(failed)?.path();
                match Card::read(&folder) {
                    Ok(Some(card)) => {
                        found.insert(card.id, TeamLocation { card, folder, is_retired });
                    }
                    Ok(None) => {}
                    Err(error) => damage = damage.or(Some(error)),
                }
            }
        }
        let mut cards: Vec<_> = found.into_values().collect();
        cards.sort_by_key(|placed| placed.card.created);
        Ok((cards, damage))
    }

    pub(super) fn teams(&self) -> StoreResult<Vec<TeamEntry>> {
        let (cards, damage) = self.cards()?;
        let entry = |TeamLocation { card, is_retired, .. }| TeamEntry {
            id: card.id,
            name: card.name,
            is_retired,
        };
        damage.map_or_else(|| Ok(cards.into_iter().map(entry).collect()), Err)
    }

    /// Finds a team's current folder. Damage elsewhere does not matter.
    pub(super) fn find(&self, team: TeamId) -> StoreResult<TeamFolder> {
        if let Some(folder) = lock(&self.found).get(&team).filter(|folder| folder.is_current()) {
            return Ok(folder.clone());
        }
        let (cards, damage) = self.cards()?;
        let Some(placed) = cards.into_iter().find(|placed| placed.card.id == team) else {
            return Err(damage.unwrap_or_else(|| unknown_team(team)));
        };
        let folder = TeamFolder::new(team, placed.folder);
        lock(&self.found).insert(team, folder.clone());
        Ok(folder)
    }

    /// Reads a team's folder, again if the folder moved meanwhile.
    pub(super) fn with_team<T>(
        &self,
        team: TeamId,
        work: impl Fn(&TeamFolder) -> StoreResult<T>,
    ) -> StoreResult<T> {
        loop {
            let folder = self.find(team)?;
            match work(&folder) {
                Err(_) if !folder.is_current() => {}
                answer => return answer,
            }
        }
    }

    pub(super) fn create(&self, team: &NewTeam, first: &Batch) -> StoreResult<Version> {
        let records = Record::beginning(team.id, first)?;
        if team.name.starts_with('.') || team.name.contains(['/', '\0']) || team.name.is_empty() {
            return Err(refused(
                format!("a folder cannot be called `{}`", team.name.escape_debug()),
                "choose a name of letters, digits and dashes",
            ));
        }
        let _lock = self.lock()?;
        let (cards, _) = self.cards()?;
        if let Some(placed) = cards.iter().find(|placed| placed.card.id == team.id) {
            return repeated(&TeamFolder::new(team.id, placed.folder.clone()), first);
        }
        let place = self.place(TEAMS).join(&team.name);
        if place.exists() {
            return Err(name_taken(&team.name));
        }
        let created = cards.last().map_or(1, |last| last.card.created.saturating_add(1));
        let card = Card { id: team.id, name: team.name.clone(), created };
        let draft = self.place(WORKSHOP).join(team.id.to_string());
        build(&draft, &card, &records)?;
        fs::rename(&draft, &place).map_err(|error| io_failure("made", &place, error))?;
        sync_folder(&self.place(TEAMS))?;
        Ok(first.end())
    }

    pub(super) fn retire(&self, team: TeamId) -> StoreResult<()> {
        let _lock = self.lock()?;
        let place = self.place(RETIRED).join(team.to_string());
        self.move_team(&self.find(team)?, &place)?;
        sync_folder(&self.place(RETIRED))?;
        sync_folder(&self.place(TEAMS))
    }

    pub(super) fn purge(&self, team: TeamId) -> StoreResult<()> {
        let _lock = self.lock()?;
        let folder = match self.find(team) {
            Err(StoreError::NotFound { .. }) => return Ok(()),
            found => found?,
        };
        self.move_team(&folder, &self.place(WORKSHOP).join(team.to_string()))?;
        sync_folder(&self.place(RETIRED))?;
        sync_folder(&self.place(TEAMS))?;
        self.clear_workshop()
    }

    /// Moves a folder while nobody writes to it. Waiting writers then look for it again.
    fn move_team(&self, folder: &TeamFolder, place: &Path) -> StoreResult<()> {
        if folder.path() == place {
            return Ok(());
        }
        // A damaged team may have no log to lock, and then nobody can write it.
        let files = folder.open_to_read();
        if let Ok((head, log)) = &files {
            let entered = folder.turnstile(head, log)?.enter();
            entered.map_err(folder.io(LOG, "locked"))?;
        }
        let path = folder.path();
        fs::rename(path, place).map_err(|error| io_failure("moved", path, error))
    }
}

fn repeated(folder: &TeamFolder, first: &Batch) -> StoreResult<Version> {
    let (head, file) = folder.open_to_read()?;
    let head = folder.head(&head, &file)?;
    let record_at = |version| log::record_at(folder, &file, head, version);
    end_of_beginning(first.operation, record_at)?.ok_or_else(|| id_taken(folder.team))
}

fn build(draft: &Path, card: &Card, records: &[Record]) -> StoreResult<()> {
    fs::create_dir(draft).map_err(|error| io_failure("made", draft, error))?;
    let lines: String = records.iter().map(log::encode).collect();
    let version = records.last().map_or(Version::ZERO, Record::end);
    let head = LogHead { version, bytes: lines.len() as u64 };
    write_new(&draft.join(CARD), &to_json(card)?)?;
    write_new(&draft.join(LOG), lines.as_bytes())?;
    write_new(&draft.join(HEAD), head.encode(card.id).as_bytes())?;
    sync_folder(draft)
}
