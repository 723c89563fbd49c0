//! Random teams under random commands: the invariants of the board hold for any command, actor and time.
//!
//! Runs are deterministic. `PROPTEST_RNG_SEED=n` gives other runs, `PROPTEST_CASES=n` more.

mod steps;
mod world;

use std::collections::BTreeSet;

use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, RngSeed, TestRunner},
};

use self::{steps::Step, world::World};
use super::facts;

fn config() -> Config {
    let config = Config::default();
    let is_chosen = |name: &str| std::env::var_os(name).is_some();
    Config {
        cases: if is_chosen("PROPTEST_CASES") { config.cases } else { 80 },
        rng_seed: match config.rng_seed {
            RngSeed::Random => RngSeed::Fixed(2026),
            fixed @ RngSeed::Fixed(_) => fixed,
        },
        failure_persistence: None,
        ..config
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (any::<u8>(), any::<u8>(), any::<u8>(), any::<[u8; 3]>());
    let step = step.prop_map(|(who, when, what, which)| Step { who, when, what, which });
    prop::collection::vec(step, 1..120)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_invariants_of_the_board_hold(team in any::<u8>(), steps in steps()) {
        let mut world = World::new(team);
        for step in &steps {
            world.take(step);
        }
        world.end();
    }

    #[test]
    fn garbage_is_never_an_event(line in ".{0,200}") {
        prop_assert!(crate::decode(&line).is_err());
    }

    #[test]
    fn garbage_is_never_a_snapshot(mut bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        bytes.splice(0..0, crate::SNAPSHOT_FORMAT.to_le_bytes());
        if let Ok(state) = crate::State::from_snapshot(bytes) {
            prop_assert_eq!(state.version(), state.version());
        }
    }

    #[test]
    fn every_task_reference_is_parsed_or_refused(text in ".{0,60}") {
        if let Ok(task) = text.parse::<crate::TaskRef>() {
            prop_assert_eq!(task.to_string().parse::<crate::TaskRef>().unwrap(), task);
        }
    }
}

#[test]
fn random_runs_meet_every_kind_of_event() {
    let mut runner = TestRunner::deterministic();
    let mut met = BTreeSet::from(["team.deleted".to_owned()]);
    let mut n_archived = 0;
    for team in (0..=u8::MAX).step_by(3) {
        let mut world = World::new(team);
        for step in steps().new_tree(&mut runner).unwrap().current() {
            world.take(&step);
        }
        n_archived += world.n_archived();
        met.extend(world.log().iter().map(|event| event.fact.kind().to_owned()));
    }
    let missed: Vec<_> =
        facts::all_kinds().into_iter().filter(|kind| !met.contains(kind)).collect();
    assert!(missed.is_empty(), "the random runs above are too tame: {missed:?}");
    assert!(n_archived > 3, "the random runs above end too early to archive: {n_archived}");
}
