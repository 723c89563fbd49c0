//! How things look in a terminal. Pure: data in, text out.

mod board;
mod detail;
mod event;
mod graph;
mod live;
mod observed;
mod profile;
mod story;
mod summary;
mod table;
mod transcript;

use std::time::Duration;

use anstyle::{AnsiColor, Color, Style};
use troop_model::{Delegation, MemberState, Status, Time};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub(crate) use board::{Row, board};
pub(crate) use detail::{message, task_detail, team_status, used};
pub(crate) use event::event;
pub(crate) use graph::{dot, graph};
pub(crate) use live::{Recent, Screen, live};
pub(crate) use observed::{ScreenContent, observed, observed_line, observed_screen};
pub(crate) use profile::profile;
pub(crate) use story::story_line;
pub(crate) use summary::summary;
pub(crate) use table::table;
pub(crate) use transcript::transcript;
pub(crate) use troop_app::{
    story::summary_json,
    text::{clean, one_line, span},
};

/// Text in at most `width` columns; `…` replaces the rest.
pub(crate) fn fit(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut fitted = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        fitted.push(c);
    }
    fitted.push('…');
    fitted
}

/// Text in lines of at most `width` columns, broken between words.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.width() + 1 + word.width() > width {
            lines.push_str(&format!("{line}\n"));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines + &line + "\n"
}

/// Text that takes exactly `width` columns.
pub(crate) fn pad(text: &str, width: usize) -> String {
    let fitted = fit(text, width);
    let missing = width.saturating_sub(fitted.width());
    fitted + &" ".repeat(missing)
}

/// Text in a style.
pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const GOOD: Style = Style::new().fg_color(Some(Color::Ansi(AnsiColor::Green)));
pub(crate) const BAD: Style = Style::new().bold().fg_color(Some(Color::Ansi(AnsiColor::Red)));

/// The colour of a status. It is never the only sign of it.
pub(crate) fn status_style(status: Status) -> Style {
    let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
    match status {
        Status::Pending => Style::new(),
        Status::InProgress => colour(AnsiColor::Yellow),
        Status::InReview => colour(AnsiColor::Cyan),
        Status::Completed => colour(AnsiColor::Green),
        Status::Failed | Status::Stale => colour(AnsiColor::Red),
        Status::Cancelled | Status::Blocked => DIM,
    }
}

/// The icon of a status: ✓ done, ● at work, ○ waiting.
pub(crate) fn status_icon(status: Status) -> &'static str {
    match status {
        Status::Pending => "○",
        Status::InProgress => "●",
        Status::InReview => "◐",
        Status::Completed => "✓",
        Status::Failed => "✗",
        Status::Cancelled => "–",
        Status::Blocked => "◌",
        Status::Stale => "◔",
    }
}

/// The icon of a member's state.
pub(crate) fn member_icon(state: MemberState) -> &'static str {
    match state {
        MemberState::Working | MemberState::Planning => "●",
        MemberState::Spawning | MemberState::Idle => "○",
        MemberState::Stopping | MemberState::Stopped | MemberState::Crashed => "×",
    }
}

/// A size in bytes.
pub(crate) fn bytes(n_bytes: u64) -> String {
    match n_bytes {
        0..1_024 => format!("{n_bytes} B"),
        1_024..1_048_576 => format!("{:.1} KB", n_bytes as f64 / 1_024.0),
        _ => format!("{:.1} MB", n_bytes as f64 / 1_048_576.0),
    }
}

/// How long a delegation took, if it has ended.
pub(crate) fn delegation_took(delegation: &Delegation) -> Option<String> {
    delegation.ended_at.map(|ended_at| took(ended_at.since(delegation.started_at)))
}

/// How long something took, with the precision that people care about.
pub(crate) fn took(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..10 => format!("{:.1}s", duration.as_secs_f64()),
        10..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// The time of day of a moment, to the second, in UTC.
pub(crate) fn second(time: Time) -> String {
    moment(time).split_once(' ').map(|(_, second)| second.to_owned()).unwrap_or_default()
}

/// A moment for people: to the second, in UTC.
pub(crate) fn moment(time: Time) -> String {
    let text = time.to_string();
    let seconds = text.split_once('.').map_or(text.trim_end_matches('Z'), |(seconds, _)| seconds);
    seconds.replace('T', " ")
}

#[cfg(test)]
mod tests;
