//! What a person agreed to: a command of the project names files, and they may have changed since.

use std::{fmt, io, path::Path, sync::Arc};

type Look = dyn Fn(&str, &Path) -> Result<(), String> + Send + Sync;

/// Says before each run of a command whether it is still what a person agreed to. By default nobody had to agree.
#[derive(Clone, Default)]
pub struct Agreement(Option<Arc<Look>>);

impl Agreement {
    /// One that looks at a command and the folder that it is to run in, and says what is wrong.
    pub fn new(look: impl Fn(&str, &Path) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(look)))
    }

    /// Refuses a command that is not what was agreed to.
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
