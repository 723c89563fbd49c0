//! Valid names of workspace files. Files stay inside because of how they are opened, not because of this: these rules make a name
//! mean one file, the same for every reader.

use std::fmt;

use unicode_normalization::{UnicodeNormalization as _, is_nfc};

use super::WorkspaceError;

/// The longest path.
const MAX_PATH: usize = 512;
/// The longest name on a path; file systems take no longer ones.
const MAX_NAME: usize = 255;
/// How deep folders may be nested.
pub(super) const MAX_DEPTH: usize = 16;

/// Names of folders whose contents programs run when somebody only wants to look.
const RESERVED: [&str; 4] = [".git", ".troop", ".claude", ".envrc"];

/// A path in the workspace, in its normal form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FilePath(String);

impl FilePath {
    /// Checks a path and normalises it (Unicode NFC).
    pub fn new(text: &str) -> Result<Self, WorkspaceError> {
        let path = if is_nfc(text) { text.to_owned() } else { text.nfc().collect() };
        match fault(&path) {
            None => Ok(Self(path)),
            Some(why) => {
                let path = troop_model::preview(text, MAX_PATH);
                Err(WorkspaceError::BadPath { path, why })
            }
        }
    }

    /// The path.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The folders on the way, and the name of the file.
    pub(super) fn parts(&self) -> (Vec<&str>, &str) {
        let mut parts: Vec<_> = self.0.split('/').collect();
        let name = parts.pop().expect("a text that is split has a last part");
        (parts, name)
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Why a path is invalid, if it is.
fn fault(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("it is empty");
    }
    if path.starts_with('/') {
        return Some("it begins at the root of the machine");
    }
    if path.len() > MAX_PATH {
        return Some("it is longer than 512 bytes");
    }
    if path.split('/').count() > MAX_DEPTH {
        return Some("it goes through more than 15 folders");
    }
    path.split('/').find_map(fault_of_name)
}

fn fault_of_name(name: &str) -> Option<&'static str> {
    // The name with compatibility characters replaced (Unicode NFKC).
    let plain: String = name.nfkc().collect();
    if name.is_empty() {
        return Some("it has an empty part");
    }
    if plain == "." || plain == ".." {
        return Some("`.` and `..` are not allowed");
    }
    if name.contains('\\') || plain.contains(['/', '\\']) || name.contains(LIKE_A_SLASH) {
        return Some("it has a character that looks like a separator");
    }
    if name.chars().any(is_invisible) {
        return Some("it has a character that cannot be seen");
    }
    if name.starts_with(char::is_whitespace) || name.ends_with(char::is_whitespace) {
        return Some("a part of it begins or ends with a space");
    }
    if name.len() > MAX_NAME {
        return Some("a part of it is longer than 255 bytes");
    }
    if RESERVED.iter().any(|reserved| plain.eq_ignore_ascii_case(reserved)) {
        return Some("programs run what is in a folder of that name");
    }
    None
}

/// Lookalike slashes that normalisation does not replace.
const LIKE_A_SLASH: [char; 8] = [
    '\u{2044}', '\u{2215}', '\u{2216}', '\u{27cb}', '\u{29f5}', '\u{29f8}', '\u{29f9}', '\u{2571}',
];

/// Whether a character is invisible.
fn is_invisible(c: char) -> bool {
    troop_model::is_unprintable(c)
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{2029}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests;
