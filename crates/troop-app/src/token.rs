//! The token that clients of a network service show, in a file that only its owner can read.

use std::{fmt, fs, io, os::unix::fs::PermissionsExt as _, path::Path};

use sha2::{Digest as _, Sha256};
use troop_model::{Hint, HintCommand};
use uuid::Uuid;

use crate::{Error, FileAct, Result, whole_file};

/// Shorter tokens can be guessed.
const MIN_LENGTH: usize = 16;

/// A token. We keep only its digest, so that a comparison takes the same time for every guess.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Token([u8; 32]);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    fn new(text: &str) -> Self {
        Self(Sha256::digest(text).into())
    }

    /// Reads the token in a file, or makes the file.
    pub fn keep(path: &Path) -> Result<Self> {
        let unreadable = Error::file(path, FileAct::Read);
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make(path).map_err(Error::file(path, FileAct::Made))?
            }
            read => read.map_err(unreadable)?,
        };
        let anew = || {
            let remove = HintCommand::other("rm").word(path.display());
            Hint::to("delete it, and a new one is made", remove)
        };
        let mode = fs::metadata(path).map_err(unreadable)?.permissions().mode();
        if mode & 0o077 != 0 {
            let message = format!("other users can read the token in `{}`", path.display());
            return Err(Error::refused(message, anew()));
        }
        let text = text.trim();
        if text.len() < MIN_LENGTH || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = format!("there is no token in `{}`", path.display());
            return Err(Error::refused(message, anew()));
        }
        Ok(Self::new(text))
    }

    /// Whether this text is the token.
    #[must_use]
    pub fn is(self, text: &str) -> bool {
        Self::new(text) == self
    }
}

/// Makes a token. If two processes do this at once, the first wins.
fn make(path: &Path) -> io::Result<String> {
    fs::create_dir_all(whole_file::folder(path))?;
    let token = format!("{}\n", Uuid::new_v4().simple());
    whole_file::write_new(path, token.as_bytes())?;
    fs::read_to_string(path)
}

#[cfg(test)]
mod tests;
