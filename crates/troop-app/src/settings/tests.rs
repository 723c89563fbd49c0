//! Settings as people write them.

use std::{fs, path::Path};

use troop_model::Settings;

use super::named;

#[test]
fn every_setting_is_documented_with_its_default() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
    let text = fs::read_to_string(file).unwrap();
    for (key, value) in named(&Settings::default()) {
        let row = format!("| `{key}` | `{value}` |");
        assert!(text.contains(&row), "docs/settings.md has no row `{row}`");
    }
}
