//! The members of a team in its config: who is written there joins, and who is taken out leaves.

use std::{collections::BTreeSet, path::Path};

use serde_json::{Map, Value};
use smol_str::SmolStr;
use troop_model::{Command, EXTERNAL, MemberName, NewMember, OperationId, State};

use super::{
    Item, Mirror, MirrorError, Settled,
    disk::{self, DiskFile, Stamp},
    is_external_in,
    layout::{self, MEMBER_ID, Unreadable},
    operation, tasks, unusable,
    written::{Noted, Place, Written},
};

/// A config as it was last written or taken.
#[derive(Clone, Debug)]
pub(super) struct Config {
    stamp: Stamp,
    raw: Map<String, Value>,
}

/// What becomes of those who were taken out of the config.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leavers {
    /// They are members until all is taken that they did before.
    Stay,
    Go,
}

impl Mirror {
    pub(super) async fn settle_config(&mut self, leavers: Leavers) -> Result<Settled, MirrorError> {
        let path = self.places.config();
        let stamp = Stamp::of(&path).map_err(unusable(&path))?;
        if let Some(known) = self.config.clone().filter(|it| Some(it.stamp) == stamp)
            && self.config_now(&known.raw).await? == known.raw
        {
            return Ok(Settled::Done);
        }
        let Some(_lock) = self.lock(&path).await? else { return Ok(Settled::Later) };
        let note = self.places.written_config();
        let written = Noted { path: &path, note: &note }.under_lock().map_err(unusable(&note))?;
        if let Some(Written { stamp, raw, .. }) = written {
            self.config = Some(Config { stamp, raw });
        }
        let found = disk::read(&path).map_err(unusable(&path))?;
        let theirs = match found.as_ref().map(|found| Ok((found, read(found)?))).transpose() {
            Ok(theirs) => theirs,
            Err(reason) => {
                let at = found.as_ref().map_or(self.clock.now(), |found| found.stamp.at);
                let is_half = matches!(reason, Unreadable::NotJson(_))
                    && found.as_ref().is_some_and(|it| !self.is_abandoned(&path, it.stamp));
                if is_half {
                    return Ok(Settled::Later);
                }
                disk::set_aside(&path).map_err(unusable(&path))?;
                let reason = reason.to_string();
                let operation = operation::of(at, self.clock.now(), &[reason.as_bytes()]);
                self.refuse(&path, None, operation, &reason).await?;
                None
            }
        };
        let Some((found, theirs)) = theirs else {
            // Nobody said anything about members, so all of it is as it was.
            let kept = self.config.take().map(|it| it.raw).unwrap_or_default();
            return self.put_config(&path, kept).await;
        };
        self.let_join(&theirs, found).await?;
        let gone = self.gone(&theirs).await?;
        if leavers == Leavers::Stay && !gone.is_empty() {
            return self.hear_out();
        }
        self.let_go(gone).await?;
        let raw = self.config_now(&theirs).await?;
        if raw != theirs {
            return self.put_config(&path, theirs).await;
        }
        let stamp = found.stamp;
        if self.config.as_ref().is_none_or(|it| it.stamp != stamp || it.raw != raw) {
            let noted = Noted { path: &path, note: &note };
            noted.take(stamp, &raw).map_err(unusable(&note))?;
        }
        self.config = Some(Config { stamp, raw });
        Ok(Settled::Done)
    }

    async fn put_config(
        &mut self,
        path: &Path,
        kept: Map<String, Value>,
    ) -> Result<Settled, MirrorError> {
        let raw = self.config_now(&kept).await?;
        let note = self.places.written_config();
        let stamp = Noted { path, note: &note }.write(&raw, Place::Any).map_err(unusable(path))?;
        self.n_written += 1;
        self.config = stamp.map(|stamp| Config { stamp, raw });
        Ok(Settled::Done)
    }

    /// Lets those join whom somebody wrote into the config.
    async fn let_join(
        &mut self,
        theirs: &Map<String, Value>,
        found: &DiskFile,
    ) -> Result<(), MirrorError> {
        if self.joined.replace(found.stamp) == Some(found.stamp) {
            return Ok(());
        }
        let names = self.names().await?;
        let path = self.places.config();
        let at = found.stamp.at;
        for entry in layout::entries(theirs) {
            // Whom the board knew and does not know any more was removed there.
            if names.of_entry(entry).is_some() || entry.contains_key(MEMBER_ID) {
                continue;
            }
            let name = entry.get("name").and_then(Value::as_str).unwrap_or_default();
            let operation = |what: &str| -> OperationId {
                operation::of(at, self.clock.now(), &[b"config", name.as_bytes(), what.as_bytes()])
            };
            let joined = match name.parse::<MemberName>() {
                Ok(name) => {
                    let command = Command::AddMember(new_member(name, entry));
                    self.submit(None, operation("join"), command)
                        .await?
                        .map_err(|it| it.to_string())
                }
                Err(error) => Err(error.to_string()),
            };
            match joined {
                Ok(_) => self.notice_taken(&path, format!("{name} joined")),
                Err(reason) => {
                    let operation = operation("refused");
                    self.refuse(&path, None, operation, &reason).await?;
                }
            }
        }
        Ok(())
    }

    /// Has all looked at that somebody may have written before it left.
    fn hear_out(&mut self) -> Result<Settled, MirrorError> {
        if !self.later.contains(&Item::Leaving) && self.dirty.insert(Item::Leaving) {
            self.mark_changed()?;
        }
        Ok(Settled::Done)
    }

    /// Lets those go who were taken out of the config, unless something that they may have written waits to be taken. A file
    /// that is locked is not waited for longer than half a file is.
    pub(super) async fn settle_leaving(&mut self) -> Result<Settled, MirrorError> {
        let path = self.places.config();
        let stamp = Stamp::of(&path).map_err(unusable(&path))?;
        let is_old = stamp.is_none_or(|stamp| self.is_abandoned(&path, stamp));
        if !self.gate.is_empty() || (!self.later.is_empty() && !is_old) {
            return Ok(Settled::Later);
        }
        self.settle_config(Leavers::Go).await
    }

    /// Who was taken out of the config, and whether it is external. A config that lists nobody at all, not even the lead, is not
    /// about members.
    async fn gone(
        &self,
        theirs: &Map<String, Value>,
    ) -> Result<Vec<(MemberName, bool)>, MirrorError> {
        let Some(known) = self.config.as_ref().filter(|_| !layout::entries(theirs).is_empty())
        else {
            return Ok(Vec::new());
        };
        let names = self.names().await?;
        let listed = |config: &Map<String, Value>| -> BTreeSet<MemberName> {
            layout::entries(config).into_iter().filter_map(|it| names.of_entry(it)).collect()
        };
        let gone: Vec<_> = listed(&known.raw).difference(&listed(theirs)).cloned().collect();
        let look = move |state: &State| -> Vec<(MemberName, bool)> {
            let gone = gone.into_iter().map(|it| (is_external_in(state, &it), it));
            gone.map(|(is_external, it)| (it, is_external)).collect()
        };
        Ok(self.board.look(look).await?)
    }

    /// Lets those go who came through the config; others leave in another way.
    async fn let_go(&mut self, gone: Vec<(MemberName, bool)>) -> Result<(), MirrorError> {
        let path = self.places.config();
        for (member, is_external) in gone {
            let operation = OperationId(uuid::Uuid::now_v7());
            if !is_external {
                let reason = format!(
                    "`{member}` is not an external member; remove it with `troop member remove {member}`"
                );
                self.refuse(&path, None, operation, &reason).await?;
                continue;
            }
            let reason = Some("it was removed from the team's config".to_owned());
            let command = Command::RemoveMember { member: member.clone(), reason };
            match self.submit(None, operation, command).await? {
                Ok(_) => self.notice_taken(&path, format!("{member} left")),
                Err(refusal) => {
                    let operation = OperationId(uuid::Uuid::now_v7());
                    self.refuse(&path, None, operation, &refusal.to_string()).await?;
                }
            }
        }
        Ok(())
    }

    async fn config_now(
        &self,
        kept: &Map<String, Value>,
    ) -> Result<Map<String, Value>, MirrorError> {
        let (layout, kept) = (self.places.layout, kept.clone());
        let look = move |state: &State| layout::write_config(layout, state, &kept);
        Ok(self.board.look(look).await?)
    }
}

fn read(found: &DiskFile) -> Result<Map<String, Value>, Unreadable> {
    layout::read_object(found.bytes.as_deref().ok_or_else(|| tasks::too_large(found))?)
}

fn new_member(name: MemberName, entry: &Map<String, Value>) -> NewMember {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).filter(|it| !it.is_empty());
    NewMember {
        name,
        agent: SmolStr::new_static(EXTERNAL),
        expertise: text("agentType").unwrap_or_default().to_owned(),
        model: text("model").map(SmolStr::new),
        permissions: None,
    }
}
