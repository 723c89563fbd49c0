//! Announcements of delegations to the lead, and their conversations.

use uuid::Uuid;

use super::{
    bench::{Bench, TEN, kinds, name, number, party, user},
    commands::*,
};
use crate::{
    Command, DelegationOutcome, Evidence, Link, MemberState, MessageKind, Origin, Party, Proof,
    Status, TaskCommand,
};

/// A team with `n` tasks and no retries.
fn tasks(n: usize) -> Bench {
    tasks_tried(1, n)
}

fn tasks_tried(max_attempts: u32, n: usize) -> Bench {
    let mut team = Bench::with(|settings| settings.max_attempts = max_attempts);
    for nth in 1..=n {
        team.lead().ok(create(&format!("part {nth}")));
    }
    team
}

/// A thread of a group.
fn thread() -> Origin {
    Origin {
        peer_kind: Some("group".into()),
        local_key: Some("topic 3".into()),
        ..user("u1", "telegram", "c1")
    }
}

#[test]
fn a_lost_delegation_is_retried_and_announced_when_the_retry_ends() {
    let losses: [fn(&mut Bench); 2] = [
        |team| drop(team.system().ok(set_state("ann", MemberState::Crashed))),
        |team| drop(team.at(16).tick()),
    ];
    for lose in losses {
        for assignment in ["claim", "both"] {
            let mut team = tasks_tried(2, 2);
            team.lead().ok(set("assignment", assignment));
            team.lead().ok(delegate(1, "ann"));
            team.lead().ok(delegate(2, "bob"));
            team.member("bob").ok(complete_with(2, "done"));
            lose(&mut team);
            assert!(team.task(1).start.not_before.is_some(), "it waits for a retry");
            assert!(team.unread("lead").is_empty(), "it has no result yet");
            team.at(60).tick();
            let again = team.state.delegation_of(number(1)).unwrap();
            assert_eq!((again.to.as_str(), team.status(1)), ("ann", Status::InProgress));
            team.member("ann").ok(complete_with(1, "done after all"));
            let [told] = team.unread("lead").try_into().unwrap();
            assert!(told.contains("2 tasks that you delegated have ended"), "{told}");
            assert!(told.contains(": 2 done") && told.contains("tried before by ann: "), "{told}");
        }
    }
}

#[test]
fn results_of_sibling_delegations_are_announced_once_when_the_last_ends() {
    let mut team = tasks(3);
    team.lead().ok(delegate(1, "ann"));
    team.lead().ok(delegate(2, "bob"));
    team.at(1).lead().ok(delegate(3, "bob"));
    team.member("ann").ok(attach(1, "parser/notes.md"));
    team.member("ann").ok(attach(1, "parser/grammar.ebnf"));
    let events = team.at(2).member("ann").ok(complete_with(1, "The parser works.\nIt is small."));
    assert!(!kinds(&events).contains(&"delegation.announced"));
    assert_eq!(team.status(1), Status::Completed, "tasks complete independently");
    team.at(3).member("bob").ok(complete_with(2, "done"));
    assert!(team.unread("lead").is_empty());
    team.at(63).member("bob").ok(fail(3));
    let [told] = team.unread("lead").try_into().unwrap();
    insta::assert_snapshot!(told, @r#"
    All 3 tasks that you delegated have ended, after 1 h 3 min: 2 done.

    ## ann: task-1 (part 1) completed after 2 min 0 s
    The parser works.
    It is small.
    files: parser/notes.md, parser/grammar.ebnf

    ## bob: task-2 (part 2) completed after 3 min 0 s
    done

    ## bob: task-3 (part 3) failed after 1 h 2 min
    it broke

    What you can do now:
    - tell the user what came of it, in your own words, with the files
    - delegate what follows from it: create a task first, then delegate it
    - ask for changes: create a task that says what should be different
    "#);
    let message = team.mailbox().unread_of(&party("lead")).next().unwrap();
    assert_eq!((&message.from, message.kind), (&Party::system(), MessageKind::System));
    assert_eq!(message.summary.as_deref(), Some("2 of 3 delegations completed"));
    // A later delegation is announced on its own.
    team.lead().ok(read_all());
    team.lead().ok(create("part 4"));
    team.lead().ok(delegate(4, "ann"));
    team.member("ann").ok(complete(4));
    let [told] = team.unread("lead").try_into().unwrap();
    assert!(told.starts_with("The task that you delegated is done") && !told.contains("part 1"));
}

#[test]
fn if_all_delegations_failed_the_lead_is_asked_to_inform_the_user_first() {
    let mut team = tasks(2);
    team.lead().ok(delegate(1, "ann"));
    team.lead().ok(delegate(2, "bob"));
    team.member("ann").ok(fail(1));
    team.at(1).lead().ok(cancel(2));
    let [told] = team.unread("lead").try_into().unwrap();
    insta::assert_snapshot!(told, @r#"
    None of the 2 tasks that you delegated worked out this time, after 1 min 0 s.

    ## ann: task-1 (part 1) failed after 0 s
    it broke

    ## bob: task-2 (part 2) was called off after 1 min 0 s
    not needed

    That happens. Before anything is tried again, tell the user in a sentence that there was a hitch. Then you can:
    - try again: retry task-1, then delegate it, perhaps to another teammate
    - do it yourself
    "#);
}

#[test]
fn cancelled_tasks_are_not_offered_for_retry() {
    let mut team = tasks(3);
    team.lead().ok(delegate(1, "ann"));
    team.person().ok(cancel(1));
    let [told] = team.unread("lead").try_into().unwrap();
    assert!(told.starts_with("The task that you delegated was called off, after"), "{told}");
    assert!(!told.contains("retry") && told.contains("create a new task"), "{told}");
    team.lead().ok(read_all());
    for (nth, to) in [(2, "ann"), (3, "bob")] {
        team.lead().ok(delegate(nth, to));
    }
    for nth in [2, 3] {
        team.person().ok(cancel(nth));
    }
    let [told] = team.unread("lead").try_into().unwrap();
    assert!(told.starts_with("All 2 tasks that you delegated were called off"), "{told}");
}

#[test]
fn conversations_do_not_wait_for_each_other() {
    let mut team = tasks(3);
    let (one, other) = (user("u1", "telegram", "c1"), user("u2", "telegram", "c2"));
    team.lead().from(one.clone()).ok(delegate(1, "ann"));
    team.lead().from(other).ok(delegate(2, "bob"));
    team.lead().from(thread()).ok(delegate(3, "bob"));
    team.member("ann").ok(complete(1));
    let [told] = team.mailbox().unread_of(&party("lead")).collect::<Vec<_>>().try_into().unwrap();
    assert!(told.content.contains("## ann: task-1"), "{}", told.content);
    assert_eq!(told.origin, one, "the answer goes to the conversation of the question");
    team.member("bob").ok(complete(3));
    let told = team.mailbox().unread_of(&party("lead")).last().unwrap();
    assert_eq!(told.origin, thread());
}

#[test]
fn a_members_final_report_is_recorded_without_readers() {
    let mut team = tasks(1);
    team.lead().from(thread()).ok(delegate(1, "ann"));
    team.member("ann").ok(complete_with(1, "written"));
    let record = team.mailbox().iter().find(|it| it.from == party("ann")).unwrap();
    assert_eq!(record.to, party("lead"));
    assert_eq!(record.content, "completed task-1: written");
    assert_eq!((record.task, &record.origin), (Some(team.task(1).number), &thread()));
    assert!(record.receipts.is_empty());
    assert_eq!(team.unread("lead").len(), 1, "the announcement alone");
    // The lead gets no further notice that the member is idle.
    let events = team.system().ok(idle("ann", Some(1)));
    assert!(!kinds(&events).contains(&"message.sent"), "{events:?}");
}

#[test]
fn an_automatic_retry_is_announced_when_it_ends() {
    let mut team = tasks_tried(2, 2);
    team.lead().from(thread()).ok(delegate(1, "ann"));
    team.lead().from(thread()).ok(delegate(2, "bob"));
    team.member("bob").ok(complete_with(2, "done"));
    let events = team.at(1).member("ann").ok(fail(1));
    assert!(!kinds(&events).contains(&"delegation.announced"), "{events:?}");
    let first = team.state.delegations().find(|it| it.to == name("ann")).unwrap().clone();
    let events = team.at(10).tick();
    assert_eq!(kinds(&events)[..3], ["task.retried", "delegation.started", "task.assigned"]);
    let again = team.state.delegation_of(number(1)).unwrap();
    assert_eq!((&again.to, &again.origin), (&first.to, &thread()), "same member and thread");
    assert_ne!(again.id, first.id, "in a new session");
    assert!(team.unread("lead").is_empty());
    team.at(11).member("ann").ok(complete_with(1, "at last"));
    let [told] = team.unread("lead").try_into().unwrap();
    assert!(
        told.starts_with("All 2 tasks that you delegated have ended, after 11 min 0 s: 2 done.")
    );
    assert!(
        told.contains("## ann: task-1 (part 1) completed after 11 min 0 s\nat last\n"),
        "{told}"
    );
    assert!(told.contains("at last\ntried before by ann: it broke\n"), "{told}");
    assert!(team.state.delegations().all(|it| it.is_announced));
}

#[test]
fn a_task_without_attempts_left_is_announced_once() {
    let mut team = tasks_tried(2, 1);
    team.lead().ok(delegate(1, "ann"));
    team.member("ann").ok(fail(1));
    team.at(10).tick();
    team.member("ann").ok(fail(1));
    let [told] = team.unread("lead").try_into().unwrap();
    assert!(told.contains("## ann: task-1 (part 1) failed after 10 min 0 s\nit broke"), "{told}");
    assert_eq!(told.matches("## ").count(), 1, "{told}");
}

#[test]
fn a_retry_by_another_member_keeps_the_conversation() {
    let mut team = tasks_tried(2, 1);
    team.lead().from(thread()).ok(delegate(1, "ann"));
    team.member("ann").ok(fail(1));
    team.at(10).member("bob").ok(claim(1));
    team.member("bob").ok(complete_with(1, "by bob"));
    let [told] = team.mailbox().unread_of(&party("lead")).collect::<Vec<_>>().try_into().unwrap();
    assert!(told.content.contains("## bob: task-1 (part 1) completed"), "{}", told.content);
    assert_eq!(told.origin, thread());
}

#[test]
fn a_failure_is_announced_once_its_retry_is_given_up() {
    let mut team = tasks_tried(2, 1);
    team.lead().ok(delegate(1, "ann"));
    team.member("ann").ok(fail(1));
    let mut called_off = team.clone();
    called_off.person().ok(cancel(1));
    let [told] = called_off.unread("lead").try_into().unwrap();
    assert!(told.contains("## ann: task-1 (part 1) failed after"), "{told}");
    // The member that would retry it is gone.
    team.lead().ok(remove("ann"));
    let events = team.at(10).tick();
    assert!(kinds(&events).contains(&"delegation.announced"), "{events:?}");
    assert_eq!(team.status(1), Status::Pending, "any member may take it");
}

#[test]
fn a_retry_waits_until_the_link_has_room() {
    let mut team = tasks_tried(2, 2);
    let link =
        Link { max_concurrent: 1, ..team.state.link(&name("lead"), &name("ann")).unwrap().clone() };
    team.lead().ok(Command::SetLink(whole(&link)));
    team.lead().ok(delegate(1, "ann"));
    team.member("ann").ok(fail(1));
    team.lead().ok(delegate(2, "ann"));
    assert_eq!(team.at(10).tick(), []);
    team.member("ann").ok(complete(2));
    team.tick();
    assert_eq!(team.state.delegation_of(number(1)).map(|it| it.to.as_str()), Some("ann"));
}

#[test]
fn announcements_include_the_results_of_checks() {
    let mut team = tasks(1);
    team.lead().ok(delegate(1, "ann"));
    let evidence = |command: &str, exit_code| Evidence {
        command: command.to_owned(),
        exit_code,
        tail: "much".to_owned(),
        commit: Some("0123456789abcdef".to_owned()),
        at: TEN,
        took_ms: 1,
    };
    let evidence = vec![evidence("make test", 0), evidence("make lint", 2)];
    let proof = Proof::new(task(1), evidence, None);
    team.system().ok(TaskCommand::Prove(proof));
    team.member("ann").ok(complete(1));
    let [told] = team.unread("lead").try_into().unwrap();
    let says = "\nchecks: `make test` passed on 0123456789, `make lint` ended with exit code 2 on 0123456789\n";
    assert!(told.contains(says), "{told}");
}

#[test]
fn long_results_and_file_lists_are_cut_with_a_pointer_to_the_rest() {
    let mut team = tasks(1);
    team.lead().ok(delegate(1, "ann"));
    for nth in 0..60 {
        team.member("ann").ok(attach(1, &format!("{nth}.txt")));
    }
    team.member("ann").ok(complete_with(1, &"x".repeat(100_000)));
    let [told] = team.unread("lead").try_into().unwrap();
    assert!(told.chars().count() < 6_000, "{}", told.chars().count());
    assert!(told.contains("more characters: get task-1\n"), "{told}");
    assert!(told.contains("49.txt and 10 more: get task-1\n"), "{told}");
}

#[test]
fn the_leads_own_cancellations_alone_are_not_announced() {
    let mut team = tasks(2);
    team.lead().ok(delegate(1, "ann"));
    team.lead().ok(delegate(2, "bob"));
    team.member("ann").ok(complete(1));
    team.lead().ok(cancel(2));
    let [told] = team.unread("lead").try_into().unwrap();
    assert!(told.contains("1 done") && told.contains("was called off"), "{told}");
    team.lead().ok(read_all());
    team.lead().ok(create("part 3"));
    team.lead().ok(delegate(3, "bob"));
    team.lead().ok(cancel(3));
    assert!(team.unread("lead").is_empty());
}

#[test]
fn announcements_return_to_the_conversation_of_the_work() {
    let mut team = Bench::new();
    let told = |team: &Bench, who: &str| {
        team.mailbox().unread_of(&party(who)).last().map(|it| it.origin.clone()).unwrap()
    };
    team.person().from(thread()).ok(say("lead", "please write"));
    assert_eq!(told(&team, "lead"), thread(), "the request has its conversation");
    team.lead().from(thread()).ok(create("write"));
    // The lead delegates later, outside any conversation.
    team.lead().from(user("", "teammate", "")).ok(delegate(1, "ann"));
    assert_eq!(team.state.delegations().next().unwrap().origin, thread());
    let own = || user("", "teammate", "");
    team.member("ann").from(own()).ok(say("user", "half done"));
    assert_eq!(told(&team, "user"), thread(), "messages to the user have it");
    team.member("ann").from(own()).ok(ask_user(1));
    assert_eq!(told(&team, "user"), thread(), "questions to the user have it");
    team.member("ann").from(own()).ok(complete(1));
    assert_eq!(told(&team, "lead"), thread(), "results have it");
    team.lead().from(thread()).ok(say("user", "here it is"));
    assert_eq!(told(&team, "user"), thread(), "the answer");
}

#[test]
fn a_lead_that_was_reached_by_delegation_delegates_and_hands_files_back() {
    let mut team = Bench::new();
    let above = Origin {
        channel: Some("teammate".into()),
        chat_id: Some(format!("delegate:{}", Uuid::from_u128(5)).into()),
        ..Origin::default()
    };
    team.lead().ok(set("deny_channels", vec!["telegram"]));
    team.lead().from(above.clone()).ok(create("write"));
    team.lead().from(above.clone()).ok(delegate(1, "ann"));
    assert_eq!((team.status(1), team.owner(1)), (Status::InProgress, Some("ann")));
    team.member("ann").ok(attach(1, "report.pdf"));
    team.member("ann").ok(complete(1));
    let told = team.mailbox().unread_of(&party("lead")).last().unwrap();
    assert!(told.content.contains("files: report.pdf\n"), "{}", told.content);
    assert_eq!(told.origin, above, "it returns to its conversation");
}

#[test]
fn a_denied_user_cannot_cause_a_delegation_through_a_task() {
    let mut team = Bench::new();
    let mut link = team.state.link(&name("lead"), &name("ann")).unwrap().clone();
    link.user_deny = vec!["u1".into()];
    team.lead().ok(Command::SetLink(whole(&link)));
    team.lead().from(thread()).ok(create("write"));
    assert_eq!(
        team.lead().from(user("", "teammate", "")).refused(delegate(1, "ann")),
        "user `u1` may not cause delegations to `ann`"
    );
    team.lead().from(user("", "teammate", "")).ok(delegate(1, "bob"));
}

#[test]
fn a_delegation_has_the_members_rights_not_the_askers() {
    let mut team = Bench::new();
    team.lead().from(thread()).ok(create("write"));
    team.lead().from(thread()).ok(delegate(1, "ann"));
    // The user has been denied since; running work continues.
    team.lead().ok(set("deny_user_ids", vec!["u1"]));
    let own = || user("", "teammate", "");
    let events = team.member("ann").from(own()).ok(say("user", "still at it"));
    assert!(events.iter().all(|event| event.actor == crate::Actor::agent(&name("ann"))));
    // Working for a person does not give that person's rights.
    assert!(
        team.member("ann").from(own()).refused(create("more")).contains("may not create tasks")
    );
    team.member("ann").from(own()).ok(complete(1));
    assert_eq!(team.status(1), Status::Completed);
}

#[test]
fn delegations_survive_the_end_of_their_supervisor_and_are_announced_together() {
    let mut team = tasks(2);
    team.system().ok(take_lead(1, None));
    for member in ["ann", "bob"] {
        team.system().ok(ready(member));
    }
    team.lead().ok(delegate(1, "ann"));
    team.lead().ok(delegate(2, "bob"));
    let fence = team.state.team().unwrap().lead_lease.as_ref().unwrap().fence;
    team.system().ok(take_lead(2, Some(fence)));
    assert!(team.unread("lead").is_empty(), "they go on");
    assert_eq!((team.owner(1), team.owner(2)), (Some("ann"), Some("bob")));
    team.member("ann").ok(complete_with(1, "by ann"));
    team.member("bob").ok(complete_with(2, "by bob"));
    let [told] = team.unread("lead").try_into().unwrap();
    assert!(told.contains("by ann") && told.contains("by bob"), "{told}");
}

#[test]
fn an_explicit_outcome_is_announced_verbatim() {
    let mut team = tasks(1);
    team.lead().ok(delegate(1, "ann"));
    let id = team.state.delegations().next().unwrap().id;
    team.system().ok(finish(id, DelegationOutcome::Cancelled("plans changed".into())));
    let [told] = team.unread("lead").try_into().unwrap();
    assert!(told.contains("was called off after 0 s\nplans changed\n"), "{told}");
}
