//! What a team may spend: once that is spent everybody is told, and nothing goes on until there is more.

use troop_model::{Spending, Status};

use super::dispatcher::Dispatcher;

impl Dispatcher {
    /// Whether the team can spend no more since now, or can again.
    pub(super) fn budget_has_turned(&mut self) -> bool {
        let is_spent = self.post.state.spending() == Spending::Spent;
        std::mem::replace(&mut self.is_spent, is_spent) != is_spent
    }

    /// Tells everybody whether something can be spent.
    pub(super) async fn tell_budget(&mut self) {
        (self.post.agenda.n_teams, self.post.agenda.is_due) = (self.post.agenda.n_teams + 1, true);
        let members: Vec<_> = self.links.keys().cloned().collect();
        for member in members {
            self.send_context(&member);
            // What came while nobody could read it has waited.
            self.deliver(&member).await;
        }
    }

    /// Why nothing more is begun.
    pub(super) fn why_spent(&self) -> String {
        let team = self.post.state.team();
        let told = team.and_then(|team| team.settings.budget.told(&team.usage)).unwrap_or_default();
        format!("the team's budget is spent: {told}")
    }

    /// Whether there is nothing left to spend, and everybody has come to rest. Their mail waits.
    pub(super) fn ends_spent(&self) -> bool {
        self.is_spent
            && self.n_gated == 0
            && self.post.state.tasks().n_with(Status::InProgress) == 0
            && self.links.values().all(|link| self.is_idle(link))
    }
}
