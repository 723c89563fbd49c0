//! Interruptions: a member breaks off its work, and continues with the next message it reads.

use troop_model::{Member, MemberName, MemberState, Party, StateCause};
use troop_protocol::FromLead;

use super::{
    crew::Crew,
    post::{MemberMove, Post},
    transcript::TranscriptLine,
};

/// Interrupts a member.
pub(super) async fn interrupt(
    post: &mut Post,
    crew: &mut Crew,
    member: &MemberName,
    reason: Option<&str>,
) {
    let Some(live) = crew.get_mut(member) else { return };
    let said = reason.unwrap_or("interrupted").to_owned();
    // A member that does not read cannot be interrupted; it can be stopped.
    let is_told = live.tell(&FromLead::Interrupt { reason: said, task_id: None }).is_ok();
    let because = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    let line = match is_told {
        true => TranscriptLine::note(&format!("told to break off what it does{because}")),
        false => TranscriptLine::trouble("it was told to stop, but does not read"),
    };
    post.note(member, line);
    let holds_task = post.state.tasks().held_by(member).next().is_some();
    if is_told && holds_task {
        work_because(post, member, Some(StateCause::Interrupted)).await;
    } else {
        // Its turn is over: it does not continue.
        live.facts.work.is_in_turn = false;
        post.agenda.is_due = true;
    }
}

/// An interrupted member continues with the message it has read.
pub(super) async fn go_on(post: &mut Post, reader: &Party) {
    let is_held = |it: &Member| it.state_cause == Some(StateCause::Interrupted);
    let held = post.state.members().find(|it| *reader == it.name && is_held(it));
    if let Some(member) = held.map(|it| it.name.clone()) {
        work_because(post, &member, None).await;
    }
}

/// Records why a working member is interrupted, or that it continues.
async fn work_because(post: &mut Post, member: &MemberName, cause: Option<StateCause>) {
    let found = post.state.member(member).filter(|it| it.state == MemberState::Working);
    let Some(pid) = found.map(|it| it.pid) else { return };
    let working = MemberMove::to(MemberState::Working).caused_by(cause).in_process(pid);
    post.set_state(member, working).await;
}
