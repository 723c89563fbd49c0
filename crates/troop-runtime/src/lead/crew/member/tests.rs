//! The explanation of a member's end.

use super::{MAX_WORDS, MemberExit, Obituary};

#[test]
fn an_end_is_explained_by_its_first_cause_or_else_by_its_exit() {
    let mut obituary = Obituary::default();
    assert_eq!(obituary.explain(&MemberExit::Task), "ended");
    obituary.set_cause("it was not ready in time");
    obituary.set_cause("it was silent");
    assert_eq!(obituary.explain(&MemberExit::Task), "it was not ready in time");
}

#[test]
fn an_end_is_explained_by_the_last_eight_complaints() {
    let mut obituary = Obituary::default();
    for number in 1..=10 {
        obituary.add_complaint(&format!("line {number}"));
    }
    let explained = obituary.explain(&MemberExit::Task);
    assert!(explained.starts_with("ended: line 3\nline 4\n"), "{explained}");
    assert!(explained.ends_with("line 10"), "{explained}");
}

#[test]
fn long_complaints_are_cut_at_their_beginning() {
    let mut obituary = Obituary::default();
    obituary.add_complaint(&format!("{}the end", "ä".repeat(MAX_WORDS)));
    let explained = obituary.explain(&MemberExit::Task);
    assert!(explained.starts_with("ended: …ä"), "{explained}");
    assert!(explained.ends_with("äthe end"), "{explained}");
    assert_eq!(explained.chars().count(), "ended: …".chars().count() + MAX_WORDS);
}

#[test]
fn the_machine_is_blamed_only_in_the_words_of_the_member() {
    let mut obituary = Obituary::default();
    obituary.set_cause("it said something that is no message: out of memory");
    assert!(!obituary.blames_machine());
    obituary.add_complaint("cannot write: No space left on device");
    obituary.add_complaint("giving up");
    assert!(obituary.blames_machine());
}
