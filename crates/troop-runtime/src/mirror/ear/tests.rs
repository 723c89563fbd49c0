//! Noticing changes of files.

use std::fs;

use super::FolderWatch;
use crate::mirror::layout::{Layout, MirrorPlaces};

#[tokio::test]
async fn a_folder_that_is_made_again_is_watched_again() {
    let folder = tempfile::tempdir().unwrap();
    let places = MirrorPlaces::new(Layout::Seeds, folder.path(), "crew".parse().unwrap());
    let make = || {
        fs::create_dir_all(places.tasks()).unwrap();
        fs::create_dir_all(places.inboxes()).unwrap();
    };
    make();
    let mut ear = FolderWatch::new(&places);
    fs::remove_dir_all(places.tasks()).unwrap();
    fs::remove_dir_all(places.team()).unwrap();
    make();
    ear.listen(&places);
    let paths = [places.tasks().join("a.json"), places.inboxes().join("b.json"), places.config()];
    for path in paths {
        fs::write(&path, "{}").unwrap();
        while ear.next().await != path {}
    }
}
