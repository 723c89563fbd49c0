//! `troop profile`

use std::path::Path;

use anyhow::Result;

use crate::{agents, cli::ProfileArgs, config, output::Printer, render, report::Usage};

/// What the suggested members are.
const SUGGESTED_BY_PROFILE: &str = "claude";

pub(super) async fn run(args: &ProfileArgs, printer: &Printer) -> Result<()> {
    let path = args.path.as_deref().unwrap_or(Path::new("."));
    let path = std::path::absolute(path)?;
    if !path.is_dir() {
        let message = format!("`{}` is no folder", path.display());
        return Err(Usage::new(message, "say which repository: `troop profile PATH`").into());
    }
    let mut profile = troop_runtime::profile(&path, &config::environment()).await;
    if agents::runs_later(SUGGESTED_BY_PROFILE) {
        let note = "troop does not start claude in this version; let it join by itself: `troop mcp install claude-code --as NAME`";
        profile.notes.push(note.to_owned());
    }
    if printer.json {
        return printer.json(&profile);
    }
    printer.text(&render::profile(&profile))
}
