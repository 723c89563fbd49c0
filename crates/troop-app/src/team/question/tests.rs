//! Which question is meant.

use troop_model::MessageKind;
use uuid::Uuid;

use super::{OpenQuestion, choose};

fn question(id: u128) -> OpenQuestion {
    OpenQuestion {
        id: Uuid::from_u128(id),
        kind: MessageKind::PermissionRequest,
        member: "ann".to_owned(),
        text: String::new(),
    }
}

#[test]
fn a_question_is_chosen_by_the_beginning_of_its_id() {
    let all = vec![question(0xA1 << 120), question(0xB2 << 120)];
    let refused = |request| choose(all.clone(), "ann", request).unwrap_err().to_string();
    assert_eq!(choose(all.clone(), "ann", Some("A1")).unwrap(), all[0]);
    assert_eq!(choose(vec![question(7)], "ann", None).unwrap(), question(7));
    assert_eq!(refused(None), "`ann` is asking several things");
    assert_eq!(refused(Some("c3")), "`ann` is asking nothing like that any more");
    let nothing = choose(Vec::new(), "ann", None).unwrap_err();
    assert_eq!(nothing.to_string(), "`ann` is asking nothing");
}
