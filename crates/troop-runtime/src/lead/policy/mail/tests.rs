//! Which mail a member gets, in which order, and what waits.

use troop_model::{Actor, Asker, Command, MemberState, MessageKind, Origin, Outgoing, TaskCommand};
use uuid::Uuid;

use super::{MailPlan, WINDOW, may_get, plan};
use crate::lead::policy::table::{SmallTeam, check, name, task_ref};

/// A change to a team without mail.
type Change = fn(&mut SmallTeam);

/// The texts that a member is handed after a change.
fn handed_after(member: &str, change: Change) -> Vec<String> {
    let mut scene = SmallTeam::new();
    change(&mut scene);
    texts(&planned(&scene, member))
}

fn planned<'a>(scene: &'a SmallTeam, member: &str) -> MailPlan<'a> {
    plan(&scene.state, &name(member), &scene.crew[&name(member)])
}

fn texts(plan: &MailPlan<'_>) -> Vec<String> {
    plan.hand.iter().map(|it| it.content.clone()).collect()
}

/// A message of a user from a chat.
fn chats(scene: &mut SmallTeam, user: &str, content: &str) {
    let origin = Origin {
        user_id: Some(user.into()),
        channel: Some("web".into()),
        chat_id: Some(user.into()),
        ..Origin::default()
    };
    let asker = Asker { actor: Actor::human(user), origin };
    scene.asks(asker, Command::Send(Outgoing::message("lead", content)));
}

fn says(scene: &mut SmallTeam, to: &str, content: &str) {
    scene.system(Command::Send(Outgoing::system(to, content)));
}

/// The lead has read everything, deals with the mail of a user, and has not ended its turn.
fn deals_with(scene: &mut SmallTeam, user: &str) {
    chats(scene, user, "done long ago");
    let message = planned(scene, "lead").hand[0].clone();
    let facts = scene.facts("lead");
    facts.turn_to(&message.origin);
    facts.hand(message.id, tokio::time::Instant::now());
    facts.stir();
    facts.mail.handed.clear();
    let read = Command::MarkRead { reader: Some(name("lead")), messages: None };
    scene.system(read);
}

#[test]
fn unread_mail_is_handed_over_in_order_and_once() {
    let rows: Vec<(&str, Change, &[&str])> = vec![
        ("nothing", |_| {}, &[]),
        (
            "two messages",
            |it| {
                says(it, "ann", "one");
                says(it, "bob", "not for her");
                says(it, "ann", "two");
            },
            &["one", "two"],
        ),
        (
            "one is handed over already",
            |it| {
                says(it, "ann", "one");
                says(it, "ann", "two");
                let first = planned(it, "ann").hand[0].id;
                it.facts("ann").hand(first, tokio::time::Instant::now());
            },
            &["two"],
        ),
        (
            "a request to stop has its own method",
            |it| {
                let stop = Outgoing::new("ann", MessageKind::ShutdownRequest, "enough");
                it.person(Command::Send(stop));
                says(it, "ann", "one");
            },
            &["one"],
        ),
    ];
    let rows = rows.into_iter().map(|(title, change, texts)| {
        (title, change, texts.iter().map(|&it| it.to_owned()).collect::<Vec<_>>())
    });
    check(rows.collect(), |change| handed_after("ann", change));
}

#[test]
fn a_window_of_mail_is_handed_over_and_the_rest_waits() {
    let mut scene = SmallTeam::new();
    for n in 0..=WINDOW {
        says(&mut scene, "ann", &n.to_string());
    }
    assert_eq!(planned(&scene, "ann").hand.len(), WINDOW);
    for n in 0..10 {
        scene.facts("ann").mail.handed.insert(Uuid::from_u128(n));
    }
    assert_eq!(planned(&scene, "ann").hand.len(), WINDOW - 10, "what it has not read counts");
}

#[test]
fn the_lead_gets_the_mail_of_one_conversation_at_a_time() {
    let rows: Vec<(&str, Change, &[&str])> = vec![
        (
            "two users",
            |it| {
                chats(it, "eve", "one");
                chats(it, "pat", "two");
                chats(it, "eve", "three");
            },
            &["one", "three"],
        ),
        (
            "internal mail goes with any",
            |it| {
                chats(it, "eve", "one");
                says(it, "lead", "two");
            },
            &["one", "two"],
        ),
        (
            "it deals with another",
            |it| {
                deals_with(it, "pat");
                chats(it, "eve", "one");
                chats(it, "pat", "two");
            },
            &["two"],
        ),
        (
            "its turn is over",
            |it| {
                deals_with(it, "pat");
                it.facts("lead").rest();
                chats(it, "eve", "one");
                chats(it, "pat", "two");
            },
            &["one"],
        ),
    ];
    let rows = rows.into_iter().map(|(title, change, texts)| {
        (title, change, texts.iter().map(|&it| it.to_owned()).collect::<Vec<_>>())
    });
    check(rows.collect(), |change| handed_after("lead", change));
}

#[test]
fn the_notice_of_a_task_is_read_without_being_handed_over() {
    let mut scene = SmallTeam::new();
    scene.adds(|_| {});
    // Nobody leads the team, and she does not run.
    scene.sets("ann", MemberState::Stopped, None);
    scene.system(Command::ReleaseLead);
    let assign = TaskCommand::Assign { task: Some(task_ref(1)), to: name("ann") };
    scene.person(Command::Task(assign));
    says(&mut scene, "ann", "one");
    let plan = planned(&scene, "ann");
    assert_eq!((texts(&plan), plan.told_otherwise.len()), (vec!["one".to_owned()], 1));
}

#[test]
fn a_notice_that_can_be_replaced_is_announced_first_and_what_comes_after_it_waits() {
    let mut scene = SmallTeam::new();
    says(&mut scene, "lead", "before");
    scene.system(Command::ReportIdle { member: name("ann"), last_task: None });
    says(&mut scene, "lead", "after");
    let plan = planned(&scene, "lead");
    let notice = plan.announce.expect("the notice is announced");
    assert_eq!(texts(&plan), ["before"]);
    let messages = vec![notice];
    let reader = Some(name("lead"));
    scene.system(Command::MarkDelivered { reader, messages });
    let plan = planned(&scene, "lead");
    assert_eq!((plan.hand.len(), plan.announce), (3, None), "then it is mail like any other");
    assert_eq!(plan.hand[1].id, notice);
}

#[test]
fn mail_waits_for_the_budget_and_for_an_open_member() {
    let scene = SmallTeam::new();
    let mut scene = scene;
    assert!(may_get(scene.facts("ann"), false));
    assert!(!may_get(scene.facts("ann"), true), "the budget is spent");
    scene.facts("ann").wire.is_silent = true;
    assert!(!may_get(scene.facts("ann"), false), "its wire has ended");
}
