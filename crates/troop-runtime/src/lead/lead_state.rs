//! Records in the log whether the lead works or rests.

use troop_model::{State, StateCause};

use super::{
    crew::facts::MemberFacts,
    office::Office,
    policy::lead_state::{self, LeadMove},
    post::MemberMove,
};

/// Records that the lead works, if it is busy.
pub(super) async fn note_work(office: &mut Office) {
    move_lead(office, lead_state::to_work).await;
}

/// Records that the lead is idle, once it has finished.
pub(super) async fn note_rest(office: &mut Office) {
    move_lead(office, lead_state::to_rest).await;
}

/// Records that the lead has no open request left, although it still works.
pub(super) async fn note_end_of_work(office: &mut Office) {
    if lead_state::has_closed(&office.post.state, office.post.left_open()) {
        note_work(office).await;
    }
}

async fn move_lead(
    office: &mut Office,
    policy: fn(&State, &MemberFacts, Option<StateCause>) -> Option<LeadMove>,
) {
    let post = &mut office.post;
    let Some(lead) = post.state.lead().map(|lead| lead.name.clone()) else { return };
    let Some(live) = office.crew.get(&lead) else { return };
    let Some(LeadMove { to, cause }) = policy(&post.state, &live.facts, post.left_open()) else {
        return;
    };
    let to = MemberMove::to(to).caused_by(cause).in_process(live.process());
    post.set_state(&lead, to).await;
}
