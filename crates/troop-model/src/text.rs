//! Text from people and agents: length limits and forbidden characters.

use std::{any::Any, error::Error, iter::successors, path::Path};

use crate::Refusal;

/// The longest one-line text: a subject, a step.
pub const MAX_LINE: usize = 1_000;
/// The longest text of several lines: a description, a comment, a message, a result.
pub const MAX_TEXT: usize = 262_144;

/// Checks a one-line text: not empty, not too long, and nothing that moves a terminal's cursor or changes the reading direction.
pub(crate) fn line(field: &'static str, text: &str) -> Result<String, Refusal> {
    let text = text.trim();
    if let Some(found) = text.chars().find(|c| is_unprintable(*c)) {
        return Err(Refusal::Unprintable { field, found });
    }
    sized(field, text, MAX_LINE)
}

/// Checks a text of several lines: not empty, not too long.
pub(crate) fn block(field: &'static str, text: &str) -> Result<String, Refusal> {
    sized(field, text, MAX_TEXT)
}

/// Checks a text that may be empty.
pub(crate) fn optional_block(field: &'static str, text: &str) -> Result<String, Refusal> {
    if text.is_empty() { Ok(String::new()) } else { block(field, text) }
}

/// The first `n_chars` characters of a text.
#[must_use]
pub fn preview(text: &str, n_chars: usize) -> String {
    text.chars().take(n_chars).collect()
}

/// The first `n_chars` characters of a text. If it is longer, a last line says how much more there is, and where.
#[must_use]
pub fn shortened(text: &str, n_chars: usize, place: &str) -> String {
    match text.chars().count().saturating_sub(n_chars) {
        0 => text.to_owned(),
        1 => format!("{}\n… 1 more character: {place}", preview(text, n_chars)),
        n_more => format!("{}\n… {n_more} more characters: {place}", preview(text, n_chars)),
    }
}

/// An error and its chain of causes.
pub fn causes<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    successors(Some(error), |it| (*it).source())
}

/// An error with all of its causes, on one line.
#[must_use]
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    causes(error).skip(1).map(ToString::to_string).fold(error.to_string(), |text, cause| {
        // Some errors repeat their cause.
        if text.ends_with(&cause) { text } else { format!("{text}: {cause}") }
    })
}

/// The text of a panic that was caught.
#[must_use]
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown")
}

/// A word quoted for a shell, for commands that people paste.
#[must_use]
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@,+%=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A path quoted for a shell.
#[must_use]
pub fn quoted_path(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

/// Whether a character changes the screen instead of being shown: controls, and overrides of the reading direction.
#[must_use]
pub fn is_unprintable(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn sized(field: &'static str, text: &str, limit: usize) -> Result<String, Refusal> {
    if text.trim().is_empty() {
        return Err(Refusal::Empty { field });
    }
    let n_chars = text.chars().count();
    if n_chars > limit {
        return Err(Refusal::TooLong { field, n_chars, limit });
    }
    Ok(text.to_owned())
}

/// A parser's message about a value, without the names of Rust types.
#[must_use]
pub fn in_plain_words(text: &str) -> String {
    let Some((found, expected)) = text.rsplit_once("expected ") else { return text.to_owned() };
    let plain = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number that is not negative",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a string" => "text",
        "a sequence" => "a list",
        "a map" => "an object",
        other if other.starts_with("struct ") => "an object",
        other => other,
    };
    let found = found.replace("sequence, ", "a list, ").replace("map, ", "an object, ");
    format!("{found}expected {plain}")
}
