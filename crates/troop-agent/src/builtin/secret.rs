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

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
