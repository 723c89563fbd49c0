//! Snapshots: a packed state is the state, however much of it is unpacked.

use super::{
    bench::{Bench, newcomer, number, reopened, user},
    commands::*,
};
use crate::{Command, DelegationOutcome, MessageKind, SNAPSHOT_FORMAT, State};

/// Enough tasks that the live ones are packed in more than one leaf.
const LAST: u32 = 40;

/// A state with something of everything in it.
fn rich() -> Bench {
    let mut team = Bench::new();
    team.lead().from(user("u1", "telegram", "c1")).ok(create("one"));
    team.lead().ok(create_after("two", &[1]));
    team.lead().ok(create_for("three", "bob"));
    team.lead().ok(Command::AddMember(newcomer("eve")));
    team.at(1).member("ann").ok(claim(1));
    team.member("ann").ok(ask_user(1));
    team.member("ann").ok(used("ann", Some(1), 7, 0.5));
    team.member("ann").ok(progress(1, 30));
    team.member("ann").ok(comment(1, "hm"));
    team.member("ann").ok(attach(1, "a.txt"));
    team.member("ann").ok(record("b.txt", 3, Some(1)));
    team.lead().ok(say("*", "all hands"));
    team.member("bob").ok(read_all());
    team.lead().ok(send("ann", MessageKind::ShutdownRequest, ""));
    let events = team.lead().ok(delegate(3, "bob"));
    let id = team.state.delegations().next().unwrap().id;
    assert_eq!(events.len(), 3);
    team.system().ok(finish(id, DelegationOutcome::Completed("done".into())));
    for n in 4..=LAST {
        team.lead().ok(create("more"));
        team.at(u64::from(n) / 4).member("bob").ok(complete(n));
    }
    team.lead().ok(create("cancelled"));
    team.lead().ok(cancel(LAST + 1));
    team.lead().ok(delete(LAST));
    team
}

#[test]
fn a_state_survives_being_packed() {
    for team in [Bench::empty(), Bench::new(), rich()] {
        let opened = reopened(&team.state);
        assert_eq!(opened, team.state);
        opened.check();
    }
}

#[test]
fn repacking_an_unchanged_snapshot_gives_the_same_bytes() {
    let bytes = rich().state.to_snapshot();
    let untouched = State::from_snapshot(bytes.clone()).unwrap();
    assert!(untouched.to_snapshot() == bytes, "nothing unpacked");
    let touched = State::from_snapshot(bytes.clone()).unwrap();
    assert!(touched.tasks().get(number(1)).is_some());
    touched.mailbox().iter().count();
    assert!(touched.to_snapshot() == bytes, "partly unpacked");
    assert_eq!(touched, untouched);
}

#[test]
fn a_restored_state_behaves_like_the_original() {
    let mut team = rich();
    let mut opened = Bench { state: reopened(&team.state), ..team.clone() };
    for bench in [&mut team, &mut opened] {
        bench.member("ann").ok(complete(1));
        bench.member("bob").ok(claim_next());
        bench.member("ann").ok(read_all());
        bench.lead().ok(create("next"));
        bench.tick();
    }
    assert_eq!(opened.log, team.log);
    assert_eq!(opened.state, team.state);
    assert_eq!(reopened(&opened.state), team.state);
}

#[test]
fn changes_are_rolled_back_whether_packed_or_not() {
    let original = rich();
    for state in [original.state.clone(), reopened(&original.state)] {
        let mut team = Bench { state, ..original.clone() };
        let departed = team.state.tasks().all_departed().to_vec();
        team.state.begin();
        team.member("ann").ok(complete(1));
        team.member("ann").ok(complete(2));
        team.lead().ok(delete(1));
        team.member("ann").ok(read_all());
        team.lead().ok(create_after("new", &[2]));
        team.lead().ok(remove("ann"));
        team.lead().ok(Command::CompleteTeam);
        team.state.rollback();
        assert_eq!(team.state, original.state);
        team.state.check();
        assert_eq!(team.state.tasks().all_departed(), departed);
    }
}

#[test]
fn archiving_is_not_rolled_back() {
    let mut team = rich();
    let n_departed = team.state.tasks().all_departed().len();
    assert!(n_departed > 0);
    team.state.begin();
    team.state.forget_departed(n_departed);
    let archived = team.state.clone();
    team.state.rollback();
    assert_eq!(team.state, archived);
    assert!(team.state.tasks().all_departed().is_empty());
}

#[test]
fn invalid_snapshot_bytes_are_refused() {
    let bytes = rich().state.to_snapshot();
    let mut other_format = bytes.clone();
    other_format[0] = other_format[0].wrapping_add(1);
    let mut longer = bytes.clone();
    longer.push(0);
    let cut = bytes[..bytes.len() - 1].to_vec();
    for bytes in
        [vec![], vec![1, 0], SNAPSHOT_FORMAT.to_le_bytes().to_vec(), other_format, longer, cut]
    {
        let error = State::from_snapshot(bytes).unwrap_err();
        assert_eq!(error.to_string(), format!("the snapshot is not of format {SNAPSHOT_FORMAT}"));
    }
    for end in 0..200 {
        assert!(State::from_snapshot(bytes[..end].to_vec()).is_err());
    }
}

/// A short hash of all bytes (FNV-1a), enough to detect a change.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[test]
fn the_snapshot_layout_changes_only_with_its_format_number() {
    let bytes = rich().state.to_snapshot();
    let found = format!("format {SNAPSHOT_FORMAT}: {} bytes, {:016x}", bytes.len(), sum(&bytes));
    assert_eq!(
        found, "format 15: 3941 bytes, 67f5a6e1c62ec76d",
        "The bytes of a snapshot changed. If its layout did (a field more, fewer or moved in anything that a \
         snapshot holds), raise SNAPSHOT_FORMAT, so that old snapshots are replayed instead of misread. If only \
         the story of this test or the limits did, take over the new line."
    );
}
