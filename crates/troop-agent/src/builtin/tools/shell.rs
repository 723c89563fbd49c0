//! Runs a command. It ends with the turn or at its time limit, with everything it started.

use std::{path::Path, time::Duration};

use serde::Deserialize;
use serde_json::{Map, Value};
use troop_protocol::WireTask;

use super::schema;
use crate::{
    Turn,
    command::{CommandEnd, CommandLine, CommandRun, run as run_command},
};

/// The default time limit.
const USUAL: Duration = Duration::from_secs(120);
/// The longest time limit.
const MOST: Duration = Duration::from_secs(1_800);

/// Where bash may be.
const BASH: [&str; 3] = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];
const SH: &str = "sh";
const WITH_BASH: &str = "Runs a command with `bash` in the working folder and returns its output. The command has no input and no terminal. \
                         Background processes are killed when it ends.";
const WITH_SH: &str = "Runs a command with `sh` in the working folder (this machine has no `bash`) and returns its output. The command has \
                       no input and no terminal. Background processes are killed when it ends.";

/// The shell of this machine.
fn program() -> &'static str {
    BASH.into_iter().find(|path| Path::new(path).exists()).unwrap_or(SH)
}

/// For whom commands run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shell<'a> {
    pub(crate) turn: &'a Turn,
    pub(crate) task: Option<&'a WireTask>,
    /// Environment variables that commands do not get: keys are for the agent alone.
    pub(crate) hidden: &'a [String],
}

#[derive(Deserialize)]
pub(super) struct BashInput {
    command: String,
    timeout: Option<u64>,
}

pub(super) fn about() -> (&'static str, Map<String, Value>) {
    let about = if program() == SH { WITH_SH } else { WITH_BASH };
    let fields = [
        ("command", "string", "The command"),
        (
            "timeout",
            "integer",
            "The time limit in milliseconds; 120000 by default, 1800000 at most",
        ),
        ("description", "string", "What it is for, in a few words"),
    ];
    (about, schema(&fields, &["command"]))
}

pub(super) async fn run(input: BashInput, shell: Shell<'_>) -> Result<String, String> {
    let Shell { turn, task, hidden } = shell;
    let line = CommandLine::script(program(), &input.command).ok_or("the command is empty")?;
    let limit = input.timeout.map_or(USUAL, Duration::from_millis).min(MOST);
    let run = CommandRun { task, turn, shows_output: false, limit: Some(limit), hidden };
    match run_command(&line, run).await {
        Err(error) => Err(format!("it cannot be started: {error}")),
        Ok((CommandEnd::Exited(0), output)) if output.is_empty() => Ok("[no output]".to_owned()),
        Ok((CommandEnd::Exited(0), output)) => Ok(output),
        Ok((ended, output)) => Err(format!("{ended}\n{output}").trim_end().to_owned()),
    }
}
