//! Everything that is random about a trial of a board.

use std::time::Duration;

use crate::{plan::Backend, random::Random};

/// The course of a trial of a board without members that troop runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardPlan {
    /// Where the team is kept.
    pub backend: Backend,
    /// The layout of a files store.
    pub layout: &'static str,
    pub n_tasks: u64,
    /// Members that act by command, each with the seed of its own steps.
    pub members: Vec<u64>,
    /// Programs that know only the files.
    pub programs: Vec<u64>,
    /// Persons who make tasks and write.
    pub persons: Vec<u64>,
    /// How many commands each of them gives.
    pub n_steps: u64,
    /// One command in so many is killed, and one is stopped.
    pub harm: Option<u64>,
    /// A lead through which commands go, and for how long each lives.
    pub leads: Vec<LeadLife>,
}

/// How long a lead lives, and how it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeadLife {
    pub lasts: Duration,
    pub is_killed: bool,
}

impl BoardPlan {
    /// The plan of a trial; the same for the same numbers.
    #[must_use]
    pub fn new(seed: u64, trial: u64, backend: Backend) -> Self {
        let mut random = Random::of_trial(seed, trial);
        let is_files = backend == Backend::Files;
        let layout = if is_files && random.one_in(3) { "claude" } else { "seeds" };
        let seeds = |n: u64, random: &mut Random| -> Vec<u64> {
            (0..n).map(|_| random.within(0..u64::MAX)).collect()
        };
        let n_members = random.within(2..4);
        let members = seeds(n_members, &mut random);
        let n_programs = if is_files { random.within(2..5) } else { 0 };
        let programs = seeds(n_programs, &mut random);
        let n_persons = random.within(1..3);
        let persons = seeds(n_persons, &mut random);
        let harm = [None, Some(10), Some(5)].get(random.within(0..3) as usize).copied().flatten();
        let n_leads = if random.one_in(2) { random.within(1..4) } else { 0 };
        let leads = (0..n_leads).map(|_| LeadLife {
            lasts: Duration::from_millis(random.within(300..1_500)),
            is_killed: !random.one_in(4),
        });
        let leads = leads.collect();
        let n_tasks = random.within(8..17);
        let n_steps = random.within(12..25);
        Self { backend, layout, n_tasks, members, programs, persons, n_steps, harm, leads }
    }

    /// The name of a member that acts by command.
    #[must_use]
    pub fn member(nth: usize) -> String {
        format!("m{nth}")
    }

    /// The name of a program.
    #[must_use]
    pub fn program(nth: usize) -> String {
        format!("p{nth}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_files_store_has_programs() {
        for trial in 0..20 {
            for backend in Backend::ALL {
                let plan = BoardPlan::new(3, trial, backend);
                assert_eq!(plan, BoardPlan::new(3, trial, backend));
                assert_eq!(plan.programs.is_empty(), backend != Backend::Files);
            }
        }
    }
}
