//! The folder that a team belongs to: where it was last led from, or where it was made.

use std::{fs, path::PathBuf};

use troop_model::TeamId;
use troop_runtime::last_project;

use super::TeamDesk;

/// The file in a team's folder that says where it was made.
const MADE_IN: &str = "made-in";

impl TeamDesk {
    /// Notes that a team was made here. It is only a convenience, so a failure does not matter.
    pub fn settle(&self, team: TeamId) {
        let folder = self.folder(team);
        let here = self.surroundings.project.canonicalize();
        let here = here.unwrap_or_else(|_| self.surroundings.project.clone());
        let noted = fs::create_dir_all(&folder)
            .and_then(|()| fs::write(folder.join(MADE_IN), here.as_os_str().as_encoded_bytes()));
        drop(noted);
    }

    /// Whether a team belongs to this folder.
    pub(super) fn is_at_home(&self, team: TeamId) -> bool {
        let folder = self.folder(team);
        let made_in = || fs::read_to_string(folder.join(MADE_IN)).ok().map(PathBuf::from);
        let there = last_project(&folder).or_else(made_in).and_then(|it| it.canonicalize().ok());
        there.is_some() && there == self.surroundings.project.canonicalize().ok()
    }
}
