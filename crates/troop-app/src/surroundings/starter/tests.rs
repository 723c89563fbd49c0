//! Finding the starter in an environment.

use super::{ProcessStat, Starter, children};

#[test]
fn a_starter_is_known_only_by_all_of_its_marks() {
    let whole = b"A=b\0TROOP_AS=ann\0TROOP_TEAM=blue\0TROOP_LEAD_SESSION=1\0";
    let ann = Starter { member: "ann".to_owned(), team: "blue".to_owned() };
    assert_eq!(Starter::read(whole), Some(ann));
    for part in [
        &b"TROOP_AS=ann\0TROOP_TEAM=blue\0"[..],
        b"TROOP_AS=\0TROOP_TEAM=blue\0TROOP_LEAD_SESSION=1\0",
        b"XTROOP_AS=ann\0TROOP_TEAM=blue\0TROOP_LEAD_SESSION=1\0",
        b"",
    ] {
        assert_eq!(Starter::read(part), None, "a person may set them by hand");
    }
    let own = std::process::id();
    let above = std::os::unix::process::parent_id();
    assert_eq!(ProcessStat::read(own).map(|it| (it.is_dead(), it.above)), Some((false, above)));
    assert!(children(above).contains(&own), "{:?}", children(above));
}
