//! The mailbox: messages, receipts, requests and their answers.

use uuid::Uuid;

use super::{
    bench::{Bench, SMALL, kinds, name, newcomer, party, user},
    commands::*,
};
use crate::{
    Command, EXTERNAL, MemberState, MessageKind, MessageView, NewMember, Notice, Origin, Outgoing,
    RefusalKind, Settings, StateCause, Status, TaskNumber, Time,
};

/// The id of the last message.
fn last_id(team: &Bench) -> Uuid {
    team.mailbox().iter().next_back().unwrap().id
}

#[test]
fn a_message_reaches_only_its_recipient() {
    let mut team = Bench::new();
    assert_eq!(kinds(&team.member("ann").ok(say("bob", "hello"))), ["message.sent"]);
    assert_eq!(team.unread("bob"), ["hello"]);
    assert!(team.unread("lead").is_empty() && team.unread("ann").is_empty());
    let message = team.mailbox().iter().next().unwrap();
    assert_eq!((message.from.as_str(), message.to.as_str()), ("ann", "bob"));
    assert_eq!((message.sent_at, message.kind), (team.now, MessageKind::Message));
    assert_eq!(
        Bench::empty().member("ann").refused(say("bob", "hi")),
        "the team does not exist yet"
    );
}

#[test]
fn an_unknown_recipient_is_refused_and_nothing_is_stored() {
    let mut team = Bench::new();
    let refusal = team.member("ann").refusal(say("eve", "hello"));
    assert_eq!(refusal.to_string(), "there is no member `eve`; the members are ann, bob, lead");
    assert_eq!(refusal.kind(), RefusalKind::NotFound);
    assert!(team.mailbox().iter().next().is_none());
    assert_eq!(
        team.member("ann").refused(say("ann", "hello")),
        "you cannot send a message to yourself"
    );
    assert!(team.member("ann").refused(say("system", "hi")).contains("no member `system`"));
}

#[test]
fn the_lead_can_be_addressed_by_its_aliases() {
    let mut team = Bench::empty();
    let new = crate::NewTeamCommand {
        lead: newcomer("boss"),
        ..super::bench::new_team(Settings::default(), &["ann"])
    };
    team.person().ok(Command::CreateTeam(new));
    for alias in ["lead", "team-lead", "main", "boss"] {
        team.member("ann").ok(say(alias, alias));
    }
    assert_eq!(team.unread("boss"), ["lead", "team-lead", "main", "boss"]);
    let id = team.state.member(&name("ann")).unwrap().id;
    team.lead().ok(say(&id.to_string(), "by your id"));
    assert_eq!(team.unread("ann"), ["by your id"]);
}

#[test]
fn only_a_person_marks_a_message_as_the_goal() {
    let mut team = Bench::new();
    let last_notice = |team: &Bench| team.mailbox().iter().next_back().unwrap().notice;
    team.person().ok(Command::Send(Outgoing::goal("Ship it")));
    assert_eq!(last_notice(&team), Some(Notice::Goal));
    team.member("ann").ok(Command::Send(Outgoing::goal("Ship it")));
    assert_eq!(last_notice(&team), None);
    let said = Outgoing::message("lead", "it failed").with_notice(Notice::NotDone);
    team.person().ok(Command::Send(said));
    assert_eq!(last_notice(&team), None, "troop itself says that");
}

#[test]
fn a_broadcast_reaches_all_but_its_sender() {
    for outgoing in [say("*", "all hands"), send("", MessageKind::Broadcast, "all hands")] {
        let mut team = Bench::new();
        team.member("ann").ok(outgoing);
        assert_eq!(team.unread("bob"), ["all hands"]);
        assert_eq!(team.unread("lead"), ["all hands"]);
        assert!(team.unread("ann").is_empty() && team.unread("user").is_empty());
        let message = team.mailbox().iter().next().unwrap();
        assert_eq!((message.kind, message.to.as_str()), (MessageKind::Broadcast, "*"));
    }
}

#[test]
fn people_broadcast_to_every_member() {
    let mut team = Bench::new();
    team.person().ok(say("*", "stop"));
    team.system().ok(say("*", "go"));
    for reader in ["ann", "bob", "lead"] {
        assert_eq!(team.unread(reader), ["stop", "go"]);
    }
    let from: Vec<_> = team.mailbox().iter().map(|message| message.from.as_str()).collect();
    assert_eq!(from, ["user", "system"], "the sender is stamped");
}

#[test]
fn a_broadcast_without_teammates_is_refused() {
    let mut team = Bench::empty();
    team.person().ok(Command::CreateTeam(super::bench::new_team(Settings::default(), &[])));
    assert_eq!(team.lead().refused(say("*", "hi")), "there is nobody else in the team");
}

#[test]
fn reading_gives_the_unread_oldest_first_and_only_once() {
    let mut team = Bench::new();
    for text in ["one", "two", "three"] {
        team.lead().ok(say("ann", text));
    }
    assert_eq!(team.unread("ann"), ["one", "two", "three"]);
    let events = team.at(1).member("ann").ok(read_all());
    assert_eq!(kinds(&events), ["message.read"]);
    assert!(team.unread("ann").is_empty());
    assert!(team.member("ann").ok(read_all()).is_empty());
    team.lead().ok(say("ann", "four"));
    assert_eq!(team.unread("ann"), ["four"]);
}

#[test]
fn a_message_is_stored_then_delivered_then_read() {
    let mut team = Bench::new();
    team.lead().ok(say("ann", "hello"));
    let id = last_id(&team);
    let moments = |team: &Bench| {
        let view = MessageView::new(team.mailbox().iter().next().unwrap(), Some(&party("ann")));
        (view.delivered_at.map(Time::clock), view.read_at.map(Time::clock))
    };
    assert_eq!(moments(&team), (None, None));
    let deliver = || Command::MarkDelivered { reader: None, messages: vec![id, Uuid::nil()] };
    team.at(1).member("ann").ok(deliver());
    assert!(team.at(2).member("ann").ok(deliver()).is_empty());
    assert_eq!(moments(&team), (Some("10:01".into()), None));
    let read = Command::MarkRead { reader: None, messages: Some(vec![id]) };
    team.at(3).member("ann").ok(read.clone());
    assert_eq!(moments(&team), (Some("10:01".into()), Some("10:03".into())));
    assert!(team.member("ann").ok(read).is_empty());
}

#[test]
fn receipts_are_kept_for_each_reader() {
    let mut team = Bench::new();
    team.lead().ok(say("*", "all"));
    team.at(1).member("ann").ok(read_all());
    assert_eq!(team.unread("bob"), ["all"]);
    let message = team.mailbox().iter().next().unwrap();
    let read: Vec<_> = message.receipts.iter().map(|it| (it.reader.as_str(), it.read_at)).collect();
    assert_eq!(read, [("ann", Some(team.now)), ("bob", None)]);
    assert_eq!(MessageView::new(message, None).read_at, None, "not all have read it");
    team.at(2).member("bob").ok(read_all());
    let message = team.mailbox().iter().next().unwrap();
    assert_eq!(MessageView::new(message, None).read_at, Some(team.now));
}

#[test]
fn members_cannot_read_the_mail_of_others() {
    let mut team = Bench::new();
    team.lead().ok(say("ann", "hello"));
    let of_ann = || Command::MarkRead { reader: Some(name("ann")), messages: None };
    assert_eq!(
        team.member("bob").refused(of_ann()),
        "`bob` may not read the mail of others; only they themselves may"
    );
    assert!(team.lead().refused(of_ann()).contains("may not read"));
    assert_eq!(kinds(&team.system().ok(of_ann())), ["message.read"]);
    team.member("ann").ok(say("user", "done"));
    assert_eq!(kinds(&team.person().ok(read_all())), ["message.read"], "their own");
}

#[test]
fn a_full_mailbox_takes_no_more() {
    let mut team = Bench::new();
    for _ in 0..SMALL.unread {
        team.lead().ok(say("ann", "again"));
    }
    let said = format!(
        "the mailbox of `ann` is full: {} unread messages; wait until some are read",
        SMALL.unread
    );
    assert_eq!(team.lead().refused(say("ann", "more")), said);
    let refusal = team.lead().refusal(say("*", "more"));
    assert_eq!((refusal.to_string(), refusal.kind()), (said, RefusalKind::Limit));
    assert!(team.unread("bob").is_empty(), "all readers or none");
    team.member("ann").ok(read_all());
    team.lead().ok(say("ann", "more"));
}

#[test]
fn troops_own_messages_do_not_fill_an_unread_mailbox() {
    let mut team = Bench::with(|settings| settings.followup.max_reminders = 0);
    team.lead().ok(create("write"));
    team.lead().ok(create("delegated"));
    team.member("ann").ok(claim(1));
    team.member("ann").ok(ask_user(1));
    for nth in 1..=(SMALL.unread as u64 + 5) {
        team.at(nth * 31).member("ann").ok(progress(1, 1));
        let events = team.tick();
        assert!(kinds(&events).contains(&"task.reminded"), "the fact is in the log");
    }
    assert_eq!(team.unread("user").len(), SMALL.unread);
    team.person().ok(read_all());
    team.at(10_000).member("ann").ok(progress(1, 2));
    team.tick();
    assert_eq!(team.unread("user").len(), 1);
    while team.unread("lead").len() < SMALL.unread {
        team.member("ann").ok(say("lead", "again"));
    }
    team.lead().ok(delegate(2, "bob"));
    team.member("bob").ok(complete(2));
    assert_eq!(team.unread("lead").len(), SMALL.unread);
    // The next announcement includes it.
    team.lead().ok(read_all());
    team.lead().ok(create("another"));
    team.lead().ok(delegate(3, "bob"));
    team.member("bob").ok(complete(3));
    let [told] = team.unread("lead").try_into().unwrap();
    assert!(told.contains("task-2") && told.contains("task-3"), "{told}");
}

#[test]
fn messages_that_all_have_read_leave_the_mailbox() {
    let mut team = Bench::new();
    team.lead().ok(say("bob", "unread"));
    for _ in 0..30 {
        team.lead().ok(say("ann", "read"));
        team.member("ann").ok(read_all());
    }
    assert!(team.mailbox().iter().count() < 12);
    assert_eq!(team.unread("bob"), ["unread"]);
}

#[test]
fn a_new_member_does_not_get_the_mail_of_a_removed_namesake() {
    let mut team = Bench::new();
    team.lead().ok(say("ann", "secret"));
    team.lead().ok(say("*", "all"));
    team.lead().ok(remove("ann"));
    team.lead().ok(Command::AddMember(newcomer("ann")));
    assert!(team.unread("ann").is_empty());
    assert_eq!(team.unread("bob"), ["all"]);
    team.lead().ok(remove("ann"));
    assert!(team.member("ann").refused(read_all()).contains("not a member"));
}

#[test]
fn empty_overlong_and_unprintable_messages_are_refused() {
    let mut team = Bench::new();
    assert_eq!(team.lead().refused(say("ann", " ")), "the message is empty");
    let long = "x".repeat(1_000_000);
    assert!(team.lead().refused(say("ann", &long)).contains("the limit is 262144"));
    let summary = Some("a\u{7}b".to_owned());
    assert_eq!(
        team.lead().refused(Outgoing { summary, ..say("ann", "hi") }),
        "the summary contains the unprintable character U+0007"
    );
}

#[test]
fn some_message_kinds_are_reserved_for_troop() {
    let mut team = Bench::new();
    for kind in [MessageKind::System, MessageKind::TaskAssignment] {
        assert_eq!(
            team.lead().refused(send("ann", kind, "hi")),
            format!("messages of kind {kind} are sent by troop itself")
        );
        team.system().ok(send("ann", kind, "hi"));
    }
    team.member("ann").ok(send("lead", MessageKind::Idle, ""));
    assert_eq!(team.unread("lead"), [""]);
}

#[test]
fn a_shutdown_is_asked_and_answered_by_id() {
    let mut team = Bench::new();
    assert_eq!(
        team.member("bob").refused(send("ann", MessageKind::ShutdownRequest, "")),
        "`bob` may not ask members to stop; the lead or a person may"
    );
    team.lead().ok(send("ann", MessageKind::ShutdownRequest, "we are done"));
    let request = last_id(&team);
    let yes = || answer("lead", MessageKind::ShutdownResponse, request, true);
    assert_eq!(
        team.member("bob").refused(yes()),
        format!("request {request} is for `ann` to answer")
    );
    team.member("ann").ok(yes());
    let ann = team.state.member(&name("ann")).unwrap();
    assert_eq!(
        (ann.state, ann.state_reason.as_deref()),
        (MemberState::Stopping, Some("agreed to stop"))
    );
    assert_eq!(
        team.member("ann").refused(yes()),
        format!("there is no open request {request}; open requests: none"),
        "once"
    );
}

#[test]
fn an_external_member_that_agrees_to_stop_has_stopped() {
    for asks in ["lead", "user"] {
        let mut team = Bench::new();
        let pat = NewMember { agent: EXTERNAL.into(), ..newcomer("pat") };
        team.person().ok(Command::AddMember(pat));
        team.person().ok(create("one"));
        team.member("pat").ok(claim(1));
        let asked = send("pat", MessageKind::ShutdownRequest, "");
        if asks == "lead" {
            team.lead().ok(asked)
        } else {
            team.person().ok(asked)
        };
        let request = last_id(&team);
        team.member("pat").ok(answer(asks, MessageKind::ShutdownResponse, request, true));
        let pat = team.state.member(&name("pat")).unwrap();
        let expect = (MemberState::Stopped, Some(StateCause::Asked));
        assert_eq!((pat.state, pat.state_cause), expect, "{asks}");
        let one = team.state.tasks().get(TaskNumber(1)).unwrap();
        assert_eq!((one.status, &one.owner), (Status::Pending, &None), "another can take it");
        team.person().ok(Command::DeleteTeam);
    }
}

#[test]
fn an_answer_that_goes_to_somebody_else_is_refused_with_the_one_who_asked() {
    let mut team = Bench::new();
    team.person().ok(send("ann", MessageKind::ShutdownRequest, ""));
    let request = last_id(&team);
    let answer = |to: &str| answer(to, MessageKind::ShutdownResponse, request, true);
    assert_eq!(
        team.member("ann").refused(answer("lead")),
        format!("request {request} is from `user`, so its answer must go to `user`")
    );
    team.member("ann").ok(answer("user"));
}

#[test]
fn a_member_can_refuse_to_stop() {
    let mut team = Bench::new();
    team.lead().ok(send("ann", MessageKind::ShutdownRequest, ""));
    let request = last_id(&team);
    let no = Outgoing {
        content: "not yet".into(),
        ..answer("lead", MessageKind::ShutdownResponse, request, false)
    };
    team.member("ann").ok(no);
    assert_eq!(team.unread("lead"), ["not yet"]);
    assert_ne!(team.state.member(&name("ann")).unwrap().state, MemberState::Stopping);
}

#[test]
fn a_shutdown_that_troop_asks_for_can_be_answered() {
    let mut team = Bench::new();
    team.system().ok(send("ann", MessageKind::ShutdownRequest, ""));
    let request = last_id(&team);
    team.member("ann").ok(answer("system", MessageKind::ShutdownResponse, request, true));
    assert_eq!(team.state.member(&name("ann")).unwrap().state, MemberState::Stopping);
    assert_eq!(team.state.requests().count(), 0);
    assert!(team.unread("system").is_empty(), "troop itself has no mailbox");
}

#[test]
fn a_plan_is_asked_about_and_answered_by_id() {
    let mut team = Bench::new();
    team.member("ann").ok(send("lead", MessageKind::PlanApprovalRequest, "1. write"));
    let request = last_id(&team);
    let kind = MessageKind::PlanApprovalResponse;
    assert_eq!(
        team.lead().refused(Outgoing { approve: None, ..answer("ann", kind, request, true) }),
        "a response needs the id of its request and whether you approve"
    );
    assert_eq!(
        team.lead().refused(answer("ann", kind, Uuid::nil(), true)),
        format!("there is no open request {}; open requests: {request}", Uuid::nil())
    );
    let strayed = team.lead().refused(answer("bob", kind, request, true));
    assert!(strayed.contains("is from `ann`"), "{strayed}");
    let wrong_kind = answer("ann", MessageKind::ShutdownResponse, request, true);
    assert!(team.lead().refused(wrong_kind).contains("no open request"));
    team.person().ok(answer("ann", kind, request, true));
    let message = team.mailbox().iter().next_back().unwrap();
    assert_eq!((message.request_id, message.approve), (Some(request), Some(true)));
    assert_eq!(team.state.requests().count(), 0);
}

#[test]
fn requests_go_to_one_member() {
    let mut team = Bench::new();
    assert_eq!(
        team.lead().refused(send("*", MessageKind::ShutdownRequest, "")),
        "a shutdown_request cannot go to `*`; it is for one member"
    );
    assert_eq!(
        team.member("ann").refused(send("*", MessageKind::PlanApprovalRequest, "1. write")),
        "a plan_approval_request cannot go to `*`; it is for one member"
    );
    assert_eq!(
        team.lead().refused(send("user", MessageKind::ShutdownRequest, "")),
        "a shutdown_request cannot go to `user`; it is for one member"
    );
    team.member("ann").ok(send("user", MessageKind::PlanApprovalRequest, "1. write"));
    let request = last_id(&team);
    team.person().ok(answer("ann", MessageKind::PlanApprovalResponse, request, true));
}

#[test]
fn requests_of_a_removed_member_are_closed() {
    let mut team = Bench::new();
    team.member("ann").ok(send("lead", MessageKind::PlanApprovalRequest, "1. write"));
    team.lead().ok(send("ann", MessageKind::ShutdownRequest, ""));
    team.lead().ok(send("bob", MessageKind::ShutdownRequest, ""));
    team.lead().ok(remove("ann"));
    assert_eq!(team.state.requests().count(), 1);
}

#[test]
fn each_user_reads_and_marks_only_its_own_inbox() {
    let mut team = Bench::new();
    let one = user("u1", "telegram", "c1");
    let other = user("u2", "telegram", "c2");
    for (origin, text) in [(&one, "for u1"), (&other, "for u2"), (&Origin::default(), "for all")] {
        team.lead().from(origin.clone()).ok(say("user", text));
    }
    let inbox = |team: &Bench, viewer: &Origin| -> Vec<String> {
        let party = party("user");
        let unread = team.mailbox().unread_of(&party);
        let own = unread.filter(|it| it.is_in_inbox_of(viewer));
        own.map(|it| it.content.clone()).collect()
    };
    assert_eq!(inbox(&team, &one), ["for u1", "for all"]);
    assert_eq!(inbox(&team, &other), ["for u2", "for all"]);
    let all: Vec<_> = team.mailbox().iter().map(|it| it.id).collect();
    // Marking by id does not reach into the inbox of another user either.
    let delivered = Command::MarkDelivered { reader: None, messages: all.clone() };
    team.person().from(one.clone()).ok(delivered);
    team.person().from(one.clone()).ok(Command::MarkRead { reader: None, messages: Some(all) });
    assert_eq!(team.unread("user"), ["for u2"]);
    let delivered =
        team.mailbox().unread_of(&party("user")).next().unwrap().receipts[0].delivered_at;
    assert_eq!(delivered, None);
    team.person().from(one).ok(read_all());
    team.person().from(user("u3", "cli", "")).ok(read_all());
    assert_eq!(team.unread("user"), ["for u2"]);
    team.person().from(other).ok(read_all());
    assert!(team.unread("user").is_empty());
}
