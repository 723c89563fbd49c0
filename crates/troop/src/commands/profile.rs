//! `troop profile`

use std::path::Path;

use anyhow::Result;
use serde_json::json;
use troop_runtime::{Following, Profile};
use troop_store::Missing;

use super::run::free_name;
use crate::{
    agents,
    cli::{Global, ProfileArgs},
    config::{self, Surroundings},
    desk::Desk,
    output::Printer,
    render,
    report::{Hint, HintCommand, Usage},
    thinking,
};

const CLAUDE: &str = "claude";
/// Who the members of a team could be, the first that troop can start.
const COULD_BE: [&str; 2] = [CLAUDE, "builtin"];

pub(super) async fn run(
    args: &ProfileArgs,
    global: &Global,
    surroundings: Surroundings,
    printer: &Printer,
) -> Result<()> {
    let path = args.path.as_deref().unwrap_or(Path::new("."));
    let path = std::path::absolute(path)?;
    if !path.is_dir() {
        let message = format!("`{}` is not a folder", path.display());
        let profile = HintCommand::troop("profile").blank("PATH");
        return Err(Usage::new(message, Hint::to("name the repository", profile)).into());
    }
    let mut profile = troop_runtime::profile(&path, &config::environment()).await;
    let place = (surroundings.home.clone(), path.clone());
    let agent = COULD_BE.into_iter().find(|agent| !agents::runs_later(agent)).unwrap_or("command");
    if agents::runs_later(CLAUDE) {
        let note = "this version does not start claude; let it join over MCP: `troop mcp install claude-code --as NAME`";
        profile.notes.push(note.to_owned());
    }
    if thinking::at_hand((&place.0, &place.1)).is_none() {
        profile.notes.push(format!("`{agent}` has no model yet: {}", thinking::how_to_think()));
    }
    let taken = Box::pin(taken(global, surroundings)).await;
    let command = command(&path, &profile, agent, &taken)?;
    if printer.json {
        let mut value = serde_json::to_value(&profile)?;
        if let Some(fields) = value.as_object_mut() {
            fields.insert("command".to_owned(), json!(command));
        }
        return printer.json(&value);
    }
    printer.text(&render::profile(&profile, &command))
}

/// The command that makes such a team, named after the folder.
fn command(path: &Path, profile: &Profile, agent: &str, taken: &[String]) -> Result<String> {
    let taken: Vec<_> = taken.iter().map(String::as_str).collect();
    let name = free_name(path, &taken)?;
    let members = profile.team.iter().map(|it| format!(" --member {}={agent}", it.name));
    Ok(format!("troop team create {name}{}", members.collect::<String>()))
}

/// The names that teams have. Where there is no store, or it cannot be opened, nobody has one.
async fn taken(global: &Global, surroundings: Surroundings) -> Vec<String> {
    if surroundings.is_default_store(global) && !surroundings.home.is_dir() {
        return Vec::new();
    }
    let opened = Desk::open(global, surroundings, Following::WhenAsked, Missing::Refuse).await;
    let Ok(desk) = opened else { return Vec::new() };
    let teams = desk.session.teams().await.unwrap_or_default();
    desk.close().await;
    teams.into_iter().filter(|team| !team.is_retired).map(|team| team.name).collect()
}
