//! The class of each error, and its hint.

use std::io;

use troop_model::Refusal;
use troop_protocol::{Failure, FailureKind};
use troop_runtime::BoardError;
use troop_store::StoreError;

use super::{Diagnosis, Error};

#[test]
fn every_error_has_one_class_whichever_type_carries_it() {
    let class = |error: &(dyn std::error::Error + 'static)| {
        Diagnosis::of(error).map(|found| found.class.as_str())
    };
    let bug = || StoreError::Bug { what: "x".to_owned() };
    let empty = Refusal::Empty { field: "goal" };
    assert_eq!(class(&Error::misuse("x", "y")), Some("usage"));
    assert_eq!(class(&Error::refused("x", "y")), Some("refused"));
    assert_eq!(class(&Error::forbidden("x", "y")), Some("forbidden"));
    assert_eq!(class(&Error::conflict("x", "y")), Some("conflict"));
    assert_eq!(class(&Error::no_work("x", "y")), Some("no_work"));
    assert_eq!(class(&empty), Some("invalid"));
    assert_eq!(class(&BoardError::from(empty.clone())), Some("invalid"));
    assert_eq!(class(&Error::from(empty)), Some("invalid"));
    assert_eq!(class(&bug()), Some("bug"));
    assert_eq!(class(&Error::from(bug())), Some("bug"));
    assert_eq!(class(&BoardError::NoActiveTeam), Some("not_found"));
    let lost = Failure::new(FailureKind::Unavailable, &bug());
    assert_eq!(class(&Error::from(lost)), Some("unavailable"));
    assert_eq!(class(&io::Error::other("x")), None, "one of its causes may have one");
}

#[test]
fn a_damaged_file_can_be_removed() {
    let source = serde_json::from_str::<u8>("{").unwrap_err();
    let error = Error::Damaged { path: "/a b".into(), source };
    let found = Diagnosis::of(&error).unwrap();
    assert_eq!(found.class.as_str(), "failed");
    assert_eq!(found.hint.unwrap().to_string(), "start over: `rm '/a b'`");
}
