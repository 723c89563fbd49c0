//! The order of visits, from facts to the next step.

use serde_json::json;

use super::*;
use crate::mirror::difference::TaskStep;

fn raw(word: &str) -> Map<String, Value> {
    json!({"status": word}).as_object().unwrap().clone()
}

fn file(blocks: Option<&[&str]>) -> TaskFile {
    TaskFile {
        subject: None,
        description: None,
        status: FileStatus::Pending,
        owner: None,
        assignee: None,
        waits_for: None,
        blocks: blocks.map(|it| it.iter().map(ToString::to_string).collect()),
        created_by: None,
        result: None,
        metadata: None,
    }
}

/// A visit that has the lock and knows what was written last.
fn locked() -> VisitFacts {
    VisitFacts {
        is_at_rest: Some(false),
        has_begun: true,
        is_recognised: Some(false),
        has_lock: Some(true),
        caught_up: BoardCatchUp::ToRead,
        is_recalled: true,
        ..VisitFacts::default()
    }
}

#[test]
fn a_file_is_read_only_under_its_lock_and_after_its_note() {
    let mut facts = VisitFacts::default();
    assert_eq!(visit_step(&facts), VisitStep::Compare);
    facts.is_at_rest = Some(false);
    assert_eq!(visit_step(&facts), VisitStep::BeginReading);
    facts.has_begun = true;
    assert_eq!(visit_step(&facts), VisitStep::Recognise);
    facts.is_recognised = Some(false);
    assert_eq!(visit_step(&facts), VisitStep::Lock);
    facts.has_lock = Some(true);
    assert_eq!(visit_step(&facts), VisitStep::CatchUp(BoardCatchUp::ToRead));
    facts.caught_up = BoardCatchUp::ToRead;
    assert_eq!(visit_step(&facts), VisitStep::Recall);
    facts.is_recalled = true;
    assert_eq!(visit_step(&facts), VisitStep::Read);
}

#[test]
fn a_visit_ends_if_nothing_changed_or_the_file_is_locked() {
    let done = VisitStep::End(Settlement::Done);
    let later = VisitStep::End(Settlement::Later);
    let at_rest = VisitFacts { is_at_rest: Some(true), ..VisitFacts::default() };
    assert_eq!(visit_step(&at_rest), done);
    assert_eq!(visit_step(&VisitFacts { is_recognised: Some(true), ..locked() }), done);
    assert_eq!(visit_step(&VisitFacts { has_lock: Some(false), ..locked() }), later);
    let half = VisitFacts { reading: Some(FileReading::Half), ..locked() };
    assert_eq!(visit_step(&half), later);
}

#[test]
fn a_file_is_taken_in_before_it_is_written() {
    for (reading, expect) in [
        (FileReading::Gone, VisitStep::SettleGone),
        (FileReading::Unreadable("no".to_owned()), VisitStep::SetAside("no".to_owned())),
        (FileReading::Whole, VisitStep::TakeIn),
    ] {
        let mut facts = VisitFacts { reading: Some(reading), ..locked() };
        assert_eq!(visit_step(&facts), expect);
        facts.intake = Some(Intake::Renew);
        assert_eq!(visit_step(&facts), VisitStep::CatchUp(BoardCatchUp::ToWrite));
        facts.caught_up = BoardCatchUp::ToWrite;
        assert_eq!(visit_step(&facts), VisitStep::Put(Intake::Renew));
        facts.put = Some(Settlement::Done);
        assert_eq!(visit_step(&facts), VisitStep::NoteInStep);
        facts.is_noted = true;
        assert_eq!(visit_step(&facts), VisitStep::End(Settlement::Done));
        facts.put = Some(Settlement::Later);
        assert_eq!(visit_step(&facts), VisitStep::End(Settlement::Later), "somebody was first");
        facts.intake = Some(Intake::Settled(Settlement::Waits));
        facts.put = None;
        assert_eq!(visit_step(&facts), VisitStep::End(Settlement::Waits), "nothing is written");
    }
}

#[test]
#[expect(clippy::wildcard_enum_match_arm, reason = "every other step needs the same")]
fn no_file_is_read_or_written_by_a_board_that_is_behind() {
    // Every state of a visit that holds the lock: whatever is known besides, the board catches up first.
    for errand in [VisitErrand::None, VisitErrand::Command, VisitErrand::Given] {
        for reading in [None, Some(FileReading::Gone), Some(FileReading::Whole)] {
            for intake in [None, Some(Intake::Renew), Some(Intake::Replace)] {
                for caught_up in [BoardCatchUp::Never, BoardCatchUp::ToRead, BoardCatchUp::ToWrite]
                {
                    let reading = reading.clone();
                    let facts = VisitFacts { errand, reading, intake, caught_up, ..locked() };
                    let allowed = match visit_step(&facts) {
                        VisitStep::Put(_) => caught_up == BoardCatchUp::ToWrite,
                        VisitStep::CatchUp(next) => next > caught_up,
                        _ => caught_up > BoardCatchUp::Never,
                    };
                    assert!(allowed, "{facts:?}");
                }
            }
        }
    }
}

#[test]
fn a_command_is_given_under_the_lock_after_the_file_is_taken_in_and_before_it_is_written() {
    let facts = VisitFacts { errand: VisitErrand::Command, ..VisitFacts::default() };
    assert_eq!(visit_step(&facts), VisitStep::Lock, "however much the file is at rest");
    let locked = || VisitFacts {
        errand: VisitErrand::Command,
        reading: Some(FileReading::Whole),
        ..locked()
    };
    assert_eq!(visit_step(&locked()), VisitStep::TakeIn);
    for intake in [Intake::Replace, Intake::Renew, Intake::Settled(Settlement::Done)] {
        let mut facts = VisitFacts { intake: Some(intake), ..locked() };
        if intake == Intake::Replace {
            assert_eq!(visit_step(&facts), VisitStep::Announce, "a file lies there");
            facts.errand = VisitErrand::Announced;
        }
        assert_eq!(visit_step(&facts), VisitStep::GiveCommand, "{intake:?}");
        facts.errand = VisitErrand::Given;
        assert_ne!(visit_step(&facts), VisitStep::GiveCommand, "{intake:?}");
    }
    for settled in [Settlement::Later, Settlement::Waits] {
        let facts = VisitFacts { intake: Some(Intake::Settled(settled)), ..locked() };
        assert_eq!(visit_step(&facts), VisitStep::End(settled), "the file is not taken in");
    }
    let busy = VisitFacts { has_lock: Some(false), ..locked() };
    assert_eq!(visit_step(&busy), VisitStep::End(Settlement::Later));
    let half = VisitFacts { reading: Some(FileReading::Half), ..locked() };
    assert_eq!(visit_step(&half), VisitStep::End(Settlement::Later));
}

#[test]
fn a_file_is_written_with_its_note_before_it_is_remembered() {
    let board = || raw("pending");
    let effects = |put: FilePut, layout| put.effects(layout, false);
    let write = |place| PutEffect::Write(board(), place);
    let remember = || PutEffect::Remember(board());
    for layout in [Layout::Seeds, Layout::Claude] {
        let over = effects(FilePut::Write(board()), layout);
        assert_eq!(over, [write(TargetPlace::Any), remember()]);
        let agree = effects(FilePut::Agree(board()), layout);
        assert_eq!(agree, [PutEffect::NoteTheirs(board()), remember()]);
        assert_eq!(FilePut::Agree(board()).effects(layout, true), [remember()]);
        assert_eq!(effects(FilePut::Leave, layout), []);
        let removed = [
            PutEffect::ForgetKnown,
            PutEffect::RemoveFile,
            PutEffect::RemoveNote,
            PutEffect::RemoveLocks,
        ];
        assert_eq!(effects(FilePut::Remove, layout), removed);
    }
    let new = write(TargetPlace::Empty);
    let seeds = effects(FilePut::Make(board()), Layout::Seeds);
    assert_eq!(seeds, [new.clone(), remember()]);
    let claude = effects(FilePut::Make(board()), Layout::Claude);
    assert_eq!(claude, [PutEffect::LockIds, new, PutEffect::RaiseMark, remember()]);
}

#[test]
fn wishes_are_given_in_order_and_blocks_last() {
    let step = |nth, step| FileWish::Step { nth, wanted: WantedStep { by: None, step } };
    let change = |reading, renews, steps| WantedChange {
        before: file(Some(&["2", "3"])),
        now: file(Some(&["3", "4"])),
        reading,
        steps,
        renews,
    };
    let none = || WantedStep { by: None, step: TaskStep::Cancel };
    let also = || WantedStep { by: None, step: TaskStep::Delete };
    let wishes = change_wishes(&change(DiffReading::Whole, false, vec![none(), also()]), None);
    let expect = [
        step(2, TaskStep::Cancel),
        step(3, TaskStep::Delete),
        FileWish::Block("4".to_owned()),
        FileWish::Unblock("2".to_owned()),
    ];
    assert_eq!(wishes, expect);
    let by = Some("pat".to_owned());
    let wishes = change_wishes(&change(DiffReading::Forward, true, Vec::new()), by.clone());
    assert_eq!(wishes, [FileWish::Renew { by }]);
    let taken = TaskFile {
        status: FileStatus::InProgress,
        owner: Some(Some("pat".to_owned())),
        ..file(Some(&["2"]))
    };
    let wanted = WantedStep { by: Some("pat".to_owned()), step: TaskStep::Claim };
    let claim = FileWish::Step { nth: 2, wanted };
    assert_eq!(new_wishes(&taken), [claim, FileWish::Block("2".to_owned())]);
    assert_eq!(new_wishes(&file(None)), []);
}

#[test]
fn members_join_before_others_leave_and_the_config_is_written_last() {
    let mut facts = ConfigFacts::new(Leavers::Stay);
    assert_eq!(config_step(&facts), ConfigStep::Compare);
    facts.is_at_rest = Some(false);
    assert_eq!(config_step(&facts), ConfigStep::Lock);
    facts.has_lock = Some(true);
    assert_eq!(config_step(&facts), ConfigStep::CatchUp(BoardCatchUp::ToRead));
    facts.caught_up = BoardCatchUp::ToRead;
    assert_eq!(config_step(&facts), ConfigStep::Recall);
    facts.is_recalled = true;
    assert_eq!(config_step(&facts), ConfigStep::Read);
    facts.reading = Some(FileReading::Whole);
    let steps = [
        (ConfigProgress::Read, ConfigStep::Join),
        (ConfigProgress::Joined, ConfigStep::FindLeavers),
        (ConfigProgress::Compared { has_leavers: true }, ConfigStep::HearOut),
        (ConfigProgress::Compared { has_leavers: false }, ConfigStep::LetGo),
        (ConfigProgress::Left, ConfigStep::CatchUp(BoardCatchUp::ToWrite)),
        (ConfigProgress::Written, ConfigStep::End(Settlement::Done)),
    ];
    for (progress, expect) in steps {
        facts.progress = progress;
        assert_eq!(config_step(&facts), expect, "{progress:?}");
    }
    let caught_up = ConfigFacts { caught_up: BoardCatchUp::ToWrite, ..facts };
    facts = ConfigFacts { progress: ConfigProgress::Left, ..caught_up };
    assert_eq!(config_step(&facts), ConfigStep::Put);
    facts.progress = ConfigProgress::Compared { has_leavers: true };
    facts.leavers = Leavers::Go;
    assert_eq!(config_step(&facts), ConfigStep::LetGo);
}

#[test]
fn a_missing_or_unreadable_config_is_restored_and_a_half_written_one_is_retried() {
    let facts = |reading| ConfigFacts {
        is_at_rest: Some(false),
        has_lock: Some(true),
        caught_up: BoardCatchUp::ToRead,
        is_recalled: true,
        reading: Some(reading),
        ..ConfigFacts::new(Leavers::Stay)
    };
    let no = || "no".to_owned();
    let later = ConfigStep::End(Settlement::Later);
    let gone = facts(FileReading::Gone);
    assert_eq!(config_step(&gone), ConfigStep::CatchUp(BoardCatchUp::ToWrite));
    let gone = ConfigFacts { caught_up: BoardCatchUp::ToWrite, ..gone };
    assert_eq!(config_step(&gone), ConfigStep::Restore);
    assert_eq!(config_step(&facts(FileReading::Half)), later);
    assert_eq!(config_step(&facts(FileReading::Unreadable(no()))), ConfigStep::SetAside(no()));
    let locked = ConfigFacts { has_lock: Some(false), ..facts(FileReading::Whole) };
    assert_eq!(config_step(&locked), later);
    let at_rest = ConfigFacts { is_at_rest: Some(true), ..facts(FileReading::Whole) };
    assert_eq!(config_step(&at_rest), ConfigStep::End(Settlement::Done));
}
