//! A key that nobody sees: not in logs, not in errors, not in debug output.

use std::fmt;

/// A secret that can be used, but not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Trims white space, because files and commands end with a line break.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The secret itself, only for its receiver.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Removes the secret from a text: responses of others may repeat what they were sent.
    #[must_use]
    pub fn hidden_in(&self, text: &str) -> String {
        // Short texts are not keys, and replacing them would garble everything.
        if self.0.len() < 6 { text.to_owned() } else { text.replace(&self.0, "[key]") }
    }
}

impl Secret {
    /// Whether a text may end with the beginning of the secret, so that the rest is still to come.
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
    //! Hiding secrets.

    use super::Secret;

    #[test]
    fn a_text_that_may_end_within_the_secret_is_recognised() {
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
