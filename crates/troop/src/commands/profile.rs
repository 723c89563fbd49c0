//! `troop profile`

use std::path::Path;

use anyhow::Result;
use serde_json::json;
use troop_app::{
    agents::{self, thinking},
    surroundings::Surroundings,
    team::{WhenOff, free_name},
};
use troop_model::AgentKind;
use troop_runtime::{Following, Profile};
use troop_store::Missing;

use crate::{
    cli::ProfileArgs,
    desk,
    output::Printer,
    render,
    report::{Error, Hint, HintCommand},
};

/// The agents that could be members; troop suggests the first that it can start.
const COULD_BE: [AgentKind; 2] = [AgentKind::ClaudeCode, AgentKind::Builtin];

pub(super) async fn run(
    args: &ProfileArgs,
    surroundings: Surroundings,
    printer: &Printer,
) -> Result<()> {
    let path = args.path.as_deref().unwrap_or(Path::new("."));
    let path = std::path::absolute(path)?;
    if !path.is_dir() {
        let message = format!("`{}` is not a folder", path.display());
        let profile = HintCommand::troop("profile").blank("PATH");
        return Err(Error::misuse(message, Hint::to("name the repository", profile)).into());
    }
    let mut profile = troop_runtime::profile(&path, &surroundings.environment.variables()).await;
    let could_be = COULD_BE.map(AgentKind::key);
    let agent = could_be.into_iter().find(|agent| !agents::runs_later(agent));
    let agent = agent.unwrap_or(AgentKind::Command.key());
    if agents::runs_later(AgentKind::ClaudeCode.key()) {
        let install = HintCommand::troop("mcp install").word("claude-code").word("--as");
        let note = Hint::from("this version does not start claude; ");
        let note = note.and_to("", "let it join over MCP", install.blank("NAME"));
        profile.notes.push(note.to_string());
    }
    let Surroundings { home, environment, .. } = &surroundings;
    let place = thinking::ThinkingPlace { home, project: &path, environment };
    if place.default_model().is_none() {
        profile.notes.push(format!("`{agent}` has no model yet: {}", thinking::how_to_think()));
    }
    let taken = Box::pin(taken(surroundings, printer)).await;
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

/// The command that makes the suggested team, named after the folder.
fn command(path: &Path, profile: &Profile, agent: &str, taken: &[String]) -> Result<String> {
    let name = free_name(path, taken)?;
    let members = profile.team.iter().map(|it| format!(" --member {}={agent}", it.name));
    Ok(format!("troop team create {name}{}", members.collect::<String>()))
}

/// The names of teams. Empty if the store does not exist or cannot be opened.
async fn taken(surroundings: Surroundings, printer: &Printer) -> Vec<String> {
    if surroundings.is_default_store() && !surroundings.home.is_dir() {
        return Vec::new();
    }
    let opened =
        desk::open(surroundings, Following::WhenAsked, Missing::Refuse, WhenOff::Open, printer)
            .await;
    let Ok(desk) = opened else { return Vec::new() };
    let names = desk.team_names().await.unwrap_or_default();
    desk.close().await;
    names
}
