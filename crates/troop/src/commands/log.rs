//! `troop log`: what was seen of a member.

use std::time::Duration;

use anyhow::{Context as _, Result};
use notify::Watcher as _;
use tokio::sync::mpsc;
use troop_model::{MemberName, Refusal};
use troop_runtime::{TranscriptEntry, read_transcript};

use crate::{cli::LogArgs, desk::Desk, output::Printer, render, report::Refused};

/// How long nothing is heard of a folder before it is looked at all the same: not every disk tells.
const LOOK: Duration = Duration::from_secs(2);

pub(super) async fn run(args: &LogArgs, desk: &mut Desk, printer: &Printer) -> Result<()> {
    let board = desk.team(None).await?;
    let folder = desk.folder(board.team());
    let text = args.member.clone();
    let found = board.look(move |state| state.find_member(&text).map(|it| it.name.clone())).await?;
    let read = |member: &MemberName, from| {
        read_transcript(&folder, member, from)
            .with_context(|| format!("the transcript of {member} cannot be read"))
    };
    let member = match found {
        Ok(member) => member,
        // Whoever is gone may have left a word.
        Err(refusal) => {
            let gone: MemberName = args.member.parse().map_err(Refusal::from)?;
            if read(&gone, 0)?.0.is_empty() {
                return Err(refusal.into());
            }
            gone
        }
    };
    let transcripts = folder.join("transcripts");
    let mut news = if args.follow { Some(watch(&transcripts)?) } else { None };
    let wanted = args.delegation.as_ref().map(|id| format!("delegate:{}", id.to_lowercase()));
    let is_wanted = |entry: &TranscriptEntry| {
        let session = entry.session.as_deref().unwrap_or_default();
        wanted.as_ref().is_none_or(|wanted| session.starts_with(wanted))
    };
    let (entries, mut at) = read(&member, 0)?;
    let entries: Vec<_> = entries.into_iter().filter(is_wanted).collect();
    if entries.is_empty() && !args.follow {
        return nothing(&member, args, printer);
    }
    let skipped = args.lines.map_or(0, |n_lines| entries.len().saturating_sub(n_lines));
    show(entries.into_iter().skip(skipped), printer)?;
    while let Some((news, _watcher)) = &mut news {
        // However it went: look again.
        drop(tokio::time::timeout(LOOK, news.recv()).await);
        let (entries, end) = read(&member, at)?;
        at = end;
        show(entries.into_iter().filter(is_wanted), printer)?;
    }
    Ok(())
}

/// There is nothing to show, which is an answer unless a delegation was named.
fn nothing(member: &MemberName, args: &LogArgs, printer: &Printer) -> Result<()> {
    match &args.delegation {
        Some(id) => {
            let message =
                format!("{member} has no transcript of a delegation `{}`", render::clean(id));
            Err(Refused::new(message, "list them: `troop team delegations`").into())
        }
        None if printer.json => Ok(()),
        None => printer.text(&format!("{member} has no transcript: it has not run yet\n")),
    }
}

fn show(mut entries: impl Iterator<Item = TranscriptEntry>, printer: &Printer) -> Result<()> {
    entries.try_for_each(|entry| {
        if printer.json {
            printer.line(&serde_json::to_string(&entry)?)
        } else {
            printer.line(&render::transcript(&entry))
        }
    })
}

/// Tells when something in a folder changes.
fn watch(folder: &std::path::Path) -> Result<(mpsc::Receiver<()>, notify::RecommendedWatcher)> {
    let cannot = || format!("`{}` cannot be watched", folder.display());
    std::fs::create_dir_all(folder).with_context(cannot)?;
    let (tell, news) = mpsc::channel(1);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Our own reading is no news.
        if event.is_ok_and(|event| !event.kind.is_access()) {
            // One word is as good as many.
            tell.try_send(()).unwrap_or_default();
        }
    })?;
    watcher.watch(folder, notify::RecursiveMode::NonRecursive).with_context(cannot)?;
    Ok((news, watcher))
}
