//! The table of errors, both ways.

use std::collections::HashSet;

use serde_json::json;
use troop_model::{Hint, HintCommand, Refusal};

use super::{Failure, FailureKind};
use crate::{envelope::ErrorObject, method::MethodError};

#[test]
fn every_kind_has_a_unique_code_and_word() {
    let numbers: HashSet<_> = FailureKind::ALL.iter().map(|kind| kind.code()).collect();
    let words: HashSet<_> = FailureKind::ALL.iter().map(|kind| kind.as_str()).collect();
    assert_eq!((numbers.len(), words.len()), (FailureKind::ALL.len(), FailureKind::ALL.len()));
}

#[test]
fn a_failure_survives_the_round_trip() {
    for kind in FailureKind::ALL {
        let step = Hint::to("claim another", HintCommand::troop("task claim"));
        for hint in [None, Some("do this".into()), Some(step)] {
            let refusal = Some("task_held".to_owned());
            let failure = Failure { kind, message: "no".to_owned(), refusal, hint };
            assert_eq!(Failure::from(ErrorObject::from(failure.clone())), failure);
        }
    }
}

#[test]
fn a_refusal_is_sent_with_its_text_and_kind() {
    let error = ErrorObject::from(Failure::from(&Refusal::ToYourself));
    assert_eq!(
        (error.code, error.message.as_str()),
        (-32_004, "you cannot send a message to yourself")
    );
    assert_eq!(
        error.data,
        Some(json!({"kind": "invalid", "refusal": "to_yourself", "hint": null}))
    );
}

#[test]
fn a_hint_crosses_the_wire_as_text_and_as_a_value() {
    let retry = HintCommand::troop("task retry").word(7);
    let failure = Failure::new(FailureKind::Conflict, "no").with_hint(Hint::to("retry it", retry));
    let error = ErrorObject::from(failure.clone());
    let data = error.data.clone().unwrap();
    assert_eq!(data["hint"], json!("retry it: `troop task retry 7`"));
    assert_eq!(data["next"][0]["step"]["say"], json!("retry it"));
    let from_elsewhere = ErrorObject { data: Some(json!({"hint": "do this"})), ..error };
    assert_eq!(Failure::from(from_elsewhere).hint, Some("do this".into()));
}

#[test]
fn json_rpc_codes_keep_their_meaning() {
    let unknown = MethodError::Unknown { method: "x".into() };
    assert_eq!(ErrorObject::from(Failure::from(&unknown)).code, -32_601);
    let bad = MethodError::BadParams { method: "x".into(), path: "a".into(), reason: "no".into() };
    assert_eq!(ErrorObject::from(Failure::from(&bad)).code, -32_602);
    assert_eq!(super::internal("oh").code, -32_603);
}

#[test]
fn an_unknown_error_code_is_a_bug_of_the_other_side() {
    let error = ErrorObject { code: 7, message: "strange".into(), data: Some(json!([1])) };
    let failure = Failure::new(FailureKind::Bug, "strange");
    assert_eq!(Failure::from(error), failure);
}
