//! Files that are written under another name first, and put into place when they are whole.

use std::{fs::Permissions, io, os::unix::fs::PermissionsExt, path::Path};

use tempfile::NamedTempFile;

/// Makes an empty file with a unique name. The user's `umask` decides who may read it.
pub(crate) fn draft_in(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".draft-").permissions(Permissions::from_mode(0o666)).tempfile_in(folder)
}
