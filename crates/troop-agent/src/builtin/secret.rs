//! A key that nobody sees: not in logs, not in errors, not while looking for faults.

use std::fmt;

/// Something secret. It can be used, and not be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text secret. Space around it is no part of it: files and commands end with a line break.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// Whether there is nothing to keep.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The secret itself, to be said to who it is for.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// A text without the secret in it: what others answer may repeat what they were told.
    #[must_use]
    pub fn hidden_in(&self, text: &str) -> String {
        // Short ones are no keys, and would tear up everything.
        if self.0.len() < 6 { text.to_owned() } else { text.replace(&self.0, "[key]") }
    }
}

impl Secret {
    /// Whether the end of a text may be the beginning of the secret, and what comes next the rest of it.
    pub(crate) fn may_begin_in(&self, text: &str) -> bool {
        let ends = text.char_indices().map(|(start, _)| text.get(start..).unwrap_or_default());
        ends.into_iter().any(|end| self.0.starts_with(end))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    //! What is not shown.

    use super::Secret;

    #[test]
    fn a_text_that_may_be_cut_within_the_secret_is_known() {
        let secret = Secret::new("sk-very-secret");
        for (text, wanted) in [
            ("it is s", true),
            ("sk-ver", true),
            ("the sk-very-secre", true),
            ("sk-very-nice", false),
            ("Hello", false),
            ("ünd", false),
            ("", false),
        ] {
            assert_eq!(secret.may_begin_in(text), wanted, "{text}");
        }
    }
}
