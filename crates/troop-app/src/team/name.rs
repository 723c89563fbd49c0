//! Names for new teams.

use std::path::Path;

use troop_model::{Refusal, State, TeamName};
use troop_runtime::{Board, StoreSession};

use super::TeamDesk;
use crate::Result;

/// How long a name is that a folder gives.
const MAX_CHARS: usize = 50;

/// Parses the name of a team.
pub fn team_name(text: &str) -> Result<TeamName> {
    Ok(text.parse().map_err(Refusal::from)?)
}

/// The name of a team; empty if it is gone.
pub async fn name_of(board: &Board) -> Result<String> {
    let name = board.look(|state: &State| Some(state.team()?.name.to_string())).await?;
    Ok(name.unwrap_or_default())
}

/// A name like that of a folder which no team has.
pub fn free_name(project: &Path, taken: &[String]) -> Result<TeamName> {
    let folder = project.file_name().map(|name| name.to_string_lossy().to_lowercase());
    let is_good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    let name: String = folder
        .unwrap_or_default()
        .chars()
        .map(|c| if is_good(c) { c } else { '-' })
        .take(MAX_CHARS)
        .collect();
    let name = name.trim_matches(['-', '_', '.']);
    let name = if name.is_empty() { "team" } else { name };
    team_name(&first_free(name, taken))
}

/// A name, or if it is taken the first free one with a number behind it.
#[must_use]
pub fn first_free(name: &str, taken: &[String]) -> String {
    let numbered = (2..).map(|nth| format!("{name}-{nth}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !taken.contains(name)).unwrap_or_default()
}

/// The names that the teams of a store have.
pub(super) async fn names_of(session: &StoreSession) -> Result<Vec<String>> {
    let teams = session.teams().await?;
    Ok(teams.into_iter().filter(|it| !it.is_retired).map(|it| it.name).collect())
}

impl TeamDesk {
    /// The names that teams have.
    pub async fn team_names(&self) -> Result<Vec<String>> {
        names_of(&self.session).await
    }

    /// A name like the wanted one, if a team has that.
    pub async fn other_name(&self, wanted: &str) -> Result<Option<String>> {
        let names = self.team_names().await?;
        Ok(names.iter().any(|name| name == wanted).then(|| first_free(wanted, &names)))
    }
}

#[cfg(test)]
mod tests;
