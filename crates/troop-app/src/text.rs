//! Text from elsewhere, made fit to stand in a message.

use std::time::Duration;

use troop_model::{in_plain_words, is_unprintable, with_causes};

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
