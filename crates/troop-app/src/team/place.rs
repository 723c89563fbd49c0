//! The folder that a team belongs to: where it was last led from, or where it was made.

use std::{fs, path::PathBuf};

use troop_model::TeamId;
use troop_runtime::last_project;

use super::{
    TeamDesk,
    making::{MADE_IN, TeamPlace},
};

impl TeamDesk {
    /// Notes that a team was made here.
    pub(crate) fn settle(&self, team: TeamId) {
        self.place().settle(team);
    }

    pub(super) fn place(&self) -> TeamPlace {
        TeamPlace { teams: self.folders(), project: self.surroundings.project.clone() }
    }

    /// Whether a team belongs to this folder.
    pub(super) fn is_at_home(&self, team: TeamId) -> bool {
        let folder = self.folder(team);
        let made_in = || fs::read_to_string(folder.join(MADE_IN)).ok().map(PathBuf::from);
        let there = last_project(&folder).or_else(made_in).and_then(|it| it.canonicalize().ok());
        there.is_some() && there == self.surroundings.project.canonicalize().ok()
    }
}
