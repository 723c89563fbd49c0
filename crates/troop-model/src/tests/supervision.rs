//! Running members: supervision, starting, idling, planning, ending.

use std::time::Duration;

use super::{
    bench::{Bench, SMALL, TEN, kinds, name, newcomer, party, reopened},
    commands::*,
};
use crate::{
    Actor, Command, MemberState, MessageKind, Permissions, Refusal, Settings, Spawn, Status,
    TeamStatus, check_start,
};

/// A team with a lead lease.
fn led() -> Bench {
    let mut bench = Bench::new();
    bench.system().ok(take_lead(1, None));
    bench
}

/// A team in which `ann` and `bob` run.
fn running() -> Bench {
    let mut bench = led();
    for member in ["ann", "bob"] {
        bench.lead().ok(spawn(member));
        bench.system().ok(ready(member));
    }
    bench
}

fn state_of(bench: &Bench, member: &str) -> MemberState {
    bench.state.member(&name(member)).unwrap().state
}

#[test]
fn one_session_leads_at_a_time() {
    let mut bench = led();
    assert_eq!(
        bench.system().refused(take_lead(2, None)),
        "pat#1 has led the team since 10:00; wait, or stop it there"
    );
    bench.system().ok(Command::ReleaseLead);
    bench.system().ok(take_lead(2, None));
    let lease = bench.state.team().unwrap().lead_lease.as_ref().unwrap();
    assert_eq!((lease.holder.as_str(), lease.fence), ("pat#2", 2));
}

#[test]
fn a_lead_that_is_silent_for_too_long_is_replaced() {
    let mut bench = Bench::shipped();
    bench.system().ok(take_lead(1, None));
    bench.now = TEN + Duration::from_secs(59);
    assert!(
        bench.system().refused(take_lead(2, None)).contains("wait"),
        "it may still say something"
    );
    bench.at(1).system().ok(take_lead(2, None));
    assert_eq!(bench.state.team().unwrap().lead_lease.as_ref().unwrap().fence, 2);
}

#[test]
fn a_lead_that_renews_stays() {
    let mut bench = led();
    bench.at(239).system().fenced(1).ok(Command::RenewLead);
    bench.at(300);
    assert!(matches!(bench.system().refusal(take_lead(2, None)), Refusal::LeadHeld { .. }));
}

#[test]
fn a_dead_lead_is_replaced_at_once_but_only_the_one_that_was_seen_dead() {
    let mut bench = led();
    assert!(matches!(bench.system().refusal(take_lead(2, Some(7))), Refusal::LeadHeld { .. }));
    bench.system().ok(take_lead(2, Some(1)));
    assert!(matches!(bench.system().refusal(take_lead(3, Some(1))), Refusal::LeadHeld { .. }));
}

#[test]
fn commands_of_a_former_lead_are_refused() {
    let mut bench = running();
    bench.lead().fenced(1).ok(create("before"));
    bench.at(240).system().ok(take_lead(2, None));
    assert_eq!(bench.lead().fenced(1).refusal(create("after")), Refusal::Superseded);
    assert_eq!(bench.system().fenced(1).refusal(ready("ann")), Refusal::Superseded);
    bench.lead().fenced(2).ok(create("after"));
}

#[test]
fn only_troop_itself_supervises() {
    let mut bench = Bench::new();
    let refusal = bench.lead().refused(take_lead(1, None));
    assert_eq!(refusal, "`lead` may not supervise the team; troop itself may");
}

#[test]
fn a_new_lead_marks_the_former_leads_teammates_as_ended() {
    let mut bench = running();
    bench.lead().ok(create("one"));
    bench.member("ann").ok(claim(1));
    bench.at(240).system().ok(take_lead(2, None));
    assert_eq!(state_of(&bench, "ann"), MemberState::Crashed);
    assert_eq!(bench.state.member(&name("ann")).unwrap().pid, None);
    assert_eq!((bench.status(1), bench.owner(1)), (Status::Pending, None));
}

#[test]
fn a_new_lead_leaves_members_without_a_process_alone() {
    let mut bench = Bench::new();
    bench.lead().ok(create("one"));
    bench.member("ann").ok(claim(1));
    bench.system().ok(take_lead(1, None));
    assert_eq!((state_of(&bench, "ann"), bench.owner(1)), (MemberState::Working, Some("ann")));
}

#[test]
fn a_completed_team_is_active_again_under_a_new_lead() {
    let mut bench = led();
    bench.person().ok(Command::CompleteTeam);
    bench.system().ok(Command::ReleaseLead);
    bench.system().ok(take_lead(2, None));
    assert_eq!(bench.state.team().unwrap().status, TeamStatus::Active);
}

#[test]
fn members_cannot_start_without_a_lead() {
    let mut bench = Bench::new();
    assert_eq!(bench.lead().refusal(spawn("zoe")), Refusal::NobodyLeads);
    assert_eq!(bench.person().refusal(Command::StopTeam { reason: None }), Refusal::NobodyLeads);
}

#[test]
fn a_newcomer_starts_with_its_prompt_as_its_first_message() {
    let mut bench = led();
    let prompt = Some("look after the parser".to_owned());
    let events = bench.lead().ok(Command::SpawnMember(Spawn { member: newcomer("zoe"), prompt }));
    let wanted = ["member.added", "link.set", "member.state_changed", "message.sent"];
    assert_eq!(kinds(&events), wanted);
    assert_eq!(state_of(&bench, "zoe"), MemberState::Spawning);
    assert_eq!(bench.unread("zoe"), ["look after the parser"]);
    assert_eq!(bench.mailbox().iter().next().unwrap().from, party("lead"));
}

#[test]
fn a_newcomer_has_its_own_id_and_is_in_the_log() {
    let mut bench = led();
    for who in ["yan", "zoe"] {
        bench.lead().ok(spawn(who));
    }
    let of = |state: &crate::State, who| state.member(&name(who)).cloned().unwrap();
    let (yan, zoe) = (of(&bench.state, "yan"), of(&bench.state, "zoe"));
    assert!(yan.id != zoe.id && !yan.id.is_nil());
    assert_eq!((yan.state, zoe.state), (MemberState::Spawning, MemberState::Spawning));
    let mut replayed = crate::State { limits: SMALL, ..crate::State::default() };
    bench.log.iter().for_each(|event| replayed.apply(event));
    assert_eq!([of(&replayed, "yan"), of(&replayed, "zoe")], [yan, zoe]);
}

#[test]
fn a_member_without_a_name_or_an_agent_is_refused() {
    let mut bench = led();
    assert!("".parse::<crate::MemberName>().is_err());
    let member = crate::NewMember { agent: "".into(), ..newcomer("zoe") };
    let refused = bench.lead().refused(Command::SpawnMember(Spawn { member, prompt: None }));
    assert!(refused.contains("agent"), "{refused}");
}

#[test]
fn without_a_prompt_there_is_no_message() {
    let mut bench = led();
    bench.lead().ok(spawn("zoe"));
    assert!(bench.unread("zoe").is_empty());
}

#[test]
fn a_member_that_ended_is_started_again_but_not_one_that_runs() {
    let mut bench = running();
    let refusal = bench.lead().refused(spawn("ann"));
    assert_eq!(refusal, "teammate `ann` is already running; it is idle");
    bench.system().ok(set_state("ann", MemberState::Stopped));
    assert_eq!(kinds(&bench.lead().ok(spawn("ann"))), ["member.state_changed"]);
}

#[test]
fn teammates_do_not_start_teammates() {
    let mut bench = running();
    let refusal = bench.member("ann").refused(spawn("zoe"));
    assert_eq!(refusal, "`ann` may not start teammates; the lead or a person may");
}

#[test]
fn one_teammate_too_many_is_refused_and_the_others_keep_running() {
    let mut bench = Bench::with(|settings| settings.max_teammates = 2);
    bench.system().ok(take_lead(1, None));
    bench.lead().ok(spawn("ann"));
    bench.lead().ok(spawn("bob"));
    assert_eq!(
        bench.lead().refused(spawn("zoe")),
        "2 teammates are already running and the limit is 2; shut one down first, or raise `max_teammates`"
    );
    assert!(bench.state.member(&name("zoe")).is_none(), "no half-started member remains");
    bench.system().ok(set_state("ann", MemberState::Stopped));
    bench.lead().ok(spawn("zoe"));
}

#[test]
fn a_team_with_a_running_teammate_is_not_deleted_even_if_that_one_is_idle() {
    let mut bench = running();
    let refusal = bench.lead().refused(Command::DeleteTeam);
    let wanted = "teammate `ann` is idle; shut down all teammates before deleting the team";
    assert_eq!(refusal, wanted);
}

#[test]
fn an_idle_member_gets_the_next_task_without_a_notice_to_the_lead() {
    let mut bench = running();
    bench.lead().ok(create("one"));
    let events = bench.system().ok(idle("ann", None));
    assert_eq!(kinds(&events), ["task.assigned"]);
    assert_eq!((bench.owner(1), state_of(&bench, "ann")), (Some("ann"), MemberState::Working));
    assert!(bench.unread("lead").is_empty());
}

#[test]
fn idle_members_get_no_task_if_members_claim() {
    let mut bench = Bench::with(|settings| settings.assignment = crate::Assignment::Claim);
    bench.system().ok(take_lead(1, None));
    bench.lead().ok(spawn("ann"));
    bench.lead().ok(create("one"));
    bench.system().ok(idle("ann", None));
    assert_eq!(bench.owner(1), None);
    assert_eq!(bench.unread("lead"), ["ann is idle"]);
}

#[test]
fn the_lead_gets_each_result_once_however_often_a_member_reports_idle() {
    let mut bench = running();
    for n in 1..=3 {
        bench.lead().ok(create("work"));
        bench.member("ann").ok(claim(n));
        bench.member("ann").ok(complete(n));
        for _ in 0..2 {
            bench.system().ok(idle("ann", Some(n)));
        }
    }
    bench.system().ok(idle("bob", None));
    let told = bench.unread("lead");
    for n in 1..=3 {
        let result = format!("ann is idle; task-{n} is completed: done");
        assert_eq!(told.iter().filter(|it| **it == result).count(), 1, "{told:?}");
    }
    let plain: Vec<&str> = told.into_iter().filter(|it| !it.contains("task-")).collect();
    assert_eq!(plain, ["ann is idle", "bob is idle"], "the newest idle notice replaces older ones");
}

#[test]
fn requests_of_an_ended_member_are_withdrawn() {
    for state in [MemberState::Crashed, MemberState::Stopped] {
        let mut bench = running();
        let question = send("lead", MessageKind::PermissionRequest, "may I?");
        bench.member("ann").ok(Command::Send(question));
        assert_eq!(bench.state.requests().count(), 1);
        let (member, reason, pid) = (name("ann"), None, None);
        bench.system().ok(Command::SetMemberState { member, state, reason, cause: None, pid });
        assert_eq!(bench.state.requests().count(), 0, "{state}");
    }
}

#[test]
fn a_delivered_notice_is_not_replaced() {
    let mut bench = running();
    bench.system().ok(idle("ann", None));
    let is_notice = |it: &&crate::Message| it.kind == MessageKind::Idle;
    let notice = bench.mailbox().iter().find(is_notice).unwrap().id;
    let messages = vec![notice];
    bench.lead().ok(Command::MarkDelivered { reader: None, messages });
    bench.system().ok(idle("ann", None));
    assert_eq!(bench.unread("lead").len(), 2);
}

#[test]
fn a_member_that_holds_a_task_is_not_idle() {
    let mut bench = running();
    bench.lead().ok(create("one"));
    bench.member("ann").ok(claim(1));
    assert!(bench.system().ok(idle("ann", None)).is_empty());
    assert_eq!(state_of(&bench, "ann"), MemberState::Working);
}

#[test]
fn the_lead_is_given_no_work() {
    let mut bench = running();
    bench.lead().ok(create("one"));
    bench.system().ok(idle("lead", None));
    assert_eq!(bench.owner(1), None);
}

#[test]
fn members_report_only_themselves_idle() {
    let mut bench = running();
    let refusal = bench.member("ann").refused(idle("bob", None));
    assert_eq!(refusal, "`ann` may not say that somebody else is idle; only they themselves may");
}

#[test]
fn the_next_task_is_given_by_the_same_rules_as_it_is_claimed() {
    let mut bench = running();
    bench.lead().ok(crate::NewTask { assignee: Some(name("bob")), ..create("one") });
    let next = |to| crate::TaskCommand::Assign { task: None, to: name(to) };
    assert!(matches!(
        bench.system().refusal(next("ann")),
        Refusal::NothingAvailable { n_reserved: 1, .. }
    ));
    bench.system().ok(next("bob"));
    assert_eq!(bench.owner(1), Some("bob"));
}

#[test]
fn only_members_that_troop_does_not_run_get_assignments_by_mail() {
    let mut bench = running();
    for subject in ["one", "two", "three"] {
        bench.lead().ok(create(subject));
    }
    bench.lead().ok(assign(1, "ann"));
    assert!(bench.unread("ann").is_empty());
    bench.system().ok(set_state("bob", MemberState::Stopped));
    bench.lead().ok(assign(2, "bob"));
    assert!(bench.unread("bob").is_empty(), "it is started, and gets the task over its connection");
    bench.system().ok(set_state("bob", MemberState::Stopped));
    bench.system().ok(Command::ReleaseLead);
    bench.lead().ok(assign(3, "bob"));
    assert_eq!(bench.unread("bob"), ["task-3 is yours: three"], "nobody leads");
}

#[test]
fn a_crash_leaves_completed_tasks_completed() {
    let mut bench = running();
    for _ in 1..=2 {
        bench.lead().ok(create("work"));
    }
    bench.member("ann").ok(claim(1));
    bench.member("ann").ok(complete(1));
    bench.member("ann").ok(claim(2));
    bench.system().ok(set_state("ann", MemberState::Crashed));
    assert_eq!((bench.status(1), bench.status(2)), (Status::Completed, Status::Pending));
    assert_eq!(bench.state.member(&name("ann")).unwrap().pid, None);
}

#[test]
fn only_running_members_can_be_interrupted() {
    let mut bench = running();
    let interrupt = |who| Command::InterruptMember { member: name(who), reason: None };
    assert_eq!(kinds(&bench.lead().ok(interrupt("ann"))), ["member.interrupted"]);
    bench.system().ok(set_state("ann", MemberState::Stopped));
    let refusal = bench.person().refused(interrupt("ann"));
    assert_eq!(refusal, "teammate `ann` is not running; it is stopped");
    let refusal = bench.member("bob").refused(interrupt("bob"));
    assert_eq!(refusal, "`bob` may not interrupt members; the lead or a person may");
}

/// A team in which `zoe` must plan first, and has asked for approval of its plan.
fn planning() -> (Bench, uuid::Uuid) {
    let mut bench = led();
    let member = crate::NewMember { permissions: Some(Permissions::Plan), ..newcomer("zoe") };
    bench.lead().ok(Command::SpawnMember(Spawn { member, prompt: None }));
    bench.system().ok(ready("zoe"));
    bench.lead().ok(create("one"));
    bench.member("zoe").ok(claim(1));
    bench.member("zoe").ok(send("lead", MessageKind::PlanApprovalRequest, "first this"));
    let request = *bench.state.requests().next().unwrap().0;
    (bench, request)
}

#[test]
fn a_member_in_plan_mode_changes_nothing_before_its_plan_is_approved() {
    let (mut bench, request) = planning();
    assert_eq!(state_of(&bench, "zoe"), MemberState::Planning);
    let wanted = "`zoe` is in plan mode; send its plan to the lead and wait for approval first";
    assert_eq!(bench.member("zoe").refused(complete(1)), wanted);
    let approved = answer("zoe", MessageKind::PlanApprovalResponse, request, true);
    bench.lead().ok(approved);
    assert_eq!(state_of(&bench, "zoe"), MemberState::Working);
    bench.member("zoe").ok(complete(1));
}

#[test]
fn a_rejected_plan_can_be_sent_again() {
    let (mut bench, request) = planning();
    assert_eq!(reason_of(&bench, "zoe"), Some("waits for approval of its plan"));
    bench.lead().ok(answer("zoe", MessageKind::PlanApprovalResponse, request, false));
    assert_eq!(state_of(&bench, "zoe"), MemberState::Planning);
    assert_eq!(reason_of(&bench, "zoe"), Some("its plan was rejected"), "it waits for no answer");
    assert!(matches!(bench.member("zoe").refusal(complete(1)), Refusal::PlanFirst { .. }));
    bench.member("zoe").ok(send("lead", MessageKind::PlanApprovalRequest, "then that"));
    let request = *bench.state.requests().next().unwrap().0;
    bench.lead().ok(answer("zoe", MessageKind::PlanApprovalResponse, request, true));
    bench.member("zoe").ok(complete(1));
}

fn reason_of<'a>(bench: &'a Bench, who: &str) -> Option<&'a str> {
    bench.state.member(&name(who)).unwrap().state_reason.as_deref()
}

#[test]
fn a_wider_mode_approves_the_open_plan() {
    let (mut bench, request) = planning();
    let mode = |permissions| Command::SetMemberMode { member: name("zoe"), permissions };
    bench.person().ok(mode(Permissions::Default));
    assert_eq!(state_of(&bench, "zoe"), MemberState::Working);
    assert_eq!(bench.state.requests().count(), 0, "the request is closed");
    let zoe = crate::Party::member(&name("zoe"));
    let told = bench.state.mailbox().unread_of(&zoe).last().unwrap();
    assert_eq!((told.kind, told.request_id), (MessageKind::PlanApprovalResponse, Some(request)));
    assert_eq!((told.approve, told.content.as_str()), (Some(true), "its mode is default"));
    let late = answer("zoe", MessageKind::PlanApprovalResponse, request, true);
    assert!(bench.person().refused(late).starts_with("there is no open request"));
    bench.member("zoe").ok(complete(1));
    assert!(bench.person().ok(mode(Permissions::Default)).is_empty(), "nothing changes");
}

#[test]
fn a_plan_left_open_by_an_old_log_can_be_approved() {
    let (mut bench, request) = planning();
    // As in logs from before a mode change answered the plan.
    let permissions = Permissions::Default;
    let fact = crate::Fact::MemberModeChanged { member: name("zoe"), permissions };
    let version = bench.state.version().next();
    let event = crate::Event { fact, version, ..bench.log.last().unwrap().clone() };
    bench.state.apply(&event);
    bench.lead().ok(answer("zoe", MessageKind::PlanApprovalResponse, request, true));
    assert_eq!(state_of(&bench, "zoe"), MemberState::Working);
}

#[test]
fn requests_of_an_interrupted_member_are_withdrawn() {
    let (mut bench, _) = planning();
    bench.member("zoe").ok(send("user", MessageKind::PermissionRequest, "may I?"));
    assert_eq!(bench.state.requests().count(), 2);
    bench.person().ok(Command::InterruptMember { member: name("zoe"), reason: None });
    assert_eq!(bench.state.requests().count(), 0);
    assert_eq!(state_of(&bench, "zoe"), MemberState::Planning, "it may still only plan");
    assert_eq!(reason_of(&bench, "zoe"), Some("interrupted"), "and waits for no answer");
}

#[test]
fn an_approved_plan_grants_the_leads_permissions() {
    let (mut bench, request) = planning();
    let permissions = Permissions::AcceptEdits;
    bench.by(Actor::human("pat")).ok(Command::SetMemberMode { member: name("lead"), permissions });
    bench.lead().ok(answer("zoe", MessageKind::PlanApprovalResponse, request, true));
    assert_eq!(bench.state.member(&name("zoe")).unwrap().permissions, permissions);
}

#[test]
fn an_idle_member_is_asked_once_about_its_task_and_then_its_attempt_fails() {
    let mut bench = Bench::new();
    bench.lead().ok(create("write"));
    bench.member("ann").ok(claim(1));
    assert_eq!(kinds(&bench.system().ok(silent("ann", 1, 1))), ["message.sent"]);
    assert_eq!(
        bench.unread("ann"),
        ["you hold task-1 but say that you are idle; report its state"]
    );
    let mut bench = Bench { state: reopened(&bench.state), ..bench };
    assert_eq!(kinds(&bench.system().ok(silent("ann", 1, 1))), ["task.failed"]);
    let reason = "ann says that it is idle but has not reported on task-1";
    assert_eq!(bench.task(1).result.as_deref(), Some(reason));
}

#[test]
fn a_member_that_reports_progress_may_be_silent_again() {
    let mut bench = Bench::new();
    bench.lead().ok(create("write"));
    bench.member("ann").ok(claim(1));
    bench.system().ok(silent("ann", 1, 1));
    bench.member("ann").ok(progress(1, 50));
    assert_eq!(kinds(&bench.system().ok(silent("ann", 1, 1))), ["message.sent"]);
}

#[test]
fn silence_is_reported_by_troop_and_about_the_holder_alone() {
    let mut bench = Bench::new();
    bench.lead().ok(create("write"));
    bench.member("ann").ok(claim(1));
    let refused = bench.member("bob").refused(silent("ann", 1, 1));
    assert_eq!(refused, "`bob` may not say that a member is silent; the supervisor may");
    let refused = bench.system().refused(silent("bob", 1, 1));
    assert_eq!(refused, "task-1 is not held by `bob` but by `ann`");
    let refused = bench.system().refused(silent("ann", 1, 2));
    assert!(refused.starts_with("task-1 has moved on"), "{refused}");
}

#[test]
fn a_team_does_not_start_with_more_teammates_than_may_run() {
    let settings = Settings { max_teammates: 2, ..Settings::default() };
    assert_eq!(check_start(&settings, 2), Ok(()));
    let refusal = check_start(&settings, 3).unwrap_err();
    let text = "3 members are to start, but at most 2 may run at once";
    assert_eq!(refusal.to_string(), text);
    let hint = refusal.hint().unwrap().to_string();
    assert_eq!(hint, "allow more: `--max-teammates 3`, or name fewer");
}
