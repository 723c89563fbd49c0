//! Gets a key from a command, for example from a password store.

use std::time::Duration;

use tokio::time::timeout;

use super::secret::Secret;
use crate::Turn;

/// How long a person has to unlock the store.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs the command. Nobody sees what it prints.
pub(crate) async fn printed_by(command: &str, turn: &Turn) -> Result<Secret, String> {
    let wrong = |why: &str| format!("the command for the key, `{command}`, {why}");
    let mut process = troop_process::command("sh");
    process.arg("-c").arg(command).current_dir(turn.path());
    let output = timeout(PATIENCE, process.output()).await.map_err(|_| wrong("takes too long"))?;
    let output = output.map_err(|error| wrong(&format!("cannot be started: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = troop_model::preview(said.trim(), 200);
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        return Err(wrong(&format!("failed ({}){said}", output.status)));
    }
    let key = Secret::new(&String::from_utf8_lossy(&output.stdout));
    if key.is_empty() { Err(wrong("prints nothing")) } else { Ok(key) }
}
