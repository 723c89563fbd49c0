//! Valid ids, and ids that are taken.

use troop_model::{Origin, TaskNumber};

use super::{FileId, Ids, Layout};

#[test]
fn an_id_is_a_name_and_never_a_path() {
    for text in ["a", "7", "task-1", "x.json", "ä b", "a\\b"] {
        assert_eq!(FileId::new(text).map(|it| it.to_string()).as_deref(), Some(text));
    }
    let long = "9".repeat(201);
    for text in
        ["", ".", "..", "../x", "../../victim/creds", "/etc/x", "a/b", "a/", ".x", "a\0b", &long]
    {
        assert_eq!(FileId::new(text), None, "{text:?}");
    }
}

#[test]
fn a_task_keeps_its_file_when_another_takes_its_id() {
    let mut ids = Ids {
        layout: Layout::Claude,
        given: std::collections::BTreeMap::new(),
        numbers: std::collections::BTreeMap::new(),
        lead: None,
    };
    let first = TaskNumber(1);
    let second = TaskNumber(2);
    let third = TaskNumber(3);
    ids.learn(&FileId::new("a").unwrap(), second);
    ids.learn(&FileId::new("a").unwrap(), third);
    ids.learn(&FileId::new("a").unwrap(), second);
    assert_eq!([second, third].map(|it| ids.of(it).to_string()), ["2", "a"]);
    ids.give(&FileId::new("1").unwrap(), second);
    let all = [first, second, third].map(|it| ids.of(it).to_string());
    assert_eq!(all, ["1-troop", "1", "a"]);
    for number in [first, second, third] {
        assert_eq!(ids.number(ids.of(number).as_str()), Some(number));
    }
}

#[test]
fn the_origin_of_a_task_file_is_internal() {
    let origin = FileId::new("docs").unwrap().origin();
    assert!(origin.is_internal(), "no access list is about it");
    assert_ne!(origin, Origin::default());
}
