//! Proof: a task with checks is done only after they have passed.

use uuid::Uuid;

use super::{
    bench::{Bench, TEN, kinds, newcomer, reopened},
    commands::*,
};
use crate::{
    Command, Evidence, Fact, MAX_TAIL, MergeRecord, NewMember, NewTask, Proof, RefusedBy, Status,
    TaskCommand, TaskCreation, TaskUpdate, TrailKind, decode,
};

fn evidence(command: &str, exit_code: i32) -> Evidence {
    Evidence {
        command: command.to_owned(),
        exit_code,
        tail: "2 tests, all well".to_owned(),
        commit: Some("abc".to_owned()),
        at: TEN,
        took_ms: 40,
    }
}

fn prove(number: u32, evidence: Vec<Evidence>) -> TaskCommand {
    TaskCommand::Prove(Proof::new(task(number), evidence, None))
}

fn waive(number: u32) -> TaskCommand {
    let waived = Some("the machine is on fire".to_owned());
    TaskCommand::Prove(Proof { task: task(number), evidence: Vec::new(), merge: None, waived })
}

/// A team with a check, and a task with another, held by ann.
fn checked() -> Bench {
    let mut team = Bench::with(|settings| settings.checks = vec!["make lint".to_owned()]);
    let checks = vec!["make test".to_owned(), "make lint".to_owned()];
    team.lead().ok(TaskCommand::Create(NewTask { checks, ..create("write") }));
    team.member("ann").ok(claim(1));
    team
}

#[test]
fn a_task_is_not_done_before_its_checks_have_passed() {
    let mut team = checked();
    let both = "task-1 is not proved: `make lint`, `make test` must pass first; fix what is wrong and complete it again, and troop will run the checks";
    assert_eq!(team.member("ann").refused(complete(1)), both);
    assert_eq!(team.person().refused(complete(1)), both);
    team.system().ok(prove(1, vec![evidence("make lint", 0), evidence("make test", 1)]));
    assert_eq!((team.task(1).proof.n_failed, team.status(1)), (1, Status::InProgress));
    let refused = team.member("ann").refused(complete(1));
    assert!(refused.starts_with("task-1 is not proved: `make test` must"), "{refused}");
    team.system().ok(prove(1, vec![evidence("make lint", 0), evidence("make test", 0)]));
    team.member("ann").ok(complete(1));
    let done = team.task(1);
    assert_eq!(
        (done.status, done.proof.evidence.len(), done.proof.n_failed),
        (Status::Completed, 2, 1)
    );
}

#[test]
fn the_leads_configured_checks_must_pass_while_it_leads() {
    let mut team = checked();
    let checks = vec!["make lint".to_owned(), "make docs".to_owned()];
    let take = |checks| Command::TakeLead {
        session: Uuid::from_u128(1),
        holder: "pat".to_owned(),
        over: None,
        checks,
    };
    let refused = team.system().refused(take(vec![" ".to_owned()]));
    assert!(refused.starts_with("the check is empty"), "{refused}");
    team.system().ok(take(checks));
    let three = "task-1 is not proved: `make lint`, `make docs`, `make test` must pass first";
    let refused = team.member("ann").refused(complete(1));
    assert!(refused.starts_with(three), "{refused}");
    team.system().ok(prove(1, vec![evidence("make lint", 0), evidence("make test", 0)]));
    team.member("ann").refused(complete(1));
    team.system().ok(Command::ReleaseLead);
    team.member("ann").ok(complete(1));
}

#[test]
fn members_cannot_record_proof_themselves() {
    let mut team = checked();
    for who in ["ann", "bob", "lead"] {
        let refused = team.member(who).refused(prove(1, vec![evidence("make test", 0)]));
        let says = "may not say that checks passed; troop itself";
        assert!(refused.contains(says), "{refused}");
    }
}

#[test]
fn a_person_can_waive_checks_with_a_reason() {
    let mut team = checked();
    assert!(team.system().refused(waive(1)).contains("may not do without checks; a person may"));
    team.person().ok(waive(1));
    team.person().ok(complete(1));
    assert_eq!(team.task(1).proof.waived.as_deref(), Some("the machine is on fire"));
    let trail = &team.task(1).trail;
    assert!(
        trail.iter().any(|it| it.note.as_deref() == Some("not checked: the machine is on fire"))
    );
}

#[test]
fn refusals_are_in_the_trail_of_their_task() {
    let mut team = checked();
    let events = team.system().ok(refusal(Some(1), "the tests fail"));
    assert_eq!(kinds(&events), ["task.refused"]);
    let last = team.task(1).trail.last().unwrap();
    assert_eq!(last.note.as_deref(), Some("ann by a hook: the tests fail"));
    assert_eq!((last.what, team.status(1)), (TrailKind::Refused, Status::InProgress));
    let before = team.task(1).clone();
    team.system().ok(refusal(None, "no such tasks"));
    assert_eq!(*team.task(1), before, "a refused creation is about no task");
    let refused = team.person().refused(refusal(Some(1), "I said so"));
    assert!(refused.contains("may not say what was refused; the supervisor may"), "{refused}");
}

#[test]
fn proof_does_not_carry_over_to_the_next_attempt() {
    let mut team = checked();
    team.system().ok(prove(1, vec![evidence("make lint", 0), evidence("make test", 0)]));
    team.member("ann").ok(release(1));
    assert!(team.member("bob").refused(complete(1)).starts_with("task-1 is not proved"));
}

#[test]
fn a_result_is_approved_when_its_checks_have_passed() {
    let mut team = checked();
    team.member("ann").ok(review(1));
    assert!(team.lead().refused(approve(1)).starts_with("task-1 is not proved"));
    team.system().ok(prove(1, vec![evidence("make lint", 0), evidence("make test", 0)]));
    team.lead().ok(approve(1));
    assert_eq!(team.status(1), Status::Completed);
}

#[test]
fn a_result_that_was_sent_back_needs_new_proof() {
    let mut team = checked();
    team.member("ann").ok(review(1));
    team.system().ok(prove(1, vec![evidence("make lint", 0), evidence("make test", 0)]));
    team.lead().ok(revise(1));
    assert_eq!(team.task(1).proof.evidence, []);
}

#[test]
fn check_output_is_cut_to_its_end_without_control_characters() {
    let mut team = checked();
    let tail = format!("{}\u{1b}[2Jthe end\n", "ä".repeat(MAX_TAIL));
    team.system().ok(prove(1, vec![Evidence { tail, ..evidence("make test", 1) }]));
    let kept = &team.task(1).proof.evidence[0].tail;
    assert!(kept.ends_with("ä[2Jthe end\n"), "{kept}");
    assert!(kept.chars().count() <= MAX_TAIL);
    let tail = "x".repeat(100 * MAX_TAIL);
    let refused = team.system().refused(prove(1, vec![Evidence { tail, ..evidence("make", 1) }]));
    assert!(refused.starts_with("the tail has 409600 characters; the limit is 4096"), "{refused}");
}

#[test]
fn a_task_records_where_its_work_was_merged() {
    let mut team = checked();
    let merge = Some(MergeRecord { into: "troop/demo".to_owned(), commit: "abc".to_owned() });
    let proof = Proof::new(task(1), Vec::new(), merge.clone());
    let events = team.system().ok(TaskCommand::Prove(proof));
    assert_eq!(kinds(&events), ["task.merged"]);
    assert_eq!(team.task(1).proof.merged, merge);
}

#[test]
fn work_completed_without_a_lead_is_merged_once_by_the_next_lead() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.member("ann").ok(claim(1));
    team.member("ann").ok(complete(1));
    let merged = || {
        let merge = Some(MergeRecord { into: "troop/demo".to_owned(), commit: "abc".to_owned() });
        let evidence = vec![evidence("make test", 0)];
        TaskCommand::Prove(Proof::new(task(1), evidence, merge))
    };
    assert!(team.person().refused(merged()).contains("is completed"));
    team.system().ok(merged());
    let done = team.task(1);
    assert_eq!((done.status, done.proof.evidence.len()), (Status::Completed, 1));
    assert!(done.proof.merged.is_some());
    assert!(team.system().refused(merged()).contains("is completed"));
}

#[test]
fn members_cannot_name_checks() {
    let mut team = Bench::with(|settings| settings.task_creation = TaskCreation::Members);
    let new = NewTask { checks: vec!["rm -rf /".to_owned()], ..create("write") };
    let refused = team.member("ann").refused(TaskCommand::Create(new));
    let says = "`ann` may not say what is run to check tasks; the lead or a person may";
    assert_eq!(refused, says);
    team.member("ann").ok(create("mine"));
    let change = TaskUpdate { checks: Some(Vec::new()), ..TaskUpdate::default() };
    assert_eq!(team.member("ann").refused(update(1, change)), says);
}

#[test]
fn checks_are_named_changed_and_bounded() {
    let mut team = checked();
    let named = |checks: Vec<String>| TaskUpdate { checks: Some(checks), ..TaskUpdate::default() };
    team.lead().ok(update(1, named(vec!["make a".into(), "make a".into()])));
    assert_eq!(team.task(1).proof.checks, ["make a"]);
    let many = (0..21).map(|nth| format!("make {nth}")).collect();
    assert_eq!(
        team.lead().refused(update(1, named(many))),
        "a task takes at most 20 checks, not 21"
    );
    let refused = team.lead().refused(update(1, named(vec!["make\nlove".into()])));
    assert_eq!(refused, "the check contains the unprintable character U+000A");
    team.lead().ok(update(1, named(Vec::new())));
    let settings = vec![("checks".to_owned(), serde_json::json!([""]))];
    let refused = team.person().refused(Command::UpdateTeam { description: None, settings });
    assert_eq!(refused, "`checks` cannot be that: the check is empty");
}

/// A team in which `ann` has claimed task 1.
fn at_work() -> Bench {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.member("ann").ok(claim(1));
    team
}

#[test]
fn five_refused_completions_fail_an_attempt_whatever_refused_them() {
    let mut team = at_work();
    let by = [RefusedBy::Hook, RefusedBy::Checks, RefusedBy::Merge, RefusedBy::Board];
    for by in by {
        assert_eq!(kinds(&team.system().ok(not_done(1, 1, by))), ["task.refused"]);
    }
    assert_eq!((team.status(1), team.task(1).proof.n_refusals), (Status::InProgress, 4));
    let events = team.system().ok(not_done(1, 1, RefusedBy::Hook));
    assert_eq!(kinds(&events), ["task.refused", "task.failed"]);
    let details = "it does not fit: both change `a.txt`";
    assert_eq!(team.task(1).result.as_deref(), Some(details));
    assert!(team.task(1).start.not_before.is_some(), "another attempt follows");
}

#[test]
fn refusals_are_counted_even_if_another_lead_takes_over() {
    let mut team = at_work();
    for _ in 0..4 {
        team.system().ok(not_done(1, 1, RefusedBy::Merge));
    }
    let mut team = Bench { state: reopened(&team.state), ..team };
    let take = Command::TakeLead {
        session: Uuid::from_u128(2),
        holder: "pat".to_owned(),
        over: None,
        checks: Vec::new(),
    };
    team.system().ok(take);
    team.system().ok(not_done(1, 1, RefusedBy::Merge));
    assert_eq!(team.status(1), Status::Failed);
}

#[test]
fn a_new_attempt_begins_without_refusals() {
    let mut team = at_work();
    for _ in 0..4 {
        team.system().ok(not_done(1, 1, RefusedBy::Checks));
    }
    team.member("ann").ok(release(1));
    team.member("bob").ok(claim(1));
    team.system().ok(not_done(1, 2, RefusedBy::Checks));
    assert_eq!((team.status(1), team.task(1).proof.n_refusals), (Status::InProgress, 1));
}

#[test]
fn only_the_current_attempt_of_a_held_task_is_refused() {
    let mut team = at_work();
    team.member("ann").ok(release(1));
    let refused = team.system().refused(not_done(1, 1, RefusedBy::Hook));
    assert_eq!(refused, "task-1 is pending, so it cannot be completed");
    team.member("bob").ok(claim(1));
    let refused = team.system().refused(not_done(1, 1, RefusedBy::Hook));
    assert!(refused.starts_with("task-1 has moved on: it is in attempt 2"), "{refused}");
}

#[test]
fn refusals_of_anything_but_a_completion_do_not_count() {
    let mut team = at_work();
    for _ in 0..9 {
        team.system().ok(refusal(Some(1), "not in this way"));
    }
    assert_eq!((team.status(1), team.task(1).proof.n_refusals), (Status::InProgress, 0));
}

/// A team in which `make`, which only runs commands, has claimed task 1.
fn command_at_work() -> Bench {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    let make = NewMember { agent: "command".into(), ..newcomer("make") };
    team.lead().ok(Command::AddMember(make));
    team.member("make").ok(claim(1));
    team
}

#[test]
fn an_agent_that_cannot_repair_its_work_fails_at_the_first_refusal() {
    let mut team = command_at_work();
    let events = team.system().ok(not_done(1, 1, RefusedBy::Checks));
    assert_eq!(kinds(&events), ["task.refused", "task.failed"]);
}

#[test]
fn a_result_that_troop_sends_back_fails_if_its_agent_cannot_repair_it() {
    let mut team = command_at_work();
    team.member("make").ok(review(1));
    let events = team.system().ok(revise(1));
    assert_eq!(kinds(&events), ["task.rejected", "message.sent", "task.failed"]);

    let mut team = command_at_work();
    team.member("make").ok(review(1));
    team.person().ok(revise(1));
    assert_eq!(team.status(1), Status::InProgress, "a person may still send it back");
}

#[test]
fn refusals_of_older_logs_are_read() {
    let line = r#"{"version":1,"schema":2,"at":"2026-01-02T10:00:00Z","actor":{"kind":"system","name":"system"},"operation":"01900000-0000-0000-0000-000000000001","kind":"task.refused","task":1,"who":{"kind":"agent","name":"ann"},"by":"hook","reason":"no"}"#;
    let event = decode(line).unwrap();
    let Fact::TaskRefused { attempt, by, .. } = event.fact else { panic!("{event:?}") };
    assert_eq!((attempt, by), (None, RefusedBy::Hook));
}
