//! `troop log`: the transcript of a member.

use std::io;

use anyhow::{Context as _, Result};
use troop_app::team::TeamDesk;
use troop_protocol::{TranscriptEdge, TranscriptEntry, TranscriptPage};
use troop_runtime::{TranscriptFeed, TranscriptReader};

use crate::{
    cli::LogArgs,
    output::Printer,
    render,
    report::{Error, Hint, HintCommand},
};

pub(super) async fn run(args: &LogArgs, desk: &mut TeamDesk, printer: &Printer) -> Result<()> {
    let board = desk.team(None).await?;
    let member = args.member.as_str();
    let reader = desk.answers(&board).transcript(member.to_owned()).await?;
    let wanted = args.delegation.as_ref().map(|id| format!("delegate:{}", id.to_lowercase()));
    let is_wanted = |entry: &TranscriptEntry| {
        let session = entry.session.as_deref().unwrap_or_default();
        wanted.as_ref().is_none_or(|wanted| session.starts_with(wanted))
    };
    let unreadable = || format!("the transcript of {member} cannot be read");
    let TranscriptPage { entries, end, .. } = read_all(&reader).with_context(unreadable)?;
    let entries: Vec<_> = entries.into_iter().filter(is_wanted).collect();
    if entries.is_empty() && !args.follow {
        return nothing(args, printer);
    }
    let skipped = args.lines.map_or(0, |n_lines| entries.len().saturating_sub(n_lines));
    show(entries.into_iter().skip(skipped), printer)?;
    if args.follow {
        let mut feed = TranscriptFeed::new(reader, end);
        loop {
            let page = feed.next().await.with_context(unreadable)?;
            show(page.entries.into_iter().filter(is_wanted), printer)?;
        }
    }
    Ok(())
}

/// All entries that are stored, as one page.
fn read_all(reader: &TranscriptReader) -> io::Result<TranscriptPage> {
    let mut all = TranscriptPage::default();
    loop {
        let page = reader.page(TranscriptEdge::Beginning, all.end.as_deref(), usize::MAX)?;
        all.entries.extend(page.entries);
        all.end = page.end.or(all.end);
        if page.next.is_none() {
            return Ok(all);
        }
    }
}

/// Says that there is no transcript. If a delegation was named, that is an error.
fn nothing(args: &LogArgs, printer: &Printer) -> Result<()> {
    let member = render::clean(&args.member);
    match &args.delegation {
        Some(id) => {
            let message =
                format!("{member} has no transcript of a delegation `{}`", render::clean(id));
            let hint = Hint::to("list them", HintCommand::troop("team delegations"));
            Err(Error::refused(message, hint).into())
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
