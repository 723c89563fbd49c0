//! `troop workspace …`

use std::{io::Read as _, path::Path};

use anyhow::{Context as _, Result};
use troop_app::team::TeamDesk;
use troop_model::{FileQuestion, TaskRef};
use troop_protocol::{FileChanged, FileList, FileView};
use troop_runtime::{FileRecord, FileRequest, MAX_FILE, WorkspaceFiles};

use crate::{
    cli::{WorkspaceCommand, WorkspaceOf},
    output::Printer,
    render,
};

pub(super) async fn run(
    command: WorkspaceCommand,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    let board = desk.team(None).await?;
    let files = WorkspaceFiles::new(board.clone(), &desk.folder(board.team()));
    match command {
        WorkspaceCommand::List { of } => {
            let list = files.list(request(of, desk)?).await?;
            show(&list, desk, printer)
        }
        WorkspaceCommand::Read { path, output, of } => {
            let content = files.read(request(of, desk)?, &path).await?;
            if printer.json {
                return printer.json(&content);
            }
            let bytes = content.into_bytes()?;
            match output {
                Some(file) => std::fs::write(&file, &bytes)
                    .with_context(|| format!("`{}` cannot be written", file.display())),
                None => printer.bytes(&bytes),
            }
        }
        WorkspaceCommand::Write { path, from, of } => {
            let bytes = given(&from)?;
            let written = files.write(request(of, desk)?, &path, bytes).await?;
            note(written, FileDeed::Write, desk, printer).await
        }
        WorkspaceCommand::Delete { path, of } => {
            let deleted = files.delete(request(of, desk)?, &path).await?;
            note(deleted, FileDeed::Delete, desk, printer).await
        }
    }
}

fn request(of: WorkspaceOf, desk: &TeamDesk) -> Result<FileRequest> {
    let asker = desk.signature()?.asker;
    // An empty variable counts as unset.
    let task = of.task.filter(|task| !task.is_empty());
    let task = task.as_deref().map(str::parse::<TaskRef>).transpose()?;
    let question = FileQuestion { chat: of.chat.map(Into::into), task };
    Ok(FileRequest { asker, question })
}

/// The operation on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileDeed {
    Write,
    Delete,
}

/// Records a change of a file on the board, through the lead if one runs.
async fn note(
    noted: FileRecord,
    deed: FileDeed,
    desk: &mut TeamDesk,
    printer: &Printer,
) -> Result<()> {
    desk.submit(noted.command).await?;
    let FileChanged { path, size, task } = &noted.changed;
    if printer.json {
        return printer.json(&noted.changed);
    }
    let path = render::clean(path);
    let size = render::bytes(*size);
    printer.text(&match (deed, task) {
        (FileDeed::Write, Some(task)) => format!("wrote {path} ({size}) for {task}\n"),
        (FileDeed::Write, None) => format!("wrote {path} ({size})\n"),
        (FileDeed::Delete, _) => format!("deleted {path} ({size})\n"),
    })
}

/// The new contents of a file. We read one byte more than is allowed, which is then refused.
fn given(from: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if from == Path::new("-") {
        let input = std::io::stdin().take(MAX_FILE + 1).read_to_end(&mut bytes);
        input.context("standard input cannot be read")?;
        return Ok(bytes);
    }
    let read = std::fs::File::open(from).and_then(|file| {
        // The message names the file's real size, not how much of it we read.
        let size = file.metadata()?.len();
        if size > MAX_FILE {
            Ok(size)
        } else {
            file.take(MAX_FILE + 1).read_to_end(&mut bytes).map(|_| size)
        }
    });
    let size = read.with_context(|| format!("`{}` cannot be read", from.display()))?;
    if size > MAX_FILE {
        return Err(troop_runtime::WorkspaceError::TooLarge {
            path: from.display().to_string(),
            size,
        }
        .into());
    }
    Ok(bytes)
}

fn show(list: &FileList, desk: &TeamDesk, printer: &Printer) -> Result<()> {
    if printer.json {
        return printer.json(list);
    }
    if list.files.is_empty() {
        printer.text(&format!("no files in {}\n", list.path))?;
    } else {
        let now = desk.clock.now();
        let row = |file: &FileView| {
            vec![
                render::one_line(&file.path),
                render::bytes(file.size),
                file.by.as_ref().map_or_else(|| "?".to_owned(), ToString::to_string),
                file.task.map(|task| task.to_string()).unwrap_or_default(),
                format!("{} ago", render::span(now.since(file.at))),
            ]
        };
        let rows: Vec<_> = list.files.iter().map(row).collect();
        printer.text(&render::table(
            &["FILE", "SIZE", "BY", "TASK", "WRITTEN"],
            &rows,
            printer.width(),
        ))?;
    }
    if list.skipped > 0 {
        let skipped = match list.skipped {
            1 => "1 more entry".to_owned(),
            n => format!("{n} more entries"),
        };
        let why = "links, pipes and unprintable names cannot be used here";
        printer.warn(format!("{skipped} in {}: {why}", list.path));
    }
    Ok(())
}
