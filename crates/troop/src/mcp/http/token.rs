//! The token that clients show: kept in a file that only its owner can read, so that others on the machine have none.

use std::{fmt, fs, os::unix::fs::PermissionsExt as _, path::Path};

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};
use troop_app::whole_file;
use uuid::Uuid;

use crate::report::{Error, Hint, HintCommand};

/// Less than this is guessed.
const MIN_LENGTH: usize = 16;

/// What a client must show. Only its digest is kept, so that comparing takes as long whatever is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token([u8; 32]);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    fn new(text: &str) -> Self {
        Self(Sha256::digest(text).into())
    }

    /// Reads the token in a file. One that is not there is made.
    pub(crate) fn keep(path: &Path) -> Result<Self> {
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => make(path)?,
            read => read.with_context(|| format!("`{}` cannot be read", path.display()))?,
        };
        let anew = || {
            let remove = HintCommand::other("rm").word(path.display());
            Hint::to("delete it, and a new one is made", remove)
        };
        let mode = fs::metadata(path)?.permissions().mode();
        if mode & 0o077 != 0 {
            let message = format!("other users can read the token in `{}`", path.display());
            return Err(Error::refused(message, anew()).into());
        }
        let text = text.trim();
        if text.len() < MIN_LENGTH || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = format!("there is no token in `{}`", path.display());
            return Err(Error::refused(message, anew()).into());
        }
        Ok(Self::new(text))
    }

    /// Whether a header has it.
    pub(super) fn is_shown_in(self, header: &str) -> bool {
        let shown =
            header.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        shown.is_some_and(|(_, token)| Self::new(token.trim()) == self)
    }
}

/// Makes a token, whole or not at all. Of two at once the first one's counts.
fn make(path: &Path) -> Result<String> {
    let cannot = || format!("`{}` cannot be made", path.display());
    fs::create_dir_all(whole_file::folder(path)).with_context(cannot)?;
    let token = format!("{}\n", Uuid::new_v4().simple());
    whole_file::write_new(path, token.as_bytes()).with_context(cannot)?;
    fs::read_to_string(path).with_context(cannot)
}

#[cfg(test)]
mod tests;
