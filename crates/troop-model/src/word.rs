//! Misspelt words: finds the known word that was probably meant.

use thiserror::Error;

/// An unknown word.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{}` is none of: {}", word.escape_debug(), known.join(", "))]
pub struct UnknownWord {
    pub word: String,
    /// The known words.
    pub known: Vec<&'static str>,
}

/// How similar two words must be for one to be a misspelling of the other.
const ALIKE: f64 = 0.6;

/// The known word that is most similar, if any is similar enough; the first of equals. Ignores case, `_`, `-` and spaces.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['_', '-', ' '], "");
    let word = plain(word);
    let alike = |other: &str| strsim::normalized_damerau_levenshtein(&word, &plain(other));
    let scored = known.into_iter().map(|it| (alike(it), it));
    let best = scored.reduce(|best, it| if it.0 > best.0 { it } else { best });
    best.filter(|(score, _)| *score >= ALIKE).map(|(_, it)| it)
}

/// The question whether another word was meant.
#[must_use]
pub fn did_you_mean(meant: &str) -> String {
    format!("did you mean `{meant}`?")
}

#[cfg(test)]
mod tests;
