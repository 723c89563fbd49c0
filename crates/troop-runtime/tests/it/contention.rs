//! Contention: of many that want the same, one gets it and the others learn so.

use std::{collections::BTreeSet, sync::atomic::Ordering::SeqCst};

use troop_model::{
    Command, Fact, Refusal, State, TaskCommand, TaskNumber, Version, decode, encode,
};
use troop_runtime::{Board, CommandEffect, Following};
use troop_store::{AppendOutcome, Batch};
use troop_testkit::{TestStore, wait_for};

use crate::{
    probe::Probe,
    support::{
        LEAD, add_tasks, assert_is_the_log, by, claim, claim_next, claims, complete, create, crew,
        events, name, new_member, open, refusal, submit_all,
    },
};

on_every_store! {
    one_of_many_claims_wins,
    each_task_is_claimed_by_one_of_two_boards,
    boards_that_create_at_once_never_share_a_number,
    one_of_two_members_that_complete_a_pending_task_wins,
    a_claim_that_waited_for_the_lock_sees_the_other_claim,
    boards_that_change_different_settings_at_once_lose_none,
    an_answer_shows_what_its_own_command_did,
}

async fn one_of_many_claims_wins(store: TestStore) {
    let board = crew(store.store()).await;
    let members: Vec<String> = (0..64).map(|nth| format!("m{nth}")).collect();
    for member in &members {
        board.submit(by(LEAD, Command::AddMember(new_member(member)))).await.unwrap();
    }
    add_tasks(&board, 1).await;
    let answers = submit_all(&board, members.iter().map(|member| by(member, claim(1)))).await;
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!((won.len(), lost.len()), (1, 63));
    for answer in lost {
        let refusal = refusal(answer);
        assert!(matches!(refusal, Refusal::TaskHeld { .. }));
        assert!(refusal.to_string().contains("not available"), "{refusal}");
    }
    assert_eq!(claims(&events(&*store, board.team()).await).len(), 1);
    assert_is_the_log(&board, &*store).await;
}

async fn an_answer_shows_what_its_own_command_did(store: TestStore) {
    let [here, there] = two_boards(&store).await;
    add_tasks(&here, 1).await;
    let owner = |state: &State, _: CommandEffect| {
        let task = state.tasks().get(TaskNumber(1)).unwrap();
        (task.owner.as_ref().map(ToString::to_string), task.attempts)
    };
    let assign = |to: &str| {
        Command::Task(TaskCommand::Assign { task: Some(TaskNumber(1).into()), to: name(to) })
    };
    let reason = || "not now".to_owned();
    let release =
        || Command::Task(TaskCommand::Release { task: TaskNumber(1).into(), reason: reason() });
    // The other board's change has to be taken in first, so all three are decided twice, and appended in one step.
    there.submit(by(LEAD, create("more"))).await.unwrap();
    let first = here.give_and_look(by(LEAD, assign("bob")), owner).await.unwrap();
    let second = here.give_and_look(by(LEAD, release()), owner).await.unwrap();
    let third = here.give_and_look(by(LEAD, assign("cyd")), owner).await.unwrap();
    assert_eq!(first.done().await.unwrap(), (Some("bob".to_owned()), 1));
    assert_eq!(second.done().await.unwrap(), (None, 1));
    assert_eq!(third.done().await.unwrap(), (Some("cyd".to_owned()), 2));
    assert_is_the_log(&here, &*store).await;
}

/// Two boards that share nothing but the store.
async fn two_boards(store: &TestStore) -> [Board; 2] {
    let here = crew(store.store()).await;
    let there = open(store.reopen().await, here.team(), Following::WhenAsked).await;
    [here, there]
}

async fn each_task_is_claimed_by_one_of_two_boards(store: TestStore) {
    let [here, there] = two_boards(&store).await;
    let numbers = add_tasks(&here, 40).await;
    let (mut n_won, mut n_lost) = (0, 0);
    for number in &numbers {
        let (bob, cyd) = tokio::join!(
            here.submit(by("bob", claim(*number))),
            there.submit(by("cyd", claim(*number))),
        );
        for answer in [bob, cyd] {
            if answer.is_ok() {
                n_won += 1;
            } else {
                let refusal = refusal(answer);
                assert!(refusal.to_string().contains("not available"), "{refusal}");
                n_lost += 1;
            }
        }
    }
    assert_eq!((n_won, n_lost), (40, 40));
    let claimed: BTreeSet<u32> =
        claims(&events(&*store, here.team()).await).into_iter().map(|(task, _)| task).collect();
    assert_eq!(claimed.len(), 40);
    assert_is_the_log(&here, &*store).await;
    assert_is_the_log(&there, &*store).await;
}

async fn boards_that_create_at_once_never_share_a_number(store: TestStore) {
    let [here, there] = two_boards(&store).await;
    let third = open(store.reopen().await, here.team(), Following::Always).await;
    let (one, two, three) =
        tokio::join!(add_tasks(&here, 50), add_tasks(&there, 50), add_tasks(&third, 50));
    let mut numbers = [one, two, three].concat();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(1..=150));
    for board in [here, there, third] {
        assert_is_the_log(&board, &*store).await;
    }
}

async fn one_of_two_members_that_complete_a_pending_task_wins(store: TestStore) {
    let [here, there] = two_boards(&store).await;
    for number in add_tasks(&here, 10).await {
        // Across boards, and within one.
        let second = if number % 2 == 0 { &here } else { &there };
        let (bob, cyd) = tokio::join!(
            here.submit(by("bob", complete(number))),
            second.submit(by("cyd", complete(number))),
        );
        assert!(bob.is_ok() != cyd.is_ok(), "{bob:?} {cyd:?}");
        refusal(if bob.is_ok() { cyd } else { bob });
    }
    let is_completed = |fact: &Fact| matches!(fact, Fact::TaskCompleted { .. });
    let log = events(&*store, here.team()).await;
    assert_eq!(log.iter().filter(|event| is_completed(&event.fact)).count(), 10);
}

/// The read, the check and the write of a claim are one step under the store's lock.
async fn a_claim_that_waited_for_the_lock_sees_the_other_claim(store: TestStore) {
    let board = crew(store.store()).await;
    add_tasks(&board, 2).await;
    let made = board.submit(by("bob", claim(1))).await.unwrap().events[0].clone();
    let release =
        TaskCommand::Release { task: crate::support::numbered(1), reason: "again".to_owned() };
    board.submit(by("bob", Command::Task(release))).await.unwrap();

    // Another writer holds the lock: an append that was behind gets the slot.
    let other = store.reopen().await;
    let stale = Batch {
        operation: troop_model::OperationId(uuid()),
        after: Version(1),
        bodies: vec![encode(&made)],
    };
    let AppendOutcome::Behind(mut turn) = other.append(board.team(), stale.clone()).await.unwrap()
    else {
        panic!("the append was not behind");
    };
    let last = turn.take_missed().last().unwrap().clone();

    let probe = Probe::new(store.reopen().await);
    let waiting = open(probe.clone(), board.team(), Following::WhenAsked).await;
    let waits = tokio::join!(waiting.submit(by("cyd", claim(1))), async {
        wait_for("the second claim to wait", async || {
            (probe.n_appends.load(SeqCst) == 1).then_some(())
        })
        .await;
        let mut claimed = decode(&last.body).unwrap();
        claimed.version = last.version.next();
        claimed.operation = troop_model::OperationId(uuid());
        claimed.fact = made.fact.clone();
        let batch = Batch { after: last.version, bodies: vec![encode(&claimed)], ..stale };
        turn.append(batch).await.unwrap();
    });
    assert!(matches!(refusal(waits.0), Refusal::TaskHeld { .. }));
    let moved_on = waiting.submit(by("cyd", claim_next())).await.unwrap();
    assert_eq!(moved_on.task(), Some(TaskNumber(2)));
    // The board has lost nothing that it knew before.
    board.submit(by(LEAD, create("more"))).await.unwrap();
    assert_is_the_log(&board, &*store).await;
}

async fn boards_that_change_different_settings_at_once_lose_none(store: TestStore) {
    let [here, there] = two_boards(&store).await;
    let set = |key: &str, value: u32| {
        let settings = vec![(key.to_owned(), value.into())];
        by(LEAD, Command::UpdateTeam { description: None, settings })
    };
    for value in 1..=20 {
        let (ours, theirs) = tokio::join!(
            here.submit(set("lease_seconds", value)),
            there.submit(set("delegation.max_per_link", value)),
        );
        assert_eq!((ours.unwrap().events.len(), theirs.unwrap().events.len()), (1, 1));
        assert_is_the_log(&here, &*store).await;
        let team = crate::support::state_of(&here).await.team().unwrap().clone();
        let (lease, width) = (team.settings.lease_seconds, team.settings.delegation.max_per_link);
        assert_eq!((lease, width), (value, value));
    }
}

fn uuid() -> uuid::Uuid {
    uuid::Uuid::now_v7()
}
