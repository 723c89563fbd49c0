//! One round of a merge, from facts to the next step.

use troop_model::{Evidence, Time};

use crate::isolation::{
    merge::{Merge, MergeOutcome, WorkReport},
    refusal::{Conflict, MergeRefusal},
    rules::{ForkPoint, MergeFacts, MergeStep, MergeTrial, merge_step},
};

pub(super) fn evidence(exit_code: i32) -> Evidence {
    Evidence {
        command: "make".to_owned(),
        exit_code,
        tail: String::new(),
        commit: None,
        at: Time::from_micros(0),
        took_ms: 0,
    }
}

fn trial(merged: Result<&str, Conflict>) -> MergeTrial {
    let fork = ForkPoint { team: "t".to_owned(), base: "b".to_owned() };
    MergeTrial { own: "o".to_owned(), fork, merged: merged.map(str::to_owned) }
}

fn refused(why: MergeRefusal) -> MergeStep {
    MergeStep::End(why.into())
}

#[test]
fn a_result_is_checked_where_it_is_checked_out_and_then_the_branch_moves() {
    let mut facts = MergeFacts::new("troop/crew", trial(Ok("m")), true);
    assert_eq!(merge_step(&facts), MergeStep::Forward("m".to_owned()));
    facts.is_forwarded = true;
    assert_eq!(merge_step(&facts), MergeStep::Check("m".to_owned()));
    facts.evidence = Some(vec![evidence(0)]);
    assert_eq!(merge_step(&facts), MergeStep::AskWanted);
    facts.is_wanted = Some(true);
    let advance = MergeStep::Advance { from: "t".to_owned(), to: "m".to_owned() };
    assert_eq!(merge_step(&facts), advance);
    facts.is_moved = Some(false);
    assert_eq!(merge_step(&facts), MergeStep::Again("o".to_owned()), "somebody was first");
    facts.is_moved = Some(true);
    let merge = Merge { into: "troop/crew".to_owned(), commit: "m".to_owned(), is_new: true };
    let outcome = MergeOutcome::Merged(merge);
    let report = WorkReport { outcome, evidence: vec![evidence(0)] };
    assert_eq!(merge_step(&facts), MergeStep::End(report));
}

#[test]
fn without_checks_the_branch_moves_at_once() {
    let mut facts = MergeFacts::new("troop/crew", trial(Ok("m")), false);
    assert_eq!(merge_step(&facts), MergeStep::AskWanted);
    facts.is_wanted = Some(true);
    assert!(matches!(merge_step(&facts), MergeStep::Advance { .. }));
}

#[test]
fn work_that_the_branch_has_already_moves_nothing() {
    let mut facts = MergeFacts::new("troop/crew", trial(Ok("t")), false);
    facts.is_wanted = Some(true);
    let merge = Merge { into: "troop/crew".to_owned(), commit: "t".to_owned(), is_new: false };
    let outcome = MergeOutcome::Merged(merge);
    assert_eq!(merge_step(&facts), MergeStep::End(WorkReport { outcome, evidence: Vec::new() }));
}

#[test]
fn a_merge_is_refused_for_conflicts_failed_checks_and_lost_interest() {
    let conflict = Conflict { with: "troop/crew".to_owned(), files: Vec::new(), tasks: Vec::new() };
    let facts = MergeFacts::new("troop/crew", trial(Err(conflict.clone())), true);
    assert_eq!(merge_step(&facts), refused(MergeRefusal::Conflict(conflict)));
    let mut facts = MergeFacts::new("troop/crew", trial(Ok("o")), true);
    assert_eq!(merge_step(&facts), MergeStep::Check("o".to_owned()), "it is checked out already");
    facts.evidence = Some(vec![evidence(1)]);
    let outcome = MergeOutcome::Not(MergeRefusal::Unproved);
    let unproved = WorkReport { outcome, evidence: vec![evidence(1)] };
    assert_eq!(merge_step(&facts), MergeStep::End(unproved));
    facts.is_over = true;
    assert_eq!(merge_step(&facts), refused(MergeRefusal::Unwanted), "broken off");
    let mut facts = MergeFacts::new("troop/crew", trial(Ok("m")), false);
    facts.is_wanted = Some(false);
    assert_eq!(merge_step(&facts), refused(MergeRefusal::Unwanted));
}
