//! A visit to the config: members that other programs write there join, and members that they take out leave. `rules` decides
//! what comes next; here it is done.

use std::path::PathBuf;

use serde_json::{Map, Value};
use troop_model::{Command, HintCommand, OperationId, State};
use uuid::Uuid;

use super::{
    Item, Mirror, MirrorError, Settlement,
    disk::{self, DiskFile, Stamp},
    layout::{self, Unreadable},
    operation,
    rules::{
        self, ConfigFacts, ConfigNewcomer, ConfigProgress, ConfigStep, FileReading, KnownFile,
        Leaver, Leavers,
    },
    unusable,
    written::{NotedFile, TargetPlace, WrittenNote},
};

/// A visit to the config.
pub(super) struct ConfigVisit<'a> {
    mirror: &'a mut Mirror,
    path: PathBuf,
    note: PathBuf,
}

impl<'a> ConfigVisit<'a> {
    pub(super) fn new(mirror: &'a mut Mirror) -> Self {
        let path = mirror.places.config();
        let note = mirror.places.written_config();
        Self { mirror, path, note }
    }

    pub(super) async fn settle(mut self, leavers: Leavers) -> Result<Settlement, MirrorError> {
        let mut facts = ConfigFacts::new(leavers);
        let mut lock = None;
        let mut found = None;
        let mut theirs = Map::new();
        let mut gone = Vec::new();
        loop {
            match rules::config_step(&facts) {
                ConfigStep::Compare => facts.is_at_rest = Some(self.is_at_rest().await?),
                ConfigStep::Lock => {
                    lock = self.mirror.lock(&self.path).await?;
                    facts.has_lock = Some(lock.is_some());
                }
                ConfigStep::CatchUp(caught_up) => {
                    self.mirror.catch_up().await?;
                    facts.caught_up = caught_up;
                }
                ConfigStep::Recall => {
                    self.recall()?;
                    facts.is_recalled = true;
                }
                ConfigStep::Read => {
                    let disk_file = disk::read(&self.path).map_err(unusable(&self.path))?;
                    let (reading, raw) = self.reading(disk_file.as_ref());
                    facts.reading = Some(reading);
                    theirs = raw;
                    found = disk_file.map(|it| it.stamp);
                }
                ConfigStep::SetAside(reason) => {
                    self.set_aside(found, &reason).await?;
                    facts.reading = Some(FileReading::Gone);
                }
                ConfigStep::Restore => {
                    let kept = self.mirror.memory.config.take().map(|it| it.raw);
                    self.put(&kept.unwrap_or_default()).await?;
                    facts.progress = ConfigProgress::Written;
                }
                ConfigStep::Join => {
                    self.let_join(&theirs, found).await?;
                    facts.progress = ConfigProgress::Joined;
                }
                ConfigStep::FindLeavers => {
                    gone = self.leavers(&theirs).await?;
                    facts.progress = ConfigProgress::Compared { has_leavers: !gone.is_empty() };
                }
                ConfigStep::HearOut => {
                    self.hear_out()?;
                    facts.progress = ConfigProgress::Written;
                }
                ConfigStep::LetGo => {
                    self.let_go(std::mem::take(&mut gone)).await?;
                    facts.progress = ConfigProgress::Left;
                }
                ConfigStep::Put => {
                    self.agree_or_put(found, &theirs).await?;
                    facts.progress = ConfigProgress::Written;
                }
                ConfigStep::End(settled) => {
                    drop(lock);
                    return Ok(settled);
                }
            }
        }
    }

    /// Whether the file is as it was seen last, and the board still says the same.
    async fn is_at_rest(&self) -> Result<bool, MirrorError> {
        let stamp = Stamp::of(&self.path).map_err(unusable(&self.path))?;
        let known = self.mirror.memory.config.as_ref().filter(|it| Some(it.stamp) == stamp);
        match known {
            Some(known) => Ok(self.now(&known.raw).await? == known.raw),
            None => Ok(false),
        }
    }

    /// Remembers what was written into the config last, by whichever mirror.
    fn recall(&mut self) -> Result<(), MirrorError> {
        let written = self.noted().under_lock().map_err(unusable(&self.note))?;
        if let Some(WrittenNote { stamp, raw, .. }) = written {
            self.mirror.memory.config = Some(KnownFile { stamp, raw });
        }
        Ok(())
    }

    fn reading(&mut self, found: Option<&DiskFile>) -> (FileReading, Map<String, Value>) {
        let Some(found) = found else { return (FileReading::Gone, Map::new()) };
        match rules::read_file(found) {
            Ok(raw) => (FileReading::Whole, raw),
            Err(Unreadable::NotJson(_)) if !self.mirror.outlasts(&self.path, found.stamp) => {
                (FileReading::Half, Map::new())
            }
            Err(reason) => (FileReading::Unreadable(reason.to_string()), Map::new()),
        }
    }

    fn noted(&self) -> NotedFile<'_> {
        NotedFile { path: &self.path, note: &self.note }
    }

    /// Sets a config aside that cannot be understood.
    async fn set_aside(&mut self, found: Option<Stamp>, reason: &str) -> Result<(), MirrorError> {
        let now = self.mirror.clock.now();
        let at = found.map_or(now, |stamp| stamp.at);
        disk::set_aside(&self.path).map_err(unusable(&self.path))?;
        let operation = operation::of(at, now, &[reason.as_bytes()]);
        self.mirror.refuse(&self.path, None, operation, reason).await
    }

    /// Writes what the board says, with other fields that programs keep there.
    async fn put(&mut self, kept: &Map<String, Value>) -> Result<(), MirrorError> {
        let raw = self.now(kept).await?;
        let stamp = self.noted().write(&raw, TargetPlace::Any).map_err(unusable(&self.path))?;
        self.mirror.counts.written += 1;
        self.mirror.memory.config = stamp.map(|stamp| KnownFile { stamp, raw });
        Ok(())
    }

    /// Writes what the board says, or notes that the config says it already.
    async fn agree_or_put(
        &mut self,
        found: Option<Stamp>,
        theirs: &Map<String, Value>,
    ) -> Result<(), MirrorError> {
        let raw = self.now(theirs).await?;
        let Some(stamp) = found.filter(|_| raw == *theirs) else { return self.put(theirs).await };
        let known = self.mirror.memory.config.as_ref();
        if known.is_none_or(|it| it.stamp != stamp || it.raw != raw) {
            self.noted().take(stamp, &raw).map_err(unusable(&self.note))?;
        }
        self.mirror.memory.config = Some(KnownFile { stamp, raw });
        Ok(())
    }

    /// Lets those join who were written into the config.
    async fn let_join(
        &mut self,
        theirs: &Map<String, Value>,
        found: Option<Stamp>,
    ) -> Result<(), MirrorError> {
        if std::mem::replace(&mut self.mirror.memory.joined, found) == found {
            return Ok(());
        }
        let names = self.mirror.names().await?;
        for ConfigNewcomer { name, member } in rules::newcomers(theirs, &names) {
            let now = self.mirror.clock.now();
            let operation = |what: &str| -> OperationId {
                let parts: [&[u8]; 3] = [b"config", name.as_bytes(), what.as_bytes()];
                operation::of(found.map_or(now, |stamp| stamp.at), now, &parts)
            };
            let joined = match member {
                Ok(member) => {
                    let command = Command::AddMember(member);
                    let joined = self.mirror.submit(None, operation("join"), command).await?;
                    joined.map(drop).map_err(|it| it.to_string())
                }
                Err(reason) => Err(reason),
            };
            match joined {
                Ok(()) => self.mirror.notice_taken(&self.path, format!("{name} joined")),
                Err(reason) => {
                    let operation = operation("refused");
                    self.mirror.refuse(&self.path, None, operation, &reason).await?;
                }
            }
        }
        Ok(())
    }

    /// Has everything visited that somebody may have written before it left.
    fn hear_out(&mut self) -> Result<(), MirrorError> {
        let work = &mut self.mirror.work;
        if !work.is_postponed(&Item::Leaving) && work.mark(Item::Leaving) {
            self.mirror.mark_changed()?;
        }
        Ok(())
    }

    /// Lets those go who were taken out of the config, unless something that they may have written waits to be taken. We wait
    /// for a locked file no longer than for half a file.
    pub(super) async fn settle_leaving(self) -> Result<Settlement, MirrorError> {
        let stamp = Stamp::of(&self.path).map_err(unusable(&self.path))?;
        let is_old = stamp.is_none_or(|stamp| self.mirror.outlasts(&self.path, stamp));
        if !self.mirror.gate.is_empty() || (self.mirror.work.has_postponed() && !is_old) {
            return Ok(Settlement::Later);
        }
        self.settle(Leavers::Go).await
    }

    async fn leavers(&self, theirs: &Map<String, Value>) -> Result<Vec<Leaver>, MirrorError> {
        let known = self.mirror.memory.config.as_ref().map(|it| it.raw.clone());
        let theirs = theirs.clone();
        let look = move |state: &State| rules::leavers(state, known.as_ref(), &theirs);
        Ok(self.mirror.board.look(look).await?)
    }

    /// Removes external members who were taken out of the config; others cannot leave like that.
    async fn let_go(&mut self, gone: Vec<Leaver>) -> Result<(), MirrorError> {
        for Leaver { member, is_external } in gone {
            let operation = OperationId(Uuid::now_v7());
            if !is_external {
                // A refusal reaches its reader as mail, so the command is in the text.
                let remove = HintCommand::troop("member remove").word(&member);
                let reason =
                    format!("`{member}` is not an external member; remove it with `{remove}`");
                self.mirror.refuse(&self.path, None, operation, &reason).await?;
                continue;
            }
            let reason = Some("it was removed from the team's config".to_owned());
            let command = Command::RemoveMember { member: member.clone(), reason };
            match self.mirror.submit(None, operation, command).await? {
                Ok(_) => self.mirror.notice_taken(&self.path, format!("{member} left")),
                Err(refusal) => {
                    let operation = OperationId(Uuid::now_v7());
                    self.mirror.refuse(&self.path, None, operation, &refusal.to_string()).await?;
                }
            }
        }
        Ok(())
    }

    /// The config as the board has it, with other fields that programs keep there.
    async fn now(&self, kept: &Map<String, Value>) -> Result<Map<String, Value>, MirrorError> {
        let layout = self.mirror.places.layout;
        let kept = kept.clone();
        let colors = self.mirror.memory.colors.clone();
        let look = move |state: &State| layout::write_config(layout, state, &kept, &colors);
        Ok(self.mirror.board.look(look).await?)
    }
}
