//! The team itself: its members, links, settings and end.

use super::{
    bench::{Bench, kinds, name, new_team, newcomer, number},
    commands::*,
};
use crate::{
    Assignment, Command, Dialect, Link, LinkChange, MemberState, NewMember, Party, Permissions,
    Role, Settings, Status, TaskCreation, TeamStatus, TeamView,
};

fn link<'a>(team: &'a Bench, to: &str) -> &'a Link {
    team.state.links().find(|link| link.to == name(to)).unwrap()
}

#[test]
fn a_team_is_a_lead_and_members_around_one_board_and_one_mailbox() {
    let team = Bench::new();
    let record = team.state.team().unwrap();
    assert_eq!((record.status, record.name.as_str()), (TeamStatus::Active, "alpha"));
    assert_eq!(record.lead, Some(name("lead")));
    let roles: Vec<_> = team.state.members().map(|it| (it.name.as_str(), it.role)).collect();
    assert_eq!(roles, [("ann", Role::Member), ("bob", Role::Member), ("lead", Role::Lead)]);
    assert!(team.state.tasks().is_empty() && team.mailbox().iter().next().is_none());
    let ids: std::collections::BTreeSet<_> = team.state.members().map(|it| it.id).collect();
    assert_eq!(ids.len(), 3, "every member has its own id");
}

#[test]
fn every_member_sees_changes_of_the_others() {
    let mut team = Bench::with(|settings| settings.task_creation = TaskCreation::Members);
    team.member("ann").ok(create("write"));
    team.member("bob").ok(claim(1));
    assert_eq!(
        team.member("ann").refused(claim(1)),
        "task-1 is not available: bob has held it since 10:00; claim another or ask bob",
        "there is one board"
    );
    for to in ["bob", "lead"] {
        team.member("ann").ok(say(to, "hello"));
        let waiting: Vec<_> = team.mailbox().unread_of(&Party::member(&name(to))).collect();
        assert_eq!(waiting.len(), 1, "there is one mailbox");
        assert_eq!((waiting[0].from.as_str(), waiting[0].content.as_str()), ("ann", "hello"));
    }
}

#[test]
fn a_second_team_in_one_log_is_refused() {
    let mut team = Bench::new();
    let again = Command::CreateTeam(new_team(Settings::default(), &[]));
    assert_eq!(team.person().refused(again), "the team exists already");
    assert_eq!(Bench::empty().person().refused(create("write")), "the team does not exist yet");
}

#[test]
fn every_member_has_a_link_from_the_lead() {
    let mut team = Bench::new();
    team.lead().ok(Command::AddMember(newcomer("eve")));
    let record = team.state.team().unwrap();
    for to in ["ann", "bob", "eve"] {
        let link = link(&team, to);
        assert_eq!((link.from.as_str(), link.max_concurrent, link.enabled), ("lead", 3, true));
        assert_eq!(link.team, Some(record.id), "made by the team");
    }
    assert_eq!(team.state.links().count(), 3);
}

#[test]
fn a_manual_link_does_not_have_the_teams_id() {
    let mut team = Bench::new();
    let id = team.state.team().unwrap().id;
    let mut by_hand = link(&team, "ann").clone();
    (by_hand.from, by_hand.to) = (name("ann"), name("bob"));
    team.lead().ok(Command::SetLink(whole(&by_hand)));
    assert_eq!(team.state.link(&name("ann"), &name("bob")).unwrap().team, None);
    let mut changed = link(&team, "ann").clone();
    changed.max_concurrent = 9;
    team.lead().ok(Command::SetLink(whole(&changed)));
    let link = team.state.link(&name("lead"), &name("ann")).unwrap();
    assert_eq!((link.max_concurrent, link.team), (9, Some(id)));
}

#[test]
fn a_change_of_a_link_keeps_what_it_leaves_out_and_a_new_one_follows_the_settings() {
    let mut team = Bench::new();
    team.lead().ok(set("delegation.max_per_link", 7));
    let new = LinkChange::new(name("ann"), name("bob"));
    team.lead().ok(Command::SetLink(new.clone()));
    let found = |team: &Bench| team.state.link(&name("ann"), &name("bob")).unwrap().clone();
    assert_eq!((found(&team).enabled, found(&team).max_concurrent), (true, 7));
    let deny = LinkChange { user_deny: Some(vec!["u2".into()]), ..new.clone() };
    let off = LinkChange { enabled: Some(false), ..new.clone() };
    let wide = LinkChange { max_concurrent: Some(9), ..new };
    for change in [deny, off, wide] {
        team.lead().ok(Command::SetLink(change));
    }
    let link = found(&team);
    assert_eq!((link.enabled, link.max_concurrent), (false, 9));
    assert_eq!(link.user_deny, ["u2"], "later changes of other fields kept it");
}

#[test]
fn a_link_is_set_and_purged_by_the_leads_other_name() {
    let mut team = Bench::empty();
    let new =
        crate::NewTeamCommand { lead: newcomer("boss"), ..new_team(Settings::default(), &["ann"]) };
    team.person().ok(Command::CreateTeam(new));
    let changed = Link { from: name("lead"), max_concurrent: 8, ..link(&team, "ann").clone() };
    team.lead().ok(Command::SetLink(whole(&changed)));
    assert_eq!(team.state.links().count(), 1);
    assert_eq!(link(&team, "ann").max_concurrent, 8);
    team.lead().ok(Command::PurgeLink { from: name("lead"), to: name("ann") });
    assert_eq!(team.state.links().count(), 0);
}

#[test]
fn links_have_a_sane_width_and_known_ends() {
    let mut team = Bench::new();
    let wide = Link { max_concurrent: 0, ..link(&team, "ann").clone() };
    assert_eq!(
        team.lead().refused(Command::SetLink(whole(&wide))),
        "`max_concurrent` must be 1 to 1000, not 0"
    );
    for from in ["lead", "ann"] {
        let itself = LinkChange::new(name(from), name(from));
        let refused = team.lead().refused(Command::SetLink(itself));
        assert_eq!(refused, format!("`{from}` cannot delegate to itself"));
    }
    let nowhere = Link { to: name("eve"), ..link(&team, "ann").clone() };
    assert!(team.lead().refused(Command::SetLink(whole(&nowhere))).contains("no member `eve`"));
    let purge = Command::PurgeLink { from: name("ann"), to: name("bob") };
    assert_eq!(team.lead().refused(purge), "there is no link from `ann` to `bob`");
}

#[test]
fn the_link_of_a_removed_member_stays_disabled_until_it_is_purged() {
    let mut team = Bench::new();
    team.lead().ok(remove("ann"));
    assert!(!link(&team, "ann").enabled);
    team.lead().ok(Command::PurgeLink { from: name("lead"), to: name("ann") });
    assert_eq!(team.state.links().count(), 1);
    team.lead().ok(remove("bob"));
    team.lead().ok(Command::AddMember(newcomer("bob")));
    assert!(link(&team, "bob").enabled, "a returning member can be delegated to");
}

#[test]
fn a_removed_member_leaves_its_work_and_its_reservations() {
    let mut team = Bench::new();
    team.lead().ok(create("held"));
    team.lead().ok(create_for("reserved", "ann"));
    team.lead().ok(create_for("for bob", "bob"));
    team.member("ann").ok(claim(1));
    team.lead().ok(remove("ann"));
    assert_eq!((team.status(1), team.owner(1)), (Status::Pending, None));
    assert_eq!(team.task(2).assignee, None);
    assert_eq!(team.task(3).assignee, Some(name("bob")));
    assert!(team.member("ann").refused(claim(1)).contains("not a member"));
    assert_eq!(team.state.tasks().ready(), [1, 2, 3].map(number));
}

#[test]
fn names_are_unique_and_the_lead_has_the_leads_names() {
    let mut team = Bench::new();
    assert_eq!(
        team.lead().refused(Command::AddMember(newcomer("ann"))),
        "there is already a member `ann`"
    );
    let twice = new_team(Settings::default(), &["ann", "ann"]);
    assert_eq!(
        Bench::empty().person().refused(Command::CreateTeam(twice)),
        "there is already a member `ann`"
    );
    let alias = crate::NewTeamCommand {
        lead: newcomer("boss"),
        ..new_team(Settings::default(), &["lead"])
    };
    let said = "`boss` leads the team; the lead cannot be removed, replaced or added again";
    assert_eq!(Bench::empty().person().refused(Command::CreateTeam(alias)), said);
}

#[test]
fn the_lead_is_the_lead_for_ever() {
    let mut team = Bench::new();
    let said = "`lead` leads the team; the lead cannot be removed, replaced or added again";
    assert_eq!(team.person().refused(remove("lead")), said);
    assert_eq!(
        team.person().refused(Command::AddMember(newcomer("lead"))),
        "there is already a member `lead`"
    );
    assert_eq!(team.state.team().unwrap().lead, Some(name("lead")));
}

#[test]
fn members_start_with_the_leads_permissions_or_fewer() {
    let mut team = Bench::empty();
    let may = |text: &str, permissions| NewMember { permissions, ..newcomer(text) };
    let new = crate::NewTeamCommand {
        lead: may("lead", Some(Permissions::AcceptEdits)),
        members: vec![newcomer("ann"), may("bob", Some(Permissions::Plan))],
        ..new_team(Settings::default(), &[])
    };
    team.person().ok(Command::CreateTeam(new));
    let now = |team: &Bench, it: &str| team.state.member(&name(it)).unwrap().permissions;
    assert_eq!(
        (now(&team, "ann"), now(&team, "bob")),
        (Permissions::AcceptEdits, Permissions::Plan)
    );
    assert_eq!(
        team.lead().refused(Command::AddMember(may("eve", Some(Permissions::Bypass)))),
        "`eve` cannot be added with mode bypass, which is wider than the lead's accept-edits; widen it afterwards"
    );
    let mode = Command::SetMemberMode { member: name("bob"), permissions: Permissions::Bypass };
    assert!(
        team.member("bob").refused(mode.clone()).contains("may not change what members may do")
    );
    team.lead().refused(mode.clone());
    team.person().ok(mode);
    assert_eq!(now(&team, "bob"), Permissions::Bypass);
}

#[test]
fn members_of_a_bypass_lead_start_in_bypass_mode() {
    let mut team = Bench::empty();
    let bypass = Some(Permissions::Bypass);
    let lead = NewMember { permissions: bypass, ..newcomer("lead") };
    let new = new_team(Settings::default(), &["ann"]);
    team.person().ok(Command::CreateTeam(crate::NewTeamCommand { lead, ..new }));
    team.lead().ok(Command::AddMember(newcomer("bob")));
    for who in ["ann", "bob"] {
        assert_eq!(team.state.member(&name(who)).map(|it| it.permissions), bypass, "{who}");
    }
}

#[test]
fn only_the_supervisor_sets_the_state_of_a_member() {
    let mut team = Bench::new();
    for state in MemberState::ALL {
        team.at(1).system().ok(set_state("ann", *state));
        assert_eq!(team.state.member(&name("ann")).unwrap().state, *state);
    }
    assert!(team.system().ok(set_state("ann", MemberState::Crashed)).is_empty());
    assert_eq!(
        team.member("ann").refused(set_state("ann", MemberState::Idle)),
        "`ann` may not say what state a member is in; the supervisor may"
    );
    let words: Vec<_> = MemberState::ALL.iter().map(|state| state.as_str()).collect();
    let all = ["spawning", "working", "idle", "planning", "stopping", "stopped", "crashed"];
    assert_eq!(words, all);
}

#[test]
fn a_team_with_a_busy_member_is_not_deleted() {
    use MemberState::{Planning, Spawning, Stopping, Working};
    for state in [Spawning, Working, Planning, Stopping] {
        let mut team = Bench::new();
        team.system().ok(set_state("bob", state));
        assert_eq!(
            team.lead().refused(Command::DeleteTeam),
            format!("teammate `bob` is {state}; shut down all teammates before deleting the team")
        );
    }
}

#[test]
fn teammates_do_not_delete_the_team() {
    let mut team = Bench::new();
    assert_eq!(
        team.member("ann").refused(Command::DeleteTeam),
        "`ann` may not delete the team; the lead or a person may"
    );
}

#[test]
fn a_deleted_team_releases_its_links_and_refuses_commands() {
    let mut team = Bench::new();
    assert_eq!(kinds(&team.lead().ok(Command::DeleteTeam)), ["team.deleted"]);
    assert_eq!(team.state.links().count(), 2);
    assert!(team.state.links().all(|link| link.team.is_none()));
    assert_eq!(team.state.team().unwrap().status, TeamStatus::Deleted);
    assert_eq!(team.lead().refused(create("write")), "the team was deleted");
}

#[test]
fn a_completed_team_keeps_its_board() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.lead().ok(Command::CompleteTeam);
    assert!(team.lead().ok(Command::CompleteTeam).is_empty());
    assert_eq!(team.state.team().unwrap().status, TeamStatus::Completed);
    assert_eq!(team.status(1), Status::Pending);
}

#[test]
fn settings_change_only_within_their_ranges() {
    let mut team = Bench::new();
    assert!(team.lead().ok(set("lease_seconds", 900)).is_empty(), "nothing new, no event");
    assert_eq!(kinds(&team.lead().ok(set("lease_seconds", 60))), ["team.updated"]);
    for (command, said) in [
        (set("version", 3), "`version` must be 1 to 2, not 3"),
        (set("lease_seconds", 0), "`lease_seconds` must be 1 to 604800, not 0"),
        (set("max_attempts", 101), "`max_attempts` must be 1 to 100, not 101"),
        (
            set("followup_interval_minutes", 0),
            "`followup_interval_minutes` must be 1 to 604800, not 0",
        ),
    ] {
        assert_eq!(team.lead().refused(command), said);
    }
    assert_eq!(team.state.team().unwrap().settings.lease_seconds, 60);
}

#[test]
fn a_setting_that_does_not_exist_or_fit_is_refused_by_its_name() {
    let mut team = Bench::new();
    for key in ["lease", "", ".", "delegation", "delegation.", "delegation.x", "version.x"] {
        let refused = team.lead().refused(set(key, 1));
        assert_eq!(refused, format!("there is no setting `{key}`"));
    }
    for (command, said) in [
        (set("lease_seconds", -5), "`lease_seconds` cannot be that: "),
        (set("lease_seconds", "soon"), "`lease_seconds` cannot be that: "),
        (set("task_creation", "everyone"), "`task_creation` cannot be that: unknown variant"),
        (set("delegation.max_per_link", true), "`delegation.max_per_link` cannot be that: "),
        (set("version", serde_json::Value::Null), "`version` cannot be that: "),
    ] {
        let refused = team.lead().refused(command);
        assert!(refused.starts_with(said), "{refused}");
    }
    assert_eq!(team.state.team().unwrap().settings, Settings::default());
}

#[test]
fn concurrent_changes_of_different_settings_both_apply() {
    let mut team = Bench::new();
    let (ours, theirs) = (set("lease_seconds", 60), set("delegation.max_per_link", 7));
    // Both changes are based on the same state.
    let stale = team.clone();
    stale.clone().lead().ok(ours.clone());
    stale.clone().lead().ok(theirs.clone());
    team.lead().ok(theirs);
    team.person().ok(ours);
    let settings = &team.state.team().unwrap().settings;
    assert_eq!((settings.lease_seconds, settings.delegation.max_per_link), (60, 7));
    let quota = || ("workspace_quota_mb".to_owned(), 5.into());
    let several = vec![quota(), ("require_review".to_owned(), true.into())];
    team.lead().ok(Command::UpdateTeam { description: Some("new".into()), settings: several });
    let settings = &team.state.team().unwrap().settings;
    assert_eq!((settings.workspace.quota_mb, settings.require_review), (Some(5), true));
    assert_eq!(settings.lease_seconds, 60);
}

#[test]
fn each_dialect_decides_who_creates_tasks() {
    assert_eq!(Settings::for_dialect(Dialect::Board).task_creation, TaskCreation::Lead);
    assert_eq!(Settings::for_dialect(Dialect::Claude).task_creation, TaskCreation::Members);
}

#[test]
fn each_dialect_decides_who_begins_work() {
    assert_eq!(Settings::for_dialect(Dialect::Board).assignment, Assignment::Claim);
    assert_eq!(Settings::for_dialect(Dialect::Claude).assignment, Assignment::Both);
}

#[test]
fn programs_see_a_team_with_its_members_and_links() {
    let team = Bench::new();
    let view = TeamView::new(&team.state, team.state.team().unwrap());
    let json = serde_json::to_value(view).unwrap();
    assert_eq!((&json["status"], &json["lead"]), (&"active".into(), &"lead".into()));
    assert_eq!(json["members"][2]["role"], "lead");
    assert_eq!(json["links"][0]["max_concurrent"], 3);
}

#[test]
fn a_result_that_waits_for_approval_outlasts_its_member() {
    let mut team = Bench::new();
    team.lead().ok(create("parse"));
    team.member("ann").ok(claim(1));
    team.member("ann").ok(review(1));
    team.lead().ok(remove("ann"));
    assert_eq!((team.status(1), team.owner(1)), (Status::InReview, Some("ann")));
    let events = team.lead().ok(revise(1));
    assert_eq!(kinds(&events), ["task.rejected", "task.released"]);
    assert_eq!((team.status(1), team.owner(1)), (Status::Pending, None));
}

#[test]
fn the_version_of_a_team_only_goes_up() {
    let mut team = Bench::new();
    assert_eq!(team.lead().refused(set("version", 1)), "`version` only goes up; it is 2 already");
}
