//! The mirror's decisions, case by case: from a board in memory, the last written file, and somebody's change.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde_json::{Map, Value, json};
use troop_model::{
    Actor, Asker, Command, Context, EXTERNAL, Event, Fact, MemberName, MemberState, MessageKind,
    NewMember, NewTask, NewTeamCommand, OperationId, Origin, Outgoing, Settings, State, Status,
    TaskCommand, TaskNumber, TaskRef, TeamId, Time, decide,
};
use uuid::Uuid;

use super::{
    task::{FilePut, WantedChange},
    *,
};
use crate::{
    CommandRequest,
    disk::{DiskFile, Stamp},
    mirror::{
        Item,
        difference::{DiffReading, TaskStep, WantedStep},
        ids::{FileId, Ids},
        layout::{InboxLetter, Layout, Names},
        operation,
        written::WrittenNote,
    },
};

const SECOND: i64 = 1_000_000;

fn at(second: i64) -> Time {
    Time::from_micros(second * SECOND)
}

fn name(text: &str) -> MemberName {
    text.parse().unwrap()
}

fn id(text: &str) -> FileId {
    FileId::new(text).unwrap()
}

fn object(value: Value) -> Map<String, Value> {
    let Value::Object(object) = value else { panic!("{value} is no object") };
    object
}

fn member(text: &str, agent: &str) -> NewMember {
    let name = name(text);
    let expertise = String::new();
    NewMember { name, agent: agent.into(), expertise, model: None, permissions: None }
}

/// A team with the lead `ann`, the teammate `bob`, and the programs `pat` and `quin`.
struct Bench {
    state: State,
    second: i64,
}

impl Bench {
    fn new() -> Self {
        let mut bench = Self { state: State::default(), second: 0 };
        bench.give(
            Actor::human("zoe"),
            &Command::CreateTeam(NewTeamCommand {
                goal: String::new(),
                team: TeamId(Uuid::from_u128(7)),
                name: "crew".parse().unwrap(),
                description: String::new(),
                settings: Settings::default(),
                lead: member("ann", "script"),
                members: vec![
                    member("bob", "script"),
                    member("pat", EXTERNAL),
                    member("quin", EXTERNAL),
                ],
            }),
        );
        bench
    }

    /// Gives a command, a second after the last one.
    fn give(&mut self, actor: Actor, command: &Command) -> Vec<Event> {
        self.second += 1;
        let ctx = Context {
            now: at(self.second),
            asker: Asker { actor, origin: Origin::default() },
            operation: OperationId(Uuid::from_u128(0x7000 << 64 | 1 << 63 | self.second as u128)),
            fence: None,
        };
        let events = decide(&self.state, command, &ctx).unwrap();
        self.state.begin();
        events.iter().for_each(|event| self.state.apply(event));
        events
    }

    fn by(&mut self, who: &str, command: &Command) -> Vec<Event> {
        self.give(Actor::agent(&name(who)), command)
    }

    fn create(&mut self, subject: &str) {
        let new = NewTask { subject: subject.to_owned(), ..NewTask::default() };
        self.by("ann", &Command::Task(TaskCommand::Create(new)));
    }

    fn claim(&mut self, who: &str, number: u32) {
        let task = Some(TaskNumber(number).into());
        self.by(who, &Command::Task(TaskCommand::Claim { task }));
    }

    fn send(&mut self, from: &str, to: &str, kind: MessageKind) -> Uuid {
        let outgoing = Outgoing::new(to.to_owned(), kind, "hello".to_owned());
        sent(&self.by(from, &Command::Send(outgoing))).unwrap()
    }

    fn ids(&self, layout: Layout) -> Ids {
        Ids::new(layout, &self.state)
    }

    fn ours(&self, number: u32) -> TaskOnBoard {
        let ids = self.ids(Layout::Seeds);
        let number = TaskNumber(number);
        TaskOnBoard::new(&self.state, Layout::Seeds, &ids, number, None, at(self.second))
    }

    /// The file of a task as the board has it.
    fn file(&self, number: u32) -> Map<String, Value> {
        let TaskOnBoard::Live(ours) = self.ours(number) else { panic!("{number} is not live") };
        ours.raw
    }

    fn names(&self) -> Names {
        Names::new(&self.state)
    }

    fn mail(&self, owner: &str, known: &[Uuid]) -> OwnerMail {
        owner_mail(&self.state, owner, &known.iter().copied().collect()).unwrap()
    }
}

fn changed(file: &Map<String, Value>, change: Value) -> Map<String, Value> {
    let mut file = file.clone();
    file.extend(object(change));
    file
}

fn known(raw: &Map<String, Value>, inode: u64) -> KnownFile {
    KnownFile { stamp: Stamp::made(at(1), inode), raw: raw.clone() }
}

fn shown(steps: Vec<WantedStep>) -> Vec<String> {
    let by = |it: Option<String>| it.unwrap_or_else(|| "the lead".to_owned());
    steps.into_iter().map(|WantedStep { by: who, step }| format!("{step} by {}", by(who))).collect()
}

#[test]
fn a_file_is_at_rest_while_the_board_agrees_with_it() {
    let mut bench = Bench::new();
    bench.create("one");
    let file = known(&bench.file(1), 1);
    assert!(is_at_rest(&file, &bench.ours(1)));
    bench.claim("bob", 1);
    assert!(!is_at_rest(&file, &bench.ours(1)), "the board has moved on");
    assert!(is_at_rest(&file, &TaskOnBoard::Over));
    assert!(!is_at_rest(&file, &TaskOnBoard::Nothing), "the file is to go");
}

#[test]
fn a_new_mirror_recognises_what_an_earlier_one_wrote() {
    let mut bench = Bench::new();
    bench.create("one");
    let stamp = Stamp::made(at(1), 1);
    let raw = bench.file(1);
    let written = WrittenNote::made(stamp, raw.clone());
    let on_disk = |raw: &Map<String, Value>, stamp| DiskFile {
        stamp,
        bytes: Some(serde_json::to_vec(raw).unwrap()),
    };
    let theirs = changed(&raw, json!({"status": "in_progress", "claimed_by": "pat"}));
    assert!(is_unchanged(&on_disk(&raw, stamp), &written, &bench.ours(1)));
    assert!(!is_unchanged(&on_disk(&theirs, stamp), &written, &bench.ours(1)));
    assert!(!is_unchanged(&DiskFile { stamp, bytes: None }, &written, &bench.ours(1)));
    assert!(!is_unchanged(&on_disk(&raw, stamp), &written, &TaskOnBoard::Over));
    bench.claim("bob", 1);
    assert!(!is_unchanged(&on_disk(&raw, stamp), &written, &bench.ours(1)));
}

#[test]
fn a_file_is_its_tasks_another_tasks_or_deleted() {
    let mut bench = Bench::new();
    bench.create("one");
    bench.create("two");
    let own = bench.file(1);
    let other = object(json!({"subject": "something else"}));
    let foreign = changed(&own, json!({"uuid": Uuid::from_u128(99)}));
    let case = |raw: &Map<String, Value>, is_known, ours| {
        let case = task_case(&bench.state, Layout::Seeds, raw, is_known, ours);
        format!("{case:?}").split(['(', ' ']).next().unwrap().to_owned()
    };
    for (raw, is_known, ours, expect) in [
        (&own, false, bench.ours(1), "Change"),
        (&own, true, bench.ours(1), "Change"),
        (&other, true, bench.ours(1), "Change"),
        (&other, false, bench.ours(1), "Displaces"),
        (&own, true, TaskOnBoard::Over, "Over"),
        (&own, true, TaskOnBoard::Nothing, "Deleted"),
        (&own, false, TaskOnBoard::Nothing, "New"),
        (&foreign, false, TaskOnBoard::Nothing, "DeletedIfLogged"),
        (&other, false, TaskOnBoard::Nothing, "New"),
    ] {
        assert_eq!(case(raw, is_known, ours), expect, "{raw:?}, {is_known}");
    }
}

/// The changes that are wanted for task 1, if `written` was written last and `theirs` lies there.
fn wanted(
    bench: &Bench,
    written: Option<&KnownFile>,
    stamp: Stamp,
    theirs: &Map<String, Value>,
) -> WantedChange {
    let TaskOnBoard::Live(ours) = bench.ours(1) else { panic!("task 1 is not live") };
    let names = bench.names();
    let facts = ChangeFacts {
        layout: Layout::Seeds,
        names: &names,
        known: written,
        ours: &ours,
        stamp,
        raw: theirs,
    };
    change(&facts).unwrap()
}

#[test]
fn only_a_programs_changes_are_wanted_whoever_is_first() {
    let mut free = Bench::new();
    free.create("one");
    let written = free.file(1);
    let mut held = Bench::new();
    held.create("one");
    held.claim("bob", 1);
    let mut theirs_held = Bench::new();
    theirs_held.create("one");
    theirs_held.claim("pat", 1);
    let claim = changed(
        &written,
        json!({"status": "in_progress", "claimed_by": "pat", "claimedBy": "pat"}),
    );
    let note = changed(&written, json!({"metadata": {"note": "x"}}));
    let before = known(&written, 1);
    let later = Stamp::made(at(100), 2);
    type Case<'a> = (&'a str, &'a Bench, &'a Map<String, Value>, &'a [&'a str]);
    let cases: [Case<'_>; 7] = [
        ("nobody did anything", &free, &written, &[]),
        ("the board moved on, and the file is what troop wrote before", &held, &written, &[]),
        ("a program claims", &free, &claim, &["claimed by pat"]),
        ("a program claims what the board gave away meanwhile", &held, &claim, &["claimed by pat"]),
        ("the claim was given, and the mirror killed before it wrote", &theirs_held, &claim, &[]),
        ("a program notes something", &free, &note, &["changed by the lead"]),
        (
            "a program notes something, and the board moved on",
            &held,
            &note,
            &["changed by the lead"],
        ),
    ];
    for (what, bench, theirs, expect) in cases {
        let change = wanted(bench, Some(&before), later, theirs);
        assert_eq!(shown(change.steps), expect, "{what}");
        assert_eq!(change.reading, DiffReading::Whole, "{what}");
    }
}

#[test]
fn a_foreign_file_only_moves_its_task_forward_if_the_board_is_newer() {
    let mut bench = Bench::new();
    bench.create("one");
    bench.claim("pat", 1);
    let file = bench.file(1);
    let released = changed(&file, json!({"status": "pending", "claimed_by": "", "claimedBy": ""}));
    let ended = changed(&file, json!({"status": "completed"}));
    let older = Stamp::made(at(0), 1);
    let newer = Stamp::made(at(100), 1);
    let cases: [(Stamp, &Map<String, Value>, &[&str]); 4] = [
        (older, &released, &[]),
        (newer, &released, &["given back by pat"]),
        (older, &ended, &["completed by pat"]),
        (newer, &ended, &["completed by pat"]),
    ];
    for (stamp, theirs, expect) in cases {
        assert_eq!(shown(wanted(&bench, None, stamp, theirs).steps), expect, "{stamp:?}");
    }
}

#[test]
fn a_touched_file_renews_the_lease_of_a_program_whose_time_is_half_over() {
    let mut bench = Bench::new();
    bench.create("one");
    bench.claim("pat", 1);
    let file = known(&bench.file(1), 1);
    let touched = Stamp::made(at(50), 1);
    let renews = |bench: &Bench, stamp, raw| wanted(bench, Some(&file), stamp, raw).renews;
    assert!(!renews(&bench, touched, &file.raw), "there is time");
    bench.second += 100_000;
    assert!(renews(&bench, touched, &file.raw));
    assert!(!renews(&bench, file.stamp, &file.raw), "nobody touched it");
    let ended = changed(&file.raw, json!({"status": "completed"}));
    assert!(!renews(&bench, touched, &ended), "it wants something else");
}

#[test]
fn a_completion_by_a_member_that_left_counts_while_the_task_is_free() {
    let names = Bench::new().names();
    let complete = |by: &str, result: Option<&str>| WantedStep {
        by: Some(by.to_owned()),
        step: TaskStep::Complete { result: result.map(str::to_owned) },
    };
    let by_lead = |result: &str| WantedStep {
        by: None,
        step: TaskStep::Complete { result: Some(result.to_owned()) },
    };
    for (wanted, status, expect) in [
        (complete("gone", None), Some(Status::Pending), by_lead("completed by gone")),
        (complete("gone", Some("x")), Some(Status::Blocked), by_lead("x")),
        (complete("gone", None), Some(Status::InProgress), complete("gone", None)),
        (complete("gone", None), None, complete("gone", None)),
        (complete("pat", None), Some(Status::Pending), complete("pat", None)),
    ] {
        assert_eq!(in_leads_name(wanted, status, &names), expect);
    }
}

#[test]
fn a_missing_file_was_lost_unless_the_client_counts_ids() {
    let noted = [id("1"), id("2"), id("x")];
    let none = BTreeSet::new();
    let some = BTreeSet::from([id("2")]);
    for (layout, file, present, mark, expect) in [
        (Layout::Claude, "1", &none, Some("9"), GoneCase::AllLost),
        (Layout::Claude, "1", &some, Some("9"), GoneCase::Deleted),
        (Layout::Claude, "1", &some, Some("1"), GoneCase::Deleted),
        (Layout::Claude, "1", &some, Some("0"), GoneCase::Lost),
        (Layout::Claude, "1", &some, Some("?"), GoneCase::Lost),
        (Layout::Claude, "1", &some, None, GoneCase::Lost),
        (Layout::Claude, "x", &some, Some("9"), GoneCase::Lost),
        (Layout::Seeds, "1", &some, Some("9"), GoneCase::Lost),
    ] {
        let facts = GoneFacts { layout, id: &id(file), noted: &noted, present, mark };
        assert_eq!(gone(&facts), expect, "{layout} {file} {mark:?}");
    }
}

#[test]
fn a_mark_is_raised_and_never_lowered_or_overwritten() {
    for (mark, expect) in
        [(None, true), (Some(""), true), (Some("6"), true), (Some("7"), false), (Some("?"), false)]
    {
        assert_eq!(is_higher(7, mark), expect, "{mark:?}");
    }
}

#[test]
fn a_visit_leaves_the_boards_content_in_the_file() {
    let mut bench = Bench::new();
    bench.create("one");
    let ours = bench.file(1);
    let theirs = changed(&ours, json!({"status": "completed"}));
    assert_eq!(put(bench.ours(1), Some(&ours)), FilePut::Agree(ours.clone()));
    assert_eq!(put(bench.ours(1), Some(&theirs)), FilePut::Write(ours.clone()));
    assert_eq!(put(bench.ours(1), None), FilePut::Make(ours));
    assert_eq!(put(TaskOnBoard::Over, Some(&theirs)), FilePut::Leave);
    assert_eq!(put(TaskOnBoard::Nothing, Some(&theirs)), FilePut::Remove);
    assert_eq!(put(TaskOnBoard::Nothing, None), FilePut::Remove);
}

#[test]
fn an_unknown_task_is_looked_up_in_its_file() {
    let mut bench = Bench::new();
    bench.create("one");
    let after = NewTask {
        subject: "two".to_owned(),
        blocked_by: vec![TaskNumber(1).into()],
        ..NewTask::default()
    };
    bench.by("ann", &Command::Task(TaskCommand::Create(after)));
    let ids = bench.ids(Layout::Claude);
    for (other, expect) in [
        ("2", BlockCase::Waits),
        ("1", BlockCase::Free),
        ("9", BlockCase::AskFile(id("9"))),
        ("../9", BlockCase::Free),
    ] {
        assert_eq!(block_case(&bench.state, &ids, other, TaskNumber(1)), expect, "{other}");
    }
}

#[test]
fn an_entry_of_an_inbox_is_ours_theirs_or_read() {
    let mut bench = Bench::new();
    let waits = bench.send("ann", "pat", MessageKind::Message);
    let before = KnownInbox { letters: BTreeMap::from([("n".to_owned(), waits)]), stamp: None };
    let mut mail = bench.mail("pat", &[]);
    let stranger = Uuid::from_u128(5);
    let entry = |name: Value, is_read: bool| object(json!({"msg_id": name, "read": is_read}));
    for (entry, expect) in [
        (entry(json!("n"), false), ClaimedId::Known(waits)),
        (entry(json!("n"), true), ClaimedId::Known(waits)),
        (entry(json!(waits), false), ClaimedId::Known(waits)),
        (entry(json!(waits), true), ClaimedId::Nothing),
        (entry(json!(stranger), false), ClaimedId::IfLogged(stranger)),
        (entry(json!("7"), false), ClaimedId::Nothing),
        (object(json!({"text": "x"})), ClaimedId::Nothing),
    ] {
        assert_eq!(claimed_id(&entry, &before, &mail), expect, "{entry:?}");
    }
    let names = bench.names();
    let own = object(json!({"from": "pat"}));
    let unread = entry(json!("n"), false);
    let read = entry(json!("n"), true);
    let theirs = object(json!({"from": "quin"}));
    for (entry, known, expect) in [
        (&unread, Some(waits), EntryCase::Lies(waits)),
        (&read, Some(waits), EntryCase::Read(waits)),
        (&unread, Some(stranger), EntryCase::ReadElsewhere(stranger)),
        (&read, None, EntryCase::Kept),
        (&own, None, EntryCase::Kept),
        (&theirs, None, EntryCase::New),
    ] {
        assert_eq!(entry_case(entry, known, &mail, &names), expect, "{entry:?}");
    }
    mail.is_running = true;
    assert_eq!(entry_case(&unread, Some(waits), &mail, &names), EntryCase::Withdrawn(waits));
}

#[test]
fn a_message_counts_as_read_only_if_it_lay_in_the_inbox() {
    let mut bench = Bench::new();
    let lay = bench.send("ann", "pat", MessageKind::Message);
    let noted = bench.send("ann", "pat", MessageKind::Message);
    let fresh = bench.send("ann", "pat", MessageKind::Message);
    let before = KnownInbox { letters: BTreeMap::from([("a".to_owned(), lay)]), stamp: None };
    let taken_away = bench.send("ann", "pat", MessageKind::Message);
    let letters = [("t".to_owned(), taken_away)];
    let before =
        KnownInbox { letters: before.letters.into_iter().chain(letters).collect(), ..before };
    let mail = bench.mail("pat", &[lay, taken_away]);
    // Another mirror took `taken_away` out of the inbox, and its note first.
    let seen = BTreeSet::from([lay, noted]);

    let mut file = SortedInbox::default();
    file.add_gone(&before, &mail, &seen);
    assert!(file.is_incomplete, "what was taken away comes back");
    file.add_missing(&mail, &seen, &bench.names(), &bench.ids(Layout::Claude));
    assert_eq!(file.read, [lay, noted]);
    assert_eq!(file.delivered, [fresh]);
    assert_eq!(file.inbox.ids(), BTreeSet::from([fresh]));

    let mut folder = FolderInbox::new(before.clone(), &BTreeSet::new(), &[], &mail, &seen);
    assert!(folder.is_incomplete, "what was taken away comes back");
    let missing = folder.missing(&mail, &seen, &bench.ids(Layout::Seeds));
    assert_eq!(folder.read, [lay, noted]);
    assert_eq!(missing.iter().map(|it| it.id).collect::<Vec<_>>(), [fresh]);

    let running = OwnerMail { is_running: true, ..mail };
    let there = BTreeSet::from(["a".to_owned()]);
    let mut folder = FolderInbox::new(before, &there, &[], &running, &seen);
    assert_eq!(folder.withdrawn, [("a".to_owned(), lay)]);
    assert!(folder.missing(&running, &seen, &bench.ids(Layout::Seeds)).is_empty());
    assert!(folder.read.is_empty(), "what comes in another way was not read here");
}

#[test]
fn a_message_lies_in_its_inbox_before_that_is_noted_and_the_board_hears_of_it() {
    let mut bench = Bench::new();
    let lay = bench.send("ann", "pat", MessageKind::Message);
    let fresh = bench.send("ann", "pat", MessageKind::Message);
    let before = KnownInbox { letters: BTreeMap::from([("a".to_owned(), lay)]), stamp: None };
    let mail = bench.mail("pat", &[lay]);
    let nothing = BTreeSet::new();
    let noted = BTreeSet::from([lay]);
    let closing = |inbox: KnownInbox| {
        [
            InboxEffect::Note(vec![fresh]),
            InboxEffect::Remember(inbox),
            InboxEffect::MarkDelivered(vec![fresh]),
            InboxEffect::MarkRead(vec![lay]),
            InboxEffect::ForgetNote(lay),
        ]
    };

    let mut file = SortedInbox::default();
    file.add_gone(&before, &mail, &noted);
    file.add_missing(&mail, &nothing, &bench.names(), &bench.ids(Layout::Claude));
    let written = InboxEffect::WriteFile(file.entries.clone());
    let inbox = file.inbox.clone();
    let effects = file.effects(&[], None, &noted);
    assert_eq!(effects, [vec![written], closing(inbox).to_vec()].concat());
    let quiet = SortedInbox::default().effects(&[], None, &nothing);
    let remember = InboxEffect::Remember(KnownInbox::default());
    assert_eq!(quiet, [InboxEffect::Note(Vec::new()), remember], "no empty file is made");

    let ids = bench.ids(Layout::Seeds);
    let old = ("b".to_owned(), Uuid::from_u128(9));
    let letters = before.letters.clone().into_iter().chain([old.clone()]).collect();
    let known = KnownInbox { letters, stamp: None };
    let there = BTreeSet::from(["b".to_owned()]);
    let folder = FolderInbox::new(known.clone(), &there, &[], &mail, &noted);
    let effects = folder.effects(&mail, &noted, Vec::new(), &ids);
    let (begin, end) = effects.split_at(3);
    let withdrawn = [InboxEffect::ForgetNote(old.1), InboxEffect::RemoveLetter(old.0)];
    assert_eq!(begin, [withdrawn.to_vec(), vec![InboxEffect::MakeFolder]].concat());
    let name = format!("msg-{fresh}.json");
    assert!(matches!(&end[0], InboxEffect::WriteLetter(it) if it.name == name));
    let letters = BTreeMap::from([(name, fresh)]);
    assert_eq!(end[1..], closing(KnownInbox { letters, stamp: None }));
}

#[test]
fn a_folder_that_troop_filled_is_recognised_by_its_notes() {
    let waits = Uuid::from_u128(5);
    let name = format!("msg-{waits}.json");
    let noted = BTreeSet::from([waits]);
    let there = BTreeSet::from([name.clone()]);
    let inbox = KnownInbox { letters: BTreeMap::from([(name, waits)]), stamp: None };
    assert_eq!(recognised_folder(&there, &noted), Some(inbox));
    assert_eq!(recognised_folder(&there, &BTreeSet::new()), None, "nobody noted it");
    let foreign = BTreeSet::from(["hello.json".to_owned()]);
    assert_eq!(recognised_folder(&foreign, &noted), None);
    assert_eq!(recognised_folder(&BTreeSet::new(), &noted), Some(KnownInbox::default()));
}

#[test]
fn a_command_needs_the_file_of_the_task_that_it_changes() {
    let number = || TaskRef::from(TaskNumber(1));
    let claim = |task| Command::Task(TaskCommand::Claim { task });
    let assign = |task| Command::Task(TaskCommand::Assign { task, to: name("pat") });
    let complete = |attempt| {
        let result = "x".to_owned();
        Command::Task(TaskCommand::Complete { task: number(), result, summary: None, attempt })
    };
    let cancel = || Command::Task(TaskCommand::Cancel { task: number(), reason: "x".to_owned() });
    let renew = || Command::Task(TaskCommand::Renew { task: number(), attempt: None });
    let pat = || Actor::agent(&name("pat"));
    let one = || Some(DoorTarget::Named(number()));
    let next = || Some(DoorTarget::NextFor("pat".to_owned()));
    let idle = Command::ReportIdle { member: name("pat"), last_task: None };
    type Case = (Command, Actor, Option<u64>, Option<DoorTarget>);
    let cases: [Case; 15] = [
        (claim(Some(number())), pat(), None, one()),
        (claim(Some(number())), pat(), Some(1), one()),
        (claim(None), pat(), None, next()),
        (assign(Some(number())), pat(), Some(1), one()),
        (assign(None), Actor::human("zoe"), None, next()),
        (idle, Actor::system(), Some(1), next()),
        (complete(Some(1)), pat(), None, one()),
        (complete(Some(1)), Actor::human("zoe"), Some(1), one()),
        // A lead passes on what the holder of a task says in the order in which it was said.
        (complete(Some(1)), pat(), Some(1), None),
        // Nobody may hold it: then completing it claims it first.
        (complete(None), pat(), Some(1), one()),
        (cancel(), pat(), Some(1), one()),
        (renew(), pat(), None, None),
        (Command::Tick, Actor::system(), None, None),
        (Command::RenewLead, Actor::system(), Some(1), None),
        (Command::Send(Outgoing::system("pat", "x")), pat(), None, None),
    ];
    for (command, actor, fence, expect) in cases {
        let request = CommandRequest { fence, ..CommandRequest::new(actor, command) };
        assert_eq!(door_target(&request), expect, "{request:?}");
    }
    let mut request = CommandRequest::new(pat(), claim(Some(number())));
    request.operation = operation::of_task(at(1), at(2), &[b"its file"]);
    assert_eq!(door_target(&request), None, "its mirror has the lock");
}

#[test]
fn the_next_task_is_the_first_whose_lock_can_be_taken_in_the_boards_order() {
    let mut bench = Bench::new();
    ["one", "two", "three"].iter().for_each(|it| bench.create(it));
    bench.claim("bob", 2);
    let next = |member: &str| candidates(&bench.state, &DoorTarget::NextFor(member.to_owned()));
    assert_eq!(next("pat"), [TaskNumber(1), TaskNumber(3)]);
    assert!(next("nobody").is_empty());
    let named = |number| DoorTarget::Named(TaskNumber(number).into());
    assert_eq!(candidates(&bench.state, &named(2)), [TaskNumber(2)]);
    assert!(candidates(&bench.state, &named(9)).is_empty(), "the board says that there is none");
    let claim = |task| Command::Task(TaskCommand::Claim { task });
    assert_eq!(about(claim(None), TaskNumber(3)), claim(Some(TaskNumber(3).into())));
    assert_eq!(about(Command::Tick, TaskNumber(3)), Command::Tick);
    let request =
        |fence| CommandRequest { fence, ..CommandRequest::new(Actor::system(), Command::Tick) };
    for (fence, number, expect) in
        [(None, 1, false), (Some(1), 1, false), (None, 2, false), (Some(1), 2, true)]
    {
        let passes = goes_without_lock(&bench.state, &request(fence), TaskNumber(number));
        assert_eq!(passes, expect, "{fence:?} {number}");
    }
}

#[test]
fn a_quiet_inbox_holds_exactly_what_waits() {
    let mut bench = Bench::new();
    let waits = bench.send("ann", "pat", MessageKind::Message);
    let inbox = KnownInbox { letters: BTreeMap::from([("a".to_owned(), waits)]), stamp: None };
    assert!(bench.mail("pat", &[waits]).is_in(&inbox));
    assert!(!bench.mail("pat", &[]).is_in(&KnownInbox::default()), "one is missing");
    let running = OwnerMail { is_running: true, ..bench.mail("pat", &[waits]) };
    assert!(!running.is_in(&inbox), "it is to be taken away");
    assert!(running.is_in(&KnownInbox::default()));
}

#[test]
fn a_file_in_an_inbox_is_ours_only_by_its_name_and_its_mark() {
    let mut bench = Bench::new();
    let waits = bench.send("ann", "pat", MessageKind::Message);
    let old = Uuid::from_u128(5);
    let mut mail = bench.mail("pat", &[]);
    let stored = object(json!({"stored": true}));
    let copied = object(json!({"content": "x"}));
    let case = |mail: &OwnerMail, file: String, raw| letter_case(Path::new(&file), raw, mail);
    assert_eq!(case(&mail, format!("msg-{waits}.json"), &stored), LetterCase::Lies(waits));
    assert_eq!(case(&mail, format!("msg-{waits}.json"), &copied), LetterCase::New);
    assert_eq!(case(&mail, format!("{waits}.json"), &stored), LetterCase::New);
    assert_eq!(case(&mail, format!("msg-{old}.json"), &stored), LetterCase::WithdrawnIfLogged(old));
    mail.is_running = true;
    assert_eq!(case(&mail, format!("msg-{waits}.json"), &stored), LetterCase::Withdrawn(waits));
}

#[test]
fn members_join_and_leave_through_the_config() {
    let bench = Bench::new();
    let entry = |name: &str| json!({"name": name});
    let listed = |names: &[&str]| {
        object(json!({"members": names.iter().map(|it| entry(it)).collect::<Vec<_>>()}))
    };
    let mut theirs = listed(&["ann", "pat", "new", "not a name"]);
    let removed = json!({"name": "old", "memberId": Uuid::from_u128(3)});
    theirs["members"].as_array_mut().unwrap().push(removed);
    let newcomers = newcomers(&theirs, &bench.names());
    assert_eq!(
        newcomers.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(),
        ["new", "not a name"]
    );
    assert!(newcomers[0].member.as_ref().is_ok_and(|it| it.agent == EXTERNAL));
    assert!(newcomers[1].member.is_err());

    let known = listed(&["ann", "bob", "pat", "quin"]);
    let left = |known: Option<&Map<String, Value>>, theirs: &Map<String, Value>| -> Vec<String> {
        let leavers = leavers(&bench.state, known, theirs).into_iter();
        leavers.map(|it| format!("{} {}", it.member, it.is_external)).collect()
    };
    assert_eq!(left(Some(&known), &listed(&["ann", "pat"])), ["bob false", "quin true"]);
    assert!(left(Some(&known), &listed(&[])).is_empty(), "it is not about members");
    assert!(left(None, &listed(&["ann"])).is_empty());
}

#[test]
fn an_answer_finds_the_request_that_it_means() {
    let mut bench = Bench::new();
    let asked = bench.send("ann", "pat", MessageKind::ShutdownRequest);
    let answer = |request_id: Option<&str>| InboxLetter {
        from: "pat".to_owned(),
        kind: MessageKind::ShutdownResponse,
        content: "fine".to_owned(),
        summary: None,
        request_id: request_id.map(str::to_owned),
        approve: None,
        text: "as it stands".to_owned(),
    };
    let said = |letter: InboxLetter| {
        let Command::Send(outgoing) = outgoing(&bench.state, &name("ann"), "pat", letter) else {
            panic!("it is no message")
        };
        (outgoing.kind, outgoing.request_id, outgoing.approve, outgoing.content)
    };
    let response = MessageKind::ShutdownResponse;
    let yes = Some(true);
    assert_eq!(said(answer(None)), (response, Some(asked), yes, "fine".to_owned()));
    let by_id = said(answer(Some(&asked.to_string())));
    assert_eq!(by_id, (response, Some(asked), yes, "fine".to_owned()));
    let unknown = said(answer(Some("r-1")));
    assert_eq!(unknown, (MessageKind::Message, None, yes, "as it stands".to_owned()));
}

#[test]
fn a_refusal_is_sent_to_the_writer_or_the_lead() {
    let names = Bench::new().names();
    for (who, expect) in [(Some("pat"), "pat"), (Some("gone"), "ann"), (None, "ann")] {
        let Some(Command::Send(told)) = refusal(&names, who, "tasks/crew/1.json", "no") else {
            panic!("nobody is told")
        };
        assert_eq!(told.to, expect);
        assert_eq!(told.content, "what was written to `tasks/crew/1.json` was refused: no");
    }
    assert!(refusal(&Names::default(), Some("pat"), "x", "no").is_none());
}

#[test]
fn an_event_touches_the_files_that_show_it() {
    let ann = name("ann");
    let inbox = |owner: &str| Item::Inbox(owner.to_owned());
    let state = |member: &str| Fact::MemberStateChanged {
        member: name(member),
        state: MemberState::Idle,
        reason: None,
        cause: None,
        pid: None,
    };
    let items = |fact: &Fact, layout| touched(fact, layout, Some(&ann)).items;
    let config = || Item::Config;
    assert_eq!(items(&state("pat"), Layout::Seeds), [config(), inbox("pat")]);
    assert_eq!(items(&state("ann"), Layout::Seeds), [config(), inbox("ann")]);
    assert_eq!(items(&state("ann"), Layout::Claude), [config(), inbox("team-lead")]);
    let mut bench = Bench::new();
    let events = bench.by("ann", &Command::RemoveMember { member: name("pat"), reason: None });
    let all: Vec<_> = events.iter().flat_map(|it| items(&it.fact, Layout::Seeds)).collect();
    assert!(all.contains(&Item::Config) && all.contains(&inbox("pat")), "{all:?}");
    let task = Some(TaskNumber(1).into());
    bench.create("one");
    let events = bench.by("quin", &Command::Task(TaskCommand::Claim { task }));
    let touched = touched(&events[0].fact, Layout::Seeds, Some(&ann));
    assert_eq!((touched.items, touched.task), (Vec::new(), Some(TaskNumber(1))));
}
