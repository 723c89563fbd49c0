//! Settings as people write them.

use std::{fs, path::Path};

use troop_model::{Dialect, Settings};

use super::{dialect_among, named};

#[test]
fn every_setting_is_documented_with_its_default() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
    let text = fs::read_to_string(file).unwrap();
    for (key, value) in named(&Settings::default()) {
        let row = format!("| `{key}` | `{value}` |");
        assert!(text.contains(&row), "docs/settings.md has no row `{row}`");
    }
}

#[test]
fn the_dialect_among_the_settings_of_a_new_team_is_found() {
    let among = |texts: &[&str]| {
        let texts: Vec<_> = texts.iter().map(|&text| text.to_owned()).collect();
        dialect_among(&texts)
    };
    assert_eq!(among(&["lease_seconds=60"]).unwrap(), None);
    assert_eq!(among(&["lease_seconds=60", "dialect=board"]).unwrap(), Some(Dialect::Board));
    assert!(among(&["dialect=latin"]).is_err());
}
