//! The order of visits: the changes to a file, its note and the board, one step after the other.
//!
//! A visit is a function from what is known so far to the next step. A mirror can be killed between any two steps, and what the
//! next one finds then depends on their order, which stands here and nowhere else. The changes at the end of a visit are lists.

use serde_json::{Map, Value};

use crate::mirror::{
    Settlement,
    difference::{DiffReading, WantedStep, difference},
    layout::{FileStatus, Layout, TaskFile},
    written::TargetPlace,
};

use super::task::{FilePut, WantedChange};

/// When the board last took in the whole log, while the lock of a file was held.
///
/// A board that is behind does not know what another mirror took from the file, and would write over it. So it catches up before
/// the file is read, and again before it is written: giving commands takes time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum BoardCatchUp {
    #[default]
    Never,
    ToRead,
    ToWrite,
}

/// The purpose of a visit besides keeping the file in step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VisitErrand {
    #[default]
    None,
    /// A command about the task, to be given while the file is locked and everything in it is taken in.
    Command,
    /// The file shows already what the command would do, so that no program takes a task that the board has given away.
    Announced,
    /// The command was given.
    Given,
}

/// The facts that a visit to the file of a task has collected so far.
#[derive(Debug, Default)]
pub struct VisitFacts {
    pub errand: VisitErrand,
    /// Whether the file is as it was seen last, and the board still says the same.
    pub is_at_rest: Option<bool>,
    /// Whether the start of reading is recorded.
    pub has_begun: bool,
    /// Whether some mirror wrote the file, and the board still says the same.
    pub is_recognised: Option<bool>,
    /// Whether we have the file's lock, or somebody else.
    pub has_lock: Option<bool>,
    pub caught_up: BoardCatchUp,
    /// Whether we know what was written into the file last.
    pub is_recalled: bool,
    pub reading: Option<FileReading>,
    pub intake: Option<Intake>,
    pub put: Option<Settlement>,
    pub is_noted: bool,
}

/// The content of a file, read under its lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileReading {
    Gone,
    /// Somebody may still be writing it.
    Half,
    Unreadable(String),
    Whole,
}

/// The result of reading somebody's change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intake {
    /// Nothing is written.
    Settled(Settlement),
    /// The board's file comes in the place of theirs.
    Replace,
    /// The board's file comes where there is none: theirs is gone or was set aside.
    Renew,
}

/// The next step of a visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VisitStep {
    /// Compares the file's stamp and the board with what is known.
    Compare,
    BeginReading,
    /// Compares the file and the board with what some mirror wrote.
    Recognise,
    Lock,
    /// Has the board take in the whole log.
    CatchUp(BoardCatchUp),
    /// Reads the note about what was written last, and mends it if a mirror was killed while it wrote.
    Recall,
    Read,
    /// Deletes the task whose file somebody deleted, or has the file written again.
    SettleGone,
    SetAside(String),
    /// Gives the board the commands that the file stands for.
    TakeIn,
    /// If a program could take the task by its file, and cannot after the command, writes the file as the command would have it.
    /// A mirror that is killed once the board has the command leaves no file behind that says that the task is free.
    Announce,
    /// Gives the command that the visit is for.
    GiveCommand,
    /// Writes what the board says.
    Put(Intake),
    /// Notes that the file need not be read again.
    NoteInStep,
    End(Settlement),
}

pub fn visit_step(facts: &VisitFacts) -> VisitStep {
    if let Some(step) = glance_step(facts) {
        return step;
    }
    match facts.has_lock {
        None => return VisitStep::Lock,
        Some(false) => return VisitStep::End(Settlement::Later),
        Some(true) if facts.caught_up == BoardCatchUp::Never => {
            return VisitStep::CatchUp(BoardCatchUp::ToRead);
        }
        Some(true) if !facts.is_recalled => return VisitStep::Recall,
        Some(true) => {}
    }
    let Some(reading) = &facts.reading else { return VisitStep::Read };
    let Some(intake) = facts.intake else {
        return match reading {
            FileReading::Gone => VisitStep::SettleGone,
            FileReading::Half => VisitStep::End(Settlement::Later),
            FileReading::Unreadable(reason) => VisitStep::SetAside(reason.clone()),
            FileReading::Whole => VisitStep::TakeIn,
        };
    };
    let is_open = !matches!(intake, Intake::Settled(Settlement::Later | Settlement::Waits));
    match facts.errand {
        VisitErrand::Command if intake == Intake::Replace => return VisitStep::Announce,
        VisitErrand::Command | VisitErrand::Announced if is_open => return VisitStep::GiveCommand,
        VisitErrand::None | VisitErrand::Command | VisitErrand::Announced | VisitErrand::Given => {}
    }
    let settled = match (intake, facts.put) {
        (Intake::Settled(settled), _) | (_, Some(settled)) => settled,
        (Intake::Replace | Intake::Renew, None) if facts.caught_up < BoardCatchUp::ToWrite => {
            return VisitStep::CatchUp(BoardCatchUp::ToWrite);
        }
        (Intake::Replace | Intake::Renew, None) => return VisitStep::Put(intake),
    };
    if settled == Settlement::Done && !facts.is_noted {
        return VisitStep::NoteInStep;
    }
    VisitStep::End(settled)
}

/// The steps before the lock: they find out whether there is anything to do. A command needs the lock in any case.
fn glance_step(facts: &VisitFacts) -> Option<VisitStep> {
    if facts.errand != VisitErrand::None {
        return None;
    }
    match (facts.is_at_rest, facts.is_recognised) {
        (None, _) => Some(VisitStep::Compare),
        (Some(false), _) if !facts.has_begun => Some(VisitStep::BeginReading),
        (Some(false), None) => Some(VisitStep::Recognise),
        (Some(true), _) | (_, Some(true)) => Some(VisitStep::End(Settlement::Done)),
        (Some(false), Some(false)) => None,
    }
}

/// One thing that the writer of a task's file wants from the board. Wishes are given in their order.
#[derive(Clone, Debug, PartialEq)]
pub enum FileWish {
    /// A member that touches the file of a task that it holds is alive.
    Renew { by: Option<String> },
    /// The nth step that the file stands for. If one is refused, those after it are not given.
    Step { nth: u8, wanted: WantedStep },
    /// Another task waits for this one.
    Block(String),
    /// Another task waits for this one no longer. That is for its own file to say.
    Unblock(String),
}

/// The request behind a change to the file of a task that `owner` holds.
pub fn change_wishes(change: &WantedChange, owner: Option<String>) -> Vec<FileWish> {
    let mut wishes = Vec::new();
    wishes.extend(change.renews.then_some(FileWish::Renew { by: owner }));
    wishes.extend(steps(change.steps.clone()));
    if change.reading == DiffReading::Whole {
        wishes.extend(block_wishes(&change.before, &change.now));
    }
    wishes
}

/// Further requests in the file of a new task: to claim or end it, and to have others wait for it.
pub fn new_wishes(file: &TaskFile) -> Vec<FileWish> {
    let fresh = TaskFile { status: FileStatus::Pending, owner: Some(None), ..file.clone() };
    let wanted = difference(&fresh, file, DiffReading::Forward);
    let fresh = TaskFile { blocks: None, ..fresh };
    steps(wanted).chain(block_wishes(&fresh, file)).collect()
}

/// Steps, in their order.
pub fn steps(steps: Vec<WantedStep>) -> impl Iterator<Item = FileWish> {
    // Those before are the refusal of the whole file, and the making of its task.
    (2..).zip(steps).map(|(nth, wanted)| FileWish::Step { nth, wanted })
}

/// Which other tasks begin to wait for this one, and which cease to, as its file says.
pub(super) fn block_wishes(before: &TaskFile, now: &TaskFile) -> Vec<FileWish> {
    let Some(now) = &now.blocks else { return Vec::new() };
    let before = before.blocks.as_deref().unwrap_or_default();
    let new = now.iter().filter(|it| !before.contains(it)).cloned().map(FileWish::Block);
    let gone = before.iter().filter(|it| !now.contains(it)).cloned().map(FileWish::Unblock);
    new.chain(gone).collect()
}

/// A change at the end of a visit to the file of a task.
#[derive(Clone, Debug, PartialEq)]
pub enum PutEffect {
    /// Takes the lock under which Claude Code counts ids.
    LockIds,
    /// Writes the file and its note.
    Write(Map<String, Value>, TargetPlace),
    /// Notes the highest id, for programs that count from there.
    RaiseMark,
    /// Notes what somebody else wrote, because the board says the same.
    NoteTheirs(Map<String, Value>),
    Remember(Map<String, Value>),
    ForgetKnown,
    RemoveFile,
    RemoveNote,
    RemoveLocks,
}

impl FilePut {
    /// `is_noted`: what lies there is what was noted last.
    pub fn effects(self, layout: Layout, is_noted: bool) -> Vec<PutEffect> {
        match self {
            Self::Agree(raw) if is_noted => vec![PutEffect::Remember(raw)],
            Self::Agree(raw) => vec![PutEffect::NoteTheirs(raw.clone()), PutEffect::Remember(raw)],
            Self::Write(raw) => {
                vec![PutEffect::Write(raw.clone(), TargetPlace::Any), PutEffect::Remember(raw)]
            }
            Self::Make(raw) => {
                let write = PutEffect::Write(raw.clone(), TargetPlace::Empty);
                let remember = PutEffect::Remember(raw);
                match layout {
                    Layout::Seeds => vec![write, remember],
                    Layout::Claude => {
                        vec![PutEffect::LockIds, write, PutEffect::RaiseMark, remember]
                    }
                }
            }
            Self::Leave => Vec::new(),
            Self::Remove => vec![
                PutEffect::ForgetKnown,
                PutEffect::RemoveFile,
                PutEffect::RemoveNote,
                PutEffect::RemoveLocks,
            ],
        }
    }
}

/// The handling of members that were removed from the config.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leavers {
    /// They stay members until everything is taken that they did before.
    Stay,
    Go,
}

/// The facts that a visit to the config has collected so far.
#[derive(Debug)]
pub struct ConfigFacts {
    pub leavers: Leavers,
    /// Whether the file is as it was seen last, and the board still says the same.
    pub is_at_rest: Option<bool>,
    /// Whether we have the file's lock, or somebody else.
    pub has_lock: Option<bool>,
    pub caught_up: BoardCatchUp,
    pub is_recalled: bool,
    pub reading: Option<FileReading>,
    pub progress: ConfigProgress,
}

/// How far a config that can be read was taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigProgress {
    Read,
    /// Those who were written into it have joined.
    Joined,
    /// Whether somebody was taken out of it.
    Compared {
        has_leavers: bool,
    },
    /// Those who were taken out of it have left.
    Left,
    /// It says what the board says, or is noted to be read again.
    Written,
}

/// The next step of a visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigStep {
    Compare,
    Lock,
    /// Has the board take in the whole log.
    CatchUp(BoardCatchUp),
    Recall,
    Read,
    SetAside(String),
    /// Writes the config as the board has it, with what was kept there when it was seen last.
    Restore,
    /// Lets those join who were written into it.
    Join,
    FindLeavers,
    /// Has everything visited that a leaver may have written before it left.
    HearOut,
    LetGo,
    /// Writes the config as the board has it, with what others keep there.
    Put,
    End(Settlement),
}

impl ConfigFacts {
    pub fn new(leavers: Leavers) -> Self {
        Self {
            leavers,
            is_at_rest: None,
            has_lock: None,
            caught_up: BoardCatchUp::Never,
            is_recalled: false,
            reading: None,
            progress: ConfigProgress::Read,
        }
    }
}

pub fn config_step(facts: &ConfigFacts) -> ConfigStep {
    match facts.is_at_rest {
        None => return ConfigStep::Compare,
        Some(true) => return ConfigStep::End(Settlement::Done),
        Some(false) => {}
    }
    match facts.has_lock {
        None => return ConfigStep::Lock,
        Some(false) => return ConfigStep::End(Settlement::Later),
        Some(true) if facts.caught_up == BoardCatchUp::Never => {
            return ConfigStep::CatchUp(BoardCatchUp::ToRead);
        }
        Some(true) if !facts.is_recalled => return ConfigStep::Recall,
        Some(true) => {}
    }
    if facts.progress == ConfigProgress::Written {
        return ConfigStep::End(Settlement::Done);
    }
    match &facts.reading {
        None => return ConfigStep::Read,
        Some(FileReading::Half) => return ConfigStep::End(Settlement::Later),
        Some(FileReading::Unreadable(reason)) => return ConfigStep::SetAside(reason.clone()),
        // It says nothing about members, so that they are as they were.
        Some(FileReading::Gone) => return restored_step(facts),
        Some(FileReading::Whole) => {}
    }
    match facts.progress {
        ConfigProgress::Read => ConfigStep::Join,
        ConfigProgress::Joined => ConfigStep::FindLeavers,
        ConfigProgress::Compared { has_leavers: true } if facts.leavers == Leavers::Stay => {
            ConfigStep::HearOut
        }
        ConfigProgress::Compared { .. } => ConfigStep::LetGo,
        ConfigProgress::Left if facts.caught_up < BoardCatchUp::ToWrite => {
            ConfigStep::CatchUp(BoardCatchUp::ToWrite)
        }
        ConfigProgress::Left => ConfigStep::Put,
        ConfigProgress::Written => ConfigStep::End(Settlement::Done),
    }
}

/// A config that is set aside told its writer so, which takes time.
fn restored_step(facts: &ConfigFacts) -> ConfigStep {
    match facts.caught_up {
        BoardCatchUp::Never | BoardCatchUp::ToRead => ConfigStep::CatchUp(BoardCatchUp::ToWrite),
        BoardCatchUp::ToWrite => ConfigStep::Restore,
    }
}

#[cfg(test)]
mod tests;
