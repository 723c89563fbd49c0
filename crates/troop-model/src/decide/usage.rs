//! Rules of the budget: usage is recorded, people are warned in time, and beyond the budget nothing new begins.

use smol_str::SmolStr;

use super::Draft;
use crate::{
    Budget, Fact, MemberName, MessageKind, Party, Refusal, Spending, TaskRef, Usage, text,
};

pub(super) fn report(
    draft: &mut Draft<'_>,
    member: &MemberName,
    task: Option<&TaskRef>,
    model: Option<&str>,
    usage: Usage,
) -> Result<(), Refusal> {
    let member = draft.state.find_member(member.as_str())?.name.clone();
    if draft.member().is_some_and(|own| *own != member) {
        return Err(Refusal::Forbidden {
            who: draft.ctx.asker.actor.name.clone(),
            what: "say what somebody else used",
            may: "only they themselves",
        });
    }
    if usage.is_nothing() {
        return Ok(());
    }
    // Only the holder's usage counts for a task. Other usage counts for the member and the team alone.
    let task = task.and_then(|task| draft.live(task).ok());
    let task = task.filter(|it| it.owner.as_ref() == Some(&member) && !it.status.is_terminal());
    let task = task.map(|task| task.number);
    let model = model.map(|it| text::line("model", it).map(SmolStr::from)).transpose()?;
    let team = draft.team()?;
    let budget = team.settings.budget;
    let before = team.usage;
    draft.push(Fact::UsageReported { member, task, model, usage });
    tell_if_changed(draft, budget.standing(&before), &budget, &(before + usage));
    if budget.dollars.is_some() && before.unpriced == 0 && usage.unpriced > 0 {
        tell(
            draft,
            "the price of some tokens is unknown, so the budget in dollars does not count them; say what the model costs \
             (`price` in `models` of `config.json`), or set a budget in tokens (`budget.tokens`)",
        );
    }
    Ok(())
}

/// Tells the user and the lead if the team is closer to its budget than it `was`, and the lead if it can continue.
pub(super) fn tell_if_changed(
    draft: &mut Draft<'_>,
    was: Spending,
    budget: &Budget,
    usage: &Usage,
) {
    let is = budget.standing(usage);
    let told = budget.told(usage).unwrap_or_else(|| "there is no limit".to_owned());
    match is {
        Spending::Near if was < is => {
            let percent = budget.warn_percent;
            tell(draft, &format!("more than {percent}% of the team's budget is spent: {told}"));
        }
        Spending::Spent if was < is => tell(
            draft,
            &format!(
                "the team's budget is spent: {told}; nothing new is started until it is raised"
            ),
        ),
        Spending::Within | Spending::Near if was == Spending::Spent => {
            tell_lead(draft, &format!("the team's budget was raised: {told}; go on"));
        }
        Spending::Within | Spending::Near | Spending::Spent => {}
    }
}

/// Refuses new work once the budget is spent.
pub(super) fn check(draft: &Draft<'_>) -> Result<(), Refusal> {
    let team = draft.team()?;
    let budget = &team.settings.budget;
    match budget.standing(&team.usage) {
        Spending::Within | Spending::Near => Ok(()),
        Spending::Spent => Err(Refusal::BudgetSpent {
            told: budget.told(&team.usage).unwrap_or_default(),
            team: team.name.clone(),
            more: budget.more(&team.usage),
        }),
    }
}

fn tell(draft: &mut Draft<'_>, content: &str) {
    tell_lead(draft, content);
    draft.tell(Party::user(), MessageKind::System, content.to_owned(), None);
}

fn tell_lead(draft: &mut Draft<'_>, content: &str) {
    let lead = draft.state.lead().map(|lead| Party::member(&lead.name));
    if let Some(lead) = lead {
        draft.tell(lead, MessageKind::System, content.to_owned(), None);
    }
}
