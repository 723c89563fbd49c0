//! Makes teams, and says who may. Every surface makes teams here.

use std::{fs, path::PathBuf};

use troop_model::{Hint, HintCommand, LEAD_ALIASES, NewTeamCommand, TeamId, TeamName};
use troop_runtime::{Board, BoardError, Signature, StoreSession};
use troop_store::StoreError;

use super::{
    TeamDesk,
    name::{first_free, names_of},
};
use crate::{Error, Result, surroundings::Environment};

/// The file in a team's folder that says where it was made.
pub(super) const MADE_IN: &str = "made-in";

/// Where a team's own folder is, and the project that it is made for.
#[derive(Clone, Debug)]
pub(super) struct TeamPlace {
    /// The folder of what belongs to teams besides their logs.
    pub(super) teams: PathBuf,
    pub(super) project: PathBuf,
}

impl TeamPlace {
    /// Notes that a team was made here. It is only a convenience, so a failure does not matter.
    pub(super) fn settle(&self, team: TeamId) {
        let folder = self.teams.join(team.to_string());
        let here = self.project.canonicalize().unwrap_or_else(|_| self.project.clone());
        let noted = fs::create_dir_all(&folder)
            .and_then(|()| fs::write(folder.join(MADE_IN), here.as_os_str().as_encoded_bytes()));
        drop(noted);
    }
}

/// Makes a team, which is the session's from then on.
pub(super) async fn create_team(
    session: &mut StoreSession,
    place: &TeamPlace,
    signature: &Signature,
    new: NewTeamCommand,
) -> Result<Board> {
    let name = new.name.clone();
    let board = match session.create(signature, new).await {
        Ok(board) => board.clone(),
        Err(BoardError::Store(error)) if matches!(*error, StoreError::Conflict { .. }) => {
            return Err(name_taken(&name, &names_of(session).await?));
        }
        Err(error) => return Err(error.into()),
    };
    place.settle(board.team());
    Ok(board)
}

/// Another team has the name. `names` are those of all teams.
fn name_taken(name: &TeamName, names: &[String]) -> Error {
    let free = first_free(name.as_str(), names);
    let delete = HintCommand::troop("team delete").team(name);
    let hint = Hint::from(format!("use another name, such as `{free}`")).and_to(
        "; or ",
        "free this one",
        delete,
    );
    Error::conflict(format!("there is already a team `{name}`"), hint)
}

/// Refuses to make or lead a team for a process that works in one as a teammate.
pub(crate) fn check_no_teammate(member: Option<&str>, environment: &Environment) -> Result<()> {
    let is_member = member.is_some_and(|member| !LEAD_ALIASES.contains(&member));
    if !is_member && !environment.is_teammate() {
        return Ok(());
    }
    let ask = HintCommand::troop("message send").word("lead").text("…");
    let message = "a teammate can neither create nor lead a team";
    Err(Error::refused(message, Hint::to("ask the lead", ask)))
}

impl TeamDesk {
    /// Makes a team, which the command is about from then on.
    pub async fn create_team(&mut self, new: NewTeamCommand) -> Result<Board> {
        self.check_may_lead()?;
        let signature = self.signature()?;
        let place = self.place();
        let board = create_team(&mut self.session, &place, &signature, new).await?;
        self.catch_up(&board).await?;
        Ok(board)
    }

    /// Refuses to make or lead a team for a teammate.
    pub fn check_may_lead(&self) -> Result<()> {
        check_no_teammate(self.acting(), &self.surroundings.environment)
    }
}
