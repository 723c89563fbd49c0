//! Permission requests and grants: no actor grants more than it has.

use super::{
    bench::{Bench, name},
    commands::*,
};
use crate::{Command, Fact, MessageKind, Outgoing, Permissions};
use uuid::Uuid;

fn mode(who: &str, permissions: Permissions) -> Command {
    Command::SetMemberMode { member: name(who), permissions }
}

/// Sends a request and returns its id.
fn asks(team: &mut Bench, who: &str, whom: &str, kind: MessageKind) -> Uuid {
    let events = team.member(who).ok(send(whom, kind, "may I use Bash `make`?"));
    let id = events.iter().find_map(|event| {
        if let Fact::MessageSent { request_id, .. } = &event.fact { *request_id } else { None }
    });
    id.unwrap()
}

fn answer(to: &str, kind: MessageKind, request: Uuid, approve: bool) -> Outgoing {
    Outgoing::new(to, kind, "so be it").answering(request, approve)
}

#[test]
fn a_permission_request_is_answered_by_its_recipient_or_a_person() {
    use MessageKind::{PermissionRequest, PermissionResponse, PlanApprovalResponse};
    let mut team = Bench::new();
    team.person().ok(mode("lead", Permissions::AcceptEdits));
    let id = asks(&mut team, "ann", "lead", PermissionRequest);
    let refused = team.member("bob").refused(answer("ann", PermissionResponse, id, true));
    assert_eq!(refused, format!("request {id} is for `lead` to answer"));
    let refused = team.lead().refused(answer("ann", PlanApprovalResponse, id, true));
    assert!(refused.starts_with(&format!("there is no open request {id}")), "{refused}");
    team.lead().ok(answer("ann", PermissionResponse, id, true));
    let id = asks(&mut team, "ann", "user", PermissionRequest);
    team.lead().refused(answer("ann", PermissionResponse, id, true));
    team.person().ok(answer("ann", PermissionResponse, id, true));
    assert_eq!(team.unread("ann"), ["so be it", "so be it"]);
    assert_eq!(team.state.requests().count(), 0);
}

#[test]
fn permission_requests_go_only_to_the_lead_or_a_person() {
    let mut team = Bench::new();
    for whom in ["bob", "*"] {
        let asks = send(whom, MessageKind::PermissionRequest, "may I?");
        let refused = team.member("ann").refused(asks);
        assert!(refused.starts_with("a permission_request cannot go to"), "{refused}");
    }
}

#[test]
fn a_lead_grants_no_more_than_it_has_and_a_person_grants_everything() {
    use Permissions::{AcceptEdits, Bypass, Default, Plan};
    let table = [
        // the lead's, the asker's, whether the lead may say yes
        (Default, Default, false),
        (AcceptEdits, Default, true),
        (AcceptEdits, AcceptEdits, false),
        (Bypass, AcceptEdits, true),
        (Plan, Default, false),
    ];
    for (lead, asker, may) in table {
        let mut team = Bench::new();
        team.person().ok(mode("lead", lead));
        team.person().ok(mode("ann", asker));
        let kind = MessageKind::PermissionResponse;
        let id = asks(&mut team, "ann", "lead", MessageKind::PermissionRequest);
        let yes = Command::Send(answer("ann", kind, id, true));
        let decided = team.lead().decide(&yes);
        assert_eq!(decided.is_ok(), may, "{lead} for {asker}: {decided:?}");
        if !may {
            let refused = decided.unwrap_err().to_string();
            let says = format!(
                "the lead cannot allow `ann` more than its own mode {lead}; a person must decide"
            );
            assert_eq!(refused, says);
            team.person().ok(yes);
        }
        let id = asks(&mut team, "ann", "lead", MessageKind::PermissionRequest);
        team.lead().ok(answer("ann", kind, id, false));
        assert_eq!(
            team.state.member(&name("ann")).unwrap().permissions,
            asker,
            "leave is for once"
        );
    }
}

#[test]
fn a_lead_sets_no_mode_wider_than_its_own() {
    use Permissions::{AcceptEdits, Bypass, Default, Plan};
    let mut team = Bench::new();
    team.lead().ok(mode("bob", Plan));
    team.lead().ok(mode("bob", Default));
    for who in ["bob", "lead"] {
        for wider in [AcceptEdits, Bypass] {
            let refused = team.lead().refused(mode(who, wider));
            assert!(refused.contains("more than its own mode default"), "{refused}");
        }
    }
    team.person().ok(mode("bob", Bypass));
    team.lead().ok(mode("bob", Default));
}

#[test]
fn a_lead_in_plan_mode_cannot_approve_a_plan() {
    let mut team = Bench::new();
    team.person().ok(mode("ann", Permissions::Plan));
    team.person().ok(mode("lead", Permissions::Plan));
    let id = asks(&mut team, "ann", "lead", MessageKind::PlanApprovalRequest);
    let yes = answer("ann", MessageKind::PlanApprovalResponse, id, true);
    assert!(team.lead().refused(yes.clone()).contains("its own mode plan"));
    team.person().ok(yes);
    assert_eq!(team.state.member(&name("ann")).unwrap().permissions, Permissions::Default);
}

#[test]
fn a_granted_permission_does_not_approve_a_plan() {
    let mut team = Bench::new();
    team.person().ok(mode("ann", Permissions::Plan));
    let id = asks(&mut team, "ann", "lead", MessageKind::PermissionRequest);
    team.lead().ok(answer("ann", MessageKind::PermissionResponse, id, true));
    assert_eq!(team.state.member(&name("ann")).unwrap().permissions, Permissions::Plan);
}

#[test]
fn a_mode_change_withdraws_the_members_permission_requests() {
    let mut team = Bench::new();
    let id = asks(&mut team, "ann", "user", MessageKind::PermissionRequest);
    let other = asks(&mut team, "bob", "user", MessageKind::PermissionRequest);
    team.person().ok(mode("ann", Permissions::Bypass));
    let open: Vec<_> = team.state.requests().map(|(id, _)| *id).collect();
    assert_eq!(open, [other]);
    let late = answer("ann", MessageKind::PermissionResponse, id, true);
    let refused = team.person().refused(late);
    assert!(refused.starts_with(&format!("there is no open request {id}")), "{refused}");
}
