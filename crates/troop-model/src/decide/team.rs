//! Rules of the team itself: creating and changing it, its members, its links.

use super::{Draft, supervision, usage};
use crate::{
    Fact, Link, LinkChange, Member, MemberName, NewMember, NewTeamCommand, Permissions, Refusal,
    Role, Status, TaskChange, TeamStatus, text,
};

pub(super) fn create(draft: &mut Draft<'_>, new: &NewTeamCommand) -> Result<(), Refusal> {
    if draft.state.team().is_some() {
        return Err(Refusal::TeamExists);
    }
    new.settings.check().map_err(Refusal::BadSetting)?;
    draft.push(Fact::TeamCreated {
        team: new.team,
        name: new.name.clone(),
        description: text::optional_block("description", &new.description)?,
        goal: text::optional_block("goal", &new.goal)?,
        settings: Box::new(new.settings.clone()),
    });
    let lead_permissions = new.lead.permissions.unwrap_or(Permissions::Default);
    join(draft, &new.lead, Role::Lead, lead_permissions)?;
    let mut names = vec![&new.lead.name];
    for member in &new.members {
        if names.contains(&&member.name) {
            return Err(Refusal::MemberExists { member: member.name.clone() });
        }
        names.push(&member.name);
        check_no_alias(&member.name, &new.lead.name)?;
        let permissions = inherited(member, lead_permissions)?;
        join(draft, member, Role::Member, permissions)?;
        let link = Link {
            from: new.lead.name.clone(),
            to: member.name.clone(),
            team: Some(new.team),
            enabled: true,
            max_concurrent: new.settings.delegation.max_per_link,
            user_allow: Vec::new(),
            user_deny: Vec::new(),
        };
        draft.push(Fact::LinkSet { link });
    }
    Ok(())
}

pub(super) fn update(
    draft: &mut Draft<'_>,
    description: Option<&str>,
    settings: &[(String, serde_json::Value)],
) -> Result<(), Refusal> {
    draft.only_lead("change the team's settings")?;
    let team = draft.team()?;
    let description = match description {
        Some(description) => text::optional_block("description", description)?,
        None => team.description.clone(),
    };
    let settings = team.settings.changed(settings).map_err(Refusal::BadSetting)?;
    settings.check().map_err(Refusal::BadSetting)?;
    if settings.version < team.settings.version {
        // Tasks may be in a status that the older version cannot change.
        let now = team.settings.version;
        return Err(Refusal::BadSetting(format!("`version` only goes up; it is {now} already")));
    }
    if description != team.description || settings != team.settings {
        let was = draft.state.spending();
        let budget = settings.budget;
        draft.push(Fact::TeamUpdated { description, settings: Box::new(settings) });
        usage::tell_if_changed(draft, was, &budget, &team.usage);
    }
    Ok(())
}

pub(super) fn complete(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    draft.only_lead("end the team's work")?;
    if draft.team()?.status == TeamStatus::Active {
        draft.push(Fact::TeamCompleted {});
    }
    Ok(())
}

pub(super) fn delete(draft: &mut Draft<'_>) -> Result<(), Refusal> {
    draft.only_lead("delete the team")?;
    let is_busy = |member: &&Member| {
        member.role == Role::Member && (member.is_running() || member.state.is_busy())
    };
    let busy = draft.state.members().find(is_busy);
    if let Some(member) = busy {
        return Err(Refusal::TeammateActive { member: member.name.clone(), state: member.state });
    }
    draft.push(Fact::TeamDeleted {});
    Ok(())
}

pub(super) fn add_member(draft: &mut Draft<'_>, new: &NewMember) -> Result<(), Refusal> {
    draft.only_lead("add members")?;
    if draft.state.member(&new.name).is_some() {
        return Err(Refusal::MemberExists { member: new.name.clone() });
    }
    let team = draft.team()?;
    let Some(lead) = draft.state.lead() else { return Err(Refusal::NoTeam) };
    check_no_alias(&new.name, &lead.name)?;
    let permissions = inherited(new, lead.permissions)?;
    join(draft, new, Role::Member, permissions)?;
    let link = Link {
        from: lead.name.clone(),
        to: new.name.clone(),
        team: Some(team.id),
        enabled: true,
        max_concurrent: team.settings.delegation.max_per_link,
        user_allow: Vec::new(),
        user_deny: Vec::new(),
    };
    draft.push(Fact::LinkSet { link });
    Ok(())
}

pub(super) fn remove_member(
    draft: &mut Draft<'_>,
    member: &MemberName,
    reason: Option<&str>,
) -> Result<(), Refusal> {
    draft.only_lead("remove members")?;
    let member = draft.state.find_member(member.as_str())?.name.clone();
    if draft.state.is_lead(&member) {
        return Err(Refusal::LeadIsFixed { member });
    }
    let tasks = &draft.state.tasks;
    for task in tasks.held_by(&member).filter_map(|number| tasks.get(number)) {
        // A result in review needs no holder.
        if task.status != Status::InReview {
            let reason = format!("{member} was removed from the team");
            draft.push(Fact::TaskReleased {
                task: task.number,
                owner: member.clone(),
                reason,
                forgiven: true,
            });
        }
    }
    for task in draft.state.tasks.reserved_for(&member).collect::<Vec<_>>() {
        let change = TaskChange { assignee: Some(None), ..TaskChange::default() };
        draft.push(Fact::TaskUpdated { task, change: Box::new(change) });
    }
    let reason = checked_reason(reason)?;
    draft.push(Fact::MemberRemoved { member, reason });
    Ok(())
}

pub(super) fn set_mode(
    draft: &mut Draft<'_>,
    member: &MemberName,
    permissions: Permissions,
) -> Result<(), Refusal> {
    draft.only_lead("change what members may do")?;
    let member = draft.state.find_member(member.as_str())?;
    let own = draft.member().and_then(|own| draft.state.member(own));
    if let Some(own) = own.filter(|own| permissions > own.permissions) {
        return Err(Refusal::WiderThanOwn { member: member.name.clone(), own: own.permissions });
    }
    if member.permissions != permissions {
        draft.push(Fact::MemberModeChanged { member: member.name.clone(), permissions });
    }
    if permissions != Permissions::Plan {
        supervision::approve_plans(draft, member, permissions);
    }
    Ok(())
}

pub(super) fn set_link(draft: &mut Draft<'_>, change: &LinkChange) -> Result<(), Refusal> {
    draft.only_lead("change links")?;
    let from = draft.state.find_member(change.from.as_str())?.name.clone();
    let to = draft.state.find_member(change.to.as_str())?.name.clone();
    if from == to {
        return Err(Refusal::SelfLink { member: from });
    }
    let known = draft.state.link(&from, &to).cloned();
    let known = known.unwrap_or(Link {
        from,
        to,
        // Only the team itself creates links with its id.
        team: None,
        enabled: true,
        max_concurrent: draft.team()?.settings.delegation.max_per_link,
        user_allow: Vec::new(),
        user_deny: Vec::new(),
    });
    let LinkChange { enabled, max_concurrent, user_allow, user_deny, .. } = change;
    let link = Link {
        enabled: enabled.unwrap_or(known.enabled),
        max_concurrent: max_concurrent.unwrap_or(known.max_concurrent),
        user_allow: user_allow.clone().unwrap_or(known.user_allow),
        user_deny: user_deny.clone().unwrap_or(known.user_deny),
        ..known
    };
    if !(1..=1_000).contains(&link.max_concurrent) {
        return Err(Refusal::BadSetting(format!(
            "`max_concurrent` must be 1 to 1000, not {}",
            link.max_concurrent
        )));
    }
    draft.push(Fact::LinkSet { link });
    Ok(())
}

pub(super) fn purge_link(
    draft: &mut Draft<'_>,
    from: &MemberName,
    to: &MemberName,
) -> Result<(), Refusal> {
    draft.only_lead("purge links")?;
    // Links outlive their members, so a name need not be a member's.
    let name = |text: &MemberName| {
        draft.state.find_member(text.as_str()).map_or_else(|_| text.clone(), |it| it.name.clone())
    };
    let from = name(from);
    let to = name(to);
    if draft.state.link(&from, &to).is_none() {
        return Err(Refusal::NoLink { from, to });
    }
    draft.push(Fact::LinkPurged { from, to });
    Ok(())
}

/// Refuses the lead's aliases as names: such a member would get the lead's mail.
fn check_no_alias(member: &MemberName, lead: &MemberName) -> Result<(), Refusal> {
    if crate::name::LEAD_ALIASES.contains(&member.as_str()) {
        return Err(Refusal::LeadIsFixed { member: lead.clone() });
    }
    Ok(())
}

pub(super) fn checked_reason(reason: Option<&str>) -> Result<Option<String>, Refusal> {
    reason.map(|reason| text::optional_block("reason", reason)).transpose()
}

/// The permissions of a new member: the lead's, or fewer.
fn inherited(new: &NewMember, lead: Permissions) -> Result<Permissions, Refusal> {
    match new.permissions {
        Some(wanted) if wanted > lead => {
            Err(Refusal::WiderThanLead { member: new.name.clone(), wanted, lead })
        }
        Some(wanted) => Ok(wanted),
        None => Ok(lead),
    }
}

fn join(
    draft: &mut Draft<'_>,
    new: &NewMember,
    role: Role,
    permissions: Permissions,
) -> Result<(), Refusal> {
    let id = draft.new_id();
    draft.push(Fact::MemberAdded {
        member: new.name.clone(),
        id,
        role,
        agent: text::line("agent", &new.agent)?.into(),
        expertise: text::optional_block("expertise", &new.expertise)?,
        model: new
            .model
            .as_deref()
            .map(|it| text::line("model", it).map(Into::into))
            .transpose()?,
        permissions,
    });
    Ok(())
}
