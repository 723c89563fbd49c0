//! Existing files and taken names.

use std::fs;

use serde_json::json;

use super::{in_empty_place, read, set_aside, write, write_beside};

fn names(folder: &std::path::Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_new_file_never_replaces_an_existing_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.json");
    let (half, stamp) = write_beside(&path, b"theirs").unwrap();
    assert!(in_empty_place(&half, &path).unwrap());
    let (half, _) = write_beside(&path, b"ours").unwrap();
    assert!(!in_empty_place(&half, &path).unwrap());
    fs::remove_file(half).unwrap();
    let found = read(&path).unwrap().unwrap();
    assert_eq!((found.stamp, found.bytes), (stamp, Some(b"theirs".to_vec())));
    write(&path, &json!({})).unwrap();
    assert_eq!(names(folder.path()), ["1.json"], "nothing else stays");
}

#[test]
fn files_set_aside_never_replace_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.json");
    for text in ["first", "second", "third"] {
        fs::write(&path, text).unwrap();
        set_aside(&path).unwrap();
    }
    let aside = ["x.json.refused", "x.json.refused.2", "x.json.refused.3"];
    assert_eq!(names(folder.path()), aside);
    assert_eq!(fs::read_to_string(folder.path().join(aside[0])).unwrap(), "first");
    let long = folder.path().join(format!("{}é.json", "x".repeat(239)));
    fs::write(&long, "").unwrap();
    set_aside(&long).unwrap();
    assert!(!long.exists());
}
