//! Generated files that are committed, so that people can read them without running the code.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The root of the repository.
#[must_use]
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Checks that a committed file is up to date. With `BLESS=1` in the environment it is written instead.
///
/// # Panics
///
/// If the file is out of date.
#[track_caller]
pub fn assert_current(path: &str, made: &str) {
    let file = repository().join(path);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&file, made).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == made,
        "{path} is not current; run the tests once with BLESS=1 and look at what changed"
    );
}
