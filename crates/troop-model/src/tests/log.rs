//! Events as they are stored and shown: their JSON, their names, their upgrades, repeated operations.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    bench::{Bench, SMALL, TEN, reopened},
    commands::*,
    facts,
};
use crate::{
    Actor, CodecError, Command, Event, Fact, Notice, OperationId, RefusalKind, SCHEMA, Span,
    StateCause, Surface, Version,
    codec::{decode, decode_with, encode},
};

fn event(fact: Fact) -> Event {
    let operation = OperationId(Uuid::from_u128(5));
    Event { version: Version(3), at: TEN, actor: Actor::human("pat"), operation, fact }
}

#[test]
fn the_examples_are_of_every_kind_once() {
    let kinds: Vec<_> = facts::all().iter().map(|fact| fact.kind().to_owned()).collect();
    assert_eq!(kinds, facts::all_kinds());
}

#[test]
fn every_kind_of_event_survives_the_log() {
    for fact in facts::all() {
        let event = event(fact);
        let line = encode(&event);
        assert!(!line.contains('\n'), "one event, one line");
        assert_eq!(decode(&line).unwrap(), event);
        let json: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(json["kind"], event.fact.kind(), "the name in the log is the name in the code");
    }
}

#[test]
fn a_line_of_the_log_can_be_read_by_people() {
    let line = |kind: &str| {
        let fact = facts::all().into_iter().find(|fact| fact.kind() == kind).unwrap();
        encode(&event(fact))
    };
    insta::assert_snapshot!(line("task.claimed"), @r#"{"version":3,"schema":4,"at":"2026-01-01T10:00:00Z","actor":{"kind":"human","name":"pat"},"operation":"00000000-0000-0000-0000-000000000005","kind":"task.claimed","task":7,"owner":"ann","attempt":1,"lease_until":"2026-01-01T10:00:00Z"}"#);
    insta::assert_snapshot!(line("team.completed"), @r#"{"version":3,"schema":4,"at":"2026-01-01T10:00:00Z","actor":{"kind":"human","name":"pat"},"operation":"00000000-0000-0000-0000-000000000005","kind":"team.completed"}"#);
    insta::assert_snapshot!(line("task.updated"), @r#"{"version":3,"schema":4,"at":"2026-01-01T10:00:00Z","actor":{"kind":"human","name":"pat"},"operation":"00000000-0000-0000-0000-000000000005","kind":"task.updated","task":7,"change":{"subject":"new","assignee":null,"metadata":{"a":[1,2.5,"x",null],"nested":{"b":true},"tiny":1e-300}}}"#);
    insta::assert_snapshot!(line("message.delivered"), @r#"{"version":3,"schema":4,"at":"2026-01-01T10:00:00Z","actor":{"kind":"human","name":"pat"},"operation":"00000000-0000-0000-0000-000000000005","kind":"message.delivered","reader":"user","messages":["01900000-0000-7000-8000-000000000001"]}"#);
}

#[test]
fn numbers_in_metadata_keep_every_digit() {
    for number in [
        "0.1",
        "0.14754098360655737",
        "2.2250738585072014e-308",
        "123456789.12345679",
        "9007199254740993",
        "-4.9e-324",
        "7.0420557077594588669468784357561207962098443483187940792729600000e59",
    ] {
        let metadata = format!("{{\"n\":{number}}}");
        let mut fact = facts::all().into_iter().find(|it| it.kind() == "task.created").unwrap();
        if let Fact::TaskCreated { metadata: free, .. } = &mut fact {
            *free = serde_json::from_str(&metadata).unwrap();
        }
        let event = event(fact);
        assert_eq!(decode(&encode(&event)).unwrap(), event, "{number}");
    }
}

#[test]
fn an_event_of_a_newer_form_is_refused() {
    let line = encode(&event(Fact::TeamCompleted {})).replace("\"schema\":4", "\"schema\":9");
    let error = decode(&line).unwrap_err();
    assert_eq!(error.to_string(), "event 3 has form 9; this troop knows forms up to 4");
    assert!(error.is_newer());
}

#[test]
fn an_event_of_an_unknown_kind_is_refused() {
    let line = encode(&event(Fact::TeamCompleted {})).replace("team.completed", "team.sang");
    let error = decode(&line).unwrap_err();
    assert_eq!(error.to_string(), "event 3 is a `team.sang`, which this troop does not know");
    assert!(error.is_newer());
}

#[test]
fn an_unknown_word_inside_an_event_is_not_an_unknown_kind() {
    let fact = facts::all().into_iter().find(|it| it.kind() == "member.added").unwrap();
    let line = encode(&event(fact)).replace("\"role\":\"member\"", "\"role\":\"boss\"");
    let error = decode(&line).unwrap_err();
    assert_eq!(
        error.to_string(),
        "not an event: unknown variant `boss`, expected `lead` or `member`"
    );
    assert!(!error.is_newer());
}

#[test]
fn malformed_events_are_refused() {
    let good = encode(&event(Fact::TeamCompleted {}));
    for line in [
        "",
        "{}",
        "[]",
        "null",
        "{\"version\":1}",
        good.strip_suffix('}').unwrap(),
        &good.replace("\"version\":3", "\"version\":\"3\""),
    ] {
        assert!(matches!(decode(line), Err(CodecError::Malformed(_))), "{line}");
    }
}

#[test]
fn older_events_are_brought_up_to_date() {
    fn rename(fields: &mut Map<String, Value>) {
        if fields["kind"] == "team.ended" {
            fields.insert("kind".into(), json!("team.completed"));
        }
    }
    fn never(_: &mut Map<String, Value>) {
        panic!("this event is newer than this upgrade");
    }
    let line = encode(&event(Fact::TeamCompleted {})).replace("team.completed", "team.ended");
    let read = |line: &str| decode_with(line, SCHEMA + 1, &[never, never, never, rename]);
    assert_eq!(read(&line).unwrap(), event(Fact::TeamCompleted {}));
    let unknown = line.replace("team.ended", "team.sang");
    assert_eq!(
        read(&unknown).unwrap_err().to_string(),
        "event 3 is a `team.sang`, which this troop does not know"
    );
    assert_eq!(SCHEMA as usize, crate::codec::UPGRADES.len() + 1, "each form has its upgrade");
}

/// Reads an event of form 1.
fn of_form_1(fact: &Value) -> Fact {
    let mut line = json!({
        "version": 3, "schema": 1, "at": "2026-01-01T10:00:00Z", "actor": {"kind": "system", "name": "system"},
        "operation": "00000000-0000-0000-0000-000000000005",
    });
    line.as_object_mut().unwrap().extend(fact.as_object().unwrap().clone());
    decode(&line.to_string()).unwrap().fact
}

#[test]
fn state_causes_are_recovered_from_the_text_of_old_logs() {
    use StateCause::{Asked, CouldNot, Interrupted, LeadEnded, LeftOpen, TeamStopped};
    for (state, reason, cause) in [
        ("crashed", "its lead ended", Some(LeadEnded)),
        ("crashed", "exit code 1", None),
        ("stopped", "its team stopped", Some(TeamStopped)),
        ("stopped", "its team stopped: nobody has anything left to do", Some(TeamStopped)),
        ("stopped", "its team stopped: this is a copy", Some(TeamStopped)),
        ("stopped", "its team stopped early", Some(Asked)),
        ("stopped", "pat asked it to", Some(Asked)),
        ("stopped", "it has not done yet what it was told", Some(Asked)),
        (
            "stopped",
            "its team stopped: enough; it has not done yet what it was told",
            Some(LeftOpen),
        ),
        ("stopped", "its team stopped: enough; it could not do what it was told", Some(CouldNot)),
        ("working", "it has not done yet what it was told", Some(LeftOpen)),
        ("idle", "it could not do what it was told", Some(CouldNot)),
        ("working", "interrupted; it goes on with the next message", Some(Interrupted)),
        ("planning", "interrupted", Some(Interrupted)),
        ("idle", "its plan was approved", None),
    ] {
        let line = json!({"kind": "member.state_changed", "member": "ann", "state": state, "reason": reason});
        let Fact::MemberStateChanged { reason: kept, cause: found, .. } = of_form_1(&line) else {
            panic!()
        };
        assert_eq!((kept.as_deref(), found), (Some(reason), cause));
    }
    let silent = json!({"kind": "member.state_changed", "member": "ann", "state": "stopped"});
    assert!(matches!(of_form_1(&silent), Fact::MemberStateChanged { cause: None, .. }));
}

#[test]
fn notices_are_recovered_from_the_text_of_old_logs() {
    for (kind, summary, notice) in [
        ("system", "a hook said no to being idle", Some(Notice::Vetoed)),
        ("system", "a hook said no to what it did", Some(Notice::DeedVetoed)),
        ("system", "it is not done yet", Some(Notice::NotDone)),
        ("system", "2 of 3 delegations completed", None),
        ("message", "a hook said no to what it did", None),
    ] {
        let line = json!({
            "kind": "message.sent", "id": Uuid::nil(), "from": "system", "to": "ann", "message_kind": kind,
            "content": "why not", "summary": summary, "readers": ["ann"],
        });
        let Fact::MessageSent { notice: found, .. } = of_form_1(&line) else { panic!() };
        assert_eq!(found, notice, "{kind}: {summary}");
    }
}

#[test]
fn every_surface_spells_names_from_one_table() {
    let spell = |kind: &str| {
        let fact = facts::all().into_iter().find(|fact| fact.kind() == kind).unwrap();
        [Surface::Log, Surface::Gateway, Surface::Observer]
            .map(|it| it.spell(fact.kind()))
            .join(" ")
    };
    for names in [
        "task.created team_task.created team:task:created",
        "task.assigned team_task.assigned team:task:assigned",
        "task.completed team_task.completed team:task:completed",
        "task.approved team_task.approved team:task:approved",
        "task.rejected team_task.rejected team:task:rejected",
        "task.commented team_task.commented team:task:commented",
        "task.deleted team_task.deleted team:task:deleted",
        "team.updated team_updated team:updated",
        "team.deleted team_deleted team:deleted",
        "message.sent team_message.sent team:message:sent",
        "delegation.started delegation.started team:delegation:started",
        "delegation.completed delegation.completed team:delegation:completed",
        "delegation.failed delegation.failed team:delegation:failed",
        "delegation.cancelled delegation.cancelled team:delegation:cancelled",
        "member.added member.added team:member:added",
    ] {
        assert_eq!(spell(names.split(' ').next().unwrap()), names);
    }
}

#[test]
fn a_repeated_operation_is_recognised() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    let events = team.member("ann").ok(complete(1));
    let span = team.state.operation(events[0].operation).unwrap();
    assert_eq!(span, Span { after: Version(events[0].version.0 - 1), n_events: 2 });
    assert_eq!(team.state.operation(OperationId(Uuid::nil())), None);
}

/// Whether a team still knows its first operation.
fn knows_its_first(team: &Bench) -> bool {
    team.state.operation(team.log[0].operation).is_some()
}

#[test]
fn operations_are_remembered_for_ten_minutes_but_not_beyond_a_number() {
    let mut team = Bench::new();
    for _ in 1..SMALL.max_operations {
        team.lead().ok(create("more"));
    }
    assert!(knows_its_first(&team), "all operations of the last ten minutes");
    let full = team.clone();
    team.lead().ok(create("more"));
    assert!(!knows_its_first(&team), "but no more than fit");
    let mut team = full.clone();
    team.at(10).state.begin();
    team.lead().ok(Command::CompleteTeam);
    assert!(!knows_its_first(&team), "one more than fit");
    team.state.rollback();
    assert_eq!(team.state, full.state, "forgetting is rolled back");
    let mut team = Bench::new();
    for _ in 1..SMALL.min_operations {
        team.lead().ok(create("more"));
    }
    let few = team.clone();
    team.at(10).lead().ok(create("more"));
    assert!(knows_its_first(&team), "ten minutes to the second");
    let mut team = few;
    team.at(11).lead().ok(create("more"));
    assert!(!knows_its_first(&team), "older than that");
}

/// An operation that was made this many minutes after ten.
fn made(minutes: u64, nth: u128) -> OperationId {
    let at = TEN + std::time::Duration::from_secs(60 * minutes);
    let millis = u128::try_from(at.as_micros() / 1_000).unwrap();
    OperationId(Uuid::from_u128((millis << 80) | (0x7 << 76) | (0x2 << 62) | nth))
}

#[test]
fn an_operation_that_may_have_been_forgotten_is_refused() {
    let mut team = Bench::shipped();
    let check = |team: &Bench, operation: OperationId, minutes: u64| {
        let now = TEN + std::time::Duration::from_secs(60 * minutes);
        team.state.check_age(operation, now)
    };
    let version = |nth: u64| Version(team.state.version().0 + nth);
    let event = |nth: u64| Event {
        version: version(nth),
        at: TEN + std::time::Duration::from_secs(60 * nth),
        actor: Actor::human("pat"),
        operation: made(nth, 0),
        fact: Fact::TeamCompleted {},
    };
    // One a minute: ten minutes hold far fewer operations than the team always remembers.
    let later: Vec<Event> = (1..=1_100).map(event).collect();
    assert!(check(&team, made(0, 1), 1_101).is_ok(), "nothing is forgotten yet");
    team.apply(&later);
    let opened = Bench { state: reopened(&team.state), ..team.clone() };
    for team in [&team, &opened] {
        let known = |minutes| team.state.operation(made(minutes, 0)).is_some();
        assert!(!known(76) && known(77) && known(1_100), "the newest 1,024");
        let refusal = check(team, made(76, 0), 1_101).unwrap_err();
        assert_eq!(refusal.kind(), RefusalKind::Conflict);
        assert!(refusal.to_string().contains("send it again as a new request"), "{refusal}");
        assert!(check(team, made(3, 9), 1_101).is_err(), "it may be a forgotten one");
        assert!(
            check(team, OperationId(Uuid::nil()), 1_101).is_err(),
            "nobody knows how old it is"
        );
        assert!(check(team, made(76, 1), 76).is_ok(), "it was made just now by a slow clock");
        assert!(check(team, made(77, 1), 1_101).is_ok(), "it would be remembered");
    }
}

#[test]
fn a_busy_team_remembers_its_last_4096_operations() {
    let mut team = Bench::shipped();
    let event = |nth: u64| Event {
        version: Version(team.state.version().0 + nth),
        at: TEN,
        actor: Actor::human("pat"),
        operation: made(0, u128::from(nth)),
        fact: Fact::TeamCompleted {},
    };
    let later: Vec<Event> = (1..=4_100).map(event).collect();
    team.apply(&later);
    let known = |nth| team.state.operation(made(0, nth)).is_some();
    assert!(!known(4) && known(5) && known(4_100));
}

#[test]
fn one_operation_always_makes_the_same_ids() {
    let operation = OperationId(Uuid::from_u128(u128::MAX));
    assert_eq!(operation.nth_id(7), operation.nth_id(7));
    let ids: std::collections::BTreeSet<_> = (0..100_000).map(|n| operation.nth_id(n)).collect();
    assert_eq!(ids.len(), 100_000);
    let head = |id: Uuid| id.as_u128() >> 62;
    assert!(ids.iter().all(|id| head(*id) == head(operation.0)), "time and variant stay");
}

#[test]
fn events_are_numbered_and_stamped() {
    let mut team = Bench::new();
    team.lead().ok(create("write"));
    team.at(9).member("ann").ok(complete(1));
    for (nth, event) in team.log.iter().enumerate() {
        assert_eq!(event.version, Version(nth as u64 + 1));
    }
    let last = team.log.last().unwrap();
    assert_eq!((last.actor.name.as_str(), last.at), ("ann", team.now));
    assert_eq!(team.state.version(), last.version);
    assert_eq!(team.state.latest(), team.now);
}
