//! Paths that lead out of the working folder, and paths that do not.

use std::{fs, os::unix::fs::symlink};

use super::WorkFolder;

#[test]
fn files_outside_the_working_folder_are_out_of_reach() {
    let folder = tempfile::tempdir().unwrap();
    symlink("/tmp", folder.path().join("link")).unwrap();
    let files = WorkFolder::open(folder.path()).unwrap();
    for path in ["../x", "/etc/passwd", "a/../../x", "link/x", "link", "~/x"] {
        assert!(files.inside(path).is_err(), "{path}");
    }
    for path in ["x", "a/b/c.txt", "./x", "a..b", "a/../x"] {
        assert!(files.inside(path).is_ok(), "{path}");
    }
    assert!(
        files.write(&files.inside("").unwrap(), "x").is_err(),
        "the folder itself is not a file"
    );
}

#[test]
fn a_folder_swapped_for_a_link_after_the_check_does_not_lead_out() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let files = WorkFolder::open(folder.path()).unwrap();
    fs::create_dir(folder.path().join("a")).unwrap();
    let path = files.inside("a/b").unwrap();
    fs::remove_dir(folder.path().join("a")).unwrap();
    symlink(elsewhere.path(), folder.path().join("a")).unwrap();
    assert!(files.write(&path, "x").is_err());
    assert!(files.append(&path, "x").is_err());
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn a_link_that_stays_inside_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("real")).unwrap();
    symlink("real", folder.path().join("link")).unwrap();
    let files = WorkFolder::open(folder.path()).unwrap();
    let path = files.inside("link/new/a").unwrap();
    files.write(&path, "long before").unwrap();
    files.write(&path, "one\n").unwrap();
    files.append(&path, "two\n").unwrap();
    assert_eq!(files.read(&path).unwrap(), "one\ntwo\n");
    assert_eq!(fs::read_to_string(folder.path().join("real/new/a")).unwrap(), "one\ntwo\n");
}
