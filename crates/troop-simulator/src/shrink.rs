//! Shrinks a history that breaks a promise: as long as it breaks the same one, choices become calm ones or go, and the plan gets
//! smaller.

use crate::{plan::HistoryPlan, saved::SavedHistory};

/// How many steps may be tried, in all histories together.
const MAX_STEPS: usize = 2_000_000;

/// The result of running a smaller history.
#[derive(Clone, Debug)]
pub struct ShrinkTrial {
    /// The choices that were made until the same promise broke; none if it held.
    pub broken_by: Option<Vec<u16>>,
    pub n_steps: usize,
}

/// The smallest history that was found which breaks the same promise.
#[must_use]
pub fn shrink(history: SavedHistory) -> SavedHistory {
    shrink_by(history, &|smaller| {
        let end = smaller.run(false);
        let is_same = end.violation.as_ref().is_some_and(|it| it.promise == smaller.broke);
        ShrinkTrial { broken_by: is_same.then_some(end.choices), n_steps: end.n_steps }
    })
}

/// Shrinks a history with any way to run it.
#[must_use]
pub fn shrink_by(
    history: SavedHistory,
    run: &dyn Fn(&SavedHistory) -> ShrinkTrial,
) -> SavedHistory {
    let mut shrinking = Shrinking { best: history, n_steps: 0, run };
    loop {
        let before = shrinking.best.clone();
        shrinking.shrink_plan();
        shrinking.shrink_choices(ChoiceChange::Remove);
        shrinking.shrink_choices(ChoiceChange::Calm);
        if shrinking.best == before || shrinking.n_steps >= MAX_STEPS {
            return shrinking.best;
        }
    }
}

/// A change to some choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChoiceChange {
    Remove,
    Calm,
}

struct Shrinking<'a> {
    best: SavedHistory,
    n_steps: usize,
    run: &'a dyn Fn(&SavedHistory) -> ShrinkTrial,
}

impl Shrinking<'_> {
    /// Keeps a smaller history if it breaks the same promise. Returns whether it does.
    fn try_out(&mut self, plan: HistoryPlan, choices: &[u16]) -> bool {
        if self.n_steps >= MAX_STEPS {
            return false;
        }
        let smaller = SavedHistory { plan, choices: choices.to_vec(), broke: self.best.broke };
        let trial = (self.run)(&smaller);
        self.n_steps += trial.n_steps;
        let Some(choices) = trial.broken_by else { return false };
        // Without what came after the violation.
        self.best = SavedHistory { choices, ..smaller };
        true
    }

    fn shrink_plan(&mut self) {
        let plan = self.best.plan;
        let less = |n: u16| n.saturating_sub(1);
        let smaller = [
            HistoryPlan { n_tasks: 1, ..plan },
            HistoryPlan { n_hasty: 0, ..plan },
            HistoryPlan { n_mirrors: 0, ..plan },
            HistoryPlan { n_mirrors: less(plan.n_mirrors), ..plan },
            HistoryPlan { n_programs: less(plan.n_programs), ..plan },
            HistoryPlan { n_commands: less(plan.n_commands), ..plan },
        ];
        for plan in smaller.into_iter().filter(|it| *it != plan) {
            let choices = self.best.choices.clone();
            self.try_out(plan, &choices);
        }
    }

    /// Changes ever smaller pieces.
    fn shrink_choices(&mut self, change: ChoiceChange) {
        let mut size = self.best.choices.len().div_ceil(2);
        while size > 0 {
            let mut from = 0;
            while from < self.best.choices.len() {
                let mut choices = self.best.choices.clone();
                let until = (from + size).min(choices.len());
                match change {
                    ChoiceChange::Remove => drop(choices.drain(from..until)),
                    ChoiceChange::Calm => {
                        let piece = choices.iter_mut().take(until).skip(from);
                        piece.for_each(|it| *it = 0);
                    }
                }
                let is_new = choices != self.best.choices;
                if !is_new
                    || !self.try_out(self.best.plan, &choices)
                    || change == ChoiceChange::Calm
                {
                    from += size;
                }
            }
            size /= 2;
        }
    }
}
