//! The folders of a team's files: made, made again when somebody deleted them, and never shared with another team or layout.

use std::{collections::BTreeSet, fs, io};

use serde_json::Value;
use uuid::Uuid;

use super::{
    Mirror, MirrorError, disk,
    layout::{self, Layout, MEMBER_ID, MirrorPlaces},
    unusable,
};

/// Refuses a folder that holds the files of another team of this name, or this team's in another layout: those files look like
/// ours, but are not.
pub(super) fn check(places: &MirrorPlaces, members: &BTreeSet<Uuid>) -> Result<(), MirrorError> {
    let other = match places.layout {
        Layout::Seeds => Layout::Claude,
        Layout::Claude => Layout::Seeds,
    };
    let team = places.team.clone();
    let folder = places.root().to_owned();
    if places.in_layout(other).inboxes().is_dir() {
        return Err(MirrorError::OtherLayout { folder, team, layout: other });
    }
    let config = places.config();
    let found = disk::read(&config).map_err(unusable(&config))?;
    let bytes = found.and_then(|it| it.bytes).unwrap_or_default();
    // Half a config is no reason to refuse; the mirror reads it again.
    let Ok(config) = layout::read_object(&bytes) else { return Ok(()) };
    let entries = layout::entries(&config).into_iter();
    let ids = entries.filter_map(|it| it.get(MEMBER_ID).and_then(Value::as_str)?.parse().ok());
    let ids: BTreeSet<Uuid> = ids.collect();
    if !ids.is_empty() && ids.is_disjoint(members) {
        return Err(MirrorError::OtherTeam { folder, team });
    }
    Ok(())
}

impl Mirror {
    /// Makes the folders that are missing. Returns whether one was.
    pub(super) fn make_folders(&self) -> Result<bool, MirrorError> {
        let mut was_missing = false;
        for folder in [self.places.tasks(), self.places.inboxes(), self.places.written_tasks()] {
            if !folder.is_dir() {
                fs::create_dir_all(&folder).map_err(unusable(&folder))?;
                was_missing = true;
            }
        }
        if self.places.layout == Layout::Claude {
            // The client makes new tasks under the lock of this file.
            let path = self.places.tasks().join(".lock");
            let made = fs::File::options().create(true).append(true).open(&path);
            made.map_err(unusable(&path))?;
        }
        Ok(was_missing)
    }

    /// Removes the files of a team that is gone.
    pub fn clear(self) -> Result<(), MirrorError> {
        let config = self.places.config();
        disk::remove(&config).map_err(unusable(&config))?;
        let places = &self.places;
        for folder in [places.tasks(), places.inboxes(), places.all_noted(), places.all_written()] {
            match fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(unusable(&folder)(error));
                }
                _ => {}
            }
        }
        // Another program may keep more there.
        drop(fs::remove_dir(self.places.team()));
        Ok(())
    }
}
