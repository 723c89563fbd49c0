//! A line of a team's story as text.

use troop_app::story::StoryLine;

use super::second;
use crate::report::CallerOptions;

/// A hint has its own line, so that it can be read however long the rest is.
const NEXT: &str = "\n         ";

/// A line with its time, and its hint below.
pub(crate) fn story_line(line: &StoryLine, options: &CallerOptions) -> String {
    let text = format!("{} {}", second(line.at), line.text);
    match &line.hint {
        Some(hint) => format!("{text}{NEXT}{}", options.added_to(hint)),
        None => text,
    }
}

#[cfg(test)]
mod tests;
