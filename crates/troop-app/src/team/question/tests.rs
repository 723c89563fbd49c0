//! The request that is meant.

use troop_model::{Need, NeedKind, Party, Time};
use uuid::Uuid;

use super::{MemberRequests, OpenStopRequest, choose};

fn need(id: u128) -> Need {
    Need {
        id: Uuid::from_u128(id),
        kind: NeedKind::Permission,
        from: "ann".into(),
        to: "lead".into(),
        task: None,
        since: Time::default(),
        text: String::new(),
        answers: NeedKind::Permission.answers().to_vec(),
    }
}

fn asking(needs: &[Need]) -> MemberRequests {
    MemberRequests { needs: needs.to_vec(), stops: Vec::new() }
}

#[test]
fn a_question_is_chosen_by_the_beginning_of_its_id() {
    let all = [need(0xA1 << 120), need(0xB2 << 120)];
    let refused = |request| choose(asking(&all), "ann", request).unwrap_err().to_string();
    assert_eq!(choose(asking(&all), "ann", Some("A1")).unwrap(), all[0]);
    assert_eq!(choose(asking(&[need(7)]), "ann", None).unwrap(), need(7));
    assert_eq!(refused(None), "`ann` is asking several things");
    assert_eq!(refused(Some("c3")), "`ann` is asking nothing like that any more");
    let nothing = choose(asking(&[]), "ann", None).unwrap_err();
    assert_eq!(nothing.to_string(), "`ann` is asking nothing");
}

#[test]
fn a_request_to_stop_is_for_the_member_that_is_asked() {
    let stop = OpenStopRequest {
        id: Uuid::from_u128(0xA1 << 120),
        to: Party::member(&"bob".parse().unwrap()),
    };
    let asks = |needs: &[Need]| MemberRequests { stops: vec![stop.clone()], ..asking(needs) };
    let refused = choose(asks(&[]), "lead", None).unwrap_err().to_string();
    assert_eq!(refused, "`lead` asks `bob` to stop, which only `bob` can answer");
    let other = need(7);
    assert_eq!(choose(asks(std::slice::from_ref(&other)), "lead", None).unwrap(), other);
}
