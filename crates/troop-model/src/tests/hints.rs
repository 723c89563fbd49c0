//! Commands in hints are accepted.

use super::{
    bench::{Bench, name},
    commands::*,
};
use crate::{
    Actor, Command, Hint, HintCommand, HintTarget, HintWord, MemberState, Refusal, RefusalKind,
    TaskCommand, TaskUpdate,
};

type Deed = fn(&mut Bench);

/// How task 1 came into each status.
const STATUSES: [(&str, Deed); 8] = [
    ("pending", |_| {}),
    ("in progress", |it| drop(it.member("ann").ok(claim(1)))),
    ("in review", |it| {
        it.member("ann").ok(claim(1));
        it.member("ann").ok(review(1));
    }),
    ("completed", |it| drop(it.member("ann").ok(complete(1)))),
    ("failed", |it| {
        it.member("ann").ok(claim(1));
        it.person().ok(TaskCommand::Fail {
            task: task(1),
            reason: "no".into(),
            attempt: None,
            for_good: true,
        });
    }),
    ("cancelled", |it| drop(it.lead().ok(cancel(1)))),
    ("blocked", |it| {
        it.lead().ok(create("first"));
        let change = TaskUpdate { blocked_by: Some(vec![task(2)]), ..TaskUpdate::default() };
        it.lead().ok(update(1, change));
    }),
    ("reserved", |it| {
        let change = TaskUpdate { assignee: Some(Some(name("ann"))), ..TaskUpdate::default() };
        it.lead().ok(update(1, change));
    }),
];

/// Everything that can be done to task 1.
fn deeds() -> Vec<Command> {
    let reserve =
        |member| TaskUpdate { assignee: Some(Some(name(member))), ..TaskUpdate::default() };
    let orders = [
        claim(1),
        assign(1, "bob"),
        renew(1),
        release(1),
        complete(1),
        fail(1),
        review(1),
        approve(1),
        revise(1),
        cancel(1),
        retry(1),
        progress(1, 50),
        update(1, reserve("bob")),
        delete(1),
    ];
    let mut deeds: Vec<_> = orders.into_iter().map(Command::Task).collect();
    deeds.push(delegate(1, "bob"));
    deeds
}

/// The command of the rules that a hint's command line gives; none if it only shows something.
fn meant(command: &HintCommand) -> Option<Command> {
    let words: Vec<_> = command
        .words
        .iter()
        .map(|word| match word {
            HintWord::Exact(word) => word.as_str(),
            // A choice of the person.
            HintWord::Blank(_) => "bob",
            HintWord::Text(_) => "…",
        })
        .collect();
    let number = |text: &str| text.parse::<u32>().unwrap_or(1);
    Some(match words.as_slice() {
        ["task", "claim"] => claim_next().into(),
        ["task", "claim", at] => claim(number(at)).into(),
        ["task", "assign", at, to] => assign(number(at), to).into(),
        ["task", "release", at] => release(number(at)).into(),
        ["task", "retry", at] => retry(number(at)).into(),
        ["task", "approve", at] => approve(number(at)).into(),
        ["task", "reject", at] => reject(number(at)).into(),
        ["task", "delegate", at, "--to", to] => delegate(number(at), to),
        ["task", "update", at, "--unblock"] => {
            update(number(at), TaskUpdate { blocked_by: Some(vec![]), ..TaskUpdate::default() })
                .into()
        }
        ["task", "update", at, "--unassign"] => {
            update(number(at), TaskUpdate { assignee: Some(None), ..TaskUpdate::default() }).into()
        }
        ["task", "create", subject] => create(subject).into(),
        ["message", "send", to, text] => Command::Send(say(to, text)),
        ["team", "set", setting] => {
            let (name, value) = setting.split_once('=').unwrap();
            let value = serde_json::from_str(value).unwrap();
            Command::UpdateTeam { description: None, settings: vec![(name.to_owned(), value)] }
        }
        ["task", "get" | "list" | "graph" | "claim", ..]
        | ["member", "list" | "link" | "spawn" | "stop", ..]
        | ["team", "show" | "delegations" | "list", ..] => return None,
        other => panic!("`{}` is a hint that this test cannot follow", other.join(" ")),
    })
}

/// Follows the steps of a hint, one state for the alternatives, and the next for what comes after.
fn follow(team: &Bench, actor: &Actor, hint: &Hint) -> Result<(), Refusal> {
    let is_sequence = hint.to_string().contains(", then ");
    let mut state = team.clone();
    for step in hint.steps() {
        let Some(command) = meant(&step.command) else { continue };
        // A command without `--as` is a person's.
        let who = match step.command.target {
            HintTarget::Member => actor.clone(),
            HintTarget::Machine | HintTarget::Store | HintTarget::Team | HintTarget::NamedTeam => {
                Actor::human("pat")
            }
        };
        if !is_sequence {
            state = team.clone();
        }
        match state.by(who).decide(&command) {
            // Nothing else may be there.
            Ok(_) | Err(Refusal::NothingAvailable { .. }) => {}
            Err(refusal) => return Err(refusal),
        }
    }
    Ok(())
}

#[test]
fn commands_in_task_hints_are_accepted() {
    let actors =
        [Actor::agent(&name("ann")), Actor::agent(&name("bob")), Actor::agent(&name("lead"))];
    let actors = actors.into_iter().chain([Actor::human("pat")]);
    let actors: Vec<_> = actors.collect();
    let mut n_followed = 0;
    for (status, deed) in STATUSES {
        for actor in &actors {
            for command in deeds() {
                let mut team = Bench::new();
                team.lead().ok(create("work"));
                deed(&mut team);
                let Err(refusal) = team.clone().by(actor.clone()).decide(&command) else {
                    continue;
                };
                let Some(hint) = refusal.hint() else { continue };
                // An actor without permission asks another.
                if refusal.kind() == RefusalKind::Forbidden {
                    continue;
                }
                n_followed += 1;
                let followed = follow(&team, actor, &hint);
                assert!(
                    followed.is_ok(),
                    "{status}: {} gives {command:?} and is told: {refusal}; {hint}; following that: {}",
                    actor.name,
                    followed.unwrap_err()
                );
            }
        }
    }
    assert!(n_followed > 100, "{n_followed}");
}

#[test]
fn a_task_that_is_held_is_given_to_another_by_the_steps_of_the_hint() {
    for command in [
        Command::Task(assign(1, "bob")),
        delegate(1, "bob"),
        update(1, TaskUpdate { assignee: Some(Some(name("bob"))), ..TaskUpdate::default() }).into(),
    ] {
        let mut team = Bench::new();
        team.system().ok(take_lead(1, None));
        for member in ["ann", "bob"] {
            team.lead().ok(spawn(member));
            team.system().ok(ready(member));
        }
        team.lead().ok(create("work"));
        team.lead().ok(assign(1, "ann"));
        let refusal = team.lead().refusal(command);
        assert_eq!(
            refusal.to_string(),
            "task-1 cannot be given to `bob`: ann has held it since 10:00; take it back first"
        );
        assert_eq!(
            refusal.hint().unwrap().to_string(),
            "take it back: `troop task release 1`, then give it away: `troop task assign 1 bob`"
        );
        team.lead().ok(release(1));
        team.lead().ok(assign(1, "bob"));
        assert_eq!(team.owner(1), Some("bob"));
        let state = |member| team.state.member(&name(member)).unwrap().state;
        assert_eq!((state("ann"), state("bob")), (MemberState::Idle, MemberState::Working));
    }
}
