//! One line of a member's transcript.

use anstyle::{AnsiColor, Style};
use troop_protocol::Level;
use troop_runtime::{TranscriptEntry, TranscriptSource};

use super::{DIM, clean, moment, paint};

/// An entry with its time and source. Further lines of its text are indented below the first.
pub(crate) fn transcript(entry: &TranscriptEntry) -> String {
    let source = match entry.line.source {
        TranscriptSource::Member => match entry.line.level {
            Level::Debug => "debug",
            Level::Info => "",
            Level::Warn => "warn",
            Level::Error => "error",
        },
        TranscriptSource::Stderr => "stderr",
        TranscriptSource::Troop => "troop",
    };
    let style = match entry.line.level {
        Level::Debug => DIM,
        Level::Info if entry.line.source == TranscriptSource::Troop => DIM,
        Level::Info => Style::new(),
        Level::Warn => Style::new().fg_color(Some(AnsiColor::Yellow.into())),
        Level::Error => Style::new().fg_color(Some(AnsiColor::Red.into())),
    };
    let head = format!("{}  {source:<6}  ", moment(entry.at));
    let margin = format!("\n{}", " ".repeat(head.len()));
    let text = clean(entry.line.text.trim_end()).lines().collect::<Vec<_>>().join(&margin);
    format!("{}{}", paint(DIM, &head), paint(style, &text)).trim_end().to_owned()
}
