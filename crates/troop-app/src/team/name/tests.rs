//! Names of teams.

use std::path::Path;

use super::free_name;

#[test]
fn a_team_is_named_after_its_folder_with_a_number_if_that_name_is_taken() {
    let name = |folder: &str, taken: &[&str]| {
        let taken: Vec<_> = taken.iter().map(|&name| name.to_owned()).collect();
        free_name(Path::new(folder), &taken).unwrap().to_string()
    };
    assert_eq!(name("/home/pat/Parser", &[]), "parser");
    assert_eq!(name("/home/pat/Größe & Co.", &[]), "gr--e---co");
    assert_eq!(name("/", &[]), "team");
    assert_eq!(name("/.config", &["config", "config-2"]), "config-3");
    assert_eq!(name(&format!("/{}", "x".repeat(200)), &[]).len(), 50);
}
