//! Which member loses a task by an event.

use std::time::Duration;

use troop_model::{Command, Event, RejectMode, TaskCommand};

use super::{Loss, by_others, by_silence, changes_team, frees_folder};
use crate::lead::policy::table::{SmallTeam, complete, name, task, task_ref};

/// A team in which `ann` works on task 1.
fn at_work() -> SmallTeam {
    let mut scene = SmallTeam::new();
    scene.adds(|_| {});
    scene.claims("ann", 1);
    scene
}

fn release() -> TaskCommand {
    TaskCommand::Release { task: task_ref(1), reason: "later".to_owned() }
}

fn cancel() -> TaskCommand {
    TaskCommand::Cancel { task: task_ref(1), reason: "no need".to_owned() }
}

/// The losses that the events of a command cause.
fn losses(scene: &SmallTeam, events: &[Event]) -> Vec<Loss> {
    events.iter().filter_map(|event| by_others(&scene.state, event)).collect()
}

fn anns_loss() -> Vec<Loss> {
    vec![Loss { task: task(1), member: name("ann") }]
}

#[test]
fn a_holder_loses_a_task_that_another_takes_cancels_or_completes() {
    let rows =
        [("taken back", release()), ("called off", cancel()), ("ended by a person", complete(1))];
    for (title, command) in rows {
        // A person may have the member's name.
        for person in ["pat", "ann"] {
            let mut scene = at_work();
            let person = troop_model::Actor::human(person);
            let events = scene.decide(person, &Command::Task(command.clone()));
            assert_eq!(losses(&scene, &events), anns_loss(), "{title}");
        }
    }
}

#[test]
fn a_holder_loses_nothing_by_its_own_commands() {
    for (title, command) in [("given back", release()), ("done", complete(1))] {
        let mut scene = at_work();
        let ann = troop_model::Actor::agent(&name("ann"));
        let events = scene.decide(ann, &Command::Task(command));
        assert_eq!(losses(&scene, &events), Vec::new(), "{title}");
    }
}

#[test]
fn a_task_without_a_holder_causes_no_loss() {
    let mut scene = SmallTeam::new();
    scene.adds(|_| {});
    let pat = troop_model::Actor::human("pat");
    let events = scene.decide(pat, &Command::Task(cancel()));
    assert_eq!(losses(&scene, &events), Vec::new());
}

#[test]
fn a_result_sent_back_is_no_loss_but_a_cancelled_one_is() {
    let reject = |mode| {
        let mut scene = at_work();
        scene.member("ann", TaskCommand::Review { task: task_ref(1), result: None });
        let reason = "not yet".to_owned();
        let pat = troop_model::Actor::human("pat");
        let command = TaskCommand::Reject { task: task_ref(1), reason, mode };
        let events = scene.decide(pat, &Command::Task(command));
        losses(&scene, &events)
    };
    assert_eq!(reject(RejectMode::Revise), Vec::new());
    assert_eq!(reject(RejectMode::Cancel), anns_loss());
}

#[test]
fn a_member_whose_lease_expires_is_silent() {
    let mut scene = at_work();
    let lease = scene.state.team().unwrap().settings.lease();
    scene.passes(lease + Duration::from_secs(1));
    let events = scene.decide(troop_model::Actor::system(), &Command::Tick);
    let silent: Vec<_> = events.iter().filter_map(|it| by_silence(&scene.state, it)).collect();
    assert_eq!(silent, [name("ann")]);
}

#[test]
fn a_member_that_gives_a_task_back_late_is_not_silent() {
    let mut scene = at_work();
    let lease = scene.state.team().unwrap().settings.lease();
    scene.passes(lease + Duration::from_secs(1));
    let ann = troop_model::Actor::agent(&name("ann"));
    let events = scene.decide(ann, &Command::Task(release()));
    assert!(events.iter().all(|it| by_silence(&scene.state, it).is_none()));
}

#[test]
fn a_member_is_silent_even_if_a_person_with_its_name_takes_its_task_late() {
    let mut scene = at_work();
    let lease = scene.state.team().unwrap().settings.lease();
    scene.passes(lease + Duration::from_secs(1));
    let events = scene.decide(troop_model::Actor::human("ann"), &Command::Task(release()));
    let silent: Vec<_> = events.iter().filter_map(|it| by_silence(&scene.state, it)).collect();
    assert_eq!(silent, [name("ann")]);
}

#[test]
fn a_task_taken_back_before_its_lease_ends_makes_no_member_silent() {
    let mut scene = at_work();
    let pat = troop_model::Actor::human("pat");
    let events = scene.decide(pat, &Command::Task(release()));
    assert!(events.iter().all(|it| by_silence(&scene.state, it).is_none()));
}

#[test]
fn a_folder_is_free_when_its_task_is_over_or_submitted() {
    let frees = |who: &str, command: TaskCommand| {
        let mut scene = at_work();
        let actor = match who {
            "pat" => troop_model::Actor::human("pat"),
            member => troop_model::Actor::agent(&name(member)),
        };
        let events = scene.decide(actor, &Command::Task(command));
        events.iter().any(|event| frees_folder(&event.fact))
    };
    let comment = TaskCommand::Comment { task: task_ref(1), text: "hm".to_owned() };
    let progress = TaskCommand::Progress { task: task_ref(1), percent: 5, step: String::new() };
    let review = TaskCommand::Review { task: task_ref(1), result: None };
    for (title, who, command, expected) in [
        ("done", "ann", complete(1), true),
        ("handed in", "ann", review, true),
        ("given back", "ann", release(), true),
        ("called off", "pat", cancel(), true),
        ("commented", "ann", comment, false),
        ("further", "ann", progress, false),
    ] {
        assert_eq!(frees(who, command), expected, "{title}");
    }
}

#[test]
fn only_changes_of_the_team_renew_the_team_context() {
    let mut scene = at_work();
    let ann = troop_model::Actor::agent(&name("ann"));
    let done = scene.decide(ann, &Command::Task(complete(1)));
    assert!(!done.iter().any(|event| changes_team(&event.fact)), "tasks are not the team");
    let removal = Command::RemoveMember { member: name("bob"), reason: None };
    let removed = scene.decide(troop_model::Actor::human("pat"), &removal);
    assert!(removed.iter().any(|event| changes_team(&event.fact)));
}
