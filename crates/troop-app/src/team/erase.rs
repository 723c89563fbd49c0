//! Deletes teams, and erases them with their folders.

use troop_model::{ActorKind, Command, Hint, HintCommand, OperationId, Role, State, TeamId};
use troop_protocol::{Answer, TeamStanding};
use troop_runtime::{LeftoverState, find_lead, leftovers, rescue};

use super::{Purpose, TeamDesk, TeamHandle, name_of};
use crate::{Error, FileAct, Result, leading::Folders, text::one_line};

/// How much of a team goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// Its log stays.
    Team,
    /// Nothing stays.
    Everything,
}

impl TeamHandle {
    /// Deletes the team and frees its name. Its log stays readable by its id. A team that somebody leads is deleted only by its
    /// lead.
    pub(super) async fn delete(&self, operation: OperationId) -> Result<Answer> {
        self.check_rests().await?;
        let signature = self.signature(Some(operation));
        match self.route.delete(signature.clone()).await {
            Ok(done) => Ok(done),
            Err(error) => Err(self.explain(error, &signature.on(Command::DeleteTeam)).await?),
        }
    }

    /// Refuses to delete a team that somebody leads, unless its lead asks for it.
    async fn check_rests(&self) -> Result<()> {
        if self.answers.standing().await? != TeamStanding::Running {
            return Ok(());
        }
        let actor = self.asker.actor.clone();
        let look = move |state: &State| {
            let found = state.find_member(&actor.name);
            let is_lead = found.is_ok_and(|it| it.role == Role::Lead);
            let holder =
                state.team().and_then(|team| Some(team.lead_lease.as_ref()?.holder.clone()));
            (actor.kind == ActorKind::Agent && is_lead, holder)
        };
        match self.look(look).await? {
            (true, _) => Ok(()),
            (false, holder) => Err(self.still_runs(&holder.unwrap_or_default()).await?),
        }
    }

    /// Why a team that runs is not deleted.
    async fn still_runs(&self, holder: &str) -> Result<Error> {
        let members = self.answers.members().await?.members;
        let running = members.iter().filter(|it| it.role == Role::Member && it.is_running());
        let running: Vec<_> = running.map(|it| format!("{} is {}", it.name, it.state)).collect();
        let running = match running.as_slice() {
            [] => String::new(),
            running => format!("; {}", running.join(", ")),
        };
        let name = name_of(&self.board).await?;
        let message = format!("team `{name}` is led by {}{running}", one_line(holder));
        Ok(Error::conflict(message, stop_first(&name)))
    }
}

impl TeamDesk {
    /// Deletes a team, and returns its name. One that was deleted before can only be erased, by its id.
    pub async fn delete_team(&mut self, name: Option<&str>, deletion: Deletion) -> Result<String> {
        let retired = self.session.teams().await?.into_iter().filter(|team| team.is_retired);
        let retired = retired.into_iter().find(|it| Some(it.id.to_string().as_str()) == name);
        if let Some(team) = retired {
            if deletion == Deletion::Team {
                let delete = HintCommand::troop("team delete").team(team.id).word("--purge");
                let message = format!("team `{}` is already deleted", team.name);
                return Err(Error::misuse(message, Hint::to("erase its log too", delete)));
            }
            self.purge(team.id, &team.name).await?;
            return Ok(team.name);
        }
        self.team_for(Purpose::Delete, name).await?;
        let team = self.handle().await?;
        let id = team.id();
        let name = name_of(team.board()).await?;
        if deletion == Deletion::Everything {
            team.check_rests().await?;
            // Nothing is marked as deleted before its folders are gone.
            self.clear_worktrees(id, &name).await?;
        }
        team.submit(Command::DeleteTeam).await?;
        self.close_team().await;
        if deletion == Deletion::Everything {
            self.purge(id, &name).await?;
        }
        Ok(name)
    }

    /// Erases the team of this session, which nobody has used yet.
    pub(crate) async fn erase_new_team(&mut self) -> Result<()> {
        let team = self.handle().await?;
        team.submit(Command::DeleteTeam).await?;
        self.close_team().await;
        self.purge(team.id(), "").await
    }

    /// Erases a team with its folder. The folder goes first, so that the same command can be repeated if it fails.
    async fn purge(&self, team: TeamId, name: &str) -> Result<()> {
        self.clear_worktrees(team, name).await?;
        let folder = self.folder(team);
        match std::fs::remove_dir_all(&folder) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::File { path: folder, act: FileAct::Removed, source });
            }
            _ => {}
        }
        Ok(self.session.purge(team).await?)
    }

    /// Removes the worktrees of a team, all of whose work must be merged.
    async fn clear_worktrees(&self, team: TeamId, name: &str) -> Result<()> {
        self.check_unused(team, name).await?;
        let environment = self.surroundings.environment.variables();
        let cannot = |error: troop_runtime::GitError| {
            let message = format!("team `{name}` cannot be erased: {}", error.chain());
            let doctor = HintCommand::troop("doctor");
            Error::refused(message, Hint::to("see what is left, and what to do with it", doctor))
        };
        for leftover in leftovers(&self.folder(team), &environment).await.map_err(cannot)? {
            rescue(&leftover, &self.surroundings.aside(), &environment).await.map_err(cannot)?;
        }
        Ok(())
    }

    /// Refuses to erase a team while somebody leads it, or while its worktrees hold work that is nowhere else.
    async fn check_unused(&self, team: TeamId, name: &str) -> Result<()> {
        let folder = self.folder(team);
        if find_lead(&folder).is_some() || Folders::are_taken(&folder) {
            let message = format!("team `{name}` cannot be erased while somebody leads it");
            return Err(Error::refused(message, stop_first(name)));
        }
        let left = leftovers(&folder, &self.surroundings.environment.variables()).await?;
        let left = left.iter().filter(|it| it.state != LeftoverState::Merged);
        let left: Vec<_> = left.filter_map(|it| it.folder.as_ref()).collect();
        let named: Vec<_> = left.iter().map(|folder| format!("`{}`", folder.display())).collect();
        let hold = match left.len() {
            0 => return Ok(()),
            1 => "holds",
            _ => "hold",
        };
        let message =
            format!("team `{name}` cannot be erased: {} {hold} unmerged work", named.join(", "));
        let rescue = HintCommand::troop("doctor").word("--rescue");
        Err(Error::refused(message, Hint::to("keep it on a branch first", rescue)))
    }
}

fn stop_first(name: &str) -> Hint {
    Hint::to("stop it first", HintCommand::troop("stop").team(name))
}
