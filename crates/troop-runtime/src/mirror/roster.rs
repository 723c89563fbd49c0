//! A visit to the config: members that other programs write there join, and members that they take out leave.

use std::path::PathBuf;

use serde_json::{Map, Value};
use troop_model::{Command, OperationId, State};
use uuid::Uuid;

use super::{
    Item, Mirror, MirrorError, Settlement,
    disk::{self, DiskFile, Stamp},
    layout::{self, Unreadable},
    operation,
    rules::{self, ConfigNewcomer, KnownFile, Leaver},
    unusable,
    written::{NotedFile, TargetPlace, WrittenNote},
};

/// What becomes of those who were taken out of the config.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leavers {
    /// They are members until all is taken that they did before.
    Stay,
    Go,
}

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
        let stamp = Stamp::of(&self.path).map_err(unusable(&self.path))?;
        let known = self.mirror.memory.config.clone();
        if let Some(known) = known.filter(|it| Some(it.stamp) == stamp)
            && self.now(&known.raw).await? == known.raw
        {
            return Ok(Settlement::Done);
        }
        let Some(_lock) = self.mirror.lock(&self.path).await? else {
            return Ok(Settlement::Later);
        };
        let written = self.noted().under_lock().map_err(unusable(&self.note))?;
        if let Some(WrittenNote { stamp, raw, .. }) = written {
            self.mirror.memory.config = Some(KnownFile { stamp, raw });
        }
        let found = disk::read(&self.path).map_err(unusable(&self.path))?;
        let read = found.as_ref().map(rules::read_file).transpose();
        let theirs = match read {
            Ok(theirs) => theirs,
            Err(reason) => {
                if self.refuse(found.as_ref(), &reason).await? == Settlement::Later {
                    return Ok(Settlement::Later);
                }
                None
            }
        };
        let (Some(found), Some(theirs)) = (found, theirs) else {
            // Nobody said anything about members, so all of it is as it was.
            let kept = self.mirror.memory.config.take().map(|it| it.raw).unwrap_or_default();
            return self.put(&kept).await;
        };
        self.let_join(&theirs, &found).await?;
        let gone = self.leavers(&theirs).await?;
        if leavers == Leavers::Stay && !gone.is_empty() {
            return self.hear_out();
        }
        self.let_go(gone).await?;
        let raw = self.now(&theirs).await?;
        if raw != theirs {
            return self.put(&theirs).await;
        }
        let stamp = found.stamp;
        let known = self.mirror.memory.config.as_ref();
        if known.is_none_or(|it| it.stamp != stamp || it.raw != raw) {
            self.noted().take(stamp, &raw).map_err(unusable(&self.note))?;
        }
        self.mirror.memory.config = Some(KnownFile { stamp, raw });
        Ok(Settlement::Done)
    }

    fn noted(&self) -> NotedFile<'_> {
        NotedFile { path: &self.path, note: &self.note }
    }

    /// Sets a config aside that cannot be understood, unless somebody may still be writing it.
    async fn refuse(
        &mut self,
        found: Option<&DiskFile>,
        reason: &Unreadable,
    ) -> Result<Settlement, MirrorError> {
        let now = self.mirror.clock.now();
        let at = found.map_or(now, |found| found.stamp.at);
        let is_half = matches!(reason, Unreadable::NotJson(_))
            && found.is_some_and(|it| !self.mirror.outlasts(&self.path, it.stamp));
        if is_half {
            return Ok(Settlement::Later);
        }
        disk::set_aside(&self.path).map_err(unusable(&self.path))?;
        let reason = reason.to_string();
        let operation = operation::of(at, now, &[reason.as_bytes()]);
        self.mirror.refuse(&self.path, None, operation, &reason).await?;
        Ok(Settlement::Done)
    }

    /// Writes what the board says, and what others keep there besides.
    async fn put(&mut self, kept: &Map<String, Value>) -> Result<Settlement, MirrorError> {
        let raw = self.now(kept).await?;
        let stamp = self.noted().write(&raw, TargetPlace::Any).map_err(unusable(&self.path))?;
        self.mirror.counts.written += 1;
        self.mirror.memory.config = stamp.map(|stamp| KnownFile { stamp, raw });
        Ok(Settlement::Done)
    }

    /// Lets those join whom somebody wrote into the config.
    async fn let_join(
        &mut self,
        theirs: &Map<String, Value>,
        found: &DiskFile,
    ) -> Result<(), MirrorError> {
        if self.mirror.memory.joined.replace(found.stamp) == Some(found.stamp) {
            return Ok(());
        }
        let names = self.mirror.names().await?;
        for ConfigNewcomer { name, member } in rules::newcomers(theirs, &names) {
            let now = self.mirror.clock.now();
            let operation = |what: &str| -> OperationId {
                let parts: [&[u8]; 3] = [b"config", name.as_bytes(), what.as_bytes()];
                operation::of(found.stamp.at, now, &parts)
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

    /// Has all looked at that somebody may have written before it left.
    fn hear_out(&mut self) -> Result<Settlement, MirrorError> {
        let work = &mut self.mirror.work;
        if !work.is_postponed(&Item::Leaving) && work.mark(Item::Leaving) {
            self.mirror.mark_changed()?;
        }
        Ok(Settlement::Done)
    }

    /// Lets those go who were taken out of the config, unless something that they may have written waits to be taken. A file
    /// that is locked is not waited for longer than half a file is.
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

    /// Lets those go who came through the config; others leave in another way.
    async fn let_go(&mut self, gone: Vec<Leaver>) -> Result<(), MirrorError> {
        for Leaver { member, is_external } in gone {
            let operation = OperationId(Uuid::now_v7());
            if !is_external {
                let reason = format!(
                    "`{member}` is not an external member; remove it with `troop member remove {member}`"
                );
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

    /// The config as the board has it, with what others keep there.
    async fn now(&self, kept: &Map<String, Value>) -> Result<Map<String, Value>, MirrorError> {
        let layout = self.mirror.places.layout;
        let kept = kept.clone();
        let look = move |state: &State| layout::write_config(layout, state, &kept);
        Ok(self.mirror.board.look(look).await?)
    }
}
