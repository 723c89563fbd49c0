//! `troop profile`

use std::path::Path;

use anyhow::Result;

use crate::{cli::ProfileArgs, output::Printer, render, report::Usage};

pub(super) async fn run(args: &ProfileArgs, printer: &Printer) -> Result<()> {
    let path = args.path.as_deref().unwrap_or(Path::new("."));
    let path = std::path::absolute(path)?;
    if !path.is_dir() {
        let message = format!("`{}` is no folder", path.display());
        return Err(Usage::new(message, "say which repository: `troop profile PATH`").into());
    }
    let profile = troop_runtime::profile(&path).await;
    if printer.json {
        return printer.json(&profile);
    }
    printer.text(&render::profile(&profile))
}
