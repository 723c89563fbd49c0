//! Rules of supervising a team: one session at a time; commands of a former session are refused.

use uuid::Uuid;

use super::{Draft, Standing, delegation, proof, supervision, team};
use crate::{Fact, LeadLease, Refusal, Role, StateCause, text};

/// Refuses commands from a session that no longer supervises the team.
pub(super) fn check_fence(draft: &Draft<'_>) -> Result<(), Refusal> {
    match (draft.ctx.fence, &draft.team()?.lead_lease) {
        (None, _) => Ok(()),
        (Some(fence), Some(lease)) if lease.fence == fence => Ok(()),
        (Some(_), _) => Err(Refusal::Superseded),
    }
}

/// The current lead lease.
pub(super) fn current<'a>(draft: &Draft<'a>) -> Result<&'a LeadLease, Refusal> {
    let lease = draft.team()?.lead_lease.as_ref();
    lease.filter(|lease| lease.is_held(draft.ctx.now)).ok_or(Refusal::NobodyLeads)
}

pub(super) fn take(
    draft: &mut Draft<'_>,
    session: Uuid,
    holder: &str,
    over: Option<u64>,
    checks: &[String],
) -> Result<(), Refusal> {
    only_system(draft)?;
    let team = draft.team()?;
    let until = draft.ctx.now + draft.state.limits.lead_lease;
    match current(draft) {
        Ok(lease) if lease.session == session => {
            draft.push(Fact::LeadRenewed { until });
            return Ok(());
        }
        Ok(lease) if over != Some(lease.fence) => {
            return Err(Refusal::LeadHeld { holder: lease.holder.clone(), since: lease.since });
        }
        _ => {}
    }
    let holder = text::line("holder", holder)?;
    let checks = proof::checks(checks)?;
    draft.push(Fact::LeadTaken { session, holder, fence: team.n_leads + 1, until, checks });
    // No child outlives its lead, so teammates of the former lead no longer run.
    let orphans = draft.state.members().filter(|it| it.role == Role::Member && it.is_running());
    for member in orphans {
        supervision::lose(draft, member, StateCause::LeadEnded);
    }
    delegation::begin_again(draft)
}

pub(super) fn renew(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    only_system(draft)?;
    if draft.team()?.lead_lease.is_none() {
        return Err(Refusal::NobodyLeads);
    }
    let until = draft.ctx.now + draft.state.limits.lead_lease;
    draft.push(Fact::LeadRenewed { until });
    Ok(())
}

pub(super) fn release(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    only_system(draft)?;
    if draft.team()?.lead_lease.is_some() {
        draft.push(Fact::LeadReleased {});
    }
    Ok(())
}

pub(super) fn stop(draft: &mut Draft<'_>, reason: Option<&str>) -> Result<(), Refusal> {
    draft.only_lead("stop the team")?;
    current(draft)?;
    let reason = team::checked_reason(reason)?;
    draft.push(Fact::TeamStopRequested { reason });
    Ok(())
}

fn only_system(draft: &Draft<'_>) -> Result<(), Refusal> {
    if draft.who == Standing::System {
        return Ok(());
    }
    Err(Refusal::Forbidden {
        who: draft.ctx.asker.actor.name.clone(),
        what: "supervise the team",
        may: "troop itself",
    })
}
