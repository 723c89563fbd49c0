//! The next step after a refusal whose text does not name it, for models.

use troop_model::{Refusal, Status, TaskAction};

/// The next step, unless the refusal names it.
#[expect(clippy::wildcard_enum_match_arm, reason = "most refusals say what to do themselves")]
pub(super) fn next_step(refusal: &Refusal) -> Option<String> {
    let step = match refusal {
        Refusal::WrongStatus { status, action, .. } => return after(*status, *action),
        Refusal::NotYours { owner: Some(owner), .. } => {
            return Some(format!(
                "leave it to `{owner}`; the lead can release it and give it to somebody else"
            ));
        }
        Refusal::NotHeld { status, .. } => return untaken(*status),
        Refusal::TaskTaken { .. } => "release it, then give it to another member",
        Refusal::AwaitsStart { .. } => "claim another; the lead must approve its start",
        Refusal::StillNeeded { .. } => "finish or cancel those that need it first",
        Refusal::IncompleteResponse => {
            "give `request_id`, as it came with the request, and `approve`: true or false"
        }
        Refusal::NothingToChange => {
            "name what to change, such as the subject, the description or the priority"
        }
        _ => return None,
    };
    Some(step.to_owned())
}

/// The next step for a task that nobody holds.
fn untaken(status: Status) -> Option<String> {
    let step = match status {
        Status::Pending => "claim it first",
        Status::Blocked => "wait until what it depends on is finished; take another task meanwhile",
        Status::Failed => "the lead can retry it; take another task",
        Status::Completed | Status::Cancelled => "it is over; take another task",
        Status::InProgress | Status::InReview | Status::Stale => return None,
    };
    Some(step.to_owned())
}

/// The next step after an action that does not fit the status of its task.
fn after(status: Status, action: TaskAction) -> Option<String> {
    let step = match action {
        TaskAction::Approve | TaskAction::Reject => {
            "only a result in review can be approved or rejected"
        }
        TaskAction::Retry => "only failed or stale tasks can be retried",
        TaskAction::Delete => "only tasks that have ended can be deleted: cancel it first",
        _ if status.is_terminal() => return untaken(status),
        TaskAction::Update => {
            "this can only be changed before the task is started: give it back first"
        }
        TaskAction::Complete
        | TaskAction::Fail
        | TaskAction::Review
        | TaskAction::Progress
        | TaskAction::AskUser
            if status == Status::Pending =>
        {
            "claim it first"
        }
        _ if status == Status::InReview => {
            "its result waits: the lead or a person approves or rejects it"
        }
        TaskAction::Create
        | TaskAction::Claim
        | TaskAction::Complete
        | TaskAction::Cancel
        | TaskAction::Assign
        | TaskAction::List
        | TaskAction::Get
        | TaskAction::Search
        | TaskAction::Review
        | TaskAction::Comment
        | TaskAction::Progress
        | TaskAction::Attach
        | TaskAction::Prove
        | TaskAction::AskUser
        | TaskAction::ClearAskUser
        | TaskAction::Fail
        | TaskAction::Release => return None,
    };
    Some(step.to_owned())
}
