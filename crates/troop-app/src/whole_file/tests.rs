//! Whole files, and what is left where they cannot be written.

use std::{fs, io::Write as _, os::unix::fs::PermissionsExt as _, path::Path};

use super::{FileAccess, FileDraft, write, write_new};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_file_is_private_or_keeps_its_mode() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    write(&path, b"1", FileAccess::LikeOthers).unwrap();
    assert_eq!(mode(&path), 0o644);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).unwrap();
    write(&path, b"2", FileAccess::LikeOthers).unwrap();
    assert_eq!((mode(&path), fs::read(&path).unwrap()), (0o664, b"2".to_vec()));
    write(&path, b"3", FileAccess::Owner).unwrap();
    assert_eq!((mode(&path), fs::read(&path).unwrap()), (0o600, b"3".to_vec()));
}

#[test]
fn the_first_of_two_writers_of_a_new_file_wins() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    write_new(&path, b"one").unwrap();
    write_new(&path, b"two").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"one");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_dropped_draft_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    fs::write(&path, "before").unwrap();
    let mut draft = FileDraft::new(&path).unwrap();
    draft.write_all(b"half").unwrap();
    drop(draft);
    assert_eq!(fs::read(&path).unwrap(), b"before");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn an_error_does_not_mention_the_temporary_name() {
    let nowhere = tempfile::tempdir().unwrap().path().join("gone/a");
    let error = write(&nowhere, b"", FileAccess::Owner).unwrap_err().to_string();
    assert!(!error.contains("tmp"), "{error}");
}
