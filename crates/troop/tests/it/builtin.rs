//! Teams of built-in agents, with a mock model on loopback.

mod budget;
mod ending;
mod goal;
mod leave;
mod reserved;
mod team;
mod words;

use std::{
    fs,
    process::{Command, Stdio},
};

use serde_json::json;
use troop_testkit::{
    git,
    mock::{MockModel, MockRequest},
};

use crate::troop::{Printing, Run, Troop};

/// The API key, which no output may show.
const KEY: &str = "sk-very-secret";

/// A repository whose owner allows agents these things.
fn repository(allowed: &[&str]) -> Troop {
    let troop = Troop::new();
    let folder = troop.folder();
    fs::create_dir_all(folder.join("home")).unwrap();
    let config = json!({"permissions": {"allow": allowed}}).to_string();
    fs::write(folder.join("home/config.json"), config).unwrap();
    fs::write(folder.join(".gitignore"), "home/\n").unwrap();
    fs::write(folder.join("AGENTS.md"), "Greet in small letters.\n").unwrap();
    git(folder, &["init", "--quiet", "--initial-branch=main"]);
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "-m", "begin"]);
    troop
}

/// Runs the program with this model, in the background.
async fn run(troop: &Troop, mock: &MockModel, arguments: &[&str]) -> Run {
    let mut command = troop.command(arguments);
    command.env("ANTHROPIC_BASE_URL", mock.url()).env("ANTHROPIC_API_KEY", KEY);
    output(command).await
}

/// Runs a command to its end, in the background.
async fn output(mut command: Command) -> Run {
    Run::new(tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap())
}

/// Starts the program with this model, and leaves it running.
fn start(troop: &Troop, mock: &MockModel, arguments: &[&str]) -> Printing {
    let mut command = troop.command(arguments);
    command.env("ANTHROPIC_BASE_URL", mock.url()).env("ANTHROPIC_API_KEY", KEY);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Printing::new(command.spawn().unwrap())
}

/// The member whose turn the model answers.
fn member(seen: &MockRequest) -> String {
    let system = seen.system();
    system.split('`').nth(1).unwrap_or_default().to_owned()
}
