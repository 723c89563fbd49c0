//! Text from elsewhere, made fit to stand in a message.

use std::time::Duration;

use troop_model::{is_unprintable, with_causes};

/// Text that cannot act on a terminal: characters that move the cursor or change the reading direction are escaped.
#[must_use]
pub fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => cleaned.push(c),
            c if is_unprintable(c) => cleaned.extend(c.escape_unicode()),
            c => cleaned.push(c),
        }
    }
    cleaned
}

/// Clean text on one line, with runs of white space as one space.
#[must_use]
pub fn one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Clean text on one line with nothing left out: somebody who is asked to allow something must see all of it, including
/// where its lines end.
#[must_use]
pub fn every_line(text: &str) -> String {
    clean(text.trim()).replace('\n', " ⏎ ")
}

/// A parser's message about a value, without the names of Rust types.
#[must_use]
pub fn in_plain_words(text: &str) -> String {
    let Some((before, expected)) = text.rsplit_once(", expected ") else { return text.to_owned() };
    let plain = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number that is not negative",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        other if other.starts_with("struct ") => "an object",
        other => other,
    };
    format!(
        "{}, expected {plain}",
        before.replace(": sequence", ": a list").replace(": map", ": an object")
    )
}

/// How long something took or how old it is, in one word.
#[must_use]
pub fn span(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// An error with all of its causes, in plain words.
#[must_use]
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    in_plain_words(&with_causes(error))
}

#[cfg(test)]
mod tests;
