//! Hints about teams and files.

use std::path::Path;

use super::{move_away, unknown_team};

#[test]
fn an_unknown_team_is_answered_with_the_nearest_name_or_with_all_names() {
    let known: Vec<_> = ('a'..='k').map(|letter| format!("crew-{letter}")).collect();
    assert_eq!(unknown_team("crew_a", &known).to_string(), "did you mean `--team crew-a`?");
    let all = unknown_team("zzz", &known).to_string();
    assert!(all.starts_with("the teams are: crew-a, crew-b, "), "{all}");
    assert!(all.ends_with("crew-h and 3 more (`troop team list`)"), "{all}");
    assert!(unknown_team("zzz", &[]).to_string().starts_with("make one: `troop team create"));
}

#[test]
fn a_path_in_a_hint_can_be_pasted() {
    let hint = move_away(Path::new("/a b/config.json")).to_string();
    assert_eq!(hint, "move it away: `mv '/a b/config.json' '/a b/config.json.old'`");
}
