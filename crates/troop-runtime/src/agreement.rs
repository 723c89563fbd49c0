//! A person's agreement to the commands of a project. A command names files, which may have changed since.

use std::{fmt, io, path::Path, sync::Arc};

type Look = dyn Fn(&str, &Path) -> Result<(), String> + Send + Sync;

/// Checks before each run of a command whether it is still what a person agreed to. By default no agreement is needed.
#[derive(Clone, Default)]
pub struct Agreement(Option<Arc<Look>>);

impl Agreement {
    /// `look` gets a command and the folder in which it would run, and says what is wrong.
    pub fn new(look: impl Fn(&str, &Path) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(look)))
    }

    /// Refuses a command that the person did not agree to.
    pub(crate) fn check(&self, command: &str, folder: &Path) -> io::Result<()> {
        match &self.0 {
            Some(look) => look(command, folder).map_err(io::Error::other),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Agreement").finish_non_exhaustive()
    }
}
