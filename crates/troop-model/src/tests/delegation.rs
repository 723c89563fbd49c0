//! Delegation: a member runs on one task for the lead, within limits.

use uuid::Uuid;

use super::{
    bench::{Bench, kinds, name, user},
    commands::*,
};
use crate::{
    Command, DelegationOutcome, DelegationStatus, DelegationView, Fact, Link, MemberState,
    RefusalKind, SessionKey, StateCause, Status,
};

/// The events after the end of a delegation: the member's recorded report, and the announcement to the lead.
const RECORD: &str = "message.sent";
const TOLD: &str = "message.sent";
const ANNOUNCED: &str = "delegation.announced";

/// Delegates a task and returns the delegation's id.
fn start(team: &mut Bench, task: u32, to: &str) -> Uuid {
    let events = team.lead().ok(delegate(task, to));
    let mut facts = events.iter().map(|event| &event.fact);
    let started = facts.find(|fact| matches!(fact, Fact::DelegationStarted { .. }));
    let Some(Fact::DelegationStarted { delegation, .. }) = started else {
        panic!("a delegation starts")
    };
    *delegation
}

fn tasks(n: usize) -> Bench {
    let mut team = Bench::new();
    for _ in 0..n {
        team.lead().ok(create("write"));
    }
    team
}

fn change_link(team: &mut Bench, change: impl FnOnce(&mut Link)) {
    let mut link = team.state.link(&name("lead"), &name("ann")).unwrap().clone();
    change(&mut link);
    team.lead().ok(Command::SetLink(whole(&link)));
}

#[test]
fn delegating_a_task_gives_it_to_the_member() {
    let mut team = tasks(1);
    let events = team.lead().from(user("u1", "telegram", "c1")).ok(delegate(1, "ann"));
    assert_eq!(kinds(&events), ["delegation.started", "task.assigned", "message.sent"]);
    assert_eq!((team.status(1), team.owner(1)), (Status::InProgress, Some("ann")));
    let delegation = team.state.delegations().next().unwrap();
    assert_eq!(delegation.status, DelegationStatus::Running);
    assert_eq!(delegation.origin.channel.as_deref(), Some("telegram"));
}

#[test]
fn a_task_can_be_delegated_to_the_member_that_holds_it() {
    let mut team = tasks(1);
    team.member("ann").ok(claim(1));
    let events = team.lead().ok(delegate(1, "ann"));
    assert_eq!(kinds(&events), ["delegation.started"]);
    let events = team.member("ann").ok(complete(1));
    assert!(kinds(&events).contains(&ANNOUNCED), "{:?}", kinds(&events));
    // A task that another member holds is refused.
    let mut team = tasks(1);
    team.member("ann").ok(claim(1));
    assert!(team.lead().refused(delegate(1, "bob")).contains("ann has held it"));
}

#[test]
fn a_completed_delegation_completes_its_task() {
    let mut team = tasks(1);
    let id = start(&mut team, 1, "ann");
    let events = team.at(3).system().ok(finish(id, DelegationOutcome::Completed("written".into())));
    assert_eq!(kinds(&events), ["task.completed", "delegation.completed", RECORD, TOLD, ANNOUNCED]);
    assert_eq!(team.task(1).result.as_deref(), Some("written"));
    let delegation = team.state.delegations().next().unwrap();
    assert_eq!(
        (delegation.status, delegation.ended_at),
        (DelegationStatus::Completed, Some(team.now))
    );
    assert_eq!(
        team.system().refused(finish(id, DelegationOutcome::Completed("again".into()))),
        format!("delegation {id} has already ended")
    );
}

#[test]
fn a_failed_delegation_fails_its_task_by_the_teams_settings() {
    let mut team = tasks(1);
    let id = start(&mut team, 1, "ann");
    let events = team.system().ok(finish(id, DelegationOutcome::Failed("no".into())));
    assert_eq!(kinds(&events), ["task.failed", "delegation.failed", RECORD]);
    assert!(
        team.task(1).start.not_before.is_some(),
        "it is tried again, and told when that is over"
    );
}

#[test]
fn a_cancelled_delegation_releases_its_task() {
    let mut team = tasks(1);
    let id = start(&mut team, 1, "ann");
    let events = team.lead().ok(finish(id, DelegationOutcome::Cancelled("changed plans".into())));
    assert_eq!(kinds(&events), ["task.released", "delegation.cancelled", RECORD, ANNOUNCED]);
    assert!(team.unread("lead").is_empty(), "the lead that cancelled it needs no announcement");
    assert_eq!(team.status(1), Status::Pending);
}

/// The status and result of a delegation.
fn came_to(team: &Bench, id: Uuid) -> (DelegationStatus, &str) {
    let delegation = team.state.delegation(id).unwrap();
    (delegation.status, delegation.result.as_deref().unwrap_or_default())
}

#[test]
fn a_delegation_ends_however_its_task_leaves_the_member() {
    type Deed = fn(&mut Bench);
    let table: [(Deed, DelegationStatus, &str); 11] = [
        (
            |it| drop(it.member("ann").ok(complete_with(1, "by hand"))),
            DelegationStatus::Completed,
            "by hand",
        ),
        (
            |it| drop(it.person().ok(complete_with(1, "by pat"))),
            DelegationStatus::Completed,
            "by pat",
        ),
        (|it| drop(it.member("ann").ok(review(1))), DelegationStatus::Completed, "a draft"),
        (|it| drop(it.member("ann").ok(fail(1))), DelegationStatus::Failed, "it broke"),
        (|it| drop(it.member("ann").ok(release(1))), DelegationStatus::Cancelled, "not mine"),
        (|it| drop(it.lead().ok(release(1))), DelegationStatus::Cancelled, "not mine"),
        (|it| drop(it.lead().ok(cancel(1))), DelegationStatus::Cancelled, "not needed"),
        (
            |it| drop(it.system().ok(set_state("ann", MemberState::Crashed))),
            DelegationStatus::Failed,
            "ann crashed",
        ),
        (
            |it| {
                it.system().ok(ready("ann"));
                it.system().ok(set_state("ann", MemberState::Stopped));
            },
            DelegationStatus::Failed,
            "ann stopped",
        ),
        (|it| drop(it.at(16).tick()), DelegationStatus::Failed, "the lease of ann expired"),
        (
            |it| drop(it.at(16).member("bob").ok(claim(1))),
            DelegationStatus::Failed,
            "the lease of ann expired",
        ),
    ];
    for (nth, (deed, status, said)) in table.into_iter().enumerate() {
        let mut team = tasks(1);
        let id = start(&mut team, 1, "ann");
        deed(&mut team);
        assert_eq!(came_to(&team, id), (status, said), "row {nth}");
        assert!(team.state.delegation_of(team.task(1).number).is_none(), "row {nth}");
        let is_over = team.task(1).start.not_before.is_none();
        assert_eq!(team.state.delegation(id).unwrap().is_announced, is_over, "row {nth}");
    }
}

#[test]
fn a_lost_task_can_be_delegated_to_another_member_at_once() {
    let mut team = tasks(1);
    let first = start(&mut team, 1, "ann");
    team.at(16);
    let second = start(&mut team, 1, "bob");
    assert_eq!(came_to(&team, first).0, DelegationStatus::Failed);
    assert_eq!(team.state.delegation_of(team.task(1).number).map(|it| it.id), Some(second));
    assert!(team.unread("lead").is_empty(), "its sibling has just begun");
    team.member("bob").ok(complete(1));
    let [told] = team.unread("lead").try_into().unwrap();
    assert!(told.contains("the lease of ann expired") && told.contains("## bob: task-1"), "{told}");
}

#[test]
fn a_delegation_is_recorded_with_its_team_its_task_and_its_traces() {
    let mut team = tasks(1);
    let parent = Uuid::from_u128(77);
    let command = Command::Delegate {
        to: name("ann"),
        task: Some(task(1)),
        subject: None,
        note: None,
        trace_id: Some(parent),
    };
    team.lead().from(user("u1", "telegram", "c1")).ok(command);
    let delegation = team.state.delegations().next().unwrap();
    let view = serde_json::to_value(DelegationView::new(&team.state, delegation)).unwrap();
    assert_eq!(view["team"], team.state.team().unwrap().id.to_string());
    assert_eq!((&view["task"], &view["task_id"]), (&1.into(), &team.task(1).id.to_string().into()));
    assert_eq!(view["session"], format!("delegate:{}", delegation.id));
    assert_eq!(view["parent_trace_id"], parent.to_string());
    assert_ne!(delegation.trace_id, parent, "it has its own trace");
    assert_eq!(view["origin"]["chat_id"], "c1");
    assert_eq!(SessionKey::Teammate(name("ann")).to_string(), "teammate:ann");
    assert_eq!(SessionKey::LANE, "team", "both run in one lane");
}

#[test]
fn a_task_of_another_team_cannot_be_delegated() {
    let mut other = Bench::new();
    other.lead().ok(create("theirs"));
    let theirs = other.task(1).id.to_string();
    let mut team = Bench::new();
    team.person().ok(say("lead", "let time pass, so that ids differ"));
    team.lead().ok(create("ours"));
    let command = Command::Delegate {
        to: name("ann"),
        task: Some(theirs.parse().unwrap()),
        subject: None,
        note: None,
        trace_id: None,
    };
    assert_eq!(
        team.lead().refused(command),
        format!("there is no task `{theirs}`; pending tasks: task-1")
    );
}

#[test]
fn results_of_delegations_are_reviewed_too() {
    let mut team = Bench::with(|settings| settings.require_review = true);
    team.lead().ok(create("write"));
    let id = start(&mut team, 1, "ann");
    team.system().ok(finish(id, DelegationOutcome::Completed("written".into())));
    assert_eq!(
        (team.status(1), team.task(1).result.as_deref()),
        (Status::InReview, Some("written"))
    );
}

#[test]
fn results_of_delegations_have_the_usual_limits() {
    let mut team = tasks(1);
    let id = start(&mut team, 1, "ann");
    for (result, said) in
        [(String::new(), "the result is empty"), ("x".repeat(1_000_000), "limit is 262144")]
    {
        let refused = team.system().refused(finish(id, DelegationOutcome::Completed(result)));
        assert!(refused.contains(said), "{refused}");
    }
}

#[test]
fn a_delegation_of_no_known_task_names_the_pending_tasks() {
    let mut team = tasks(2);
    let none = || Command::Delegate {
        to: name("ann"),
        task: None,
        subject: Some("do it".into()),
        note: None,
        trace_id: None,
    };
    assert_eq!(
        team.lead().refused(none()),
        "a delegation needs a task; create one first, then delegate it; pending tasks: task-1, task-2"
    );
    assert_eq!(
        team.lead().refused(delegate(9, "ann")),
        "there is no task `task-9`; pending tasks: task-1, task-2"
    );
    let mut free = Bench::with(|settings| settings.delegation.require_task = false);
    let events = free.lead().ok(none());
    assert_eq!(
        kinds(&events),
        ["task.created", "delegation.started", "task.assigned", "message.sent"]
    );
    assert_eq!((free.task(1).subject.as_str(), free.owner(1)), ("do it", Some("ann")));
    let mut gated = Bench::with(|settings| {
        settings.delegation.require_task = false;
        settings.approve_start = true;
    });
    assert!(gated.lead().refused(none()).contains("needs a task"), "the gate is not bypassed");
}

#[test]
fn a_link_allows_three_delegations_at_once() {
    let mut team = tasks(4);
    let first = start(&mut team, 1, "ann");
    start(&mut team, 2, "ann");
    start(&mut team, 3, "ann");
    let refusal = team.lead().refusal(delegate(4, "ann"));
    assert_eq!(
        refusal.to_string(),
        "the link to `ann` is at capacity (3/3); wait for one to end, try a different agent or handle it yourself"
    );
    assert_eq!(refusal.kind(), RefusalKind::Limit);
    assert_eq!(team.status(4), Status::Pending, "nothing half done");
    team.system().ok(finish(first, DelegationOutcome::Completed("done".into())));
    start(&mut team, 4, "ann");
}

#[test]
fn a_member_runs_five_delegations_at_once() {
    let mut team = tasks(6);
    change_link(&mut team, |link| link.max_concurrent = 9);
    for task in 1..=5 {
        start(&mut team, task, "ann");
    }
    assert_eq!(
        team.lead().refused(delegate(6, "ann")),
        "agent `ann` is at capacity (5/5); try a different agent or handle it yourself"
    );
    start(&mut team, 6, "bob");
}

#[test]
fn one_task_is_delegated_once_at_a_time() {
    let mut team = tasks(1);
    start(&mut team, 1, "ann");
    assert_eq!(
        team.lead().refused(delegate(1, "ann")),
        "task-1 is already delegated to `ann`; wait for its result"
    );
    assert!(team.lead().refused(delegate(1, "bob")).contains("ann has held it"));
}

#[test]
fn a_link_has_its_own_access_lists() {
    let mut team = tasks(3);
    change_link(&mut team, |link| {
        link.user_allow = vec!["u1".into(), "u2".into()];
        link.user_deny = vec!["u2".into()];
    });
    let from = |who: &str| user(who, "telegram", "c1");
    for who in ["u2", "u3"] {
        assert_eq!(
            team.lead().from(from(who)).refused(delegate(1, "ann")),
            format!("user `{who}` may not cause delegations to `ann`")
        );
    }
    team.lead().from(from("u1")).ok(delegate(1, "ann"));
    team.lead().from(user("u3", "system", "")).ok(delegate(2, "ann"));
    team.lead().from(from("u3")).ok(delegate(3, "bob"));
}

#[test]
fn without_a_link_nothing_is_delegated() {
    let mut team = tasks(1);
    change_link(&mut team, |link| link.enabled = false);
    assert_eq!(
        team.lead().refused(delegate(1, "ann")),
        "the link from `lead` to `ann` is disabled"
    );
    team.lead().ok(Command::PurgeLink { from: name("lead"), to: name("ann") });
    assert_eq!(team.lead().refused(delegate(1, "ann")), "there is no link from `lead` to `ann`");
    assert!(team.lead().refused(delegate(1, "lead")).contains("`lead` cannot delegate to itself"));
}

#[test]
fn only_its_two_sides_end_a_delegation() {
    let mut team = tasks(1);
    let id = start(&mut team, 1, "ann");
    let done = || finish(id, DelegationOutcome::Completed("done".into()));
    assert_eq!(
        team.member("bob").refused(done()),
        "`bob` may not end the delegations of others; its two sides may"
    );
    let unknown = finish(Uuid::nil(), DelegationOutcome::Failed("x".into()));
    assert!(team.lead().refused(unknown).starts_with("there is no delegation"));
    team.member("ann").ok(done());
}

#[test]
fn delegations_to_a_removed_member_are_cancelled() {
    let mut team = tasks(1);
    start(&mut team, 1, "ann");
    let events = team.lead().ok(remove("ann"));
    assert_eq!(
        kinds(&events),
        ["task.released", "member.removed", "delegation.cancelled", RECORD, ANNOUNCED]
    );
    assert_eq!(team.state.n_running_to(&name("ann"), None), 0);
}

#[test]
fn only_the_last_ended_delegations_stay_in_memory() {
    let mut team = tasks(9);
    let running = start(&mut team, 9, "bob");
    for task in 1..=8 {
        let id = start(&mut team, task, "ann");
        team.system().ok(finish(id, DelegationOutcome::Completed("done".into())));
    }
    assert_eq!(team.state.delegations().count(), 5);
    assert!(team.state.delegations().any(|it| it.id == running));
}

/// Longer than any lease, in minutes.
const LATER: u64 = 10 * 60;

/// A team whose lead delegated the first task to ann and then ended: it was killed, or stopped with its team.
fn cut_short(end: fn(&mut Bench)) -> (Bench, Uuid) {
    let mut team = tasks(1);
    team.system().ok(take_lead(1, None));
    let id = start(&mut team, 1, "ann");
    team.system().ok(ready("ann"));
    end(&mut team);
    (team, id)
}

fn stopped_with_team(team: &mut Bench) {
    let reason = Some("enough".to_owned());
    let cause = Some(StateCause::TeamStopped);
    let (member, state) = (name("ann"), MemberState::Stopped);
    team.system().ok(Command::SetMemberState { member, state, reason, cause, pid: None });
    team.system().ok(Command::ReleaseLead);
}

#[test]
fn delegations_interrupted_with_their_team_resume_under_the_next_lead() {
    let killed = |team: &mut Bench| {
        team.at(LATER);
    };
    for end in [killed as fn(&mut Bench), stopped_with_team] {
        let (mut team, id) = cut_short(end);
        let events = team.system().ok(take_lead(2, None));
        let told = kinds(&events);
        assert!(!told.contains(&ANNOUNCED) && !told.contains(&"delegation.failed"), "{told:?}");
        assert_eq!((team.status(1), team.owner(1)), (Status::InProgress, Some("ann")));
        assert_eq!(team.task(1).attempts, 2, "a new attempt, separate from the former run");
        assert_eq!(team.task(1).attempts_used(), 1, "an interruption does not count");
        team.member("ann").ok(complete_with(1, "after all"));
        assert_eq!(came_to(&team, id), (DelegationStatus::Completed, "after all"));
    }
}

#[test]
fn an_interrupted_delegation_can_be_claimed_by_others_while_nobody_leads() {
    let (mut team, id) = cut_short(stopped_with_team);
    let events = team.member("bob").ok(claim(1));
    assert!(kinds(&events).contains(&"delegation.cancelled"), "{:?}", kinds(&events));
    assert_eq!(came_to(&team, id), (DelegationStatus::Cancelled, "bob took it"));
    team.system().ok(take_lead(2, None));
    assert_eq!(team.owner(1), Some("bob"));
}

#[test]
fn leases_of_delegations_made_without_a_lead_start_with_the_next_lead() {
    let mut team = tasks(1);
    let id = start(&mut team, 1, "ann");
    team.at(LATER);
    team.system().ok(take_lead(1, None));
    team.system().ok(Command::Tick);
    assert_eq!(team.owner(1), Some("ann"));
    assert_eq!((team.task(1).attempts, came_to(&team, id).0), (1, DelegationStatus::Running));
}

#[test]
fn a_member_that_reports_idle_after_its_delegated_task_ends_the_delegation() {
    let mut team = tasks(2);
    let id = start(&mut team, 1, "ann");
    let delegation = team.state.delegation(id).unwrap().clone();
    assert!(delegation.ends_with_work_of(&name("ann")));
    assert!(!delegation.ends_with_work_of(&name("bob")), "it is not bob's");
    team.member("ann").ok(idle("ann", Some(1)));
    assert_eq!((team.status(1), team.task(1).result.as_deref()), (Status::Completed, Some("done")));
    let delegation = team.state.delegation(id).unwrap();
    assert_eq!(delegation.status, DelegationStatus::Completed);
    assert!(!delegation.ends_with_work_of(&name("ann")));
}

#[test]
fn a_delegation_continues_if_its_member_is_idle_after_another_task() {
    let mut team = tasks(2);
    start(&mut team, 1, "ann");
    assert!(team.member("ann").ok(idle("ann", None)).is_empty());
    assert!(team.member("ann").ok(idle("ann", Some(2))).is_empty());
    assert!(team.system().ok(idle("ann", Some(1))).is_empty(), "only its own report ends it");
    team.member("bob").ok(claim(2));
    assert!(team.member("bob").ok(idle("bob", Some(2))).is_empty(), "task 2 was not delegated");
    assert_eq!(team.status(1), Status::InProgress);
}
