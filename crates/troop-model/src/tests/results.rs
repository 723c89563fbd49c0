//! Results of members that troop runs: the lead hears each once, in the conversation of its task.

use super::{
    bench::{Bench, party, user},
    commands::*,
};
use crate::{Actor, Command, Dialect, MemberState, Message, MessageKind, Notice, Origin, Settings};

/// A led team in which `ann` and `bob` run, with the default settings of a dialect.
fn running(dialect: Dialect) -> Bench {
    let mut team = Bench::with(|settings| *settings = Settings::for_dialect(dialect));
    team.system().ok(take_lead(1, None));
    for member in ["ann", "bob"] {
        team.lead().ok(spawn(member));
        team.system().ok(ready(member));
    }
    team
}

/// The texts of all notices about results that the lead has not read.
fn results(team: &Bench) -> Vec<String> {
    let lead = party("lead");
    let unread = team.mailbox().unread_of(&lead);
    let is_result = |it: &&Message| {
        it.notice == Some(Notice::Result) || it.kind == MessageKind::Idle && it.task.is_some()
    };
    unread.filter(is_result).map(|it| it.content.clone()).collect()
}

/// The lead was handed everything that waits for it.
fn hand_over(team: &mut Bench) {
    let messages = team.mailbox().unread_of(&party("lead")).map(|it| it.id).collect();
    team.lead().ok(Command::MarkDelivered { reader: None, messages });
}

#[test]
fn the_lead_hears_of_every_result_of_a_member_that_goes_straight_on() {
    let mut team = running(Dialect::Claude);
    for subject in ["one", "two", "three"] {
        team.lead().ok(create(subject));
    }
    team.system().ok(idle("ann", None));
    for n in 1..=3 {
        team.member("ann").ok(complete_with(n, &format!("result {n}")));
        hand_over(&mut team);
        team.system().ok(idle("ann", Some(n)));
    }
    assert_eq!(
        results(&team),
        [
            "ann has finished task-1; it is completed: result 1",
            "ann has finished task-2; it is completed: result 2",
            "ann is idle; task-3 is completed: result 3",
        ]
    );
}

#[test]
fn a_long_result_is_cut_in_its_notice_with_a_mark_that_says_where_the_rest_is() {
    let mut team = running(Dialect::Claude);
    for subject in ["one", "two"] {
        team.lead().ok(create(subject));
    }
    team.system().ok(idle("ann", None));
    for n in 1..=2 {
        team.member("ann").ok(complete_with(n, &"é".repeat(3_000)));
    }
    team.system().ok(idle("ann", Some(2)));
    let told = results(&team);
    assert_eq!(told.len(), 2, "one by itself and one with the idle report");
    for (n, text) in (1..).zip(told) {
        assert!(text.ends_with(&format!("é\n… 1000 more characters: get task-{n}")), "{text}");
    }
}

#[test]
fn results_that_wait_for_the_lead_come_together_but_each_conversation_alone() {
    let mut team = running(Dialect::Claude);
    let one = user("u1", "telegram", "c1");
    let other = user("u2", "telegram", "c2");
    for origin in [&one, &other, &one, &one] {
        team.lead().from(origin.clone()).ok(create("work"));
    }
    for n in 1..=4 {
        team.member("ann").ok(claim(n));
        team.member("ann").ok(complete_with(n, &format!("result {n}")));
    }
    team.system().ok(idle("ann", Some(4)));
    let told = |origin: &Origin| {
        let lead = party("lead");
        let unread = team.mailbox().unread_of(&lead);
        unread.filter(|it| it.origin == *origin).map(|it| it.content.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        told(&one),
        [
            "ann has finished task-1; it is completed: result 1\n\
             ann has finished task-3; it is completed: result 3",
            "ann is idle; task-4 is completed: result 4",
        ]
    );
    assert_eq!(told(&other), ["ann has finished task-2; it is completed: result 2"]);
}

#[test]
fn a_result_is_announced_once_however_its_member_ends_and_whichever_process_leads() {
    type Deed = fn(&mut Bench);
    let ends: [(&str, Deed); 6] = [
        ("it crashes", |it| drop(it.system().ok(set_state("ann", MemberState::Crashed)))),
        ("it stops", |it| drop(it.system().ok(set_state("ann", MemberState::Stopped)))),
        ("it is removed", |it| drop(it.lead().ok(remove("ann")))),
        ("another lead takes over", |it| drop(it.system().ok(take_lead(2, Some(1))))),
        ("it is silent", |it| drop(it.at(5).tick())),
        ("it says that it is idle", |it| drop(it.system().ok(idle("ann", Some(1))))),
    ];
    for dialect in [Dialect::Board, Dialect::Claude] {
        for (how, deed) in ends {
            let mut team = running(dialect);
            team.lead().ok(create("work"));
            team.member("ann").ok(claim(1));
            team.member("ann").ok(complete_with(1, "the result"));
            assert!(results(&team).is_empty(), "{how}: its idle report may come at any moment");
            deed(&mut team);
            let [told] = results(&team).try_into().unwrap_or_else(|all| panic!("{how}: {all:?}"));
            assert!(told.contains("the result"), "{how}: {told}");
            hand_over(&mut team);
            for (_, again) in ends.iter().filter(|(it, _)| *it == "it is silent") {
                again(&mut team);
            }
            let fence = team.state.team().unwrap().n_leads;
            team.system().ok(take_lead(3, Some(fence)));
            assert_eq!(results(&team).len(), 1, "{how}: not again");
        }
    }
}

#[test]
fn results_of_delegations_and_of_people_are_not_told_twice() {
    let mut team = running(Dialect::Board);
    for subject in ["one", "two", "three"] {
        team.lead().ok(create(subject));
    }
    team.lead().ok(delegate(1, "ann"));
    team.member("ann").ok(complete(1));
    team.member("bob").ok(claim(2));
    team.by(Actor::human("pat")).ok(complete(2));
    for member in ["ann", "bob"] {
        team.system().ok(set_state(member, MemberState::Crashed));
    }
    assert!(results(&team).is_empty(), "{:?}", results(&team));
    assert_eq!(team.unread("lead").iter().filter(|it| it.contains("you delegated")).count(), 1);
}
